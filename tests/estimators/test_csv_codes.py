"""Codes in CSV that look like numbers stay apart, in training and wherever the model is applied."""

import numpy as np
import pandas as pd
import pytest

from deepbroad import AnJEClassifier
from tests.cli.commands import succeed


def write(path, zips, labels=("no", "yes"), copies=20):
    """Write rows whose class depends on how the number is spelled."""
    rows = [f"{zips[i % 2]},{labels[i % 2]}" for i in range(2 * copies)]
    path.write_text("\n".join(["zip,y", *rows]) + "\n")
    return path


def fit(path, named=("zip",)):
    return AnJEClassifier(n=1, categorical_features=list(named) or "auto").fit(path, "y")


@pytest.mark.parametrize(
    "zips", [("7", "007"), ("1.1", "1.10"), ("9007199254740993", "9007199254740992")]
)
def test_named_categories_are_told_apart_as_they_are_written(tmp_path, zips):
    path = write(tmp_path / "t.csv", zips)
    model = fit(path)
    assert len(model.attributes_["zip"]) == 2
    assert model.score(path, "y") == 1
    assert model.predict(path).tolist() == ["no", "yes"] * 20
    later = write(tmp_path / "later.csv", zips[::-1])
    assert model.predict(later).tolist() == ["yes", "no"] * 20


def test_named_categories_that_are_plain_numbers_are_the_numbers_of_tables_in_memory(tmp_path):
    model = fit(write(tmp_path / "t.csv", ("7", "8")))
    in_memory = model.predict(pd.DataFrame({"zip": [8, 7]}))
    assert in_memory.tolist() == ["yes", "no"]


def test_a_category_of_whole_numbers_is_read_as_such_whatever_else_a_file_holds(tmp_path):
    model = fit(write(tmp_path / "t.csv", ("7", "8")))
    unseen = model.predict_proba(pd.DataFrame({"zip": [99]}))[0]
    for other in ("x", "1.5", "007"):
        found = model.predict_proba(write(tmp_path / "other.csv", ("8.0", other)))
        np.testing.assert_array_equal(found[1], unseen)
        assert found[0].argmax() == 1


def test_commands_tell_named_categories_apart(tmp_path):
    path = write(tmp_path / "t.csv", ("7", "007"))
    model, out = tmp_path / "m.dbl", tmp_path / "p.csv"
    options = ("--target", "y", "--categorical", "zip")
    succeed("fit", path, *options, "--model", "anje", "-n", 1, "-o", model)
    succeed("predict", model, path, "-o", out)
    assert pd.read_csv(out)["prediction"].tolist() == ["no", "yes"] * 20
    assert "007" in succeed("explain", model, path, "--row", 1)
    found = succeed("evaluate", path, *options, "--models", "anje1", "--cv", 2, "--json")
    assert '"error": 0.0' in found


def test_classes_are_told_apart_as_they_are_written(tmp_path):
    path = write(tmp_path / "t.csv", ("a", "b"), ("1", "01"))
    model = fit(path)
    assert model.classes_.tolist() == ["01", "1"]
    assert model.predict(path).tolist() == ["1", "01"] * 20
    assert model.score(path, "y") == 1
    found = succeed("evaluate", path, "--target", "y", "--models", "anje1", "--cv", 2, "--json")
    assert '"error": 0.0' in found


def test_numbers_that_begin_with_a_zero_are_codes(tmp_path):
    path = write(tmp_path / "t.csv", ("7", "007"))
    model = fit(path, named=())
    assert model.attributes_["zip"] == ["007", "7"]
    assert model.score(path, "y") == 1


def test_a_model_of_numbers_reads_those_that_begin_with_a_zero_as_numbers(tmp_path):
    model = fit(write(tmp_path / "t.csv", ("7", "8")), named=())
    assert model.predict(write(tmp_path / "u.csv", ("007", "08"))).tolist() == ["no", "yes"] * 20
