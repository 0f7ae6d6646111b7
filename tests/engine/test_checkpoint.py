"""A checkpoint keeps the last version that is whole, whatever happens to the next."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deepbroad.engine import checkpoint as module
from deepbroad.engine.checkpoint import Checkpoint, CheckpointError


def save(checkpoint, number):
    checkpoint.save({"number": number}, {"u": np.full(4, float(number))})


def load(folder):
    """Return the number of the version that is found by another process."""
    found = Checkpoint(folder).load()
    if found is None:
        return None
    assert (found.arrays["u"] == found.content["number"]).all()
    return found.content["number"]


def newest(folder):
    return max(Path(folder).iterdir(), key=lambda path: path.stat().st_mtime_ns)


@pytest.fixture
def saved(tmp_path):
    """Return a folder with the versions 1 and 2."""
    checkpoint = Checkpoint(tmp_path)
    save(checkpoint, 1)
    save(checkpoint, 2)
    return tmp_path


def test_the_last_version_is_found_and_two_are_kept(tmp_path):
    checkpoint = Checkpoint(tmp_path / "a" / "b")
    assert checkpoint.load() is None
    for number in range(1, 6):
        save(checkpoint, number)
        assert load(checkpoint.folder) == number
        assert len(list(checkpoint.folder.iterdir())) == min(number, 2)


def test_another_process_goes_on_counting(saved):
    checkpoint = Checkpoint(saved)
    checkpoint.load()
    save(checkpoint, 3)
    assert load(saved) == 3
    newest(saved).unlink()
    assert load(saved) == 2


def test_cleared_it_is_as_if_new(saved):
    checkpoint = Checkpoint(saved)
    (saved / "other.txt").write_text("mine")
    checkpoint.load()
    checkpoint.clear()
    assert [path.name for path in saved.iterdir()] == ["other.txt"]
    assert load(saved) is None


class Killed(BaseException):
    """The process is gone, and no clean-up with it."""


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt(), Killed()])
@pytest.mark.parametrize("step", ["open", "write", "flush to disk", "rename"])
def test_a_save_that_fails_at_any_step_leaves_both_versions(saved, monkeypatch, step, error):
    def fail(*_, **__):
        raise error

    checkpoint = Checkpoint(saved)
    checkpoint.load()
    with monkeypatch.context() as patched:
        match step:
            case "open":
                patched.setattr(Path, "open", fail)
            case "write":
                patched.setattr(module, "write_tensors", fail)
            case "flush to disk":
                patched.setattr(os, "fsync", fail)
            case "rename":
                patched.setattr(Path, "replace", fail)
        if isinstance(error, Killed):
            patched.setattr(Path, "unlink", lambda *_, **__: None)
        with pytest.raises(type(error)):
            save(checkpoint, 3)
    assert load(saved) == 2
    # What a killed process had begun is gone as well.
    assert len(list(saved.iterdir())) == 2
    save(checkpoint, 4)
    assert load(saved) == 4
    newest(saved).unlink()
    assert load(saved) == 2


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(data=st.data())
def test_if_the_newer_is_damaged_the_older_is_used(saved, data):
    path = newest(saved)
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    if data.draw(st.booleans()):
        bad = bytearray(whole)
        bad[at] ^= 1 << data.draw(st.integers(0, 7))
    else:
        bad = whole[:at]
    path.write_bytes(bad)
    try:
        checkpoint = Checkpoint(saved)
        with pytest.warns(UserWarning, match="damaged"):
            found = checkpoint.load()
        assert found.content == {"number": 1}
    finally:
        path.write_bytes(whole)


def test_the_next_version_goes_over_the_damaged_one(saved):
    newest(saved).write_bytes(b"rubbish")
    checkpoint = Checkpoint(saved)
    with pytest.warns(UserWarning, match="damaged"):
        checkpoint.load()
    save(checkpoint, 3)
    assert load(saved) == 3
    newest(saved).unlink()
    assert load(saved) == 1


def test_if_both_are_damaged_there_is_none(saved):
    for path in saved.iterdir():
        path.write_bytes(path.read_bytes()[:-1])
    with pytest.warns(UserWarning, match="damaged"):
        assert load(saved) is None


def test_another_release_is_named(saved, monkeypatch):
    monkeypatch.setattr(module, "version", lambda _: "99.0")
    with pytest.raises(CheckpointError, match=r"this is 99\.0.*take another folder"):
        Checkpoint(saved).load()


def test_a_file_in_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "a").write_text("a file")
    for path in (tmp_path / "a", tmp_path / "a" / "b"):
        with pytest.raises(CheckpointError, match="a folder that can be written to"):
            Checkpoint(path)
