"""What the command line says of a model, of the automatic choice above all."""

import json

import numpy as np
import pandas as pd
import pytest

from deepbroad import DBLClassifier, load, save
from deepbroad.cli.summary import describe_model, format_value, tabulate
from tests.cli.commands import flatten, succeed

TOWNS = ["in_rome", "in_oslo", "in_bern"]


@pytest.fixture(scope="module")
def model_file(tmp_path_factory):
    """A model of one-hot columns, which the choice takes as one category."""
    rng = np.random.default_rng(0)
    town, size = rng.integers(4, size=4000), rng.integers(3, size=4000)
    X = pd.DataFrame({name: (town == k).astype(int) for k, name in enumerate(TOWNS)})
    X["size"], X["kind"] = (
        pd.Series(size).map({0: "s", 1: "m", 2: "l"}),
        rng.choice(["a", "b"], 4000),
    )
    y = (town + size) % 2 ^ (rng.random(4000) < 0.1)
    path = tmp_path_factory.mktemp("models") / "m.dbl"
    save(DBLClassifier(random_state=0).fit(X, y), path)
    return path


def test_columns_that_were_taken_as_one_are_told(model_file):
    found = json.loads(succeed("info", model_file, "--json"))
    assert [sorted(names) for names in found["taken as one"]] == [sorted(TOWNS)]
    assert found["taken as one"] == load(model_file).selection_["joined"]
    assert f"taken as one {', '.join(found['taken as one'][0])}" in flatten(
        succeed("info", model_file)
    )


def test_tilings_and_what_was_not_tried_are_told(model_file):
    model = load(model_file)
    assert "tilings" not in describe_model(model)
    model.selection_ |= {"tiled": True, "skipped": {"3": "memory", "tilings": "time"}}
    found = describe_model(model)
    assert (found["tilings"], found["not tried"]) == (True, {"3": "memory", "tilings": "time"})
    cells = [list(map(str, column.cells)) for column in tabulate(found).columns]
    shown = dict(zip(*cells, strict=True))
    assert shown["tilings"] == "yes"
    assert shown["not tried"] == "3 (memory); tilings (time)"


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


def test_numbers_cut_by_the_class_and_copies_are_told(model_file):
    model = load(model_file)
    assert {"cuts by the class", "rows that are copies"}.isdisjoint(describe_model(model))
    cuts = {"age": ["< 30", ">= 30"], "pay": ["< 5", ">= 5"]}
    model.selection_ |= {"by_class": True, "cuts": cuts, "copies": 1200}
    found = describe_model(model)
    assert found["cuts by the class"] == ["age", "pay"]
    assert format_value(found["cuts by the class"]) == "age, pay"
    assert found["rows that are copies"] == 1200
    del model.selection_["cuts"]  # as in older files
    assert describe_model(model)["cuts by the class"] is True
