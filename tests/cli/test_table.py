"""Tables come through a pipe too."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deepbroad.cli import app
from tests.cli.commands import flatten, loans, succeed


def test_a_pipe_is_as_good_as_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "spool"))
    (tmp_path / "spool").mkdir()
    text = loans().to_csv(index=False)
    (tmp_path / "t.csv").write_text(text)

    def pipe(*arguments):
        result = CliRunner().invoke(app, [str(a) for a in arguments], input=text)
        assert result.exit_code == 0, result.output
        return result.stdout

    fit = ("--target", "paid", "--model", "anje", "-n", 1, "-q", "-o")
    pipe("fit", "-", *fit, tmp_path / "pipe.dbl")
    succeed("fit", tmp_path / "t.csv", *fit, tmp_path / "file.dbl")
    model = tmp_path / "pipe.dbl"
    assert pipe("predict", model, "-") == succeed(
        "predict", tmp_path / "file.dbl", tmp_path / "t.csv"
    )
    explained = json.loads(pipe("explain", model, "-", "--row", 3, "--json"))
    assert explained["class"] in ("yes", "no")
    pipe("report", model, "-", "--target", "paid", "-o", tmp_path / "r.html")
    assert "on stdin.csv" in (tmp_path / "r.html").read_text("utf-8")
    assert list(Path(tmp_path / "spool").iterdir()) == []


def test_an_empty_pipe_is_refused():
    result = CliRunner().invoke(app, ["fit", "-", "--target", "y"], input="")
    assert result.exit_code == 2
    assert "Nothing came through the pipe" in flatten(result.output)


@pytest.mark.parametrize("arguments", [["--target", "y"], []])
def test_a_wrong_call_leaves_no_scratch_file(tmp_path, arguments):
    command = [sys.executable, "-c", "from deepbroad.cli import app; app()", "fit", "-", *arguments]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    text = "" if arguments else "a,y"
    done = subprocess.run(command, input=text, text=True, capture_output=True, env=environment)
    assert done.returncode == 2
    assert list(tmp_path.iterdir()) == []


def test_errors_name_the_pipe_and_no_scratch_file():
    result = CliRunner().invoke(app, ["fit", "-", "--target", "y"], input="a,y\n")
    assert result.exit_code == 1
    assert "Error: the pipe holds no rows" in flatten(result.output)
