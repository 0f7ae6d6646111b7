"""What columns are can be said: categories, numbers, or nothing of interest."""

import json

import numpy as np
import pandas as pd
import pytest

import deepbroad
from deepbroad.data.chosen_files import ChosenFiles
from deepbroad.data.files import open_files
from tests.cli.commands import flatten, loans, run, succeed


@pytest.fixture(params=["csv", "parquet"])
def table(tmp_path, request):
    path = tmp_path / f"loans.{request.param}"
    loans().to_csv(path, index=False) if request.param == "csv" else loans().to_parquet(path)
    return path


def columns_of(table, *options):
    out = table.parent / "m.dbl"
    succeed("fit", table, "--target", "paid", "--model", "anje", "-n", 1, "-o", out, *options)
    found = json.loads(succeed("info", out, "--json"))
    return {one["name"]: one["kind"] for one in found["columns"]}, deepbroad.load(out)


def test_columns_are_what_they_are_said_to_be(table):
    plain, _ = columns_of(table)
    assert plain == {"age": "number", "job": "category", "zip": "number", "debt": "category"}
    options = ("--numeric", "debt", "--categorical", "zip", "--drop", "job", "--drop", "age")
    chosen, _ = columns_of(table, *options)
    assert chosen == {"zip": "category", "debt": "number"}


def test_a_model_of_chosen_columns_predicts_the_files_that_it_came_from(table):
    _, model = columns_of(table, "--numeric", "debt", "--drop", "job")
    frame = loans().drop(columns=["job", "paid"])
    frame["debt"] = pd.to_numeric(frame["debt"], errors="coerce")
    np.testing.assert_array_equal(model.predict_proba(table), model.predict_proba(frame))


def test_numbers_that_begin_a_file_may_be_followed_by_words(tmp_path):
    frame = loans(40_000)
    frame.loc[:39_000, "debt"] = "17"
    frame.assign(long="x" * 60).to_csv(tmp_path / "t.csv", index=False)
    files = open_files(ChosenFiles(tmp_path / "t.csv", ("long",), ("debt",)), y="paid")
    X, _ = files.read()
    expected = pd.to_numeric(frame["debt"], errors="coerce").to_numpy()
    np.testing.assert_array_equal(X["debt"].to_numpy(), expected)
    assert "long" not in X.column_names


def test_labels_may_begin_as_numbers_and_go_on_as_words(tmp_path):
    parts = tmp_path / "parts"
    parts.mkdir()
    for label, part in loans().replace({"paid": {"yes": "1"}}).groupby("paid"):
        part.to_csv(parts / f"{label}.csv", index=False)
    fit = ("--target", "paid", "--model", "anje", "-n", 1, "-o", tmp_path / "m.dbl")
    succeed("fit", parts, *fit)
    assert deepbroad.load(tmp_path / "m.dbl").classes_.tolist() == ["1", "no"]
    succeed("evaluate", parts, "--target", "paid", "--models", "anje1", "--cv", 2)
    succeed("report", tmp_path / "m.dbl", parts, "--target", "paid", "-o", tmp_path / "r.html")


def test_a_column_of_words_alone_is_still_no_number(tmp_path):
    loans().to_csv(tmp_path / "t.csv", index=False)
    model = deepbroad.AnJEClassifier(n=1).fit(tmp_path / "t.csv", "paid")
    loans().assign(age="old").to_csv(tmp_path / "words.csv", index=False)
    with pytest.raises(ValueError, match="must hold numbers"):
        model.predict(tmp_path / "words.csv")


@pytest.mark.parametrize("option", ["--drop", "--numeric", "--categorical"])
def test_columns_that_are_not_there_are_refused(table, option):
    result = run("fit", table, "--target", "paid", "-n", 1, option, "height")
    assert result.exit_code == 1
    assert "height" in flatten(result.output)
    assert "Traceback" not in result.output


@pytest.mark.parametrize("command", ["fit", "evaluate"])
@pytest.mark.parametrize(
    ("options", "roles"),
    [
        (("--drop", "paid"), "--target and --drop"),
        (("--numeric", "paid"), "--target and --numeric"),
        (("--categorical", "paid"), "--target and --categorical"),
        (("--numeric", "zip", "--categorical", "zip"), "--numeric and --categorical"),
        (("--drop", "zip", "--categorical", "zip"), "--drop and --categorical"),
        (("--drop", "zip", "--numeric", "zip"), "--drop and --numeric"),
    ],
)
def test_one_column_is_not_given_to_two_options(table, command, options, roles):
    result = run(command, table, "--target", "paid", *options)
    assert result.exit_code == 2
    said = flatten(result.output.replace("│", " "))
    assert f"Column {options[-1]!r} is given to {roles}; leave one of them out." in said


@pytest.mark.parametrize(
    ("options", "roles"),
    [
        (("--drop", "zip"), "--weight and --drop"),
        (("--categorical", "zip"), "--weight and --categorical"),
    ],
)
def test_weights_are_nothing_else(table, options, roles):
    result = run("fit", table, "--target", "paid", "--weight", "zip", *options)
    assert result.exit_code == 2
    said = flatten(result.output.replace("│", " "))
    assert f"Column 'zip' is given to {roles}; leave one of them out." in said


def test_classes_are_no_weights(table):
    result = run("fit", table, "--target", "zip", "--weight", "zip")
    assert result.exit_code == 2
    assert "--target and --weight" in flatten(result.output)


def test_texts_can_be_read_as_weights(tmp_path):
    loans().astype({"zip": str}).to_parquet(tmp_path / "t.parquet")
    columns, _ = columns_of(tmp_path / "t.parquet", "--weight", "zip", "--numeric", "zip")
    assert "zip" not in columns


@pytest.mark.parametrize(
    "options",
    [
        ["--target", "subscribe"],
        ["--target", "paid", "--drop", "subscribe"],
        ["--target", "paid", "--numeric", "subscribe"],
        ["--target", "paid", "--categorical", "subscribe"],
        ["--target", "paid", "--weight", "subscribe"],
    ],
)
def test_the_column_that_was_probably_meant_is_offered(tmp_path, options):
    wide = pd.DataFrame({f"column {i}": ["a", "b"] * 10 for i in range(30)})
    wide.assign(paid=["yes", "no"] * 10, subscribed=1).to_csv(tmp_path / "wide.csv", index=False)
    result = run("fit", tmp_path / "wide.csv", *options, "-o", tmp_path / "m.dbl")
    assert result.exit_code == 1
    message = flatten(result.output)
    assert "Did you mean 'subscribed'? All columns: 'column 0', 'column 1', " in message
    assert " more." in message
    if "--weight" not in options:
        command = run("evaluate", tmp_path / "wide.csv", "--models", "anje", *options)
        assert "Did you mean 'subscribed'?" in flatten(command.output)
