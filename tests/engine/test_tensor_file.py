"""Files of arrays and JSON come back as they were, or tell that they do not."""

import hashlib
import io
import json
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of
from safetensors.numpy import load as load_by_library

from deepbroad.engine import tensor_file
from deepbroad.engine.tensor_file import (
    DIGEST,
    DTYPES,
    START,
    DamagedFile,
    read_tensors,
    write_atomically,
    write_tensors,
)

ARRAYS = st.dictionaries(
    st.text("abc.", min_size=1, max_size=5),
    arrays_of.arrays(
        st.sampled_from(sorted(DTYPES)), arrays_of.array_shapes(min_dims=0, min_side=0, max_side=4)
    ),
    max_size=3,
)
WHOLE = {"u": np.linspace(0, 1, 5), "order": np.arange(3), "empty": np.empty((0, 2), np.float32)}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("files") / "a.file"


def as_bytes(description, arrays):
    file = io.BytesIO()
    write_tensors(file, description, arrays)
    return file.getvalue()


def read(data, path):
    path.write_bytes(data)
    with path.open("rb") as file:
        return read_tensors(file)


def forge(header, data=b""):
    """Return a file with any header, and a checksum that is right."""
    text = json.dumps({"sha256": "0" * 64, "serial": 1}, separators=(",", ":"))
    full = {"__metadata__": {"deepbroad": text}, **header}
    head = json.dumps(full, separators=(",", ":")).encode()
    whole = bytearray(len(head).to_bytes(8, "little") + head + data)
    whole[DIGEST] = hashlib.sha256(whole).hexdigest().encode()
    return bytes(whole)


@given(ARRAYS, st.text(max_size=5))
def test_arrays_and_text_come_back_to_the_bit(path, arrays, text):
    data = as_bytes({"said": text, "serial": 3}, arrays)
    description, found = read(data, path)
    assert (description["said"], description["serial"]) == (text, 3)
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert found[name].tobytes() == array.tobytes()


def test_the_safetensors_library_reads_the_same(path):
    found = load_by_library(as_bytes({"serial": 1}, WHOLE))
    assert found.keys() == WHOLE.keys()
    for name, array in WHOLE.items():
        np.testing.assert_array_equal(found[name], array)


def test_arrays_longer_than_a_piece_and_not_contiguous_come_back(path, monkeypatch):
    monkeypatch.setattr(tensor_file, "PIECE", 100)
    array = np.arange(600.0).reshape(20, 30)[:, ::2]
    np.testing.assert_array_equal(read(as_bytes({}, {"a": array}), path)[1]["a"], array)


@given(st.data())
def test_a_change_of_any_bit_is_noticed(path, data):
    whole = bytearray(as_bytes({"serial": 1}, WHOLE))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(DamagedFile):
        read(bytes(whole), path)


@given(st.data())
def test_a_file_that_ends_early_or_late_is_noticed(path, data):
    whole = as_bytes({"serial": 1}, WHOLE)
    with pytest.raises(DamagedFile):
        read(whole[: data.draw(st.integers(0, len(whole) - 1))], path)
    with pytest.raises(DamagedFile):
        read(whole + data.draw(st.binary(min_size=1, max_size=9)), path)


class Touch:
    """Were it ever unpickled, it would show."""

    def __reduce__(self):
        return (open, ("touched", "w"))


@pytest.mark.parametrize(
    ("header", "data"),
    [
        ({"a": {"dtype": "O", "shape": [1], "data_offsets": [0, 8]}}, b"0" * 8),
        ({"a": {"dtype": "F64", "shape": [2**40, 2**40], "data_offsets": [0, 8]}}, b"0" * 8),
        ({"a": {"dtype": "F64", "shape": [2**62, 0, 2**62], "data_offsets": [0, 0]}}, b""),
        ({"a": {"dtype": "F64", "shape": [-1], "data_offsets": [0, -8]}}, b""),
        ({"a": {"dtype": "F64", "shape": [1.0], "data_offsets": [0, 8]}}, b"0" * 8),
        ({"a": {"dtype": "F64", "shape": [1], "data_offsets": [8, 16]}}, b"0" * 16),
        ({"a": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}}, b"0" * 16),
        ({"a": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}}, b"0" * 4),
        ({"a": {"dtype": "F64", "shape": [1] * 99, "data_offsets": [0, 8]}}, b"0" * 8),
        ({"a": [[]]}, b""),
        ({"a": pickle.dumps(Touch()).hex()}, b""),
    ],
)
def test_forged_headers_are_refused(path, header, data):
    with pytest.raises(DamagedFile):
        read(forge(header, data), path)


def test_forging_itself_gives_files_that_are_read(path):
    entry = {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}
    assert read(forge({"a": entry}, np.ones(1).tobytes()), path)[1]["a"] == 1


@pytest.mark.parametrize(
    "data",
    [
        b"",
        pickle.dumps(Touch()),
        (2**63).to_bytes(8, "little") + START + b"0" * 64,
        (400_000).to_bytes(8, "little") + START + b"[" * 400_000,
        (200).to_bytes(8, "little") + START + b"\xff" * 200,
    ],
)
def test_what_is_no_such_file_is_refused_and_nothing_is_run(path, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DamagedFile):
        read(data, path)
    assert not Path("touched").exists()


def test_a_file_is_on_disk_before_it_has_its_name_and_its_name_before_the_end(
    tmp_path, monkeypatch
):
    steps = []
    real_sync, real_replace = os.fsync, Path.replace

    def sync(number):
        steps.append("folder" if os.path.isdir(f"/dev/fd/{number}") else "file")
        real_sync(number)

    def replace(self, target):
        steps.append("rename")
        return real_replace(self, target)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(Path, "replace", replace)
    write_atomically(tmp_path / "a", lambda file: file.write(b"new"))
    assert steps == ["file", "rename", "folder"]
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_file_that_is_refused_leaves_the_old_one(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def refuse(beside):
        assert (beside.read_bytes(), path.read_bytes()) == (b"new", b"old")
        raise ValueError("refused")

    with pytest.raises(ValueError, match="refused"):
        write_atomically(path, lambda file: file.write(b"new"), refuse)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_named_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_atomically(pipe, lambda file: file.write(b"new"), pytest.fail)
    assert os.read(read, 10) == b"new"
    os.close(read)
    assert pipe.is_fifo()
