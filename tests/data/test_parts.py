"""Rows in several parts are the same rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.data.parts import join_pairwise
from deepbroad.data.source import ArraySource
from tests.parted import Parts


def numbered(n_rows, weights=None):
    codes = np.arange(n_rows, dtype=np.uint16)[None]
    return ArraySource(codes, np.arange(n_rows) % 3, 3, np.array([n_rows]), weights)


@given(st.data())
def test_taking_rows_does_not_see_parts(data):
    n_rows = data.draw(st.integers(1, 30))
    bounds = sorted(data.draw(st.sets(st.integers(1, max(n_rows - 1, 1)), max_size=4)))
    source = numbered(n_rows, data.draw(st.sampled_from([None, np.arange(n_rows) + 0.5])))
    parts = Parts.of(source, [b for b in bounds if b < n_rows])
    rows = np.array(sorted(data.draw(st.sets(st.integers(0, n_rows - 1)))), np.int64)
    expected, found = source.take(rows), parts.take(rows)
    np.testing.assert_array_equal(found.codes, expected.codes)
    np.testing.assert_array_equal(found.labels, expected.labels)
    if source.weights is not None:
        np.testing.assert_array_equal(found.weights, expected.weights)


@pytest.mark.parametrize("count", [10, 40, 100])
def test_rows_of_weight_are_drawn_from_all_parts(count):
    weights = np.arange(90) % 3.0
    parts = Parts.of(numbered(90, weights), [10, 11, 50])
    drawn = parts.draw(count, np.random.default_rng(0))
    rows = drawn.codes[0].astype(int)
    assert len(rows) == min(count, 60) == parts.draw(count, np.random.default_rng(1)).n_rows
    assert (np.diff(rows) > 0).all()
    assert (rows % 3 > 0).all()


def test_facts_are_those_of_all_rows():
    parts = Parts.of(numbered(90, np.arange(90) % 3.0), [10, 11, 50])
    assert (parts.n_rows, parts.n_given, parts.n_weighted) == (90, 90, 60)
    assert parts.is_weighted
    assert not parts.resident
    assert parts.n_classes == 3


@given(st.lists(st.text(max_size=2), min_size=1))
def test_results_are_joined_in_order(texts):
    assert join_pairwise(texts, str.__add__) == "".join(texts)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("count", [1, 20, 59, 1000])
def test_parts_draw_the_rows_that_one_source_does(count, weighted):
    weights = np.where(np.arange(80) % 4, 1.5, 0.0) if weighted else None
    source = numbered(80, weights)
    expected = source.draw(count, np.random.default_rng(3))
    found = Parts.of(source, [5, 6, 50]).draw(count, np.random.default_rng(3))
    np.testing.assert_array_equal(found.codes, expected.codes)
    np.testing.assert_array_equal(found.labels, expected.labels)
