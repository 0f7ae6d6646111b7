"""Losses, Hessian products and conjugate gradients of folds in lanes, against folds one by one."""

import numpy as np
import pytest

from deepbroad.kernels.folds import (
    CHUNK,
    centre,
    collect_lanes,
    curve_rows,
    lose_rows,
    multiply_lanes,
    penalise_lanes,
    place_lanes,
    step_lanes,
    turn_lanes,
)
from deepbroad.kernels.vector import lane_count

pytestmark = pytest.mark.uncompiled

# Rows, folds, classes.
CASES = [(7, 2, 2), (5, 3, 4), (1, 5, 2)]
# Cells, folds, classes: the last with a second chunk that is not full.
CELLS = [(6, 2, 2), (5, 3, 4), (CHUNK + 3, 2, 3)]


def draw(rows, n_folds, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.normal(scale=2.0, size=(rows, n_folds, n_classes - 1))
    labels = rng.integers(n_classes, size=rows).astype(np.uint8)
    trained = rng.integers(0, 3, (rows, n_folds)).astype(np.float32)
    return scores, labels, trained


def pad(scores):
    """Return lanes of rows, filled up to whole vectors."""
    rows = len(scores)
    values = np.zeros((rows, lane_count(scores[0].size)), np.float32)
    values[:, : scores[0].size] = scores.reshape(rows, -1)
    return values


def softmax(scores):
    full = np.concatenate([np.zeros((*scores.shape[:2], 1)), scores], axis=2)
    powers = np.exp(full - full.max(axis=2, keepdims=True))
    return powers / powers.sum(axis=2, keepdims=True)


def lose(scores, labels, trained, first=0, last=None):
    """Return shares, losses and values of rows first..last; the others are NaN."""
    rows, n_folds, n_scores = scores.shape
    given = pad(scores)
    kept = given.copy()
    shares = np.full((rows, n_folds * n_scores), np.nan, np.float32)
    losses, values = np.full((rows, n_folds), np.nan), np.full_like(given, np.nan)
    lose_rows(given, first, rows if last is None else last, labels, trained, shares, losses, values)
    np.testing.assert_array_equal(given, kept)
    return shares, losses, values[:, : n_folds * n_scores]


@pytest.mark.parametrize(("rows", "n_folds", "n_classes"), CASES)
def test_rows_lose_what_the_softmax_of_each_fold_loses(rows, n_folds, n_classes):
    scores, labels, trained = draw(rows, n_folds, n_classes)
    shares, losses, values = lose(scores, labels, trained)
    expected = softmax(scores)
    own = np.take_along_axis(expected, labels[:, None, None].astype(np.int64), 2)[:, :, 0]
    np.testing.assert_allclose(losses, -np.log(own), rtol=1e-5)
    np.testing.assert_allclose(shares, expected[:, :, 1:].reshape(rows, -1), rtol=1e-5)
    expected[np.arange(rows), :, labels] -= 1.0
    residuals = (expected * trained[:, :, None])[:, :, 1:].reshape(rows, -1)
    np.testing.assert_allclose(values, residuals, atol=1e-5)


def test_scores_of_hundreds_of_log_odds_lose_no_more_than_these():
    scores = np.array([300.0, -300.0, 0.0]).reshape(3, 1, 1)
    trained = np.ones((3, 1), np.float32)
    for label, expected in ((0, [300.0, 0.0, np.log(2)]), (1, [0.0, 300.0, np.log(2)])):
        shares, losses, values = lose(scores, np.full(3, label, np.uint8), trained)
        np.testing.assert_allclose(losses[:, 0], expected, atol=1e-6)
        np.testing.assert_allclose(shares[:, 0], [1.0, 0.0, 0.5], atol=1e-6)
        np.testing.assert_allclose(values[:, 0], shares[:, 0] - label, atol=1e-6)


@pytest.mark.parametrize(("rows", "n_folds", "n_classes"), CASES)
def test_curvature_is_the_derivative_of_the_residuals(rows, n_folds, n_classes):
    scores, _, trained = draw(rows, n_folds, n_classes)
    direction = np.random.default_rng(1).normal(size=scores.shape)
    shares = softmax(scores)[:, :, 1:].reshape(rows, -1).astype(np.float32)
    given = pad(direction)
    kept, values = given.copy(), np.full_like(given, np.nan)
    curve_rows(given, 0, rows, trained, shares, values)
    step = 1e-5
    change = (softmax(scores + step * direction) - softmax(scores - step * direction)) / (2 * step)
    expected = (change[:, :, 1:] * trained[:, :, None]).reshape(rows, -1)
    np.testing.assert_allclose(values[:, : expected.shape[1]], expected, atol=1e-4)
    np.testing.assert_array_equal(given, kept)


def test_ranges_of_rows_are_written_and_no_others():
    scores, labels, trained = draw(7, 2, 3)
    whole = lose(scores, labels, trained)
    parts = [lose(scores, labels, trained, low, high) for low, high in ((0, 3), (3, 7))]
    for all_rows, first, second in zip(whole, *parts, strict=True):
        np.testing.assert_array_equal(first[:3], all_rows[:3])
        np.testing.assert_array_equal(second[3:], all_rows[3:])
        assert np.isnan(first[3:]).all()
        assert np.isnan(second[:3]).all()
    direction, values = pad(scores), np.full((7, lane_count(4)), np.nan, np.float32)
    curve_rows(direction, 2, 4, trained, whole[0], values)
    assert np.isfinite(values[2:4, :4]).all()
    assert np.isnan(values[[0, 1, 4, 5, 6]]).all()


def test_lanes_go_to_the_cells_that_rows_reach_and_back():
    lanes, reached, width = np.arange(6.0).reshape(2, 3), np.array([1, 3], np.int32), 4
    cells = np.zeros(5 * width, np.float32)
    place_lanes(0, 2, reached, lanes, cells, width)
    np.testing.assert_array_equal(np.flatnonzero(cells), [5, 6, 12, 13, 14])
    found = np.empty_like(lanes)
    collect_lanes(0, 2, reached, cells, width, found)
    np.testing.assert_array_equal(found, lanes)


# Vectors of cells.


def draw_cells(cells, n_folds, n_classes, count=1, seed=2):
    """Return vectors of cells in single precision."""
    rng, shape = np.random.default_rng(seed), (cells, n_folds * (n_classes - 1))
    return [rng.normal(size=shape).astype(np.float32) for _ in range(count)]


def by_fold(lanes, n_folds):
    """Return lanes in double precision, (cells, K, C - 1)."""
    return lanes.astype(float).reshape(len(lanes), n_folds, -1)


def no_sums(cells, n_folds):
    return np.full((-(-cells // CHUNK), n_folds), np.nan)


def naive_sums(products, n_folds):
    """Return the sums of products of each chunk of cells, by fold."""
    bounds = range(0, len(products), CHUNK)
    return np.array([by_fold(products[low : low + CHUNK], n_folds).sum((0, 2)) for low in bounds])


def naive_penalty(lanes, strength):
    """Return Λ times lanes: of scores of all classes, relative to their mean."""
    full = by_fold(lanes, strength.shape[1])
    full = np.concatenate([np.zeros((*full.shape[:2], 1)), full], axis=2)
    full -= full.mean(axis=2, keepdims=True)
    return full, (strength[:, :, None] * full)[:, :, 1:].reshape(lanes.shape)


@pytest.mark.parametrize(("cells", "n_folds", "n_classes"), CELLS)
def test_the_penalty_is_that_of_scores_of_all_classes_that_add_up_to_0(cells, n_folds, n_classes):
    lanes, before = draw_cells(cells, n_folds, n_classes, 2)
    strength = np.random.default_rng(3).uniform(0.1, 3.0, (cells, n_folds)).astype(np.float32)
    gradient, sums = before.copy(), no_sums(cells, n_folds)
    penalise_lanes(0, cells, lanes, strength, gradient, sums)
    full, expected = naive_penalty(lanes, strength)
    np.testing.assert_allclose(gradient, before + expected, atol=1e-5)
    np.testing.assert_allclose(
        sums.sum(axis=0), (strength[:, :, None] * full**2).sum(axis=(0, 2)), rtol=1e-5
    )
    np.testing.assert_allclose(sums, naive_sums(lanes * expected, n_folds), rtol=1e-5)


def test_a_cell_is_centred_by_the_mean_over_all_classes():
    (lanes,) = draw_cells(3, 2, 4)
    for i, k in np.ndindex(3, 2):
        own = np.append(0.0, lanes[i, 3 * k : 3 * k + 3])
        assert centre(lanes, i, 3 * k, 3) == pytest.approx(own.mean(), abs=1e-6)


@pytest.mark.parametrize(("cells", "n_folds", "n_classes"), CELLS)
def test_inner_products_are_those_of_each_chunk_and_fold(cells, n_folds, n_classes):
    lanes, other = draw_cells(cells, n_folds, n_classes, 2)
    sums = no_sums(cells, n_folds)
    multiply_lanes(0, cells, lanes, other, sums)
    expected = naive_sums(lanes.astype(float) * other, n_folds)
    np.testing.assert_allclose(sums, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("cells", "n_folds", "n_classes"), CELLS)
def test_a_step_moves_what_is_found_and_its_residual_by_a_length_of_each_lane(
    cells, n_folds, n_classes
):
    direction, product, begun, rest = draw_cells(cells, n_folds, n_classes, 4)
    scale = 0.5 + np.abs(draw_cells(cells, n_folds, n_classes, seed=5)[0])
    lengths = np.random.default_rng(6).uniform(0.0, 2.0, direction.shape[1]).astype(np.float32)
    found, residual, sums = begun.copy(), rest.copy(), no_sums(cells, n_folds)
    step_lanes(0, cells, lengths, direction, product, scale, found, residual, sums)
    np.testing.assert_allclose(found, begun + lengths * direction, atol=1e-5)
    np.testing.assert_allclose(residual, rest - lengths * product, atol=1e-5)
    expected = naive_sums(residual.astype(float) ** 2 / scale, n_folds)
    np.testing.assert_allclose(sums, expected, rtol=1e-5)


@pytest.mark.parametrize(("cells", "n_folds", "n_classes"), CELLS)
def test_a_direction_turns_by_the_ratio_of_each_lane(cells, n_folds, n_classes):
    before, residual = draw_cells(cells, n_folds, n_classes, 2)
    scale = 0.5 + np.abs(draw_cells(cells, n_folds, n_classes, seed=5)[0])
    ratios = np.random.default_rng(6).uniform(0.0, 1.0, before.shape[1]).astype(np.float32)
    direction = before.copy()
    turn_lanes(0, cells, ratios, residual, scale, direction)
    np.testing.assert_allclose(direction, residual / scale + ratios * before, atol=1e-5)


def test_ranges_that_begin_with_a_chunk_give_the_bits_of_the_whole():
    cells, n_folds = 2 * CHUNK + 5, 2
    a, b, c, d, e = draw_cells(cells, n_folds, 2, 5)
    scale, strength, lengths = np.abs(a) + 1, np.abs(b) + 1, np.float32([0.3, 0.7])

    def run(ranges):
        """Return what all kernels of cells write."""
        written = [c.copy(), d.copy(), e.copy(), b.copy(), *[no_sums(cells, 2) for _ in range(3)]]
        gradient, found, residual, direction, penalty, product, size = written
        for low, high in ranges:
            penalise_lanes(low, high, a, strength, gradient, penalty)
            multiply_lanes(low, high, a, b, product)
            step_lanes(low, high, lengths, a, b, scale, found, residual, size)
            turn_lanes(low, high, lengths, a, scale, direction)
        return written

    whole = run([(0, cells)])
    parts = run([(CHUNK, 2 * CHUNK), (2 * CHUNK, cells), (0, CHUNK)])
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one, other)


def test_conjugate_gradients_of_these_parts_solve_the_system_of_each_fold():
    """(A + Λ) x = right, with a diagonal A: by hand, and as a system of equations."""
    cells, n_folds, n_scores = 4, 2, 2
    (right,) = draw_cells(cells, n_folds, n_scores + 1)
    curved = 0.2 + np.abs(draw_cells(cells, n_folds, n_scores + 1, seed=7)[0])
    strength = np.random.default_rng(3).uniform(0.5, 3.0, (cells, n_folds)).astype(np.float32)
    scale = curved + np.repeat(strength, n_scores, axis=1) * np.float32(2 / 3)
    found, residual, direction = np.zeros_like(right), right.copy(), right / scale
    sums = no_sums(cells, n_folds)
    multiply_lanes(0, cells, residual, direction, sums)
    size = sums.sum(axis=0)
    for _ in range(12):
        product = curved * direction
        penalise_lanes(0, cells, direction, strength, product, sums)
        multiply_lanes(0, cells, direction, product, sums)
        lengths = np.repeat(size / np.maximum(sums.sum(axis=0), 1e-30), n_scores)
        step_lanes(0, cells, lengths.astype(np.float32), direction, product, scale, found,
                   residual, sums)  # fmt: skip
        before, size = size, sums.sum(axis=0)
        ratios = np.repeat(size / np.maximum(before, 1e-30), n_scores).astype(np.float32)
        turn_lanes(0, cells, ratios, residual, scale, direction)
    np.testing.assert_allclose(curved * found + naive_penalty(found, strength)[1], right, atol=1e-4)
