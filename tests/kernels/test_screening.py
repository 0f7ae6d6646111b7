"""The agreement of residuals within cells, against loops over pairs of rows."""

from itertools import combinations, pairwise

import numpy as np
import pytest

from deepbroad.kernels.screening import agree, explain_margins

pytestmark = pytest.mark.uncompiled


def draw_rows(n_classes, n_sets, rows=30, seed=0):
    """Return residuals (rows, D, C), those of a row adding up to 0, and variances (rows, C)."""
    rng = np.random.default_rng(seed)
    residuals = rng.normal(size=(rows, n_sets, n_classes))
    residuals -= residuals.mean(axis=2, keepdims=True)
    return residuals, rng.uniform(0, 1, (rows, n_classes))


def sum_rows(codes, size, residuals, variances):
    """Return the sums of cells, as the kernel takes them: without residuals of the first class."""
    rows = len(codes)
    values = np.hstack(
        [
            residuals[:, :, 1:].reshape(rows, -1),
            np.ones((rows, 1)),
            variances,
            (residuals**2).sum(axis=2),
            (variances**2).sum(axis=1, keepdims=True),
        ]
    )
    sums = np.zeros((size, values.shape[1]))
    np.add.at(sums, codes, values)
    return sums


def agree_all(sums, sizes, shapes, n_sets, n_classes, bounds):
    """Return the agreement and the variance of terms, found in ranges between bounds."""
    offsets = np.cumsum([0, *sizes])
    agreement, variance = np.zeros((len(sizes), n_sets)), np.zeros(len(sizes))
    for low, high in pairwise(bounds):
        agree(sums, offsets, shapes, low, high, n_sets, n_classes, agreement, variance)
    return agreement, variance


def naive_agreement(codes, residuals, variances):
    """Return Σ over pairs of different rows of a cell of e·e' for each set, and of v·v'."""
    pairs = [(r, s) for r, s in combinations(range(len(codes)), 2) if codes[r] == codes[s]]
    pairs += [(s, r) for r, s in pairs]
    found = sum((residuals[r] * residuals[s]).sum(axis=1) for r, s in pairs)
    return found, sum(variances[r] @ variances[s] for r, s in pairs)


@pytest.mark.parametrize("n_sets", [1, 3])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_agreement_of_a_single_feature_sums_products_of_different_rows(n_classes, n_sets):
    codes = np.random.default_rng(1).integers(0, 4, 30)
    residuals, variances = draw_rows(n_classes, n_sets)
    sums = sum_rows(codes, 4, residuals, variances)
    agreement, variance = agree_all(sums, [4], np.array([[4, 1]]), n_sets, n_classes, [0, 1])
    expected = naive_agreement(codes, residuals, variances)
    np.testing.assert_allclose(agreement[0], expected[0])
    assert variance[0] == pytest.approx(expected[1])


def test_agreement_of_a_pair_is_that_of_what_margins_leave():
    """Residuals less what margins explain are squared; squares of each row are taken off."""
    codes, shape, n_classes = np.random.default_rng(2).integers(0, 6, 40), np.array([2, 3]), 3
    residuals, variances = draw_rows(n_classes, 1, rows=40)
    sums = sum_rows(codes, 6, residuals, variances)
    found, _ = agree_all(sums, [6], shape[None], 1, n_classes, [0, 1])
    # All classes, the first of which has the sums that the others leave.
    every, rows = np.zeros((6, n_classes)), np.bincount(codes, minlength=6)[:, None]
    np.add.at(every, codes, residuals[:, 0])
    cells, counts = every.reshape(2, 3, -1), rows.reshape(2, 3, 1)
    explained = (
        cells.sum(axis=1, keepdims=True) / counts.sum(axis=1, keepdims=True)
        + cells.sum(axis=0, keepdims=True) / counts.sum(axis=0, keepdims=True)
        - cells.sum(axis=(0, 1)) / counts.sum()
    )
    left = cells - counts * explained
    assert found[0, 0] == pytest.approx((left**2).sum() - (residuals**2).sum())


@pytest.mark.parametrize("bounds", [[0, 1, 4], [0, 2, 2, 3, 4]])
def test_terms_in_ranges_have_the_same_agreement(bounds):
    rng, sizes = np.random.default_rng(3), [4, 6, 2, 6]
    shapes = np.array([[4, 1], [2, 3], [2, 1], [3, 2]])
    residuals, variances = draw_rows(3, 2)
    sums = np.vstack(
        [sum_rows(rng.integers(0, size, 30), size, residuals, variances) for size in sizes]
    )
    whole = agree_all(sums, sizes, shapes, 2, 3, [0, 4])
    for one, other in zip(agree_all(sums, sizes, shapes, 2, 3, bounds), whole, strict=True):
        np.testing.assert_array_equal(one, other)
        assert np.all(one)


def test_terms_out_of_the_range_have_nothing_added():
    residuals, variances = draw_rows(3, 1)
    sums = sum_rows(np.arange(30) % 8, 8, residuals, variances)
    agreement, variance = agree_all(sums, [4, 4], np.array([[4, 1], [4, 1]]), 1, 3, [1, 2])
    assert agreement[0, 0] == variance[0] == 0.0
    assert agreement[1, 0] != 0.0


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 2)])
def test_margins_explain_what_is_additive_where_values_are_independent(shape):
    """With as many rows in every cell, sums of functions of fewer features are explained whole."""
    rng = np.random.default_rng(1)
    means = np.zeros(shape)
    for axis in range(len(shape)):
        without = [size if k != axis else 1 for k, size in enumerate(shape)]
        means = means + rng.normal(size=without)
    cells = np.column_stack([5.0 * means.ravel(), np.full(means.size, 5.0)])
    found = explain_margins(cells, np.array([*shape, 1]), 1)
    np.testing.assert_allclose(found[:, 0], means.ravel(), atol=1e-12)


def test_a_pure_interaction_is_not_explained():
    means = np.outer([1.0, -1.0], [1.0, -1.0])
    cells = np.column_stack([means.ravel(), np.ones(4)])
    np.testing.assert_allclose(explain_margins(cells, np.array([2, 2]), 1), 0.0, atol=1e-12)
