"""Terms over attributes of several code columns, against loops."""

from collections import defaultdict
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from deepbroad.data.pyramid import list_places
from deepbroad.model.generative import partition_weights
from deepbroad.model.resolutions import (
    MAX_LEVELS,
    MAX_SHIFTED_ROWS,
    MAX_SHIFTED_VALUES,
    Resolutions,
    choose_levels,
)
from deepbroad.model.terms import NONE
from tests import naive_hierarchy

# Categories, and numbers of several levels.
CATEGORIES = [[1], [2], [3], [5]]
SIX_LEVELS = [2**place.level + (place.quarters > 0) for place in list_places(6)]
NUMBERS = [[2, 2, 3], [2, 3, 4], [2, 3, 4, 3, 3, 5, 8], SIX_LEVELS]


@st.composite
def resolutions(draw, max_attributes=5):
    """Draw attributes: numbers of several levels, categories, and columns of one value.

    Numbers may have missing values.
    """
    attributes, cardinalities = [], []
    for attribute in range(draw(st.integers(1, max_attributes))):
        sizes = draw(st.sampled_from(CATEGORIES + NUMBERS))
        if len(sizes) > 1:
            missing = draw(st.booleans())
            sizes = [size + missing for size in sizes]
        attributes += [attribute] * len(sizes)
        cardinalities += sizes
    return Resolutions(np.array(attributes), np.array(cardinalities))


def as_dict(tuples, levels):
    return {tuple(row): level for row, level in zip(tuples.tolist(), levels.tolist(), strict=True)}


def tuples_of(levelled):
    return [levelled.terms.tuple(t) for t in range(len(levelled.terms))]


def evidence(found, resolutions_):
    """Return how much of the generative model each attribute counts for, by attribute."""
    weights = found.shares * partition_weights(found.terms)
    sums = defaultdict(float)
    for columns, weight in zip(tuples_of(found), weights, strict=True):
        for column in columns:
            sums[int(resolutions_.attributes[column])] += weight
    return dict(sums)


@given(resolutions(), st.integers(1, 3), st.integers(1, 5))
def test_tuples_and_their_levels_are_those_of_loops(found, order, levels):
    assume(order <= found.n_attributes)
    tuples, at = found.tuples(order, levels)
    assert tuples.shape == (len(at), order)
    listed = [tuple(row) for row in tuples.tolist()]
    assert listed == sorted(set(listed))
    expected = naive_hierarchy.levelled_tuples(
        found.attributes.tolist(), found.cardinalities.tolist(), order, levels
    )
    assert as_dict(tuples, at) == expected


@given(resolutions(), st.data())
def test_tuples_among_some_are_those_of_all_that_have_their_attributes(found, data):
    order = data.draw(st.integers(1, min(3, found.n_attributes)))
    every = list(combinations(range(found.n_attributes), order))
    chosen = sorted(data.draw(st.sets(st.sampled_from(every))))
    levels = data.draw(st.integers(1, 4))
    among = np.array(chosen, np.int64).reshape(-1, order)
    some = as_dict(*found.tuples(order, levels, among))
    everything = as_dict(*found.tuples(order, levels))
    owners = found.attributes
    assert some == {
        columns: level
        for columns, level in everything.items()
        if tuple(owners[list(columns)].tolist()) in chosen
    }


@given(resolutions(), st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_terms_are_the_tuples_of_every_order(found, levels):
    assume(len(levels) <= found.n_attributes)
    assume(np.diff(found.firsts).max() > 1 or (found.cardinalities > 1).any())
    levelled = found.terms(tuple(levels))
    expected = {}
    for order, most in enumerate(levels, start=1):
        expected |= naive_hierarchy.levelled_tuples(
            found.attributes.tolist(), found.cardinalities.tolist(), order, most
        )
    listed = tuples_of(levelled)
    assert dict(zip(listed, levelled.levels.tolist(), strict=True)) == expected
    assert len(listed) == len(expected) <= found.count_terms(tuple(levels))
    assert listed == sorted(listed, key=lambda columns: (len(columns), columns))
    assert levelled.terms.members.shape[1] == levelled.terms.orders.max()
    for row, order in zip(levelled.terms.members, levelled.terms.orders, strict=True):
        assert (row[order:] == NONE).all()


@given(resolutions(), st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_terms_of_all_orders_and_levels_count_each_attribute_once(found, levels):
    useful = np.flatnonzero(np.add.reduceat(found.cardinalities > 1, found.firsts[:-1]))
    assume(len(useful) >= len(levels))
    levelled = found.terms(tuple(levels))
    counted = evidence(levelled, found)
    assert set(counted) == set(useful.tolist())
    assert list(counted.values()) == pytest.approx([1.0] * len(useful))


@given(resolutions(), st.data())
def test_shares_are_even_over_orders_tuples_of_attributes_and_levels(found, data):
    depth = data.draw(st.integers(1, min(3, found.n_attributes)))
    among = {}
    for order in range(1, depth + 1):
        every = list(combinations(range(found.n_attributes), order))
        chosen = sorted(data.draw(st.sets(st.sampled_from(every))))
        among[order] = np.array(chosen, np.int64).reshape(-1, order)
    levels = tuple(data.draw(st.lists(st.integers(1, 4), min_size=depth, max_size=depth)))
    assume(sum(len(found.tuples(k, levels[k - 1], among[k])[0]) for k in among))
    levelled = found.terms(levels, among)
    listed = tuples_of(levelled)
    expected = naive_hierarchy.evidence_weights(listed, found.attributes.tolist())
    weights = levelled.shares * partition_weights(levelled.terms)
    np.testing.assert_allclose(weights, [expected[columns] for columns in listed])


def test_shares_of_one_order_and_level_are_whole():
    found = Resolutions(np.arange(4), np.array([2, 3, 2, 5]))
    none = {1: np.empty((0, 1), np.int64)}
    for levels, among in [((1,), None), ((1, 1), none)]:
        np.testing.assert_array_equal(found.terms(levels, among).shares, 1.0)
    np.testing.assert_allclose(found.terms((1, 1, 1)).shares, 1 / 3)


def test_a_category_beside_numbers_counts_as_much_as_they_do():
    found = Resolutions(np.array([0, 0, 0, 1]), np.array([2, 3, 4, 3]))
    assert evidence(found.terms((3,)), found) == pytest.approx({0: 1.0, 1: 1.0})


def test_without_a_column_that_tells_anything_there_is_a_term_still():
    found = Resolutions(np.array([0, 1]), np.array([1, 1]))
    for levels in [(1,), (3, 2)]:
        levelled = found.terms(levels)
        assert tuples_of(levelled) == [(0,)]
        assert levelled.levels.tolist() == [1]
        assert levelled.shares.tolist() == [1.0]


def test_columns_at_a_level_beyond_the_finest_are_the_finest():
    sizes = [2, 3, 4, 3, 3, 5, 8, 3, 2, 3, 4]
    found = Resolutions(np.array([0] * 7 + [1] + [2] * 3), np.array(sizes))
    assert [found.columns_at(level).tolist() for level in (1, 2, 3, 9)] == [
        [0, 7, 8],
        [2, 7, 10],
        [6, 7, 10],
        [6, 7, 10],
    ]
    assert (found.n_attributes, found.n_levels) == (3, 3)
    assert found.levels.tolist() == [3, 1, 2]
    assert found.firsts.tolist() == [0, 7, 8, 11]
    assert [found.last(attribute) for attribute in range(3)] == [6, 7, 10]


def test_columns_that_are_not_so_shifted_are_the_unshifted_ones():
    sizes = [2, 3, 4, 3, 3, 5, 8, 3, 2, 3, 4]
    found = Resolutions(np.array([0] * 7 + [1] + [2] * 3), np.array(sizes))
    assert found.columns_at(1, 2).tolist() == [1, 7, 9]
    assert found.columns_at(1, 1).tolist() == [3, 7, 8]
    assert found.columns_at(2, 2).tolist() == [5, 7, 10]
    assert found.columns_at(3, 2).tolist() == [6, 7, 10]


@given(resolutions(), st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_copies_are_the_terms_of_the_same_attributes_and_level(found, levels):
    assume(len(levels) <= found.n_attributes)
    levelled = found.terms(tuple(levels))
    places = [
        (tuple(found.attributes[list(columns)].tolist()), level)
        for columns, level in zip(tuples_of(levelled), levelled.levels.tolist(), strict=True)
    ]
    assert levelled.copies.tolist() == [places.count(place) for place in places]


def test_many_pairs_have_no_finer_cuts_than_their_finest_level():
    # Attributes of three levels, pairs of which have two of them.
    few, many = (
        Resolutions(np.repeat(np.arange(n), 7), np.tile([2, 3, 4, 3, 3, 5, 8], n)) for n in (4, 50)
    )
    tuples, _ = few.tuples(2, 2)
    assert len(tuples) == 6 * comb(4, 2)
    tuples, _ = many.tuples(2, 2)
    assert len(tuples) == 3 * comb(50, 2) == many.count_terms((1, 2)) - many.count_terms((1,))
    assert set((tuples % 7).ravel().tolist()) == {0, 1, 2}
    some, _ = many.tuples(2, 2, np.array([[0, 1], [3, 7]]))
    assert len(some) == 6 * 2


@given(st.integers(1, 10**9), st.integers(1, 10**9), st.integers(1, 6))
def test_more_rows_never_have_fewer_levels(few, more, depth):
    few, more = sorted([few, more])
    levels = [choose_levels(rows, depth) for rows in (few, more)]
    assert all(a <= b for a, b in zip(*levels, strict=True))


@given(st.integers(1, 10**9), st.integers(1, 6))
def test_levels_are_within_bounds_and_leave_rows_for_every_cell(rows, depth):
    levels = choose_levels(rows, depth)
    limits = [*MAX_LEVELS, *[MAX_LEVELS[-1]] * depth]
    assert len(levels) == depth
    assert list(levels) == sorted(levels, reverse=True)
    assert levels == choose_levels(rows, depth + 1)[:depth]
    for order, (level, limit) in enumerate(zip(levels, limits, strict=False), start=1):
        assert 1 <= level <= limit
        if level > 1:
            assert rows / 2 ** (order * level) >= 4
        if level < limit:
            assert rows / 2 ** (order * (level + 1)) < 4


def test_a_million_rows_have_all_levels():
    assert choose_levels(1e6, 4) == (8, 5, 3, 3)
    assert choose_levels(100, 3) == (4, 2, 1)
    assert choose_levels(1, 2) == (1, 1)


def test_terms_are_counted_before_they_are_listed():
    found = Resolutions(np.repeat(np.arange(6), 7), np.tile([2, 3, 4, 3, 3, 5, 8], 6))
    levelled = found.terms((3, 2, 1))
    assert len(levelled.terms) == found.count_terms((3, 2, 1)) == 42 + 6 * comb(6, 2) + comb(6, 3)
    # Categories have one level, whatever rows would bear.
    assert Resolutions(np.arange(6), np.full(6, 9)).count_terms((8, 5, 3)) == 6 + 15 + 20


def test_tuples_with_a_category_of_many_values_are_not_shifted():
    number = [2, 2, 3]  # halves, halves shifted by a half, quarters

    def pairs(values):
        found = Resolutions(np.array([0, 0, 0, 1]), np.array([*number, values]))
        return found.tuples(2, 2)[0].tolist()

    assert pairs(MAX_SHIFTED_VALUES) == [[0, 3], [1, 3], [2, 3]]
    assert pairs(MAX_SHIFTED_VALUES + 1) == [[0, 3], [2, 3]]


@given(resolutions(), st.integers(1, 3), st.integers(1, 5))
def test_in_many_rows_single_numbers_alone_are_shifted(found, order, levels):
    assume(order <= found.n_attributes)
    large = Resolutions(found.attributes, found.cardinalities, MAX_SHIFTED_ROWS + 1.0)
    unshifted = np.unique([found.columns_at(level) for level in range(1, levels + 1)])
    tuples, at = as_dict(*found.tuples(order, levels)), as_dict(*large.tuples(order, levels))
    if order == 1:
        assert at == tuples
    else:
        assert at == {t: level for t, level in tuples.items() if np.isin(t, unshifted).all()}
