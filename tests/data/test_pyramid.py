"""Nested cuts of numbers: their laws, and the slow recursion as twin."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.data.pyramid import SHIFTED_LEVELS, count_levels, list_places, nested_cuts
from tests import naive_hierarchy
from tests.naive_hierarchy import imbalance

NUMBERS = st.one_of(
    st.integers(-3, 3).map(float),
    st.floats(allow_nan=False, width=32),
    st.sampled_from([math.nan, math.inf, -math.inf, 1.0, 1.0 + 2.0**-52, 5e-324, 0.0, -0.0]),
)
# Whole and half weights, whose sums are exact: ties are ties.
WEIGHTS = st.sampled_from([0.0, 0.5, 1.0, 1.0, 2.0, 7.0])


@st.composite
def weighted_numbers(draw, weights=WEIGHTS):
    values = draw(st.lists(NUMBERS, min_size=1, max_size=30))
    drawn = draw(st.lists(weights, min_size=len(values), max_size=len(values)))
    return np.array(values), np.array(drawn)


def bins_of(values, cuts):
    """Return how many cuts are <= each value."""
    return [sum(cut <= x for cut in cuts) for x in values]


def by_place(found):
    """Return the cuts of all code columns by what they are, as lists."""
    places = list_places(count_levels(len(found)))
    return {place: cuts.tolist() for place, cuts in zip(places, found, strict=True)}


def unshifted(found):
    """Return the cuts of each level, of those of all code columns."""
    places = list_places(count_levels(len(found)))
    return [cuts for cuts, place in zip(found, places, strict=True) if not place.quarters]


def masses(values, weights):
    """Return the weight of each distinct number that has any."""
    found = {}
    for x, weight in zip(values.tolist(), weights.tolist(), strict=True):
        if not math.isnan(x) and weight > 0:
            found[x] = found.get(x, 0.0) + weight
    return found


@given(weighted_numbers(), st.integers(1, 6))
def test_cuts_are_those_of_the_recursion(case, levels):
    values, weights = case
    found = nested_cuts(values, weights, levels=levels)
    expected = naive_hierarchy.nested_cuts(values, weights, levels)
    assert [cuts.tolist() for cuts in found] == expected


@given(weighted_numbers(), st.integers(1, 6))
def test_each_level_has_the_cuts_of_the_one_before_and_more(case, levels):
    values, weights = case
    found = unshifted(nested_cuts(values, weights, levels=levels))
    assert 1 <= len(found) <= levels
    for coarse, fine in pairwise(found):
        assert set(coarse) < set(fine)
    for level, cuts in enumerate(found, start=1):
        assert len(cuts) < 2**level
        assert (np.diff(cuts) > 0).all()
        assert not np.isnan(cuts).any()


@given(weighted_numbers(st.floats(1e-3, 1e3)))
def test_each_cut_halves_its_bin_as_nearly_as_any_could(case):
    values, weights = case
    mass = masses(values, weights)
    distinct = sorted(mass)
    before = np.zeros(len(distinct), int)
    for cuts in unshifted(nested_cuts(values, weights, levels=4)):
        after = np.array(bins_of(distinct, cuts), int)
        for bin_ in np.unique(before):
            inside = [x for x, b in zip(distinct, before, strict=True) if b == bin_]
            parts = np.unique(after[before == bin_])
            assert len(parts) == min(2, len(inside))
            if len(parts) == 2:
                place = int((after[before == bin_] == parts[0]).sum())
                best = min(imbalance(inside[:k], inside[k:], mass) for k in range(1, len(inside)))
                found = imbalance(inside[:place], inside[place:], mass)
                assert found <= best + 1e-9 * weights.sum()
        before = after


@given(weighted_numbers(st.sampled_from([0, 1, 2, 3])), st.integers(1, 5))
def test_a_weight_is_a_row_repeated_and_none_is_absent(case, levels):
    values, weights = case
    by_weight = nested_cuts(values, weights.astype(float), levels=levels)
    by_rows = nested_cuts(values.repeat(weights), levels=levels)
    assert [cuts.tolist() for cuts in by_weight] == [cuts.tolist() for cuts in by_rows]


@given(weighted_numbers(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(case, random):
    values, weights = case
    order = random.sample(range(len(values)), len(values))
    found = nested_cuts(values, weights, levels=5)
    permuted = nested_cuts(values[order], weights[order], levels=5)
    assert [cuts.tolist() for cuts in found] == [cuts.tolist() for cuts in permuted]


@given(weighted_numbers(), st.integers(1, 5))
def test_coarser_levels_do_not_depend_on_how_many_are_asked_for(case, levels):
    values, weights = case
    most = nested_cuts(values, weights, levels=5)
    found = nested_cuts(values, weights, levels=levels)
    assert by_place(found).items() <= by_place(most).items()
    assert list(by_place(found)) == list(by_place(most))[: len(found)]


@given(weighted_numbers(), st.integers(1, 7))
def test_a_level_has_all_cuts_of_the_columns_before_it(case, levels):
    values, weights = case
    found = nested_cuts(values, weights, levels=levels)
    for i, place in enumerate(list_places(count_levels(len(found)))):
        if not place.quarters:
            assert all(set(cuts) <= set(found[i]) for cuts in found[:i])


def test_columns_tell_how_many_levels_there_are():
    for levels in range(1, 9):
        places = list_places(levels)
        assert count_levels(len(places)) == levels
        assert len(set(places)) == len(places)
        shifted = [place for place in places if place.quarters]
        assert len(shifted) == max(0, 3 * min(levels, SHIFTED_LEVELS) - 5)
        others = [place for place in places if place not in shifted]
        assert others == [(level, 0) for level in range(1, levels + 1)]
    for columns in (2, 4, 6):
        with pytest.raises(ValueError, match=f"no number has {columns} code columns"):
            count_levels(columns)


def test_shifted_bins_of_even_numbers_begin_a_part_of_a_bin_later():
    found = nested_cuts(np.arange(64.0), levels=6)
    for place, cuts in zip(list_places(6), found, strict=True):
        width = 64 / 2**place.level
        every = np.arange(2**place.level + 1) * width + place.quarters / 4 * width
        np.testing.assert_array_equal(cuts, every[(every > 0) & (every < 64)] - 0.5)


@pytest.mark.parametrize("values", [[], [3.5], [2.0] * 9, [math.nan], [math.nan, 1.0, math.nan]])
def test_numbers_that_do_not_differ_have_one_level_without_cuts(values):
    found = nested_cuts(np.array(values, float), levels=4)
    assert [cuts.tolist() for cuts in found] == [[]]


def test_levels_end_where_every_value_has_its_bin():
    found = nested_cuts(np.array([1.0, 2.0, 2.0, 3.0, 9.0]), levels=8)
    assert [cuts.tolist() for cuts in found] == [[2.5], [1.5, 6.0], [1.5, 2.5, 6.0]]


def test_a_heavy_value_is_no_reason_to_leave_the_others_together():
    values = np.array([0.0] * 97 + [1.0, 2.0, 3.0])
    found = unshifted(nested_cuts(values, levels=3))
    assert [cuts.tolist() for cuts in found] == [[0.5], [0.5, 1.5], [0.5, 1.5, 2.5]]


def test_infinities_are_ordinary_extreme_values():
    values = np.array([-math.inf, -math.inf, 0.0, 0.0, math.inf, math.inf])
    for cuts in nested_cuts(values, levels=3)[-1:]:
        assert cuts.tolist() == [0.0, math.inf]
        assert bins_of(values, cuts) == [0, 0, 1, 1, 2, 2]


def test_even_numbers_are_halves_quarters_and_eighths():
    found = nested_cuts(np.random.default_rng(0).permutation(64).astype(float), levels=3)
    for level, cuts in enumerate(unshifted(found), start=1):
        np.testing.assert_array_equal(cuts, np.arange(1, 2**level) * 64 / 2**level - 0.5)


@pytest.mark.parametrize("unit", [0.1, 0.3, 1e-3, 1e-12, 7.0])
def test_the_unit_of_weights_does_not_matter(unit):
    values = np.random.default_rng(3).normal(size=400)
    plain = nested_cuts(values, levels=6)
    weighted = nested_cuts(values, np.full(400, unit), levels=6)
    for expected, found in zip(plain, weighted, strict=True):
        np.testing.assert_array_equal(found, expected)
