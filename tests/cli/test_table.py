"""Tables come through a pipe too."""

import json
from pathlib import Path

from typer.testing import CliRunner

from deepbroad.cli import app
from tests.cli.commands import loans, succeed


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
