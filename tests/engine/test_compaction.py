"""Which terms get compact tables, against the rule applied to one term after the other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.data.source import ArraySource
from deepbroad.engine import compaction
from deepbroad.engine.compaction import (
    CODE,
    LARGE_CARDINALITY,
    SMALL_TABLE,
    cell_bytes,
    choose_compact,
    must_be_compact,
)
from deepbroad.engine.sampling import MAX_SPACE
from deepbroad.kernels.threads import Threads
from deepbroad.model.terms import Terms

LARGE = st.sampled_from([1, 2, 40, LARGE_CARDINALITY, LARGE_CARDINALITY + 1, 5000, 70_000])


def is_hopeless(shape, rows):
    """Tell whether a term of this shape is compact whatever rows show."""
    space = int(np.prod(shape, dtype=object))
    if space > MAX_SPACE or space > max(SMALL_TABLE, 2 * rows):
        return True
    return len(shape) > 1 and max(shape) > LARGE_CARDINALITY and space > SMALL_TABLE


@given(
    st.lists(LARGE, min_size=1, max_size=4), st.sampled_from([1, 10**4, 10**6, 10**9]), st.data()
)
def test_terms_of_too_many_values_are_compact_whatever_rows_show(cardinalities, rows, data):
    columns = st.sets(st.integers(0, len(cardinalities) - 1), min_size=1, max_size=3)
    tuples = data.draw(st.lists(columns, min_size=1, max_size=6))
    terms = Terms.of([tuple(t) for t in tuples], np.array(cardinalities))
    expected = [
        is_hopeless([cardinalities[c] for c in terms.tuple(t)], rows) for t in range(len(terms))
    ]
    assert must_be_compact(terms, rows).tolist() == expected


def related_columns(rows=2000, n_classes=3, values=50):
    """Rows of two columns that are one, one that nearly is, and two that have nothing to do."""
    rng = np.random.default_rng(0)
    one = rng.integers(values, size=rows)
    near = np.where(rng.random(rows) < 0.7, one, rng.integers(values, size=rows))
    codes = np.stack([one, values - 1 - one, near, *rng.integers(values, size=(2, rows))])
    labels = rng.integers(n_classes, size=rows)
    return ArraySource(codes.astype(np.uint8), labels, n_classes, np.full(5, values))


def expected_choice(source, terms):
    """Return the choice by bytes: a code per row and the cells that rows show, or all cells."""
    per_cell = cell_bytes(source.n_classes)
    chosen = []
    for t in range(len(terms)):
        dense = int(terms.spaces[t]) * per_cell
        seen = len(set(zip(*source.codes[list(terms.tuple(t))].tolist(), strict=True)))
        chosen.append(2 * (CODE * source.n_rows + seen * per_cell) < dense)
    return chosen


def test_a_model_that_is_not_large_has_no_compact_terms_but_those_it_must():
    source = related_columns()
    terms = Terms.of_order(2, source.cardinalities)
    assert any(expected_choice(source, terms))
    assert not choose_compact(terms, source, Threads(1)).any()


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_in_a_large_model_terms_that_save_half_are_compact(monkeypatch, n_classes, n_threads):
    monkeypatch.setattr(compaction, "LARGE_MODEL", 0)
    source = related_columns(n_classes=n_classes)
    terms = Terms.of([(2,), (0, 1), (0, 2), (0, 3), (3, 4)], source.cardinalities)
    with Threads(n_threads) as threads:
        found = choose_compact(terms, source, threads)
    expected = expected_choice(source, terms)
    assert found.tolist() == expected
    assert expected == [False, True, True, False, False]


def test_the_bytes_of_dense_cells_decide_what_is_large(monkeypatch):
    source = related_columns()
    terms = Terms.of_order(2, source.cardinalities)
    size = int(terms.spaces.sum()) * cell_bytes(source.n_classes)
    monkeypatch.setattr(compaction, "LARGE_MODEL", size)
    assert not choose_compact(terms, source, Threads(1)).any()
    monkeypatch.setattr(compaction, "LARGE_MODEL", size - 1)
    assert choose_compact(terms, source, Threads(1)).any()


def test_terms_that_must_be_compact_do_not_make_a_model_large(monkeypatch):
    source = related_columns()
    wide = np.arange(source.n_rows) // 2
    source = ArraySource(
        np.vstack([source.codes, wide]).astype(np.uint16),
        source.labels,
        source.n_classes,
        np.append(source.cardinalities, 1000),
    )
    terms = Terms.of([(0, 1), (0, 5)], source.cardinalities)
    size = 50 * 50 * cell_bytes(source.n_classes)
    monkeypatch.setattr(compaction, "LARGE_MODEL", size)
    assert choose_compact(terms, source, Threads(1)).tolist() == [False, True]
    monkeypatch.setattr(compaction, "LARGE_MODEL", size - 1)
    assert choose_compact(terms, source, Threads(1)).tolist() == [True, True]


@given(st.integers(2, 40))
def test_a_cell_takes_more_with_every_class(n_classes):
    assert cell_bytes(n_classes) < cell_bytes(n_classes + 1)
    # Counts, scores and scale in single precision, and two tables of the scores.
    assert cell_bytes(n_classes) >= 3 * 4 * n_classes + 2 * 4 * (n_classes - 1)
