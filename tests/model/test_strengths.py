"""Strengths by order and level, and their adaptation to what a first fit found."""

import numpy as np
import pytest

from deepbroad.model.resolutions import Resolutions
from deepbroad.model.strengths import Strengths

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
