"""JSON alone is enough to predict what Python predicts."""

import json

import pytest
from hypothesis import given

import deepbroad
from deepbroad import AnJEClassifier
from tests.export.engines import assert_agrees, run_json
from tests.export.small_models import compact_model, cut_model, fitted, nested_model


@given(case=fitted())
def test_probabilities_are_those_of_python(case):
    data = json.loads(json.dumps(deepbroad.export(case.model, to="json"), allow_nan=False))
    # A category of dates has an object for each value.
    for column in data["columns"]:
        values = column.get("values", [])
        column["values"] = [v["datetime"] if isinstance(v, dict) else v for v in values]
    assert_agrees(run_json(data, case.table), case.model, case.table, tolerance=1e-9)


def test_compact_tables_have_scores_for_all_other_tuples(tmp_path):
    model, table = compact_model()
    path = tmp_path / "model.json"
    assert deepbroad.export(model, path, to="json") is None
    data = json.loads(path.read_bytes())
    assert (data["format"], data["version"]) == ("deepbroad", 1)
    assert any(any(term["otherwise"]) for term in data["terms"])
    assert_agrees(run_json(data, table), model, table, tolerance=1e-9)


def test_a_number_on_a_cut_is_in_the_bin_above():
    model, table = cut_model()
    assert_agrees(run_json(deepbroad.export(model, to="json"), table), model, table, tolerance=1e-9)


def test_several_resolutions_of_a_number_are_all_looked_up():
    model, table = nested_model()
    data = deepbroad.export(model, to="json")
    assert [column["attribute"] for column in data["columns"]].count("u") > 1
    assert_agrees(run_json(data, table), model, table, tolerance=1e-9)


def test_a_missing_folder_is_named(tmp_path):
    model = AnJEClassifier(n=1).fit([["a"], ["b"]], [0, 1])
    with pytest.raises(FileNotFoundError, match="no folder"):
        deepbroad.export(model, tmp_path / "none" / "m.json", to="json")
