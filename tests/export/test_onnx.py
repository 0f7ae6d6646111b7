"""ONNX graphs give the probabilities of Python."""

import sys

import pyarrow as pa
import pytest
from hypothesis import given

import deepbroad
from deepbroad import AnJEClassifier
from deepbroad.export import onnx as onnx_export
from tests.export.engines import assert_agrees, run_onnx
from tests.export.small_models import compact_model, cut_model, fitted, nested_model


@given(case=fitted())
def test_probabilities_are_those_of_python(case):
    assert_agrees(run_onnx(case.model, case.table), case.model, case.table)


@pytest.mark.parametrize("small", [0, 4096, 10**6])
def test_sparse_and_dense_tables_give_the_same(monkeypatch, small):
    monkeypatch.setattr(onnx_export, "SMALL", small)
    monkeypatch.setattr(onnx_export, "SPARSE", 0)
    monkeypatch.setattr(onnx_export, "CHUNK", 2)
    model, table = compact_model()
    assert_agrees(run_onnx(model, table), model, table)


def test_a_number_on_a_cut_is_in_the_bin_above():
    model, table = cut_model()
    assert_agrees(run_onnx(model, table), model, table)


def test_several_resolutions_of_a_number_are_all_looked_up():
    model, table = nested_model()
    assert_agrees(run_onnx(model, table), model, table)


def test_columns_may_have_the_names_of_outputs():
    table = pa.table({"label": ["a", "b"] * 3, "deepbroad/1": ["p", "p", "q"] * 2})
    model = AnJEClassifier(n=1).fit(table, [0, 1] * 3)
    assert_agrees(run_onnx(model, table), model, table)


def test_a_file_is_a_valid_model(tmp_path):
    onnx = pytest.importorskip("onnx")
    model, _ = compact_model()
    deepbroad.export(model, tmp_path / "m.onnx", to="onnx")
    loaded = onnx.load(tmp_path / "m.onnx")
    onnx.checker.check_model(loaded)
    assert {node.domain for node in loaded.graph.node} <= {"", "ai.onnx.ml"}
    assert [given.name for given in loaded.graph.input] == ["a", "b", "c"]
    assert [given.name for given in loaded.graph.output] == ["label", "probabilities"]


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    model = AnJEClassifier(n=1).fit([["a"], ["b"]], [0, 1])
    with pytest.raises(ImportError, match=r"deepbroad\[onnx\]"):
        deepbroad.export(model, to="onnx")


def test_a_column_without_a_name_is_refused():
    pytest.importorskip("onnx")
    model = AnJEClassifier(n=1).fit(pa.table({"": ["a", "b"]}), [0, 1])
    with pytest.raises(ValueError, match="without a name"):
        deepbroad.export(model, to="onnx")
