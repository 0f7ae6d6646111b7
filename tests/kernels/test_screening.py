"""The agreement of residuals within cells, against loops over pairs of rows."""

from itertools import combinations

import numpy as np
import pytest

from deepbroad.kernels.screening import agree, explain_margins

pytestmark = pytest.mark.uncompiled


def sum_rows(codes, size, residuals, variances):
    """Return the sums of cells for one set of labels, as the kernel takes them."""
    squares = (residuals**2).sum(axis=1, keepdims=True)
    last = (variances**2).sum(axis=1, keepdims=True)
    values = np.hstack([residuals, np.ones((len(codes), 1)), variances, squares, last])
    sums = np.zeros((size, values.shape[1]))
    np.add.at(sums, codes, values)
    return sums


def test_agreement_of_a_single_feature_sums_products_of_different_rows():
    rng = np.random.default_rng(0)
    codes, n_classes = rng.integers(0, 4, 30), 3
    residuals, variances = rng.normal(size=(30, n_classes)), rng.uniform(0, 1, (30, n_classes))
    sums = sum_rows(codes, 4, residuals, variances)
    agreement, variance = np.zeros((1, 1)), np.zeros(1)
    agree(sums, np.array([0, 4]), np.array([[4, 1]]), 1, n_classes, agreement, variance)
    pairs = [(r, s) for r, s in combinations(range(30), 2) if codes[r] == codes[s]]
    assert agreement[0, 0] == pytest.approx(2 * sum(residuals[r] @ residuals[s] for r, s in pairs))
    assert variance[0] == pytest.approx(2 * sum(variances[r] @ variances[s] for r, s in pairs))


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
