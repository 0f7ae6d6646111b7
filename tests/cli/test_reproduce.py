import subprocess
import sys
import time

import numpy as np
import psutil
import pytest
from typer.testing import CliRunner

from deepbroad.cli import app
from deepbroad.experiments.catalogue import CATALOGUE, methods_for
from deepbroad.experiments.dataset import FOLDER_VARIABLE
from deepbroad.experiments.rows import read_rows

# What two runs of the same trial may differ in.
TIMES = ("train_seconds", "predict_seconds", "when")


@pytest.fixture(autouse=True)
def _no_folder(monkeypatch):
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)


def run(*arguments):
    return CliRunner().invoke(app, ["reproduce", *map(str, arguments)])


def flatten(text):
    """Undo the wrapping of lines and panels, which depends on the width of the terminal."""
    return " ".join(text.replace("│", " ").split())


def test_the_quick_slice_goes_from_data_to_report(tmp_path):
    result = run("--quick", "--rounds", 1, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    rows = read_rows(tmp_path / "rows")
    assert {row["status"] for row in rows} == {"done"}
    assert {row["dataset"] for row in rows} == {"iris", "wine", "poker-hand"}
    assert {row["method"] for row in rows} == set(methods_for())
    assert len(rows) == 3 * len(methods_for()) * 2
    page = (tmp_path / "report.html").read_text()
    for name, entry in CATALOGUE.items():
        assert f'id="{name}"' in page, name
        if entry.kind == "figure":
            assert (tmp_path / "figures" / f"{name}.png").exists()
    assert "Deep Broad Learning" in (tmp_path / "summary.md").read_text()


def test_a_killed_command_comes_to_the_rows_of_an_undisturbed_one(tmp_path):
    # The table of slips needs no methods of its own, and no time.
    arguments = ["slips", "--quick", "--datasets", "iris", "--methods", "A1JE,A2JE,DBL1"]
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    code = "from deepbroad.cli import app; app()"
    command = [sys.executable, "-c", code, "reproduce", *arguments, "--out", str(killed)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while len(list(killed.glob("rows/*/*.parquet"))) < 2:
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(0.01)
    workers = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.wait()
    assert psutil.wait_procs(workers, timeout=60)[1] == [], "a process outlives the command"
    kept = {path: path.stat().st_mtime_ns for path in killed.glob("rows/*/*.parquet")}
    assert len(kept) < 12

    assert run(*arguments, "--out", killed).exit_code == 0
    assert run(*arguments, "--jobs", 1, "--out", whole).exit_code == 0
    assert all(path.stat().st_mtime_ns == modified for path, modified in kept.items())
    rows = [read_rows(folder / "rows") for folder in (killed, whole)]
    assert len(rows[0]) == len(rows[1]) == 12
    for resumed, undisturbed in zip(*rows, strict=True):
        for name in resumed:
            if name not in TIMES:
                np.testing.assert_equal(resumed[name], undisturbed[name], err_msg=name)


def test_what_is_missing_is_said(tmp_path):
    result = run("slips", "--datasets", "localization", "--methods", "A1JE", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert "Without localization: It is not among" in flatten(result.output)
    assert "0 trials" in result.output


def test_only_the_methods_that_a_table_needs_are_tried(tmp_path):
    result = run("slips", "--quick", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert "0 trials" in result.output
    assert (tmp_path / "report.html").exists()
    assert not (tmp_path / "learning-curves.json").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["table-9"], "no table or figure table-9"),
        (["--datasets", "iris,irises"], "no data set irises"),
        (["--methods", "A9JE"], "no method A9JE"),
    ],
)
def test_unknown_names_are_refused_in_a_sentence(tmp_path, arguments, message):
    result = run(*arguments, "--out", tmp_path)
    assert result.exit_code == 1
    assert message in flatten(result.output)


def test_without_matplotlib_rows_are_made_and_the_way_to_a_report_is_said(tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = run("ranks", "--quick", "--datasets", "iris", "--methods", "A1JE", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert 'pip install "deepbroad[experiments]"' in flatten(result.output)
    assert len(read_rows(tmp_path / "rows")) == 4
