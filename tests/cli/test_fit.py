"""`deepbroad fit` and `deepbroad predict`, as a user types them."""

import json
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import deepbroad
from deepbroad.cli import app
from deepbroad.cli.models import CLASSES
from deepbroad.datasets import poker_hand


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def flatten(text):
    return " ".join(text.split())


@pytest.fixture(scope="module")
def hands(tmp_path_factory):
    """Poker hands as Parquet and CSV."""
    folder = tmp_path_factory.mktemp("hands")
    X, y = poker_hand(3000, seed=0, return_X_y=True)
    plain = pa.table({name: X.column(name).cast(pa.string()) for name in X.column_names})
    table = plain.append_column("hand", pa.array([f"hand {k}" for k in y]))
    pq.write_table(table, folder / "hands.parquet")
    pa_csv.write_csv(table, folder / "hands.csv")
    return folder


@pytest.mark.parametrize("model", CLASSES)
def test_every_model_is_fitted_and_predicts(hands, tmp_path, model):
    out, found = tmp_path / "m.dbl", tmp_path / "found.parquet"
    depth = ("-n", 1) if model not in ("tan",) else ()
    result = run(
        "fit", hands / "hands.parquet", "--target", "hand", "--model", model, *depth, "-o", out
    )
    assert result.exit_code == 0, result.output
    assert "3,000" in result.output
    result = run("predict", out, hands / "hands.parquet", "-o", found, "--proba")
    assert result.exit_code == 0, result.output
    table = pq.read_table(found)
    loaded = deepbroad.load(out)
    assert table.num_rows == 3000
    assert table.column_names[0] == "prediction"
    np.testing.assert_array_equal(
        table.column("prediction").to_numpy(), loaded.predict(hands / "hands.parquet")
    )
    first = table.column(f"P({loaded.classes_[0]})").to_numpy()
    np.testing.assert_allclose(first, loaded.predict_proba(hands / "hands.parquet")[:, 0])


def test_csv_and_parquet_give_the_same_model(hands, tmp_path):
    outs = [tmp_path / "csv.dbl", tmp_path / "parquet.dbl"]
    for name, out in zip(("hands.csv", "hands.parquet"), outs, strict=True):
        result = run("fit", hands / name, "--target", "hand", "-n", 2, "--alpha", 1, "-o", out)
        assert result.exit_code == 0, result.output
    models = [deepbroad.load(out) for out in outs]
    X = pq.read_table(hands / "hands.parquet").drop_columns(["hand"])
    # Ranks are numbers to CSV, which cannot tell them from text.
    assert models[0].classes_.tolist() == models[1].classes_.tolist()
    assert models[1].score(X, pq.read_table(hands / "hands.parquet").column("hand")) > 0.5


def test_the_summary_is_json_for_machines(hands, tmp_path):
    result = run(
        "fit", hands / "hands.parquet", "--target", "hand", "-n", 1, "--alpha", "1", "-o",
        tmp_path / "m.dbl", "--json",
    )  # fmt: skip
    summary = json.loads(result.stdout)
    assert summary["model"] == "DBLClassifier"
    assert summary["rows"] == 3000
    assert summary["attributes"] == 10
    assert summary["status"] == "converged"
    assert summary["bytes"] == (tmp_path / "m.dbl").stat().st_size


def test_predictions_go_to_the_screen_as_csv(hands, tmp_path):
    out = tmp_path / "m.dbl"
    assert (
        run("fit", hands / "hands.csv", "--target", "hand", "--model", "anje", "-o", out).exit_code
        == 0
    )
    result = run("predict", out, hands / "hands.csv")
    lines = result.stdout.splitlines()
    assert lines[0] == '"prediction"'
    assert len(lines) == 3001


def test_quiet_prints_nothing(hands, tmp_path):
    out = tmp_path / "m.dbl"
    result = run("fit", hands / "hands.csv", "--target", "hand", "--model", "anje", "-o", out, "-q")
    assert (result.exit_code, result.output) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.csv", "--target", "y"], "nothing.csv"),
        (["{hands}/hands.csv", "--target", "y"], "y"),
        (["{hands}/hands.csv", "--target", "hand", "-n", "two"], "-n takes a whole number"),
        (["{hands}/hands.csv", "--target", "hand", "--alpha", "x"], "--alpha takes a number"),
        (["{hands}/hands.csv", "--target", "hand", "-n", "99"], "use n <= 10"),
        (
            ["{hands}/hands.csv", "--target", "hand", "--model", "anje", "--alpha", "1"],
            "no --alpha",
        ),
        (["{hands}/hands.csv", "--target", "hand", "-o", "{hands}/no/m.dbl"], "no folder"),
        (["{hands}/hands.csv", "--target", "hand", "--memory-limit", "1kB"], "memory_limit"),
    ],
)
def test_errors_are_sentences(hands, tmp_path, arguments, message):
    given = [a.replace("{hands}", str(hands)) for a in arguments]
    if "-o" not in given:
        given += ["-o", str(tmp_path / "m.dbl")]
    result = run("fit", *given)
    assert result.exit_code == 1
    assert "Error: " in result.output
    assert message in flatten(result.output)
    assert "Traceback" not in result.output
    assert not (tmp_path / "m.dbl").exists()


def test_debug_shows_where_an_error_comes_from(tmp_path):
    result = run("fit", "nothing.csv", "--target", "y", "--debug")
    assert result.exit_code == 1
    assert "Traceback" in result.output


def test_a_file_that_is_no_model_is_refused(hands, tmp_path):
    fake = tmp_path / "fake.dbl"
    fake.write_bytes(b"nothing of the kind")
    result = run("predict", fake, hands / "hands.csv")
    assert result.exit_code == 1
    assert "Error: " in result.output


def test_an_ending_that_tells_no_format_is_refused(hands, tmp_path):
    result = run("predict", tmp_path / "m.dbl", hands / "hands.csv", "-o", "found.xyz")
    assert result.exit_code == 1
    assert ".parquet" in result.output


def test_warnings_are_lines_of_their_own(hands, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        result = run(
            "fit", hands / "hands.parquet", "--target", "hand", "-n", 2, "--alpha", "0.01",
            "--max-iter", 1, "-o", tmp_path / "m.dbl",
        )  # fmt: skip
    assert result.exit_code == 0
    assert "Warning: DBLClassifier reached max_iter=1" in flatten(result.output)


@pytest.mark.parametrize("file", ["hands.csv", "hands.parquet"])
def test_what_is_read_is_never_written_over(hands, tmp_path, file):
    table, model = tmp_path / file, tmp_path / "m.dbl"
    table.write_bytes((hands / file).read_bytes())
    fit = ["fit", table, "--target", "hand", "--model", "anje", "-n", 1, "-o"]
    assert run(*fit, model).exit_code == 0
    before = table.read_bytes(), model.read_bytes()
    for arguments in (
        [*fit, table],
        ["predict", model, table, "-o", table],
        ["predict", model, tmp_path, "-o", tmp_path / "found.csv"],
        ["report", model, table, "--target", "hand", "-o", table],
        ["export", model, "--to", "json", "-o", model],
    ):
        result = run(*arguments)
        assert result.exit_code == 1
        assert "give another file" in flatten(result.output)
    assert (table.read_bytes(), model.read_bytes()) == before


def test_a_folder_is_no_file_to_write_to(hands, tmp_path):
    result = run("fit", hands / "hands.csv", "--target", "hand", "-o", tmp_path)
    assert result.exit_code == 1
    assert "is a folder" in flatten(result.output)
