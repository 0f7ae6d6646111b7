"""`deepbroad fit --scheduler`: the same model, fitted by the workers of a cluster."""

import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from typer.testing import CliRunner

import deepbroad
from deepbroad.cli import app
from tests.clusters import local_client


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def write_table(path):
    random = np.random.default_rng(0)
    color = random.choice(["red", "blue", "green"], 600)
    label = np.where((color == "red") ^ (random.random(600) < 0.1), "yes", "no")
    table = pa.table({"color": color, "size": random.normal(size=600), "label": label})
    pq.write_table(table, path, row_group_size=200)
    return table


def test_the_workers_fit_the_same_model(tmp_path):
    table = write_table(tmp_path / "t.parquet")
    options = ["fit", tmp_path / "t.parquet", "--target", "label", "-n", 1, "--alpha", 1]
    with local_client() as client:
        there = run(*options, "-o", tmp_path / "there.dbl", "--scheduler", client.scheduler.address)
    assert there.exit_code == 0, there.output
    assert run(*options, "-o", tmp_path / "here.dbl").exit_code == 0
    X = table.drop_columns(["label"])
    found, expected = (deepbroad.load(tmp_path / f"{name}.dbl") for name in ("there", "here"))
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=1e-6)


def test_without_dask_the_error_names_the_extra(tmp_path, monkeypatch):
    write_table(tmp_path / "t.parquet")
    monkeypatch.setitem(sys.modules, "distributed", None)
    options = ["--target", "label", "-o", tmp_path / "m.dbl", "--scheduler", "tcp://127.0.0.1:1"]
    result = run("fit", tmp_path / "t.parquet", *options)
    assert result.exit_code == 1
    assert 'pip install "deepbroad[dask]"' in result.output.replace("\n", " ")
