"""The search over strengths, on losses that are known functions of them."""

from math import log10

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.engine import strength_search
from deepbroad.engine.strength_search import (
    LEAST,
    LEAST_GROWTH,
    MOST,
    MOST_GROWTH,
    StrengthSearch,
)
from deepbroad.model.resolutions import Resolutions
from deepbroad.model.strengths import UNADAPTED, Strengths

# Columns of one value are for cuts by the class.
SIZES = np.array([2, 3, 4, 3, 3, 5, 8, 2, 2, 3, 5])
LEVELLED = Resolutions(np.repeat([0, 1, 2], [7, 3, 1]), SIZES).terms((3, 2))
CATEGORIES = Resolutions(np.arange(3), np.array([2, 3, 4])).terms((1, 1))
START = Strengths((1.0, 30.0), 2.0**0.5)
NEVER = float("inf")


class Bowl:
    """A stand-in for a validation: a loss that grows with the distance from the best strengths."""

    def __init__(self, levelled, best, *, growth=None, adapted=1.0, is_precise=True):
        self.levelled, self.best, self.growth, self.adapted = levelled, best, growth, adapted
        self.is_precise = is_precise
        self.passes = 0
        self.folds = [None] * 3
        self.calls = []

    def read(self, strength):
        """Return the number of each order and the growth that strengths per term were made of."""
        orders, levels = self.levelled.terms.orders, self.levelled.levels
        strength = strength / self.levelled.copies
        found = [strength[(orders == k) & (levels == 1)][0] for k in np.unique(orders)]
        finer = np.flatnonzero((orders == 1) & (levels == 2))
        return found, float(strength[finer[0]] / found[0]) if len(finer) else 1.0

    def loss(self, strength, solver):
        self.passes += 10
        self.calls.append((strength, solver))
        by_order, growth = self.read(strength)
        away = sum(log10(x / best) ** 2 for x, best in zip(by_order, self.best, strict=True))
        if self.growth is not None:
            away += 4.0 * log10(growth / self.growth) ** 2
        return 1.0 + 0.1 * away

    def adapted_loss(self, strength, adaptation, solver):
        self.passes += 5
        self.calls.append((strength, solver))
        factor = self.adapted(adaptation) if callable(self.adapted) else self.adapted
        return self.loss(strength, solver) * factor


def search(bowl, *, most=1000, deadline=NEVER, start=START, rows=1e9, **precise):
    found = StrengthSearch(bowl, bowl.levelled, most=most, deadline=deadline, rows=rows, **precise)
    return found, found.adapt(found.run(start))


@given(st.floats(-2.7, 4.7), st.floats(-2.7, 4.7))
def test_the_minimum_of_a_bowl_is_found(first, second):
    bowl = Bowl(CATEGORIES, (10**first, 10**second))
    _, best = search(bowl)
    # Steps end at a factor of √10: half of one is as near as it gets, beside what is no better.
    assert abs(log10(best.strengths.by_order[0]) - first) <= 0.3
    assert abs(log10(best.strengths.by_order[1]) - second) <= 0.3


@given(st.floats(1.0, 3.5))
def test_the_growth_is_found_where_terms_have_levels(growth):
    bowl = Bowl(LEVELLED, (1.0, 30.0), growth=growth)
    _, best = search(bowl)
    assert abs(log10(best.strengths.growth / growth)) <= 0.5 * log10(2**0.5) + 0.02


def test_without_levels_growth_stays():
    found, best = search(Bowl(CATEGORIES, (0.1, 1000.0)))
    assert {trial.strengths.growth for trial in found.trials} == {START.growth}
    assert best.strengths.growth == START.growth


@pytest.mark.parametrize("rows", [30.0, 1e9])
@pytest.mark.parametrize("best", [(1e-30, 1e-30), (1e30, 1e30), (1e-30, 1e30)])
def test_no_trial_is_outside_the_bounds(best, rows):
    bowl = Bowl(LEVELLED, best, growth=1e9 if best[0] > 1 else 1e-9)
    found, chosen = search(bowl, rows=rows)
    least = max(LEAST, 3.0 / rows)
    for trial in found.trials:
        assert all(least <= strength <= MOST for strength in trial.strengths.by_order)
        assert LEAST_GROWTH <= trial.strengths.growth <= MOST_GROWTH
    for strength, wanted in zip(chosen.strengths.by_order, best, strict=True):
        bound = MOST if wanted > 1 else least
        assert abs(log10(strength / bound)) <= 0.5


@given(st.floats(-3, 5), st.floats(-3, 5), st.integers(1, 30))
def test_the_best_trial_is_the_lowest_and_nothing_is_tried_twice(first, second, most):
    bowl = Bowl(LEVELLED, (10**first, 10**second), growth=1.0)
    found, best = search(bowl, most=most)
    plain = [trial for trial in found.trials if trial.adaptation == UNADAPTED]
    assert len(plain) <= most
    keys = {
        tuple(round(log10(number), 3) for number in (*s.by_order, s.growth))
        for s in (trial.strengths for trial in plain)
    }
    assert len(keys) == len(plain)
    lowest = min(trial.loss for trial in found.trials)
    assert best.loss <= lowest / (1 - 1e-4)
    assert best in found.trials


def test_the_first_trial_is_the_start_and_the_deepest_order_moves_first():
    found, _ = search(Bowl(CATEGORIES, (0.01, 0.01)))
    assert found.trials[0].strengths == START
    assert found.trials[1].strengths == START.scaled(1, 0.1)


def test_a_budget_of_one_tries_the_start_alone():
    found, best = search(Bowl(LEVELLED, (1e-3, 1e5)), most=1)
    assert [trial.strengths for trial in found.trials] == [START]
    assert best is found.trials[0]


def test_after_the_deadline_the_start_alone_is_tried():
    found, best = search(Bowl(LEVELLED, (1e-3, 1e5)), deadline=-1.0)
    assert len(found.trials) == 1
    assert best.strengths == START


def test_nothing_new_is_tried_once_the_deadline_has_passed(monkeypatch):
    bowl = Bowl(LEVELLED, (1e-3, 1e5))
    # Every loss takes a second.
    monkeypatch.setattr(strength_search, "perf_counter", lambda: float(len(bowl.calls)))
    found, best = search(bowl, deadline=6.0)
    assert len(bowl.calls) == 6
    assert len(found.trials) == 5  # the first fit is no trial
    assert best.loss == min(trial.loss for trial in found.trials)


@pytest.mark.parametrize("level", [1.0, 0.2, 0.001])
def test_fits_are_as_thorough_as_the_loss_is_low_and_the_first_most(level):
    bowl = Bowl(LEVELLED, (1.0, 30.0))
    original = bowl.loss
    bowl.loss = lambda strength, solver: level * original(strength, solver)
    search(bowl)
    expected = max(level, strength_search.LEAST_LOSS)
    solvers = [solver for _, solver in bowl.calls]
    first = [solver for solver in solvers if solver.max_iter == strength_search.FIRST.max_iter]
    assert solvers[: len(first)] == first
    assert first[0] is strength_search.FIRST
    assert first[-1].tol == pytest.approx(strength_search.FIRST.tol * expected)
    assert len(first) == (1 if level == 1.0 else 2)
    for solver in solvers[len(first) :]:
        assert solver.tol == pytest.approx(strength_search.SOLVER.tol * expected)
        assert solver.tol > first[-1].tol


def test_fits_that_take_long_are_not_more_thorough_where_the_loss_is_low():
    bowl = Bowl(LEVELLED, (1.0, 30.0))
    original = bowl.loss
    bowl.loss = lambda strength, solver: 0.01 * original(strength, solver)
    search(bowl, precise=False)
    tolerances = {solver.tol for _, solver in bowl.calls}
    assert tolerances == {strength_search.FIRST.tol, strength_search.SOLVER.tol}


def test_trials_say_how_many_folds_judged_them():
    found, best = search(Bowl(LEVELLED, (1.0, 30.0)))
    assert best.folds == 3
    assert {trial.folds for trial in found.trials} == {3}


def test_passes_of_trials_are_counted():
    bowl = Bowl(CATEGORIES, (1.0, 30.0))
    found, _ = search(bowl)
    assert {trial.passes for trial in found.trials if trial.adaptation == UNADAPTED} == {10}
    assert {trial.passes for trial in found.trials if trial.adaptation != UNADAPTED} == {15}


def test_adaptations_are_tried_as_long_as_they_are_better():
    losses = dict(zip(strength_search.ADAPTATIONS, (0.95, 0.9, 0.92, 0.5), strict=True))
    bowl = Bowl(LEVELLED, (1.0, 30.0), adapted=losses.__getitem__)
    found, best = search(bowl)
    assert best.adaptation == strength_search.ADAPTATIONS[1]
    assert best.loss == pytest.approx(0.9, abs=0.01)
    tried = [trial.adaptation for trial in found.trials if trial.adaptation != UNADAPTED]
    assert tried == list(strength_search.ADAPTATIONS[:3])
    # What adaptations follow is a fit with the strengths that were found.
    before = bowl.calls[-4][0]
    np.testing.assert_array_equal(before, best.strengths.per_term(LEVELLED))


def test_where_fits_are_not_precise_all_adaptations_are_tried():
    losses = dict(zip(strength_search.ADAPTATIONS, (1.01, 0.9, 0.92, 0.5), strict=True))
    bowl = Bowl(LEVELLED, (1.0, 30.0), adapted=losses.__getitem__, is_precise=False)
    found, best = search(bowl)
    assert best.adaptation == strength_search.ADAPTATIONS[3]
    tried = [trial.adaptation for trial in found.trials if trial.adaptation != UNADAPTED]
    assert tried == list(strength_search.ADAPTATIONS)


@pytest.mark.parametrize("factor", [1.0, 1.0 - 1e-6, 1.2])
def test_an_adaptation_that_is_no_better_is_left(factor):
    found, best = search(Bowl(LEVELLED, (1.0, 30.0), adapted=factor))
    assert best.adaptation == UNADAPTED
    tried = [trial.adaptation for trial in found.trials if trial.adaptation != UNADAPTED]
    assert tried == [strength_search.ADAPTATIONS[0]]


def test_a_single_term_has_nothing_to_adapt():
    levelled = Resolutions(np.array([0]), np.array([4])).terms((1,))
    found, best = search(Bowl(levelled, (10.0,), adapted=0.5), start=Strengths((1.0,), 1.0))
    assert all(trial.adaptation == UNADAPTED for trial in found.trials)
    assert best.strengths.by_order == pytest.approx((10.0,))


def test_orders_without_terms_keep_their_start():
    none = {1: np.empty((0, 1), np.int64)}
    levelled = Resolutions(np.arange(3), np.array([2, 3, 4])).terms((1, 1), none)
    _, best = search(Bowl(levelled, (3000.0,)))
    assert best.strengths.by_order[0] == START.by_order[0]
    assert best.strengths.by_order[1] == pytest.approx(3000.0)


def test_a_search_that_is_late_after_its_first_fit_tries_nothing_more():
    bowl = Bowl(LEVELLED, (0.001, 3.0), growth=2.0)
    found, best = search(bowl, deadline=-NEVER)
    assert len(bowl.calls) == 1
    assert found.trials == [best]
    assert (best.strengths, best.passes) == (START, 10)
    assert found.is_cut_short
