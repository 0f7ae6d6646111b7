"""Strengths by order and level, and their adaptation to what a first fit found."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.model.resolutions import Resolutions
from deepbroad.model.strengths import UNADAPTED, Adaptation, Strengths

# Two numbers of three levels, a category between them.
SIZES = [2, 3, 4, 3, 3, 5, 8]
RESOLUTIONS = Resolutions(np.repeat([0, 1, 2], [7, 1, 7]), np.array([*SIZES, 3, *SIZES]))


def test_a_term_has_the_strength_of_its_order_times_the_growth_of_its_level_and_its_copies():
    levelled = RESOLUTIONS.terms((3, 2))
    found = Strengths((2.0, 30.0), growth=1.5).per_term(levelled)
    for term, level in enumerate(levelled.levels.tolist()):
        order = len(levelled.terms.tuple(term))
        strength = {1: 2.0, 2: 30.0}[order] * 1.5 ** (level - 1) * levelled.copies[term]
        assert found[term] == pytest.approx(strength)
    assert {1, 2, 3} == set(levelled.levels.tolist())


def test_the_variance_of_a_level_does_not_depend_on_how_often_it_is_shifted():
    levelled = RESOLUTIONS.terms((3, 2))
    assert {1, 2, 4} == set(levelled.copies.tolist())
    variances = 1.0 / Strengths((2.0, 30.0)).per_term(levelled)
    owners = np.append(levelled.attributes, -1)[levelled.terms.members]
    for level in (1, 2, 3):
        own = (owners == [0, -1]).all(axis=1) & (levelled.levels == level)
        assert variances[own].sum() == pytest.approx(1 / 2.0)
    own = (owners == [0, 2]).all(axis=1) & (levelled.levels == 1)
    assert variances[own].sum() == pytest.approx(1 / 30.0)


def test_without_growth_all_levels_of_an_order_are_alike():
    levelled = RESOLUTIONS.terms((3, 1, 1))
    found = Strengths((0.5, 7.0, 9.0)).per_term(levelled)
    expected = np.array([0.5, 7.0, 9.0])[levelled.terms.orders - 1]
    np.testing.assert_allclose(found, expected * levelled.copies)


def test_scaling_changes_one_number():
    strengths = Strengths((1.0, 10.0), growth=2.0)
    assert strengths.scaled(0, 3.0) == Strengths((3.0, 10.0), 2.0)
    assert strengths.scaled(1, 0.5) == Strengths((1.0, 5.0), 2.0)
    assert strengths.scaled(2, 1.5) == Strengths((1.0, 10.0), 3.0)
    assert strengths == Strengths((1.0, 10.0), 2.0)


def test_a_deeper_model_keeps_the_strengths_of_the_shallower():
    assert Strengths((1.0,), 2.0).deeper(30.0) == Strengths((1.0, 30.0), 2.0)
    assert Strengths((), 1.5).deeper(1.0).by_order == (1.0,)


VARIANCES = st.lists(
    st.tuples(st.sampled_from([0.0, 1e-6, 0.1, 1.0, 50.0]), st.integers(1, 3)),
    min_size=1,
    max_size=12,
)


@given(VARIANCES, st.sampled_from([0.5, 1.0, 2.0]), st.sampled_from([0.01, 0.1, 1.0]))
def test_factors_are_those_of_the_formula(rows, power, floor):
    variances, orders = (np.array(column) for column in zip(*rows, strict=True))
    found = Adaptation(power, floor).factors(variances, orders)
    for variance, order, factor in zip(variances, orders, found, strict=True):
        same = [v for v, k in rows if k == order]
        mean = sum(same) / len(same)
        expected = (variance / mean + floor) ** -power if mean > 0 else 1.0
        assert factor == pytest.approx(expected)


@given(VARIANCES, st.floats(1e-3, 1e3))
def test_factors_do_not_depend_on_the_unit_of_variances_and_fall_with_them(rows, unit):
    variances, orders = (np.array(column) for column in zip(*rows, strict=True))
    adaptation = Adaptation(1.0, 0.1)
    found = adaptation.factors(variances, orders)
    np.testing.assert_allclose(adaptation.factors(unit * variances, orders), found)
    for order in np.unique(orders):
        ranked = found[orders == order][np.argsort(variances[orders == order])]
        assert (np.diff(ranked) <= 1e-12).all()


def test_no_adaptation_leaves_strengths_as_they_are():
    np.testing.assert_array_equal(UNADAPTED.factors(np.array([0.0, 3.0]), np.array([1, 1])), 1.0)


def test_a_table_that_tells_nothing_is_held_down_most():
    found = Adaptation(1.0, 0.01).factors(np.array([1.0, 1.0, 0.0]), np.array([2, 2, 2]))
    assert found[2] == pytest.approx(100.0)
    assert found[0] < 1.0
