"""Terms over attributes of several code columns, against loops."""

from collections import defaultdict
from dataclasses import replace
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from deepbroad.data.pyramid import BY_CLASS, JOINT, WITHIN, list_places
from deepbroad.model.generative import partition_weights
from deepbroad.model.resolutions import (
    MAX_LEVELS,
    MAX_SHIFTED_ROWS,
    MAX_SHIFTED_VALUES,
    Resolutions,
    choose_levels,
)
from deepbroad.model.terms import NONE
from deepbroad.model.tiling import tiling_level
from tests import naive_hierarchy

# Categories, and numbers of several levels, whose first columns are for cuts by the class and have
# none.
CATEGORIES = [[1], [2], [3], [5]]
SIX_LEVELS = [
    2**place.level + (0 < place.quarters < 4 and place.level > 0) for place in list_places(6)
]
NUMBERS = [[1, 1, 2, 2, 3], [1, 1, 2, 3, 4], [1, 1, 2, 3, 4, 3, 3, 5, 8], SIX_LEVELS]


def sharpen(sizes, steps, more=0):
    """Return the sizes of a number with so many cuts by the class, none of them one of level 5.

    So many more are within the values of other attributes.
    """
    places = list_places({5: 2, 9: 3, len(SIX_LEVELS): 6}[len(sizes)])
    return [
        size + steps * (place in (*BY_CLASS, JOINT)) + more * (place in (WITHIN, JOINT))
        for size, place in zip(sizes, places, strict=True)
    ]


@st.composite
def resolutions(draw, max_attributes=5, *, by_class=False):
    """Draw attributes: numbers of several levels, categories, and columns of one value.

    Numbers may have cuts by the class, and missing values.
    """
    attributes, cardinalities = [], []
    for attribute in range(draw(st.integers(1, max_attributes))):
        sizes = draw(st.sampled_from(CATEGORIES + NUMBERS))
        if len(sizes) > 1:
            missing = draw(st.booleans())
            cuts = draw(st.integers(0, 2)), draw(st.integers(0, 2))
            sizes = [size + missing for size in sharpen(sizes, *cuts)]
        attributes += [attribute] * len(sizes)
        cardinalities += sizes
    return Resolutions(np.array(attributes), np.array(cardinalities), by_class=by_class)


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
    assert levelled.terms.members.shape[1] == len(levels)
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
    found = Resolutions(np.array([0, 0, 0, 0, 0, 1]), np.array([1, 1, 2, 3, 4, 3]))
    assert evidence(found.terms((3,)), found) == pytest.approx({0: 1.0, 1: 1.0})


def test_without_a_column_that_tells_anything_there_is_a_term_still():
    found = Resolutions(np.array([0, 1]), np.array([1, 1]))
    for levels in [(1,), (3, 2)]:
        levelled = found.terms(levels)
        assert tuples_of(levelled) == [(0,)]
        assert levelled.levels.tolist() == [1]
        assert levelled.shares.tolist() == [1.0]


def test_columns_at_a_level_beyond_the_finest_are_the_finest():
    sizes = [1, 1, 2, 3, 4, 3, 3, 5, 8, 3, 1, 1, 2, 3, 4]
    found = Resolutions(np.array([0] * 9 + [1] + [2] * 5), np.array(sizes))
    assert [found.columns_at(level).tolist() for level in (1, 2, 3, 9)] == [
        [2, 9, 12],
        [4, 9, 14],
        [8, 9, 14],
        [8, 9, 14],
    ]
    assert (found.n_attributes, found.n_levels) == (3, 3)
    assert found.levels.tolist() == [3, 1, 2]
    assert found.firsts.tolist() == [0, 9, 10, 15]
    assert [found.last(attribute) for attribute in range(3)] == [8, 9, 14]


def test_columns_that_are_not_so_shifted_are_the_unshifted_ones():
    sizes = [1, 1, 2, 3, 4, 3, 3, 5, 8, 3, 1, 1, 2, 3, 4]
    found = Resolutions(np.array([0] * 9 + [1] + [2] * 5), np.array(sizes))
    assert found.columns_at(1, 2).tolist() == [3, 9, 13]
    assert found.columns_at(1, 1).tolist() == [5, 9, 12]
    assert found.columns_at(2, 2).tolist() == [7, 9, 14]
    assert found.columns_at(3, 2).tolist() == [8, 9, 14]


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
        Resolutions(np.repeat(np.arange(n), 9), np.tile([1, 1, 2, 3, 4, 3, 3, 5, 8], n))
        for n in (4, 50)
    )
    tuples, _ = few.tuples(2, 2)
    assert len(tuples) == 6 * comb(4, 2)
    tuples, _ = many.tuples(2, 2)
    assert len(tuples) == 3 * comb(50, 2) == many.count_terms((1, 2)) - many.count_terms((1,))
    assert set((tuples % 9).ravel().tolist()) == {2, 3, 4}
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
    found = Resolutions(np.repeat(np.arange(6), 9), np.tile([1, 1, 2, 3, 4, 3, 3, 5, 8], 6))
    levelled = found.terms((3, 2, 1))
    assert len(levelled.terms) == found.count_terms((3, 2, 1)) == 42 + 6 * comb(6, 2) + comb(6, 3)
    # Categories have one level, whatever rows would bear.
    assert Resolutions(np.arange(6), np.full(6, 9)).count_terms((8, 5, 3)) == 6 + 15 + 20


def test_tuples_with_a_category_of_many_values_are_not_shifted():
    number = [1, 1, 2, 2, 3]  # no cuts by the class, halves, halves shifted by a half, quarters

    def pairs(values):
        found = Resolutions(np.array([0, 0, 0, 0, 0, 1]), np.array([*number, values]))
        return found.tuples(2, 2)[0].tolist()

    assert pairs(MAX_SHIFTED_VALUES) == [[2, 5], [3, 5], [4, 5]]
    assert pairs(MAX_SHIFTED_VALUES + 1) == [[2, 5], [4, 5]]


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


# Cuts by the class.


def is_sharp(found, order=1):
    """Tell which attributes have cuts by the class, for tuples of an order."""
    owners, sizes = found.attributes.tolist(), found.cardinalities.tolist()
    owned = [naive_hierarchy.columns_of(attribute, owners) for attribute in sorted(set(owners))]
    return [naive_hierarchy.is_sharp(own, sizes, order) for own in owned]


@given(resolutions(by_class=True), st.integers(1, 3), st.integers(1, 5))
def test_by_the_class_tuples_are_those_of_loops_and_the_plain_ones_among_them(found, order, levels):
    assume(order <= found.n_attributes)
    tuples, at = found.tuples(order, levels)
    listed = [tuple(row) for row in tuples.tolist()]
    assert listed == sorted(set(listed))
    by_class = as_dict(tuples, at)
    assert by_class == naive_hierarchy.levelled_tuples(
        found.attributes.tolist(), found.cardinalities.tolist(), order, levels, by_class=True
    )
    plain = as_dict(*replace(found, by_class=False).tuples(order, levels))
    assert plain == {columns: level for columns, level in by_class.items() if level}
    # Each tuple of attributes, one of them sharp, comes with cuts by the class once.
    informed = [columns for columns, level in by_class.items() if not level]
    sharp = is_sharp(found, order)

    def owners(columns):
        return tuple(found.attributes[list(columns)].tolist())

    expected = {owners(columns) for columns in plain if any(sharp[i] for i in owners(columns))}
    assert sorted(map(owners, informed)) == sorted(expected)


@given(resolutions(), st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_not_by_the_class_terms_are_those_of_numbers_without_such_cuts(found, levels):
    assume(len(levels) <= found.n_attributes)
    assume((found.cardinalities > 1).any())
    firsts = found.firsts[:-1][found.levels > 1]
    blunt = found.cardinalities.copy()
    # One bin, and missing where halves have it beside them.
    blunt[firsts] = blunt[firsts + 1] = 1 + (blunt[firsts + 2] - 2)
    other = Resolutions(found.attributes, blunt, by_class=True)
    expected, terms = other.terms(tuple(levels)), found.terms(tuple(levels))
    assert found.count_terms(tuple(levels)) == other.count_terms(tuple(levels))
    assert tuples_of(terms) == tuples_of(expected)
    assert terms.levels.tolist() == expected.levels.tolist()
    np.testing.assert_array_equal(terms.shares, expected.shares)
    np.testing.assert_array_equal(terms.copies, expected.copies)
    np.testing.assert_array_equal(terms.kinds, expected.kinds)


@given(resolutions(by_class=True), st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_by_the_class_each_attribute_counts_once_and_terms_are_no_more_than_counted(found, levels):
    useful = np.flatnonzero(np.add.reduceat(found.cardinalities > 1, found.firsts[:-1]))
    assume(len(useful) >= len(levels))
    levelled = found.terms(tuple(levels))
    assert len(levelled.terms) <= found.count_terms(tuple(levels))
    counted = evidence(levelled, found)
    assert set(counted) == set(useful.tolist())
    assert list(counted.values()) == pytest.approx([1.0] * len(useful))
    assert (levelled.copies[levelled.levels == 0] == 1).all()


def test_terms_by_the_class_are_counted_before_they_are_listed():
    found = Resolutions(
        np.repeat(np.arange(6), 9), np.tile([4, 5, 2, 3, 4, 3, 3, 5, 8], 6), by_class=True
    )
    plain = replace(found, by_class=False)
    for levels in [(3,), (3, 2), (3, 2, 1)]:
        more = sum(comb(6, order) for order in range(1, len(levels) + 1))
        assert len(found.terms(levels).terms) == found.count_terms(levels)
        assert found.count_terms(levels) == plain.count_terms(levels) + more


def test_beside_cuts_by_the_class_others_have_quarters_or_their_column():
    # The second has missing, and no such cuts; the third has them within others alone.
    numbers = [3, 4, 2, 3, 4, 3, 3, 5, 8], [2, 2, 3, 4, 5], [1, 3, 2, 3, 4]
    sizes = np.array([*numbers[0], *numbers[1], *numbers[2], 6])
    found = Resolutions(np.repeat([0, 1, 2, 3], [9, 5, 5, 1]), sizes, by_class=True)
    assert found.is_sharp().tolist() == [True, False, False, False]
    assert found.sharp_columns().tolist() == [0, 13, 18, 19]
    for order in (2, 3):
        assert found.is_sharp(order).tolist() == [True, False, True, False]
        assert found.sharp_columns(order).tolist() == [1, 13, 15, 19]

    def informed(order):
        tuples, levels = found.tuples(order, 1)
        return tuples[levels == 0].tolist()

    assert informed(1) == [[0]]
    assert informed(2) == [[1, 13], [1, 15], [1, 19], [13, 15], [15, 19]]
    assert informed(3) == [[1, 13, 15], [1, 13, 19], [1, 15, 19], [13, 15, 19]]


@pytest.mark.parametrize("missing", [0, 1])
def test_missing_is_no_bin_and_no_cut(missing):
    for sizes in NUMBERS:
        for steps in (0, 1, 3):
            own = np.array(sharpen(sizes, steps, 1)) + missing
            category = 2 + missing
            found = Resolutions(np.repeat([0, 1], [len(own), 1]), np.append(own, category))
            assert found.is_sharp().tolist() == [steps > 0, False]
            assert found.is_sharp(2).tolist() == [True, False]
            assert found.n_bins[0] == sizes[-1]


# Tilings.


def naive_tilings(found, among, level):
    """Return the tuples of code columns by loops over grids and members."""
    owners, sizes = found.attributes.tolist(), found.cardinalities.tolist()
    tuples = set()
    for attributes in among:
        for grid in range(8):
            columns = []
            for member, attribute in enumerate(attributes):
                own = naive_hierarchy.columns_of(attribute, owners)
                quarter = grid * (2 * member + 1) % 8 // 2
                columns.append(naive_hierarchy.column_at(own, (level, quarter / 4)))
            if all(sizes[c] > 1 for c in columns):
                tuples.add(tuple(columns))
    return sorted(tuples)


@given(resolutions(), st.integers(2, 3), st.sampled_from([10.0, 300.0, 5000.0, 1e6]))
def test_tilings_are_those_of_loops(found, order, rows):
    assume(order <= found.n_attributes)
    found = replace(found, n_rows=rows)
    among = list(combinations(range(found.n_attributes), order))
    level = tiling_level(rows, order)
    tuples, at = found.tilings(np.array(among))
    assert [tuple(row) for row in tuples.tolist()] == naive_tilings(found, among, level)
    assert at.tolist() == [level] * len(tuples)


def three_numbers():
    return Resolutions(np.repeat(np.arange(3), len(SIX_LEVELS)), np.array(SIX_LEVELS * 3), 1e6)


def test_tilings_of_numbers_are_eight_that_share_the_strength_of_one():
    found = three_numbers()
    levelled = found.terms(choose_levels(1e6, 3), tiled=np.array([[0, 1, 2]]))
    orders = levelled.terms.orders
    assert np.count_nonzero(orders == 3) == 8
    assert levelled.copies[orders == 3].tolist() == [8] * 8
    assert levelled.levels[orders == 3].tolist() == [4] * 8
    plain = found.terms(choose_levels(1e6, 2))
    assert tuples_of(levelled)[:-8] == tuples_of(plain)
    counted = evidence(levelled, found)
    assert list(counted.values()) == pytest.approx([1.0] * 3)
