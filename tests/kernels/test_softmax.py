"""Loss, residuals and probabilities of a softmax, against a loop over rows."""

import numpy as np
import pytest

from deepbroad.kernels.lookup import TILE
from deepbroad.kernels.softmax import (
    exponentiate_tile,
    probability_rows,
    shift_tile,
    softmax_rows,
    transpose_in,
    transpose_out,
)
from deepbroad.kernels.vector import lane_count, lanes_for
from tests import naive

pytestmark = pytest.mark.uncompiled


def draw(rows, n_classes, seed=0, spread=3.0):
    rng = np.random.default_rng(seed)
    scores = rng.normal(scale=spread, size=(rows, n_classes - 1))
    return scores, rng.integers(n_classes, size=rows).astype(np.uint8), rng.uniform(0, 2, rows)


def with_class_zero(scores):
    return np.hstack([np.zeros((len(scores), 1)), scores])


def run(scores, labels, weights, dtype, start=0):
    """Return loss, residuals (rows, C - 1) and the sums of all tiles that softmax_rows gives."""
    rows, n_scores = scores.shape
    width = lane_count(n_scores)
    values = np.zeros((rows, width), dtype)
    values[:, :n_scores] = scores
    partial = np.full((-(-(start + rows) // TILE), 1 + n_scores), np.nan)
    flat = values.ravel()
    softmax_rows(flat, start, start + rows, labels, weights, n_scores, partial, lanes_for(width))
    assert not values[:, n_scores:].any(), "padding lanes must stay 0"
    return partial[start // TILE :].sum(axis=0), values[:, :n_scores]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("equal", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3, 5, 18])
def test_loss_and_residuals_are_those_of_the_loop(n_classes, equal, dtype):
    rows = TILE + 13 if n_classes == 3 else 40
    scores, labels, weights = draw(rows, n_classes)
    if equal:  # a case of its own: logarithms of products
        weights[:] = 1.5
    scores = scores.astype(dtype)
    sums, residuals = run(scores, labels, weights, dtype)
    loss, expected = naive.softmax_loss(with_class_zero(scores.astype(float)), labels, weights)
    tolerance = 1e-6 if dtype == np.float32 else 1e-13
    assert sums[0] == pytest.approx(loss, rel=tolerance)
    np.testing.assert_allclose(residuals, expected[:, 1:], atol=2 * tolerance)
    np.testing.assert_allclose(sums[1:], expected[:, 1:].sum(axis=0), atol=rows * tolerance)


def test_every_tile_has_its_own_sums():
    scores, labels, weights = draw(2 * TILE + 9, 3)
    values = np.zeros((len(scores), 2))
    values[:] = scores
    partial = np.full((4, 3), np.nan)  # the tile before the first is left alone
    labels, weights = (np.concatenate([x[:TILE], x]) for x in (labels, weights))
    softmax_rows(values.ravel(), TILE, TILE + len(scores), labels, weights, 2, partial, (0, 0))
    assert np.isnan(partial[0]).all()
    for t in range(3):
        rows = slice(t * TILE, (t + 1) * TILE)
        loss, residuals = naive.softmax_loss(
            with_class_zero(scores[rows]), labels[TILE:][rows], weights[TILE:][rows]
        )
        np.testing.assert_allclose(partial[1 + t], [loss, *residuals[:, 1:].sum(axis=0)], rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extreme_scores_give_finite_losses(dtype):
    scores = np.array([[1e4, -1e4], [-1e4, -1e4], [-1e4, 1e4], [1e4, 1e4]])
    labels = np.array([1, 1, 0, 2], np.uint8)
    sums, residuals = run(scores, labels, np.ones(4), dtype)
    loss, expected = naive.softmax_loss(with_class_zero(scores), labels, np.ones(4))
    assert sums[0] == pytest.approx(loss, rel=1e-6)
    np.testing.assert_allclose(residuals, expected[:, 1:], atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_weight_zero_add_nothing(dtype):
    scores, labels, weights = draw(30, 4)
    weights[::3] = 0
    kept = weights > 0
    sums, residuals = run(scores, labels, weights, dtype)
    alone, residuals_alone = run(scores[kept], labels[kept], weights[kept], dtype)
    assert not residuals[~kept].any()
    np.testing.assert_array_equal(residuals[kept], residuals_alone)
    np.testing.assert_allclose(sums, alone, rtol=1e-6 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("place", [0, 1])
def test_a_score_that_is_not_a_number_makes_the_loss_one_too(place, dtype):
    scores, labels, weights = draw(5, 3)
    scores[2, place] = np.nan
    sums, residuals = run(scores, labels, weights, dtype)
    assert np.isnan(sums[0])
    assert np.isnan(residuals[2]).any()
    assert not np.isnan(np.delete(residuals, 2, axis=0)).any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_classes", [2, 4, 18])
def test_probabilities_are_those_of_the_loop_and_sum_to_one(n_classes, dtype):
    rows, n_scores = TILE + 5 if n_classes == 2 else 30, n_classes - 1
    scores, _, _ = draw(rows, n_classes)
    scores[0], scores[1] = 1e4, -1e4
    width = lane_count(n_scores)
    values = np.zeros((rows, width), dtype)
    values[:, :n_scores] = scores
    found = np.full((rows + 4, n_classes), -1.0)
    probability_rows(values.ravel(), 2, 2 + rows, n_scores, found, lanes_for(width))
    expected = naive.probabilities(with_class_zero(values[:, :n_scores].astype(float)))
    np.testing.assert_allclose(found[2:-2], expected, atol=5e-7 if dtype == np.float32 else 1e-14)
    np.testing.assert_allclose(found[2:-2].sum(axis=1), 1, atol=1e-14)
    assert (found[[0, 1, -2, -1]] == -1).all()


def test_a_tile_holds_scores_less_the_largest_and_class_zero_last():
    tile, largest = np.empty((3, TILE)), np.empty(TILE)
    transpose_in(np.array([1.0, 5.0, -2.0, -3.0]), 2, tile, (0, 0))
    shift_tile(tile, 2, 2, largest)
    np.testing.assert_array_equal(largest[:2], [5, 0])
    np.testing.assert_array_equal(tile[:, :2], [[-4, -2], [0, -3], [-5, 0]])


@pytest.mark.parametrize("width", [1, 4, 12, 32])
def test_transposing_back_restores_the_rows(width):
    values = np.arange(7.0 * width)
    tile, back = np.empty((width + 1, TILE)), np.empty(7 * width)
    transpose_in(values, 7, tile, lanes_for(width))
    np.testing.assert_array_equal(tile[:width, :7], values.reshape(7, width).T)
    transpose_out(tile, 7, back, lanes_for(width))
    np.testing.assert_array_equal(back, values)


def test_a_tile_of_exponentials_is_summed_per_row():
    tile = np.full((3, TILE), np.log(0.5))
    total = np.empty(TILE)
    exponentiate_tile(tile, 4, 2, total, np.empty(TILE, np.int32))
    np.testing.assert_allclose(tile[:, :4], 0.5)
    np.testing.assert_allclose(total[:4], 1.5)
