"""The kernels of the other losses against a loop over rows, through the contract of all losses."""

import numpy as np
import pytest

from deepbroad.kernels.brier import brier_rows
from deepbroad.kernels.hinge import ROUNDING, hinge_rows
from deepbroad.kernels.lookup import TILE
from deepbroad.kernels.softmax import softmax_rows
from deepbroad.kernels.vector import lane_count, lanes_for
from tests import naive, naive_losses
from tests.kernels.test_softmax import draw, with_class_zero

pytestmark = pytest.mark.uncompiled

TWINS = {
    "softmax": (softmax_rows, naive.softmax_loss),
    "brier": (brier_rows, naive_losses.brier_loss),
    "hinge": (hinge_rows, lambda *given: naive_losses.hinge_loss(*given, rounding=ROUNDING)),
}
every_loss = pytest.mark.parametrize("name", TWINS)
both_precisions = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def run(name, scores, labels, weights, dtype, start=0):
    """Return the sums of all tiles and the residuals (rows, C - 1) that a kernel gives."""
    rows, n_scores = scores.shape
    width = lane_count(n_scores)
    values = np.zeros((rows, width), dtype)
    values[:, :n_scores] = scores
    partial = np.full((-(-(start + rows) // TILE), 1 + n_scores), np.nan)
    lanes = lanes_for(width)
    TWINS[name][0](values.ravel(), start, start + rows, labels, weights, n_scores, partial, lanes)
    assert not values[:, n_scores:].any(), "padding lanes must stay 0"
    assert np.isnan(partial[: start // TILE]).all(), "tiles of other rows are left alone"
    return partial[start // TILE :].sum(axis=0), values[:, :n_scores]


def expect(name, scores, labels, weights):
    return TWINS[name][1](with_class_zero(np.asarray(scores, float)), labels, weights)


@both_precisions
@pytest.mark.parametrize("n_classes", [2, 3, 5, 9, 18, 20])
@every_loss
def test_loss_and_residuals_are_those_of_the_loop(name, n_classes, dtype):
    rows = TILE + 13 if n_classes == 3 else 40
    scores, labels, weights = draw(rows, n_classes, spread=1.0 if name == "hinge" else 3.0)
    scores = scores.astype(dtype)
    weights[::7] = 0.0
    sums, residuals = run(name, scores, labels, weights, dtype)
    loss, expected = expect(name, scores, labels, weights)
    # Distances are divided by μ, which costs two digits.
    tolerance = (1e-6 if dtype == np.float32 else 1e-13) * (100 if name == "hinge" else 1)
    assert sums[0] == pytest.approx(loss, rel=tolerance)
    np.testing.assert_allclose(residuals, expected[:, 1:], atol=4 * tolerance)
    np.testing.assert_allclose(sums[1:], expected[:, 1:].sum(axis=0), atol=rows * tolerance)


@every_loss
def test_every_tile_has_its_own_sums(name):
    scores, labels, weights = draw(TILE + 9, 3)
    behind = np.zeros(TILE, np.uint8), np.full(TILE, 99.0)  # of rows that are not asked for
    labels, weights = (np.concatenate(x) for x in zip(behind, (labels, weights), strict=True))
    sums, _ = run(name, scores, labels, weights, np.float64, start=TILE)
    loss, expected = expect(name, scores, labels[TILE:], weights[TILE:])
    np.testing.assert_allclose(sums, [loss, *expected[:, 1:].sum(axis=0)], rtol=1e-9)


@both_precisions
@every_loss
def test_extreme_scores_give_finite_losses(name, dtype):
    scores = np.array([[1e4, -1e4], [-1e4, -1e4], [-1e4, 1e4], [1e4, 1e4], [0.0, 0.0]])
    labels = np.array([1, 1, 0, 2, 0], np.uint8)
    sums, residuals = run(name, scores, labels, np.ones(5), dtype)
    loss, expected = expect(name, scores, labels, np.ones(5))
    assert sums[0] == pytest.approx(loss, rel=1e-6)
    np.testing.assert_allclose(residuals, expected[:, 1:], rtol=1e-5, atol=1e-5)


@both_precisions
@pytest.mark.parametrize("n_classes", [2, 4])
@every_loss
def test_doubled_weights_double_loss_and_residuals(name, n_classes, dtype):
    scores, labels, weights = draw(30, n_classes)
    once = run(name, scores, labels, weights, dtype)
    twice = run(name, scores, labels, 2 * weights, dtype)
    for a, b in zip(once, twice, strict=True):
        np.testing.assert_allclose(b, 2 * a, rtol=1e-5 if dtype == np.float32 else 1e-12)


@both_precisions
@pytest.mark.parametrize("place", [0, 1])
@every_loss
def test_a_score_that_is_not_a_number_makes_the_loss_one_too(name, place, dtype):
    scores, labels, weights = draw(6, 3)
    scores[2, place] = np.nan
    for y in range(3):
        labels[2] = y
        sums, residuals = run(name, scores, labels, weights, dtype)
        assert np.isnan(sums[0])
        assert np.isnan(residuals[2]).any()
        assert not np.isnan(np.delete(residuals, 2, axis=0)).any()


@pytest.mark.parametrize("name", ["brier", "hinge"])
@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_residuals_are_the_slopes_of_the_loss(name, n_classes):
    scores, labels, weights = draw(8, n_classes, seed=5, spread=1.0)
    if name == "hinge" and n_classes > 2:
        scores[0], labels[0] = 0.3, 0  # ties: smooth there too
    _, residuals = run(name, scores, labels, weights, np.float64)
    step = 1e-6
    for r in range(8):
        for c in range(n_classes - 1):
            sides = []
            for sign in (1, -1):
                moved = scores.copy()
                moved[r, c] += sign * step
                sides.append(run(name, moved, labels, weights, np.float64)[0][0])
            slope = (sides[0] - sides[1]) / (2 * step)
            assert residuals[r, c] == pytest.approx(slope, rel=1e-4, abs=1e-6)


def test_the_squared_hinge_is_crammer_and_singers_but_for_near_ties():
    rng = np.random.default_rng(3)
    scores, labels = rng.normal(size=(200, 4)), rng.integers(5, size=200).astype(np.uint8)
    exact_ones = 0
    for r in range(200):
        loss = run("hinge", scores[r : r + 1], labels[r : r + 1], np.ones(1), np.float64)[0][0]
        exact, _ = naive_losses.hinge_loss(
            with_class_zero(scores[r : r + 1]), labels[r : r + 1], np.ones(1), rounding=0.0
        )
        assert exact * (1 - 1e-12) <= loss <= exact / (1 - ROUNDING)
        exact_ones += loss == pytest.approx(exact, rel=1e-12)
    assert 150 < exact_ones < 200


def test_equal_rivals_share_the_residual():
    _, residuals = run("hinge", np.zeros((1, 4)), np.array([2], np.uint8), np.ones(1), np.float64)
    k = 4  # class 0 among them
    share = 2 / (ROUNDING + (1 - ROUNDING) * k)
    np.testing.assert_allclose(residuals[0], [share, -k * share, share, share])


def test_many_rivals_that_drop_out_one_by_one_are_still_found():
    scores = -np.geomspace(1e-5, 1, 19)[None, :]
    labels, weights = np.array([19], np.uint8), np.ones(1)
    for dtype, tolerance in [(np.float32, 1e-3), (np.float64, 1e-12)]:
        _, residuals = run("hinge", scores, labels, weights, dtype)
        _, expected = expect("hinge", scores, labels, weights)
        np.testing.assert_allclose(residuals, expected[:, 1:], rtol=tolerance, atol=tolerance)
