"""The direction of a history is that of the two loops over vectors, however alike its pairs are."""

import numpy as np
import pytest

from deepbroad.solvers import LBFGS
from deepbroad.solvers.chunks import Chunks
from deepbroad.solvers.history import History
from tests.solvers.problems import quadratic


def two_loops(pairs, order, gradient, dtype):
    """Return -H·g for pairs and a gradient in the coordinates of the search."""
    kept = [pairs[slot].astype(dtype) for slot in order]
    q, along = gradient.astype(dtype), []
    for s, y in reversed(kept):
        along.append((s @ q) / (s @ y))
        q = q - along[-1] * y
    if kept:
        s, y = kept[-1]
        q = q * ((s @ y) / (y @ y))
    for (s, y), a in zip(kept, reversed(along), strict=True):
        q = q + (a - (y @ q) / (s @ y)) * s
    return -q


def learn(history, moves, gradients):
    """Walk along some moves, and return the last gradient."""
    gradient = np.empty(moves.shape[1])
    history.meet(gradient, gradients[0])
    for move, fresh in zip(moves, gradients[1:], strict=True):
        history.learn(0.5, move.astype(history.pairs.dtype), gradient, fresh)
    return gradient


@pytest.mark.parametrize("condition", [1e2, 1e6, 1e10])
@pytest.mark.parametrize("seed", range(3))
def test_inner_products_lose_no_more_than_the_two_loops(condition, seed):
    value, _, _ = quadratic(seed, 40, condition)
    kept = []
    LBFGS(max_iter=60, tol=0).minimise(
        value, np.zeros(40), callbacks=[lambda p: kept.append(p.state().copy())]
    )
    for state in kept[12::12]:
        history = History(10, 40, np.empty(0), Chunks(40))
        history.restore(state.pairs, state.order, state.gram)
        direction = np.empty(40)
        history.point(state.gradient, direction, 1.0, state.u, np.empty(40))
        exact = two_loops(state.pairs, state.order, state.gradient, np.longdouble)
        loops = two_loops(state.pairs, state.order, state.gradient, np.float64)
        size = np.linalg.norm(exact.astype(float))
        lost = np.linalg.norm((direction - exact).astype(float)) / size
        lost_by_loops = np.linalg.norm((loops - exact).astype(float)) / size
        assert lost <= max(30 * lost_by_loops, 1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("walked", [1, 3, 4, 9])
def test_the_last_pairs_give_the_direction_and_a_trial(walked, dtype):
    rng = np.random.default_rng(walked)
    scaling = rng.uniform(0.5, 2, size=25).astype(dtype)
    curvature = rng.uniform(0.5, 2, size=25)
    moves = rng.normal(size=(walked, 25)).astype(dtype)
    points = np.vstack([np.ones(25), 1 + np.cumsum(0.5 * moves.astype(float), axis=0)])
    history = History(4, 25, scaling, Chunks(25, size=10))
    gradient = learn(history, moves, points * curvature)
    assert len(history.order) == min(walked, 4)
    kappa = scaling.astype(float)
    pairs = [
        (0.5 * move.astype(float) / kappa, 0.5 * move.astype(float) * curvature * kappa)
        for move in moves[-4:]
    ]
    expected = kappa * two_loops(np.array(pairs), range(len(pairs)), gradient * kappa, float)
    direction, trial = np.empty(25, dtype), np.empty(25)
    slope = history.point(gradient, direction, 0.3, points[-1], trial)
    tolerance = (1e-11 if dtype == np.float64 else 1e-4) * np.abs(expected).max()
    np.testing.assert_allclose(direction, expected, atol=tolerance, rtol=0)
    np.testing.assert_allclose(trial, points[-1] + 0.3 * direction.astype(float), atol=1e-14)
    assert slope == pytest.approx(direction.astype(float) @ gradient, rel=1e-10)
    assert history.gradient_norm == pytest.approx(np.abs(gradient * kappa).max())


def test_a_pair_that_rounding_leaves_no_curvature_is_dropped():
    history = History(3, 2, np.empty(0, np.float32), Chunks(2))
    # Move and change are orthogonal but for 1e-10 of their lengths.
    moves = np.array([[2.0, 0.0], [2.0, 0.0]])
    gradients = np.array([[0.0, 0.0], [1.0, 0.0], [1.0 + 1e-10, 1.0]])
    learn(history, moves, gradients)
    assert history.order.tolist() == [0]


def test_what_is_forgotten_no_longer_bends_the_direction():
    history = History(3, 2, np.empty(0), Chunks(2))
    gradient = learn(history, np.eye(2), np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 3.0]]))
    history.forget()
    direction = np.empty(2)
    history.point(gradient, direction, 1.0, np.zeros(2), np.empty(2))
    np.testing.assert_array_equal(direction, -gradient)
