"""Fewer code columns: the codes are those that the chosen cut points give to the raw table."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.data.code_column import NumberColumn
from deepbroad.data.code_store import CodeStore
from deepbroad.data.cuts import cuts_of_edges
from deepbroad.data.encoding import Encoding
from deepbroad.data.narrowing import narrow_part
from deepbroad.data.sketch import SketchRules, sketch_table
from deepbroad.data.table import read_table
from deepbroad.kernels.threads import Threads
from tests.data.test_encoding import LAW, STRANGERS, fit, tables
from tests.parted import Parts


def draw_edges(data, encoding):
    """Draw some resolutions of some numbers, as lists."""
    edges = {}
    for own in encoding.owned:
        if isinstance(own[0], NumberColumn):
            cuts = [column.cuts.tolist() for column in own]
            chosen = data.draw(st.lists(st.sampled_from(cuts), max_size=3, unique_by=tuple))
            if chosen:
                edges[own[0].name] = chosen
    return edges


@STRANGERS
@LAW
@given(tables(), st.integers(1, 4), st.data())
def test_narrowed_codes_are_those_of_the_raw_table_by_the_same_edges(case, levels, data):
    train, test, labels, weights = case
    wide, codes = fit(train, labels, weights, levels=levels)
    edges = draw_edges(data, wide)
    expected, expected_codes = fit(train, labels, weights, edges=edges)
    narrow, narrowing = wide.narrowed(edges)
    assert narrow.to_dict() == expected.to_dict()
    source = wide.as_source(codes, labels, weights, 2)
    found = source.convert(narrow_part, narrowing, threads=Threads(1))
    np.testing.assert_array_equal(found.codes, expected_codes)
    assert found.codes.dtype == expected_codes.dtype
    np.testing.assert_array_equal(found.cardinalities, expected.cardinalities)
    np.testing.assert_array_equal(found.attributes, expected.attributes)
    np.testing.assert_array_equal(found.weights, weights)
    assert narrow.narrowed(edges)[1].is_identity
    np.testing.assert_array_equal(
        narrow.encode(read_table(test)), expected.encode(read_table(test))
    )


@STRANGERS
@LAW
@given(tables(), st.integers(1, 3), st.data())
def test_a_sketch_gives_the_encoding_of_given_edges_too(case, levels, data):
    train, _, labels, weights = case
    edges = draw_edges(data, fit(train, labels, weights, levels=levels)[0])
    expected, _ = fit(train, labels, weights, edges=edges)
    sketch = sketch_table(read_table(train), labels, weights, SketchRules())
    assert sketch.finish(edges=edges).encoding.to_dict() == expected.to_dict()


def numbers(rows=300):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=rows), "y": rng.random(rows), "c": ["a", "b"] * 150})
    X.loc[::7, "x"] = np.nan
    return X


def test_a_number_has_its_resolutions_their_union_or_one_bin():
    wide, _ = fit(numbers(), levels=6)
    x = wide.owned[0]
    edges = {"x": [x[0].cuts.tolist(), x[1].cuts.tolist()]}
    narrow, narrowing = wide.narrowed(edges)
    first, second, union = (column.cuts.tolist() for column in narrow.owned[0])
    assert [first, second] == edges["x"]
    assert union == sorted({*first, *second})
    assert narrow.value_names(3) == ["any"]
    assert narrow.value_names(4) == ["a", "b"]
    assert not narrowing.is_identity
    assert narrow.finest_of([0, 1]) == 2


def test_codes_become_narrow_in_files_and_in_parts():
    X = numbers()
    wide, codes = fit(X, levels=6)
    labels = np.arange(300) % 2
    edges = {"y": [wide.owned[1][3].cuts.tolist()]}
    narrow, narrowing = wide.narrowed(edges)
    expected = fit(X, edges=edges)[1]
    with CodeStore() as store, Threads(2) as threads:
        source = wide.as_source(codes, labels, None, 2, store)
        found = source.convert(narrow_part, narrowing, threads=threads)
        assert not found.resident
        assert found.store is store
        np.testing.assert_array_equal(found.codes, expected)
        parts = Parts.of(wide.as_source(codes, labels, None, 2), [100, 150])
        several = parts.convert(narrow_part, narrowing, threads=threads)
        np.testing.assert_array_equal(np.hstack([part.codes for part in several.parts]), expected)
    assert narrow.dtype == np.uint8


def test_cut_points_that_an_encoding_has_not_are_refused():
    wide, _ = fit(numbers(), levels=2)
    with pytest.raises(ValueError, match="column 'x' has no such cut points"):
        wide.narrowed({"x": [[0.123]]})


def test_an_encoding_of_edges_does_not_depend_on_rows_or_labels():
    X = numbers()
    edges = {"x": [[0.0], [-1.0, 1.0]]}
    some, _ = Encoding.fit(read_table(X[:50]), np.zeros(50, int), 2, edges=edges)
    every, _ = Encoding.fit(read_table(X), np.arange(300) % 2, 2, edges=edges)
    assert some.to_dict() == every.to_dict()
    assert [len(own) for own in every.owned] == [3, 1, 1]


@given(st.lists(st.lists(st.integers(-5, 5), unique=True).map(sorted)))
def test_the_last_cuts_of_edges_are_all_of_them(resolutions):
    found = [cuts.tolist() for cuts in cuts_of_edges(resolutions)]
    every = sorted({cut for cuts in resolutions for cut in cuts})
    assert found[-1] == every
    assert found[: len(resolutions)] == resolutions
    assert len(found) <= len(resolutions) + 1
