"""`deepbroad evaluate`, as a user types it."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss, roc_auc_score

from deepbroad import LRClassifier
from deepbroad.cli.evaluate import Scheme, read_rows
from tests.cli.commands import flatten, loans, run, succeed


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("loans") / "loans.parquet"
    loans().to_parquet(path)
    return path


def test_measures_are_means_over_the_same_folds(table):
    arguments = ("--target", "paid", "--models", "lr1,anje,rf", "--cv", "2x3", "--seed", 5)
    found = json.loads(succeed("evaluate", table, *arguments, "--json"))
    assert (found["rows"], found["rounds"], found["folds"]) == (300, 2, 3)
    assert list(found["models"]) == ["lr1", "anje", "rf"]
    X, y = read_rows(table, "paid", [])
    errors, losses, areas = [], [], []
    for train, test in Scheme(2, 3).splits(y, 5):
        model = LRClassifier(n=1).fit(X.take(train), y[train])
        p = model.predict_proba(X.take(test))
        errors.append(1 - model.score(X.take(test), y[test]))
        losses.append(log_loss(y[test], p))
        areas.append(roc_auc_score(y[test], p[:, 1]))
    own = found["models"]["lr1"]
    assert own["error"] == pytest.approx(np.mean(errors))
    assert own["log_loss"] == pytest.approx(np.mean(losses), rel=1e-6)
    assert own["auc"] == pytest.approx(np.mean(areas))
    assert own["fit_seconds"] > 0


def test_people_get_a_table(table):
    printed = succeed("evaluate", table, "--target", "paid", "--models", "anje,tan", "--cv", "2")
    for text in ("anje", "tan", "error", "log loss", "AUC", "fit (s)", "300 rows, 2 folds"):
        assert text in flatten(printed)


def test_quiet_leaves_the_result(table):
    arguments = ("evaluate", table, "--target", "paid", "--models", "anje", "--cv", "2")
    loud, quiet = run(*arguments), run(*arguments, "--quiet")
    assert "300 rows, 2 folds" in quiet.stdout
    assert quiet.stderr == ""
    assert quiet.stdout.split()[:10] == loud.stdout.split()[:10]


def test_columns_can_be_chosen(table):
    options = ("--numeric", "debt", "--categorical", "zip", "--drop", "age")
    arguments = ("--target", "paid", "--models", "anje1,rf", "--cv", "2", "--json", *options)
    chosen = json.loads(succeed("evaluate", table, *arguments))["models"]
    plain = json.loads(succeed("evaluate", table, *arguments[:7]))["models"]
    assert chosen["anje1"]["log_loss"] != plain["anje1"]["log_loss"]
    assert chosen["rf"]["log_loss"] != plain["rf"]["log_loss"]


def test_the_forest_sees_dates_as_numbers(tmp_path):
    days = np.random.default_rng(0).permutation(400)
    dates = np.datetime64("2019-06-01") + days
    path = tmp_path / "t.csv"
    pd.DataFrame({"date": dates, "y": np.where(days < 200, "old", "new")}).to_csv(path, index=False)
    found = json.loads(
        succeed("evaluate", path, "--target", "y", "--models", "rf", "--cv", 2, "--json")
    )
    assert found["models"]["rf"]["error"] < 0.02


def test_folds_divide_every_row_once_a_round():
    y = np.array([0, 1] * 10)
    tests = [test for _, test in Scheme.read("3x2").splits(y, 0)]
    assert len(tests) == 6
    for first, second in zip(tests[::2], tests[1::2], strict=True):
        assert sorted([*first, *second]) == list(range(20))
        assert y[first].mean() == 0.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--models", "svm"], "no model 'svm'"),
        (["--models", "tan3"], "has no --n"),
        (["--cv", "1"], "--cv takes folds"),
        (["--cv", "fivefold"], "--cv takes folds"),
        (["--categorical", "height"], "no column 'height'"),
    ],
)
def test_errors_are_sentences(table, arguments, message):
    result = run("evaluate", table, "--target", "paid", *arguments)
    assert result.exit_code == 1
    assert message in flatten(result.output)
    assert "Traceback" not in result.output


@pytest.mark.parametrize("models", ["", " , "])
def test_no_models_are_a_usage_error_that_lists_them(table, models):
    result = run("evaluate", table, "--target", "paid", "--models", models)
    assert result.exit_code == 2
    assert "--models" in result.output
    assert "dbl, lr, anje, ande, kdb, tan, rf" in flatten(result.output.replace("│", " "))


@pytest.mark.parametrize("folds", ["200", "5x200", "301"])
def test_more_folds_than_rows_are_refused(table, folds):
    result = run("evaluate", table, "--target", "paid", "--models", "anje1", "--cv", folds)
    assert result.exit_code == 1
    most = loans()["paid"].value_counts().max()
    expected = f"--cv {folds} wants {folds[-3:]} folds, and no class has more than {most} rows"
    assert expected in flatten(result.output)
    assert "each class needs as many rows as there are folds" in flatten(result.output)


def test_numbers_are_no_classes(tmp_path):
    loans().assign(paid=lambda t: t["age"] / 7).to_csv(tmp_path / "t.csv", index=False)
    for command in ("fit", "evaluate"):
        result = run(command, tmp_path / "t.csv", "--target", "paid")
        assert result.exit_code == 1
        assert "column 'paid' cannot be the classes" in flatten(result.output)
        assert "regression" in flatten(result.output)


def test_rows_without_a_class_are_refused(tmp_path):
    loans().assign(paid=lambda t: t["paid"].where(t.index > 3)).to_parquet(tmp_path / "t.parquet")
    result = run("evaluate", tmp_path / "t.parquet", "--target", "paid")
    assert result.exit_code == 1
    assert "Some rows have no paid" in flatten(result.output)
