"""Parameters into cells and gradients out of them."""

import numpy as np
import pytest

from deepbroad.kernels.cells import CHUNK, collect_cells, penalise_cells, place_cells

pytestmark = pytest.mark.uncompiled

N_CELLS, WIDTH, N_CLASSES = 7, 4, 4
REACHED = np.array([0, 2, 3, 6])


@pytest.fixture
def arrays():
    rng = np.random.default_rng(0)
    shape = (len(REACHED), N_CLASSES)
    return rng.normal(size=shape), rng.normal(size=shape), rng.normal(size=N_CELLS * WIDTH)


def test_reached_cells_get_scores_relative_to_the_first_class(arrays):
    scale, parameters, cells = arrays
    expected = cells.reshape(N_CELLS, WIDTH).copy()
    beta = scale * parameters
    expected[REACHED, : N_CLASSES - 1] = beta[:, 1:] - beta[:, :1]
    place_cells(0, len(REACHED), REACHED, scale, parameters, cells, WIDTH)
    np.testing.assert_allclose(cells.reshape(N_CELLS, WIDTH), expected, rtol=1e-14)


def test_only_the_numbered_cells_are_written(arrays):
    scale, parameters, cells = arrays
    before = cells.reshape(N_CELLS, WIDTH).copy()
    place_cells(1, 3, REACHED, scale, parameters, cells, WIDTH)
    changed = (cells.reshape(N_CELLS, WIDTH) != before).any(axis=1)
    assert np.flatnonzero(changed).tolist() == [2, 3]


def test_gradients_are_scaled_and_class_zero_takes_less_the_sum(arrays):
    scale, _, cells = arrays
    gradient = np.full(scale.shape, np.nan)
    collect_cells(0, len(REACHED), REACHED, scale, cells, gradient, WIDTH)
    by_class = cells.reshape(N_CELLS, WIDTH)[REACHED, : N_CLASSES - 1]
    expected = np.hstack([-by_class.sum(axis=1, keepdims=True), by_class]) * scale
    np.testing.assert_allclose(gradient, expected, rtol=1e-12)


def test_collecting_is_the_transpose_of_placing(arrays):
    scale, parameters, _ = arrays
    rng = np.random.default_rng(1)
    placed, gradient = np.zeros(N_CELLS * WIDTH), np.empty(scale.shape)
    place_cells(0, len(REACHED), REACHED, scale, parameters, placed, WIDTH)
    y = rng.normal(size=N_CELLS * WIDTH)
    collect_cells(0, len(REACHED), REACHED, scale, y, gradient, WIDTH)
    assert placed @ y == pytest.approx((gradient * parameters).sum(), rel=1e-12)


def test_single_precision_cells_are_filled_too(arrays):
    scale, parameters, _ = arrays
    double, single = np.zeros(N_CELLS * WIDTH), np.zeros(N_CELLS * WIDTH, np.float32)
    place_cells(0, 4, REACHED, scale, parameters, double, WIDTH)
    place_cells(0, 4, REACHED, scale.astype(np.float32), parameters, single, WIDTH)
    np.testing.assert_allclose(single, double, rtol=1e-5, atol=1e-6)


def penalise(first, last, parameters, target, strength, total, gradient):
    penalties = np.full(-(-len(parameters) // CHUNK), np.nan)
    target, strength = (np.broadcast_to(array, parameters.shape) for array in (target, strength))
    penalise_cells(first, last, parameters, target, strength, total, gradient, penalties)
    return penalties


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("per_cell", [True, False])
def test_the_penalty_and_its_gradient_are_those_of_the_formula(per_cell, dtype):
    rng = np.random.default_rng(2)
    parameters, gradient = rng.normal(size=(2, 9, 3)).astype(dtype)
    target = rng.normal(size=(9, 3)) if per_cell else 0.25
    strength = rng.uniform(0.1, 3.0, size=(9, 3)) if per_cell else 1.5
    expected = (gradient + strength * (parameters - target)) / 40.0
    penalty = 0.5 * (strength * (parameters - target) ** 2).sum()
    found = penalise(0, 9, parameters, target, strength, 40.0, gradient)
    rtol = 1e-12 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(found, [penalty], rtol=rtol)
    np.testing.assert_allclose(gradient, expected, rtol=rtol, atol=rtol)


def test_the_gradient_of_the_penalty_is_its_derivative():
    rng = np.random.default_rng(3)
    parameters, target, strength = rng.uniform(0.1, 2.0, size=(3, 4, 2))
    gradient = np.zeros((4, 2))
    penalise(0, 4, parameters, target, strength, 1.0, gradient)
    step = 1e-5
    for place in np.ndindex(4, 2):
        moved = [parameters.copy(), parameters.copy()]
        moved[0][place] += step
        moved[1][place] -= step
        above, below = (
            penalise(0, 4, u, target, strength, 1.0, np.zeros((4, 2)))[0] for u in moved
        )
        assert gradient[place] == pytest.approx((above - below) / (2 * step), rel=1e-6)


def test_every_chunk_of_cells_has_a_penalty_of_its_own():
    rows = 2 * CHUNK + 5
    parameters = np.random.default_rng(4).normal(size=(rows, 1))
    bounds = [(0, CHUNK), (CHUNK, 2 * CHUNK), (2 * CHUNK, rows)]
    expected = [(parameters[low:high] ** 2).sum() for low, high in bounds]
    whole = np.ones((rows, 1))
    found = penalise(0, rows, parameters, 0.0, 2.0, 1.0, whole)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    # A thread's share of the chunks gives the same numbers, and leaves the others alone.
    part = np.ones((rows, 1))
    shared = penalise(CHUNK, rows, parameters, 0.0, 2.0, 1.0, part)
    assert shared[1:].tolist() == found[1:].tolist()
    assert np.isnan(shared[0])
    assert (part[:CHUNK] == 1).all()
    np.testing.assert_array_equal(part[CHUNK:], whole[CHUNK:])
