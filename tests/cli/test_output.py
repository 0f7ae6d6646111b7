"""What commands write: known to be possible before the work, and whole or not there at all."""

import os
import sys
import tempfile
from pathlib import Path

import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import deepbroad
from deepbroad.cli.output import check_output, write_output
from tests.cli.commands import flatten, loans, run, succeed

needs_user = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere"
)
needs_full_disk = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device is full")


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A table and a model of it, which tests copy."""
    folder = tmp_path_factory.mktemp("loans")
    loans().to_csv(folder / "loans.csv", index=False)
    fit = ["fit", folder / "loans.csv", "--target", "paid", "--model", "anje", "-n", 1]
    succeed(*fit, "-o", folder / "m.dbl")
    return folder


@pytest.fixture
def folder(fitted, tmp_path):
    for name in ("loans.csv", "m.dbl"):
        (tmp_path / name).write_bytes((fitted / name).read_bytes())
    return tmp_path


def refuse(*arguments):
    """Run a command that must fail with a sentence, and return that."""
    result = run(*arguments)
    assert result.exit_code == 1
    assert "Traceback" not in result.output
    return flatten(result.output)


def break_last_row(folder):
    """Write a table of several batches whose last row has too few values."""
    table = loans(70_000)
    table.to_csv(folder / "broken.csv", index=False)
    with (folder / "broken.csv").open("a") as file:
        file.write("40,cook\n")
    return folder / "broken.csv"


# The table is not there: only what is looked at before it can be the error.
@pytest.mark.skipif(sys.platform != "linux", reason="/proc takes no new files, even of root")
def test_fit_knows_before_it_reads_that_a_folder_takes_no_file():
    said = refuse("fit", "nothing.csv", "--target", "y", "-o", "/proc/m.dbl")
    assert "/proc/m.dbl cannot be written" in said


@needs_user
def test_fit_knows_before_it_reads_that_it_may_not_write(tmp_path):
    (tmp_path / "old.dbl").write_text("old")
    (tmp_path / "old.dbl").chmod(0o400)
    assert "read-only" in refuse("fit", "no.csv", "--target", "y", "-o", tmp_path / "old.dbl")
    (tmp_path / "locked").mkdir(mode=0o500)
    said = refuse("fit", "nothing.csv", "--target", "y", "-o", tmp_path / "locked" / "m.dbl")
    assert "Permission denied" in said


def test_fit_knows_before_it_reads_that_a_link_leads_to_no_folder(tmp_path):
    (tmp_path / "m.dbl").symlink_to(tmp_path / "no" / "m.dbl")
    said = refuse("fit", "nothing.csv", "--target", "y", "-o", tmp_path / "m.dbl")
    assert f"no folder {tmp_path / 'no'}" in said


def test_the_check_leaves_nothing_behind(tmp_path):
    check_output(tmp_path / "m.dbl")
    assert list(tmp_path.iterdir()) == []


@needs_full_disk
@pytest.mark.parametrize("places", [["tmp"], ["home"]])
def test_a_model_that_finds_no_room_is_kept_where_there_is_some(folder, monkeypatch, places):
    (folder / "full.dbl").symlink_to("/dev/full")
    spare = folder / "spare"
    spare.mkdir()
    missing = folder / "missing"
    monkeypatch.setattr(tempfile, "tempdir", str(spare if "tmp" in places else missing))
    monkeypatch.setattr(Path, "home", lambda: spare if "home" in places else missing)
    said = refuse(
        "fit", folder / "loans.csv", "--target", "paid", "--model", "anje", "-n", 1, "-o",
        folder / "full.dbl",
    )  # fmt: skip
    (kept,) = spare.iterdir()
    assert "full.dbl cannot be written: No space left on device" in said
    assert f"saved as {kept} instead" in said
    rows = folder / "loans.csv"
    ours, theirs = deepbroad.load(kept), deepbroad.load(folder / "m.dbl")
    assert (ours.predict_proba(rows) == theirs.predict_proba(rows)).all()


@needs_full_disk
def test_a_model_that_finds_no_room_anywhere_is_said_to_be_lost(folder, monkeypatch):
    (folder / "full.dbl").symlink_to("/dev/full")
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "missing"))
    monkeypatch.setattr(Path, "home", lambda: folder / "missing")
    said = refuse(
        "fit", folder / "loans.csv", "--target", "paid", "--model", "anje", "-n", 1, "-o",
        folder / "full.dbl",
    )  # fmt: skip
    assert "No space left on device" in said
    assert "the model is lost" in said


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_predictions_that_fail_at_the_end_leave_the_old_file(folder, ending):
    broken, out = break_last_row(folder), folder / f"out.{ending}"
    out.write_text("old")
    before = sorted(folder.iterdir())
    assert "cannot be read as CSV" in refuse("predict", folder / "m.dbl", broken, "-o", out)
    assert out.read_text() == "old"
    assert sorted(folder.iterdir()) == before


@needs_full_disk
def test_predictions_that_find_no_room_say_which_file(folder):
    (folder / "full.csv").symlink_to("/dev/full")
    said = refuse("predict", folder / "m.dbl", folder / "loans.csv", "-o", folder / "full.csv")
    assert "full.csv cannot be written: No space left on device" in said


def test_ctrl_c_leaves_the_old_file_and_no_other(tmp_path):
    out = tmp_path / "out.csv"
    out.write_text("old")

    def write(file):
        file.write(b"a part")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_output(out, write)
    assert out.read_text() == "old"
    assert list(tmp_path.iterdir()) == [out]


def test_predictions_go_where_a_link_leads(folder):
    (folder / "there").mkdir()
    (folder / "out.csv").symlink_to(folder / "there" / "found.csv")
    succeed("predict", folder / "m.dbl", folder / "loans.csv", "-o", folder / "out.csv")
    assert (folder / "out.csv").is_symlink()
    assert pa_csv.read_csv(folder / "there" / "found.csv").num_rows == 300


def hard_link(link, file):
    link.hardlink_to(file)


def symbolic_link(link, file):
    link.symlink_to(file)


@pytest.mark.parametrize("make_link", [hard_link, symbolic_link])
@pytest.mark.parametrize("read", ["loans.csv", "m.dbl"])
def test_links_to_what_is_read_are_never_written_over(folder, make_link, read):
    model, table, out = folder / "m.dbl", folder / "loans.csv", folder / "link.csv"
    make_link(out, folder / read)
    before = table.read_bytes(), model.read_bytes()
    commands = [
        ["predict", model, table],
        ["report", model, table, "--target", "paid"],
    ]
    if read == "m.dbl":
        commands.append(["export", model, "--to", "json"])
    else:
        commands.append(["fit", table, "--target", "paid", "--model", "anje", "-n", 1])
    for command in commands:
        assert "give another file" in refuse(*command, "-o", out)
    assert (table.read_bytes(), model.read_bytes()) == before


@pytest.mark.parametrize("make_link", [hard_link, symbolic_link])
def test_links_to_files_of_a_folder_that_is_read_are_never_written_over(folder, make_link):
    (folder / "parts").mkdir()
    part = folder / "parts" / "one.csv"
    part.write_bytes((folder / "loans.csv").read_bytes())
    make_link(folder / "link.csv", part)
    said = refuse("predict", folder / "m.dbl", folder / "parts", "-o", folder / "link.csv")
    assert "give another file" in said
    assert part.read_bytes() == (folder / "loans.csv").read_bytes()


def test_a_file_that_a_folder_links_to_is_never_written_over(folder):
    (folder / "parts").mkdir()
    (folder / "parts" / "one.csv").symlink_to(folder / "loans.csv")
    said = refuse("predict", folder / "m.dbl", folder / "parts", "-o", folder / "loans.csv")
    assert "give another file" in said


def test_what_was_written_is_replaced_by_the_next(folder):
    out = folder / "out.parquet"
    for _ in range(2):
        succeed("predict", folder / "m.dbl", folder / "loans.csv", "-o", out, "--proba")
    assert pq.read_table(out).column_names == ["prediction", "P(no)", "P(yes)"]
