"""Losses, Hessian products and penalties of folds in lanes, against loops over folds."""

import numpy as np
import pytest

from deepbroad.kernels.folds import (
    CHUNK,
    collect_lanes,
    curve_rows,
    lose_rows,
    penalise_lanes,
    place_lanes,
)
from deepbroad.kernels.vector import lane_count

pytestmark = pytest.mark.uncompiled

CASES = [(7, 2, 2), (5, 3, 4), (1, 5, 2)]


def draw(rows, n_folds, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.normal(scale=2.0, size=(rows, n_folds, n_classes - 1))
    labels = rng.integers(n_classes, size=rows).astype(np.uint8)
    trained = rng.integers(0, 3, (rows, n_folds)).astype(np.float32)
    return scores, labels, trained


def pad(scores):
    rows, width = len(scores), lane_count(scores[0].size)
    values = np.zeros((rows, width), np.float32)
    values[:, : scores[0].size] = scores.reshape(rows, -1)
    return values, width


def softmax(scores):
    full = np.concatenate([np.zeros((*scores.shape[:2], 1)), scores], axis=2)
    powers = np.exp(full)
    return powers / powers.sum(axis=2, keepdims=True)


@pytest.mark.parametrize(("rows", "n_folds", "n_classes"), CASES)
def test_rows_lose_what_the_softmax_of_each_fold_loses(rows, n_folds, n_classes):
    scores, labels, trained = draw(rows, n_folds, n_classes)
    values, width = pad(scores)
    shares = np.zeros((rows, n_folds * (n_classes - 1)), np.float32)
    losses = np.zeros((rows, n_folds))
    lose_rows(values.reshape(-1), 0, rows, width, labels, trained, shares, losses)
    expected = softmax(scores)
    own = np.take_along_axis(expected, labels[:, None, None].astype(np.int64), 2)[:, :, 0]
    np.testing.assert_allclose(losses, -np.log(own), rtol=1e-5)
    np.testing.assert_allclose(shares, expected[:, :, 1:].reshape(rows, -1), rtol=1e-5)
    expected[np.arange(rows), :, labels] -= 1.0
    residuals = (expected * trained[:, :, None])[:, :, 1:].reshape(rows, -1)
    np.testing.assert_allclose(values[:, : residuals.shape[1]], residuals, atol=1e-5)
    assert not values[:, residuals.shape[1] :].any()


@pytest.mark.parametrize(("rows", "n_folds", "n_classes"), CASES)
def test_curvature_is_the_derivative_of_the_residuals(rows, n_folds, n_classes):
    scores, _, trained = draw(rows, n_folds, n_classes)
    direction = np.random.default_rng(1).normal(size=scores.shape)
    shares = softmax(scores)[:, :, 1:].reshape(rows, -1).astype(np.float32)
    values, width = pad(direction)
    curve_rows(values.reshape(-1), 0, rows, width, trained, shares)
    step = 1e-5
    change = (softmax(scores + step * direction) - softmax(scores - step * direction)) / (2 * step)
    expected = (change[:, :, 1:] * trained[:, :, None]).reshape(rows, -1)
    np.testing.assert_allclose(values[:, : expected.shape[1]], expected, atol=1e-4)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_penalty_is_that_of_scores_of_all_classes_that_add_up_to_0(n_classes):
    rng, n_folds, cells = np.random.default_rng(2), 2, 5
    lanes = rng.normal(size=(cells, n_folds * (n_classes - 1)))
    strength = rng.uniform(0.1, 3.0, (cells, n_folds))
    gradient, penalties = np.zeros(lanes.shape), np.zeros(-(-cells // CHUNK))
    penalise_lanes(0, cells, lanes, strength, gradient, penalties)
    by_fold = lanes.reshape(cells, n_folds, -1)
    full = np.concatenate([np.zeros((cells, n_folds, 1)), by_fold], axis=2)
    full -= full.mean(axis=2, keepdims=True)
    assert penalties.sum() == pytest.approx(0.5 * (strength[:, :, None] * full**2).sum())
    expected = (strength[:, :, None] * full)[:, :, 1:].reshape(cells, -1)
    np.testing.assert_allclose(gradient, expected)


def test_lanes_go_to_the_cells_that_rows_reach_and_back():
    lanes, reached, width = np.arange(6.0).reshape(2, 3), np.array([1, 3], np.int32), 4
    cells = np.zeros(5 * width, np.float32)
    place_lanes(0, 2, reached, lanes, cells, width)
    np.testing.assert_array_equal(np.flatnonzero(cells), [5, 6, 12, 13, 14])
    found = np.empty_like(lanes)
    collect_lanes(0, 2, reached, cells, width, found)
    np.testing.assert_array_equal(found, lanes)
