"""`deepbroad export`, as a user types it."""

import json
import sqlite3
import sys

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import deepbroad
from deepbroad.cli import app

TABLE = pa.table({"x": ["a", "b", "b", None] * 3, "z": [1.0, 2.0, 3.0, 4.0] * 3})


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A model file."""
    path = tmp_path_factory.mktemp("model") / "m.dbl"
    deepbroad.save(deepbroad.AnJEClassifier(n=2).fit(TABLE, ["no", "yes", "no", "yes"] * 3), path)
    return path


def test_sql_scores_a_table(file, tmp_path):
    out = tmp_path / "m.sql"
    result = run(
        "export", file, "--to", "sql", "--dialect", "sqlite", "--table", "new", "-o", out
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "bytes of sql" in result.output
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE new (x TEXT, z REAL)")
    rows = list(zip(*TABLE.to_pydict().values(), strict=True))
    database.executemany("INSERT INTO new VALUES (?, ?)", rows)
    setup, query = out.read_text().split("COMMIT;\n")
    database.executescript(setup + "COMMIT;\n")
    found = [row[-2:] for row in database.execute(query)]
    np.testing.assert_allclose(found, deepbroad.load(file).predict_proba(TABLE), atol=1e-5)


def test_an_index_of_pandas_in_a_table_can_be_left_out(tmp_path):
    TABLE.append_column("y", [["no", "yes", "no", "yes"] * 3]).to_pandas().to_csv(
        tmp_path / "t.csv"
    )
    fit = ("fit", tmp_path / "t.csv", "--target", "y", "--model", "anje", "-n", 1, "-q")
    model = tmp_path / "m.dbl"
    assert run(*fit, "-o", model).exit_code == 0
    refused = run("export", model)
    assert refused.exit_code == 1
    assert "--drop ''" in refused.output
    assert run(*fit, "-o", model, "--drop", "").exit_code == 0
    assert run("export", model).exit_code == 0


def test_json_and_sql_go_to_the_screen(file):
    result = run("export", file, "--to", "json")
    assert json.loads(result.stdout)["classes"] == ["no", "yes"]
    result = run("export", file, "--dialect", "postgresql", "--prefix", "mine")
    assert result.stdout == str(
        deepbroad.export(deepbroad.load(file), dialect="postgresql", prefix="mine")
    )


@pytest.mark.parametrize(
    ("to", "option"),
    [("json", ["--dialect", "sqlite"]), ("json", ["--table", "rows"]), ("onnx", ["--prefix", "m"])],
)
def test_options_of_sql_are_refused_elsewhere(file, tmp_path, to, option):
    result = run("export", file, "--to", to, *option, "-o", tmp_path / "m")
    assert result.exit_code == 2
    assert f"--to {to} has no {option[0]}" in " ".join(result.output.replace("│", " ").split())
    assert not (tmp_path / "m").exists()


def test_onnx_goes_to_a_file_only(file, tmp_path):
    pytest.importorskip("onnx")
    result = run("export", file, "--to", "onnx")
    assert result.exit_code == 1
    assert "--out" in result.output
    result = run("export", file, "--to", "onnx", "-o", tmp_path / "m.onnx", "-q")
    assert (result.exit_code, result.output) == (0, "")
    assert (tmp_path / "m.onnx").stat().st_size > 0


def test_a_missing_extra_is_named(file, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    result = run("export", file, "--to", "onnx", "-o", tmp_path / "m.onnx")
    assert result.exit_code == 1
    assert "deepbroad[onnx]" in result.output
    assert "Traceback" not in result.output
    assert not (tmp_path / "m.onnx").exists()


def test_a_missing_model_is_named():
    result = run("export", "none.dbl")
    assert result.exit_code == 1
    assert "none.dbl" in result.output
