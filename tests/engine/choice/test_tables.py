"""Candidate tables, against loops over features, resolutions and shifts."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.data.pyramid import Place, list_places
from deepbroad.engine.choice.tables import SHIFTS, Candidates, features_of
from deepbroad.model.terms import NONE

# Two numbers of three levels, a category, and a column of one value.
LEVELS = 3
PLACES = list_places(LEVELS)
SIZES = [2**place.level + (place.quarters > 0) for place in PLACES]
ATTRIBUTES = np.array([0] * len(PLACES) + [1] * len(PLACES) + [2, 3])
CARDINALITIES = np.array([*SIZES, *SIZES, 5, 1])


def candidates(rows=1e4, *, shifted=True, searched=(2,)):
    return Candidates(ATTRIBUTES, CARDINALITIES, rows, shifted=shifted, searched=searched)


def columns_of(tables):
    return {tuple(m for m in row if m != NONE) for row in tables.terms.members.tolist()}


def column(feature, level, quarters=0):
    """Return the code column of a feature at a level, shifted by quarters of a bin."""
    if feature >= 2:
        return 2 * len(PLACES) + feature - 2
    wanted = [(place.level, place.quarters) for place in PLACES]
    place = (level, quarters)
    return feature * len(PLACES) + wanted.index(place if place in wanted else (level, 0))


def all_tuples(count, order):
    return np.array(list(combinations(range(count), order)))


@pytest.mark.parametrize("order", [1, 2])
def test_tables_have_all_features_at_one_resolution_or_the_next(order):
    made = candidates()
    levels = min(made.levels(order), LEVELS)
    found = made.unshifted(all_tuples(3, order))
    expected = {
        tuple(column(f, level) for f in features)
        for features in combinations(range(3), order)
        for level in range(1, levels + 1)
    }
    assert columns_of(found) == expected
    assert len(found.terms) == len(expected)


def test_few_rows_have_coarse_bins():
    assert candidates(20).levels(2) == 1 < candidates(1e5).levels(2)


def test_a_feature_of_one_value_is_in_no_table():
    assert columns_of(candidates().unshifted(np.array([[3]]))) == set()
    assert columns_of(candidates().unshifted(np.array([[0, 3]]))) == set()


def test_numbers_of_a_table_are_shifted_alike():
    made = candidates()
    found = made.with_shifts(made.unshifted(np.array([[0, 1], [0, 2]])), (2,))
    for first, second in columns_of(found):
        shifts = [PLACES[c % len(PLACES)].quarters for c in (first, second) if c < 2 * len(PLACES)]
        assert len(set(shifts)) == 1
    assert (column(0, 1, 2), column(1, 1, 2)) in columns_of(found)
    assert (column(0, 1, 2), column(2, 1)) in columns_of(found)


@pytest.mark.parametrize("searched", [(), (2,), SHIFTS])
def test_the_search_has_the_shifts_that_it_is_given(searched):
    made = candidates(searched=searched)
    tables = made.unshifted(np.array([[0], [2]]))
    expected = made.with_shifts(tables, searched)
    assert columns_of(made.with_shifts(tables)) == columns_of(expected)
    shifts = {PLACES[c].quarters for (c,) in columns_of(expected) if c < len(PLACES)}
    assert shifts == {0, *searched}


def test_without_shifts_tables_stay_as_they_are():
    made = candidates(shifted=False)
    tables = made.unshifted(all_tuples(3, 2))
    assert columns_of(made.with_shifts(tables)) == columns_of(tables)


def make_numbers(features, levels=8):
    """Return candidates of numbers of many levels, which rows bear, and the places of each."""
    places = list_places(levels)
    sizes = [2**place.level + (place.quarters > 0) for place in places]
    attributes = np.repeat(np.arange(features), len(places))
    made = Candidates(attributes, np.array(sizes * features), 1e9, shifted=True, searched=SHIFTS)
    return made, places


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_shifted_bins_have_their_cuts_among_those_of_the_finest_bins_of_the_order(order):
    made, places = make_numbers(4)
    found = made.with_shifts(made.unshifted(all_tuples(4, order)))
    expected = set()
    for features in combinations(range(4), order):
        for at, place in enumerate(places):
            if Place(*place).cut_level <= made.levels(order):
                expected.add(tuple(feature * len(places) + at for feature in features))
    assert columns_of(found) == expected
    assert any(places[c % len(places)].quarters for row in expected for c in row)


def test_tables_of_more_features_than_any_limit_tells_of_are_shifted_like_the_deepest():
    made, places = make_numbers(8, levels=4)

    def places_of(order):
        found = made.with_shifts(made.unshifted(all_tuples(order, order)))
        return {places[row[0] % len(places)] for row in columns_of(found)}

    assert places_of(8) == places_of(7) == places_of(6)


@pytest.mark.parametrize("searched", [(), (2,), SHIFTS])
def test_shifted_copies_share_the_variance_of_the_tables_they_come_from(searched):
    made = candidates(searched=searched)
    tables = made.with_shifts(made.unshifted(np.array([[0], [2]])))
    strength = np.random.default_rng(0).uniform(1.0, 9.0, len(tables.terms))
    spread, shared = made.spread(tables, strength)
    assert columns_of(spread) == columns_of(made.with_shifts(tables, SHIFTS))
    for feature in (0, 2):
        sums = [
            (1.0 / values)[features_of(some)[:, 0] == feature].sum()
            for some, values in ((tables, strength), (spread, shared))
        ]
        assert sums[0] == pytest.approx(sums[1])


def test_where_all_tuples_are_too_many_the_best_ones_are_extended():
    made = Candidates(np.arange(20), np.full(20, 2), 50.0, shifted=False, searched=())
    assert made.levels(3) == 1
    assert len(made.tuples(2, 190, [])) == 190
    found = made.tuples(3, 30, [(3, 7), (0, 1)])
    # Those of the best pair come first, then those of the second.
    tuples = [tuple(row) for row in found.tolist()]
    assert len(tuples) == 30
    assert tuples == sorted(tuples)
    assert sum({3, 7} <= set(t) for t in tuples) == 18
    assert sum({0, 1} <= set(t) for t in tuples) == 12
    assert made.tuples(3, 30, []).shape == (0, 3)


def list_extensions(made, order, most, kept):
    """Return extensions of the kept ones, one after the other, while tables are few enough."""
    found = []
    for lower in kept:
        grown = {tuple(sorted({*lower, f})) for f in range(made.n_features) if f not in lower}
        found += sorted(grown - set(found))
    tables = np.cumsum([len(made.unshifted(np.array([each])).terms) for each in found])
    return sorted(found[: np.count_nonzero(tables <= most)])


@given(
    st.lists(st.sampled_from([1, 2, 3]), min_size=4, max_size=7),
    st.integers(2, 3),
    st.integers(1, 60),
    st.sampled_from([30.0, 1e3, 1e6]),
    st.randoms(use_true_random=False),
)
def test_tuples_have_no_more_tables_than_asked_for(levels, order, most, rows, random):
    """Levels count: a tuple of numbers is as many tables as it has resolutions."""
    sizes = [[2**p.level + (p.quarters > 0) for p in list_places(own)] for own in levels]
    attributes = np.repeat(np.arange(len(levels)), [len(own) for own in sizes])
    made = Candidates(attributes, np.concatenate(sizes), rows, shifted=False, searched=())
    every = all_tuples(len(levels), order)
    kept = [tuple(each) for each in all_tuples(len(levels), order - 1).tolist()]
    kept = random.sample(kept, random.randint(0, len(kept)))
    found = made.tuples(order, most, kept)
    if len(made.unshifted(every).terms) <= most:
        np.testing.assert_array_equal(found, every)
    else:
        assert [tuple(row) for row in found.tolist()] == list_extensions(made, order, most, kept)
        assert len(made.unshifted(found).terms) <= most


def test_joined_and_taken_tables_keep_their_levels():
    made = candidates()
    singles, pairs = (made.unshifted(all_tuples(3, order)) for order in (1, 2))
    joined = made.join(singles, pairs)
    assert joined.levels.tolist() == [*singles.levels, *pairs.levels]
    taken = made.take(joined, np.arange(len(singles.terms), len(joined.terms)))
    assert columns_of(taken) == columns_of(pairs)
    assert taken.levels.tolist() == pairs.levels.tolist()
