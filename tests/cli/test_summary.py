"""What the command line says of a model, of the automatic choice above all."""

import copy
import json

import numpy as np
import pandas as pd
import pytest

from deepbroad import DBLClassifier, save
from deepbroad.cli.summary import describe_model, format_value, tabulate
from tests.cli.commands import flatten, succeed


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.choice(list("sml"), 300), "kind": rng.choice(["a", "b"], 300)})
    return DBLClassifier(n=2).fit(X, (X["size"] == "s") ^ (X["kind"] == "a"))


def test_a_model_that_was_chosen_has_the_depth_and_tables_of_its_recipe(model, tmp_path):
    save(model, tmp_path / "m.dbl")
    found = json.loads(succeed("info", tmp_path / "m.dbl", "--json"))
    assert (found["n"], found["tables"]) == (model.recipe_.depth, len(model.recipe_.tables))
    assert found["held-out loss"] == model.selection_["loss"]
    assert "alpha" not in found
    assert f"tables {found['tables']}" in flatten(succeed("info", tmp_path / "m.dbl"))


def test_given_settings_are_told(model):
    X, y = [["a", "b"], ["b", "a"]] * 5, [0, 1] * 5
    found = describe_model(DBLClassifier(n=1, alpha=2.0).fit(X, y))
    assert (found["n"], found["alpha"]) == (1, 2.0)
    assert {"tables", "held-out loss"}.isdisjoint(found)


def test_what_was_not_tried_is_told(model):
    model = copy.copy(model)
    model.selection_ = {**model.selection_, "skipped": {"3": "memory", "tilings": "time"}}
    found = describe_model(model)
    cells = [list(map(str, column.cells)) for column in tabulate(found).columns]
    assert dict(zip(*cells, strict=True))["not tried"] == "3 (memory); tilings (time)"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1234567, "1,234,567"),
        (0.123456789, "0.123457"),
        (False, "no"),
        ([], ""),
        ([["a", "b"], ["c"]], "a, b; c"),
        (list(range(12)), "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ... (12)"),
    ],
)
def test_values_are_as_people_read_them(value, text):
    assert format_value(value) == text
