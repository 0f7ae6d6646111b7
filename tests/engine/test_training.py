"""Fits that go on from another, and maximum likelihood."""

import numpy as np
import pytest

from deepbroad.engine.scoring import Scorer
from deepbroad.model.family import Family
from deepbroad.solvers import LBFGS
from tests import naive
from tests.engine.problems import Problem, draw_problem

FAMILIES = {
    "LR": Family(generative=False, strength=0.5),
    "DBL to zero": Family(generative=True, strength=0.5),
    "DBL to AnJE": Family(generative=True, strength=0.5, target=1.0),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_warm_start_begins_at_the_loss_where_the_first_fit_ended(family):
    problem = draw_problem(1)
    training = problem.training(2, [(0, 1), (2, 3)])
    model, first = training.discriminative(FAMILIES[family], LBFGS(max_iter=20, tol=1e-8))
    _, second = training.discriminative(FAMILIES[family], LBFGS(tol=1e-8), warm=model)
    assert second.loss_curve[0] == pytest.approx(first.loss, rel=1e-9)
    assert second.n_iter < 500


def test_a_warm_start_survives_another_partition():
    problem = draw_problem(2)
    model, first = problem.training(2, [(0, 1), (2, 3)]).discriminative(
        FAMILIES["LR"], LBFGS(max_iter=10)
    )
    other = problem.training(2, [(3, 0), (2,), (1,)])
    assert model.has_terms_of(other.plan)
    _, second = other.discriminative(
        FAMILIES["LR"], LBFGS(max_iter=0), warm=model.reordered(other.plan)
    )
    assert second.loss == pytest.approx(first.loss, rel=1e-12)


def test_a_column_of_one_value_does_not_disturb_a_warm_start():
    problem = draw_problem(3, a=3)
    codes = np.vstack([problem.codes, np.zeros((1, 60), np.uint8)])
    problem = Problem(codes, problem.labels, np.append(problem.cardinalities, 1), 3)
    training = problem.training(1)
    family = FAMILIES["DBL to zero"]
    model, first = training.discriminative(family, LBFGS(max_iter=10))
    _, second = training.discriminative(family, LBFGS(max_iter=0), warm=model)
    assert np.isfinite(second.loss)
    assert second.loss <= first.loss_curve[0]


def every_value_with_every_class():
    """All of 2 x 3 values with both classes, so that no count is 0."""
    grid = np.array([[i, j, y] for i in range(2) for j in range(3) for y in range(2)] * 2).T
    grid = np.hstack([grid, grid[:, :5]]).astype(np.uint8)
    return Problem(np.ascontiguousarray(grid[:2]), grid[2].copy(), np.array([2, 3]), 2)


@pytest.mark.parametrize("n", [1, 2])
def test_maximum_likelihood_is_anje_where_no_count_is_zero(n):
    problem = every_value_with_every_class()
    tables = naive.anje_tables(
        problem.codes, problem.labels, problem.omega, n, *problem.shape, m=0.0
    )
    expected = naive.probabilities(naive.score_rows(*tables, problem.codes, problem.cardinalities))
    model = problem.training(n, smoothing=0.0).generative()
    np.testing.assert_allclose(Scorer(model).probabilities(problem.codes), expected, atol=1e-12)


@pytest.mark.parametrize("family", FAMILIES)
def test_maximum_likelihood_is_allowed_where_no_logarithm_of_zero_is_taken(family):
    training = every_value_with_every_class().training(2, smoothing=0.0)
    _, solution = training.discriminative(FAMILIES[family], LBFGS())
    assert solution.status == "converged"


def test_maximum_likelihood_is_refused_before_the_fit_where_a_count_is_zero():
    training = draw_problem(0, rows=12).training(2, smoothing=0.0)
    with pytest.raises(ValueError, match="smoothing=0 takes the logarithm of 0"):
        training.generative()
    evaluations = []
    with pytest.raises(ValueError, match="smoothing=0 takes the logarithm of 0"):
        training.discriminative(
            FAMILIES["DBL to zero"], LBFGS(), callbacks=[lambda p: evaluations.append(p)]
        )
    assert not evaluations
