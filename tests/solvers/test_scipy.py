"""SciPy's L-BFGS-B, without bounds and in the coordinates of the search, takes the same steps."""

import numpy as np
import pytest
from scipy.optimize import minimize

from deepbroad.solvers import LBFGS
from deepbroad.solvers.lbfgs import FIRST_STEP
from tests.solvers.problems import Counted, logistic, quadratic

ITERATIONS = 25


def valley(u):
    """Return Rosenbrock's function of many variables."""
    slope = u[1:] - u[:-1] ** 2
    gradient = np.zeros_like(u)
    gradient[:-1] = -400 * u[:-1] * slope - 2 * (1 - u[:-1])
    gradient[1:] += 200 * slope
    return float(100 * slope @ slope + (1 - u[:-1]) @ (1 - u[:-1])), gradient


def plateaus(u):
    """Return a function with narrow valleys and flat heights, which makes long line searches."""
    slopes = np.random.default_rng(3).normal(size=(8, 4)) * 3
    t = slopes @ u + np.arange(8)
    return 50 * float(np.log1p(t**4).sum()), 200 * slopes.T @ (t**3 / (1 + t**4))


def problem(name, seed):
    """Return an objective, a start and a curvature."""
    start = np.random.default_rng(seed + 100).normal(size=50)
    if name == "logistic":
        value, curvature = logistic(seed)
        return value, start, curvature
    if name == "quadratic":
        value, _, curvature = quadratic(seed, size=50, condition=1e4)
        return value, start, curvature
    if name == "plateaus":
        return plateaus, start[:4], np.geomspace(1e2, 1e4, 4)
    return valley, start[:12], np.geomspace(1, 1e3, 12)


def scipy_search(value, start, scaling, history):
    """Return SciPy's losses per evaluation and, per iteration, its evaluations and loss."""
    objective, iterations = Counted(value), []

    def scaled(z):
        loss, gradient = objective(z * scaling)
        return loss, gradient * scaling

    def iterate(intermediate_result):
        iterations.append((len(objective.losses), float(intermediate_result.fun)))

    minimize(
        scaled,
        start / scaling,
        jac=True,
        method="L-BFGS-B",
        callback=iterate,
        options={"maxiter": ITERATIONS, "maxcor": history, "ftol": 0, "gtol": 0},
    )
    return objective.losses, iterations


@pytest.mark.parametrize("name", ["logistic", "quadratic", "valley", "plateaus"])
@pytest.mark.parametrize("history", [3, 10])
@pytest.mark.parametrize("exponent", [0.0, 0.25, 0.5])
@pytest.mark.parametrize("seed", [0, 1])
def test_losses_and_evaluations_are_scipys(name, history, exponent, seed):
    value, start, curvature = problem(name, seed)
    scaling = FIRST_STEP * curvature**-exponent if exponent else np.ones(len(start))
    losses, iterations = scipy_search(value, start, scaling, history)
    seen = []
    solver = LBFGS(max_iter=ITERATIONS, tol=0, history=history, preconditioning=exponent)
    found = solver.minimise(
        value,
        start,
        curvature=curvature,
        callbacks=[lambda progress: seen.append((progress.evaluations, progress.loss))],
    )
    # Where SciPy ends by itself, at a minimum, rounding decides who takes one step more.
    compared = min(ITERATIONS, len(iterations) - 2)
    assert compared >= 6
    counts, curve = np.array(iterations[:compared]).T
    our_counts, our_curve = np.array(seen[1 : compared + 1]).T
    np.testing.assert_array_equal(our_counts, counts)
    np.testing.assert_allclose(our_curve, curve, rtol=1e-7)
    evaluations = int(counts[-1])
    np.testing.assert_allclose(
        found.evaluation_curve[:evaluations], losses[:evaluations], rtol=1e-6
    )


def test_line_searches_of_many_steps_are_among_the_compared():
    value, start, _ = problem("plateaus", 0)
    losses, iterations = scipy_search(value, start, np.ones(4), 10)
    assert len(losses) > 1.5 * len(iterations)
    assert np.diff([count for count, _ in iterations]).max() >= 4
