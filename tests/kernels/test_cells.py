"""Parameters into cells and gradients out of them."""

import numpy as np
import pytest

from deepbroad.kernels.cells import collect_cells, place_cells

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
