"""How far strengths may grow, on folds whose losses are given."""

from math import inf

import numpy as np
import pytest

from deepbroad.engine.caution import ERRORS, FACTORS, find_caution

STRENGTH = np.array([2.0, 30.0])
BEST = np.array([0.5, 0.4, 0.6, 0.5, 0.45])


class Folds:
    """Folds whose loss is the best one and what a function adds at a factor."""

    def __init__(self, rise, n_folds=5):
        self.rise, self.folds, self.asked = rise, [None] * n_folds, []

    def losses(self, strength, solver):
        factor = strength / STRENGTH
        assert factor[0] == pytest.approx(factor[1])
        self.asked.append(float(factor[0]))
        return BEST[: len(self.folds)] + self.rise(float(factor[0]))


def caution(rise, n_folds=5, deadline=inf):
    folds = Folds(rise, n_folds)
    return find_caution(folds, STRENGTH, 0.5, deadline), folds.asked


def test_strengths_stay_where_every_fold_loses():
    factor, asked = caution(lambda factor: 0.01 * (factor - 1))
    assert factor == 1.0
    assert asked == pytest.approx([1.0, FACTORS[0]])


def test_strengths_grow_while_the_loss_falls():
    assert caution(lambda factor: -0.01 * (factor - 1))[0] == FACTORS[-1]


def test_a_rise_within_chance_is_no_loss_and_one_beyond_it_is():
    noise = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    error = noise.std(ddof=1) / np.sqrt(5)
    for share, expected in ((0.99, FACTORS[-1]), (1.01, 1.0)):
        shift = share * ERRORS * error
        assert caution(lambda f, shift=shift: (f > 1) * (noise + shift) * 1e-3)[0] == expected


def test_growth_ends_at_the_first_loss():
    factor, asked = caution(lambda factor: np.full(5, 1e-3 if factor > 2.5 else -1e-3))
    assert factor == 2.0
    assert asked == pytest.approx([1.0, 1.5, 2.0, 3.0])


def test_nothing_is_tried_after_the_deadline():
    assert caution(lambda factor: -1.0, deadline=-inf) == (1.0, [])
