"""What sketches of parts find is what the whole table gives."""

import pickle
from functools import reduce
from random import Random

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.data.categorical import select_categorical
from deepbroad.data.encoding import Encoding
from deepbroad.data.labels import Labels
from deepbroad.data.sketch import (
    SketchRules,
    TableSketch,
    join_sketches,
    number_capacity,
    sketch_table,
)
from deepbroad.data.table import read_table
from deepbroad.data.target import Target
from deepbroad.data.weights import count_rows
from deepbroad.kernels.threads import Threads
from tests.data.test_number_sketch import merge_all
from tests.data.typed_tables import cases

pytestmark = pytest.mark.filterwarnings("ignore:Column .* in training it held")


def rules_of(case):
    return SketchRules(select_categorical(case.categorical, case.names), case.ignored)


def sketches_of(case, rows, convert=lambda table: table):
    """The sketch of each `rows` rows."""
    rules = rules_of(case)
    for begin in range(0, len(case.table), rows):
        part = case.table.slice(begin, rows)
        weights = None if case.weights is None else case.weights[begin : begin + rows]
        X, y = convert(part.select(case.names)), part["class"]
        yield sketch_table(read_table(X), y, weights, rules)


def assert_same(target: Target, encoding: Encoding, case):
    labels, expected, *_ = case.in_memory()
    assert encoding.to_dict() == expected.to_dict()
    assert target.labels.classes.dtype == labels.classes.dtype
    assert target.labels.classes.tolist() == labels.classes.tolist()


@given(cases(), st.integers(1, 14), st.randoms(use_true_random=False))
def test_sketches_of_parts_fit_the_encoding_of_the_whole(case, rows, random):
    sketches = [pickle.loads(pickle.dumps(sketch)) for sketch in sketches_of(case, rows)]
    sketch = merge_all(sketches, random)
    assert sketch.n_rows == len(case.table)
    assert sketch.is_exact
    for _ in range(2):
        encoding, target = sketch.finish(**case.finishing)
        assert_same(target, encoding, case)


@given(cases(), st.integers(1, 5))
def test_joined_sketches_are_left_as_they_are(case, rows):
    sketches = list(sketches_of(case, rows))
    before = [pickle.dumps(sketch) for sketch in sketches]
    nothing = TableSketch(case.names, rules_of(case))
    encoding, target = reduce(join_sketches, sketches, nothing).finish(**case.finishing)
    assert_same(target, encoding, case)
    assert [pickle.dumps(sketch) for sketch in sketches] == before


@given(cases(), st.integers(1, 14))
def test_labels_and_weights_of_parts_are_those_of_the_whole(case, rows):
    sketch = merge_all(list(sketches_of(case, rows)), Random(0))
    _, target = sketch.finish(**case.finishing)
    _, _, _, codes, weights = case.in_memory()
    found = [
        target.encode(
            case.table["class"].slice(begin, rows),
            None if case.weights is None else case.weights[begin : begin + rows],
        )
        for begin in range(0, len(case.table), rows)
    ]
    np.testing.assert_array_equal(np.concatenate([part[0] for part in found]), codes)
    assert found[0][0].dtype == codes.dtype
    if weights is None:
        assert all(part[1] is None for part in found)
    else:
        np.testing.assert_allclose(np.concatenate([part[1] for part in found]), weights, rtol=1e-15)


@given(cases(), st.integers(1, 14))
def test_parts_that_pandas_holds_fit_the_same_encoding(case, rows):
    frame = case.table.select(case.names).to_pandas()
    case = case._replace(
        table=pa.Table.from_pandas(frame, preserve_index=False)
        .append_column("class", case.table["class"])
        .append_column("weight", case.table["weight"])
    )
    typed = frame.dtypes.to_dict()
    sketches = sketches_of(case, rows, lambda part: part.to_pandas().astype(typed))
    encoding, _ = merge_all(list(sketches), Random(1)).finish(**case.finishing)
    expected, _ = Encoding.fit(
        read_table(frame),
        *_codes_and_weights(case),
        categorical_features=case.categorical,
        levels=case.finishing["count_levels"](_rows_of_weight(case)),
    )
    assert encoding.to_dict() == expected.to_dict()


def _codes_and_weights(case):
    labels, _, _, codes, weights = case.in_memory()
    return codes, labels.n_classes, weights


def _rows_of_weight(case):
    *_, weights = case.in_memory()
    return count_rows(weights, len(case.table))


@given(cases(min_rows=4))
def test_threads_change_nothing(case):
    rules = rules_of(case)
    with Threads(3) as threads:
        sketch = sketch_table(
            read_table(case.table.select(case.names)),
            case.table["class"],
            case.weights,
            rules,
            threads,
        )
    encoding, target = sketch.finish(**case.finishing)
    assert_same(target, encoding, case)


@pytest.mark.parametrize(
    "y",
    [
        np.array(["a", "bcd", "a", "xy"]),
        np.array([3, 1, 2, 1], dtype=np.int16),
        np.array([1, "a", 2, "b"], dtype=object),
        pd.Series(["x", "y", "x", "z"], dtype="category"),
        pd.Series([1, 2, 3, 1], dtype="Int64"),
        pd.to_datetime(pd.Series(["2020-01-02", "2020-01-01", "2020-01-02", "2020-01-03"])),
        pa.array(["b", "a", "b", "c"]).dictionary_encode(),
    ],
)
def test_classes_of_any_type_are_those_of_the_whole_column(y):
    X = read_table(np.arange(4.0)[:, None])
    rules = SketchRules()
    sketch = TableSketch(X.names, rules)
    for begin in (0, 2):
        part = read_table(np.arange(2.0)[:, None])
        sketch.merge(sketch_table(part, y[begin : begin + 2], None, rules))
    expected, _ = Labels.fit(y)
    found = sketch.finish().target.labels
    assert found.classes.dtype == expected.classes.dtype
    assert found.classes.tolist() == expected.classes.tolist()


def test_a_column_of_two_kinds_is_refused_unless_it_is_called_a_category():
    parts = [pa.table({"c": pa.array([1, 2])}), pa.table({"c": pa.array(["x", None])})]

    def sketch(order, categorical):
        rules = SketchRules(categorical)
        first, second = (sketch_table(read_table(parts[i]), ["a", "b"], None, rules) for i in order)
        first.merge(second)
        return first

    for order in ((0, 1), (1, 0)):
        with pytest.raises(
            ValueError, match=r"column 'c' holds .*numbers.* `categorical_features`"
        ):
            sketch(order, None)
        encoding = sketch(order, np.array([True])).finish().encoding
        assert encoding.value_names(0) == ["1", "2", "x", "missing"]


def test_numbers_and_dates_do_not_mix():
    rules = SketchRules()
    sketch = TableSketch(["c"], rules)
    sketch.merge(sketch_table(read_table(pa.table({"c": [1.0]})), ["a"], None, rules))
    dates = pa.table({"c": pa.array([0], pa.date32())})
    with pytest.raises(
        ValueError, match=r"holds numbers in some rows and dates without .* in others"
    ):
        sketch.merge(sketch_table(read_table(dates), ["a"], None, rules))


def test_stray_text_among_numbers_is_warned_of():
    mixed = pd.DataFrame({"c": pd.Series([*range(30), "?"], dtype=object)})
    sketch = sketch_table(read_table(mixed), np.arange(31) % 2, None, SketchRules())
    with pytest.warns(UserWarning, match="30 different numbers and text such as '\\?'"):
        sketch.finish()


def test_columns_must_be_the_same():
    rules = SketchRules()
    first, second = (
        sketch_table(read_table(pa.table({name: [1]})), ["a"], None, rules) for name in "ab"
    )
    with pytest.raises(ValueError, match="same columns"):
        first.merge(second)


def test_rows_without_any_weight_have_no_labels():
    X = read_table(np.zeros((2, 1)))
    sketch = sketch_table(X, [None, "a"], np.zeros(2), SketchRules())
    with pytest.raises(ValueError, match="every row has weight 0"):
        sketch.finish()


def test_values_past_the_limit_are_refused_by_name():
    words = pa.table({"few": ["a"] * 50, "many": [f"word {i}" for i in range(50)]})
    with pytest.raises(MemoryError, match="'many' has 50 different values"):
        sketch_table(read_table(words), ["a"] * 50, None, SketchRules(value_bytes=1000))


def test_capacity_follows_the_budget_and_is_kept():
    assert number_capacity(1e6, 1) > number_capacity(1e5, 1)
    assert number_capacity(1e8, 10) < number_capacity(1e8, 2)
    random = np.random.default_rng(0)
    budget = 400_000
    rules = SketchRules(capacity=number_capacity(budget, 2))
    sketch = TableSketch(["x0", "x1"], rules)
    for _ in range(20):
        part = read_table(random.standard_normal((1000, 2)))
        sketch.merge(sketch_table(part, random.integers(0, 2, 1000), None, rules))
        assert sketch.nbytes <= budget
    assert not sketch.is_exact
