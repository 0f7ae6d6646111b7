"""Rows in several parts are the same rows."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.data.parts import align_parts, gather, join_pairwise, view_rows
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


@given(st.lists(st.integers(1, 90), min_size=1, max_size=12), st.integers(1, 60))
def test_aligned_parts_are_the_same_rows_cut_at_multiples(lengths, step):
    total = sum(lengths)
    source = numbered(total, np.arange(total) + 0.5)
    edges = np.cumsum([0, *lengths])
    given = [view_rows(source, a, b) for a, b in pairwise(edges.tolist())]
    aligned = [
        gather([view_rows(given[p.part], p.begin, p.end) for p in pieces])
        for pieces in align_parts(lengths, step)
    ]
    for name in ("codes", "labels", "weights"):
        np.testing.assert_array_equal(getattr(gather(aligned), name), getattr(source, name))
    sizes = [part.n_rows for part in aligned]
    assert all(size % step == 0 for size in sizes[:-1])
    assert min(sizes) >= min(step, total)
    # A cut moves by half a step at most, and one that lies right stays.
    cuts = set(np.cumsum(sizes[:-1]).tolist())
    assert all(np.abs(edges - cut).min() <= step / 2 for cut in cuts)
    assert {
        edge for edge in edges[1:].tolist() if edge % step == 0 and edge <= total - step
    } <= cuts
