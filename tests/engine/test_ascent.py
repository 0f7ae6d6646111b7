"""A fit by dual ascent is the best point that it saw, and its status is true."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest

from deepbroad.engine import dual as dual_module
from deepbroad.engine.ascent import AscentWatch, fit_by_dual
from deepbroad.engine.dual import RowDual
from deepbroad.engine.journal import NO_JOURNAL
from deepbroad.model.objective import Objective
from deepbroad.solvers import LBFGS, DualFirst
from tests.engine.hierarchies import draw_nested, single_plan, train
from tests.engine.test_dual import EXACT, LEVELS, make_family

GAP = 1e-3
# The first sweep of this problem raises F from 0.5 to 35.
RISING = 5


@pytest.fixture
def _many_rows(monkeypatch):
    """Have the ascent begin anywhere, as that of many rows does; that of few rows nearly ends."""
    monkeypatch.setattr(dual_module, "FEW_ROWS", 0)


def draw_weighted(seed, strength=1.0):
    """Return a training set with weights over 24 orders of magnitude, and a family."""
    problem = draw_nested(seed, weighted=True, n_classes=2 + seed % 3)
    exponents = np.random.default_rng(seed).uniform(-12, 12, len(problem.weights))
    problem = replace(problem, weights=10.0**exponents)
    levelled = problem.levelled(LEVELS)
    training = train(problem, single_plan(problem, levelled.terms))
    return training, make_family(levelled, (strength, 5 * strength))


def ascend(training, family, gap=GAP, callbacks=()):
    """Return the solution of the ascent, whether it is the end, and the objective."""
    design = training.design(family)
    total = float(training.class_counts.sum())
    objective = Objective(design, training.loss_pass(family, design), total, training.threads)
    solution, is_end = fit_by_dual(
        training.dual(family, design, inf), objective, family.strength,
        DualFirst(EXACT, gap=gap, pairs=10**6), terms=training.plan.terms,
        reached=training.reached, callbacks=callbacks, journal=NO_JOURNAL,
    )  # fmt: skip
    return solution, is_end, objective


@pytest.mark.parametrize("few", [0, 2048])
@pytest.mark.parametrize("strength", [1.0, 1e6, 1e12])
def test_the_best_point_is_returned_whatever_the_weights(strength, few, monkeypatch):
    monkeypatch.setattr(dual_module, "FEW_ROWS", few)
    ends = 0
    for seed in range(20):
        training, family = draw_weighted(seed, strength)
        solution, is_end, objective = ascend(training, family)
        ends += is_end
        assert solution.loss == min(solution.loss_curve)
        assert objective(solution.u)[0] == solution.loss
        assert (solution.status == "converged") == is_end
    assert ends > 3


@pytest.mark.parametrize("strength", [1.0, 1e6, 1e12])
def test_what_is_called_converged_is_within_the_gap_of_the_minimum(strength, monkeypatch):
    ends = 0
    for seed in range(20):
        training, family = draw_weighted(seed, strength)
        _, exact = training.discriminative(family, EXACT)
        for few in (0, 2048):
            monkeypatch.setattr(dual_module, "FEW_ROWS", few)
            _, found = training.discriminative(family, DualFirst(EXACT, gap=GAP, pairs=10**6))
            # With such weights even thousands of iterations may not be enough, which is told then.
            assert found.status in ("converged", "max_iter")
            ends += found.status == "converged"
            assert found.loss <= exact.loss + GAP
    assert ends >= 39


@pytest.mark.usefixtures("_many_rows")
def test_a_gap_that_rounding_made_too_small_is_no_convergence(monkeypatch):
    training, family = draw_weighted(RISING)
    sweep = RowDual.sweep

    def sweep_and_claim(self, seed, cycle):
        sweep(self, seed, cycle)
        return 0.0

    monkeypatch.setattr(RowDual, "sweep", sweep_and_claim)
    monkeypatch.setattr(RowDual, "measure", lambda self: 0.0)
    claimed, is_end, _ = ascend(training, family)
    assert claimed.loss_curve[-1] > claimed.loss + GAP
    assert (claimed.status, is_end) == ("stalled", False)
    _, found = training.discriminative(family, DualFirst(EXACT, gap=GAP, pairs=10**6))
    _, exact = training.discriminative(family, EXACT)
    assert found.loss == pytest.approx(exact.loss, abs=1e-8)


@pytest.mark.usefixtures("_many_rows")
def test_a_fit_that_is_stopped_has_the_best_point_too():
    training, family = draw_weighted(RISING)
    solution, is_end, _ = ascend(training, family, 1e-8, [lambda p: p.iteration == 1])
    assert (solution.status, is_end) == ("stopped", True)
    assert solution.loss_curve[1] > solution.loss_curve[0] == solution.loss


@pytest.mark.usefixtures("_many_rows")
def test_an_ascent_that_is_resumed_knows_the_best_point_before():
    training, family = draw_weighted(RISING)
    states = []

    def keep(progress):
        state = progress.state()
        states.append(replace(state, best=state.best.copy(), losses=list(state.losses)))
        return progress.iteration == 1

    solution, _, objective = ascend(training, family, 1e-8, [keep])
    dual = training.dual(family, training.design(family), inf)
    watch = AscentWatch(dual, objective, LBFGS.max_iter, [], states[-1])
    resumed = watch.solution("stopped")
    assert resumed.loss == solution.loss
    np.testing.assert_array_equal(resumed.u, solution.u)
