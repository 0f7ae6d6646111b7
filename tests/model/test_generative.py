"""Smoothed probabilities and AnJE's weight, against the formulas of the paper."""

from math import comb

import numpy as np
import pytest

from deepbroad.model.generative import (
    curvature,
    evidence_rescaling,
    log_likelihoods,
    log_priors,
    partition_weights,
)
from deepbroad.model.terms import Terms
from tests import naive


@pytest.mark.parametrize("m", [0.5, 1.0, 10.0])
def test_priors_are_smoothed_and_sum_to_one(m):
    counts = np.array([3.0, 0.0, 5.5])
    found = log_priors(counts, m)
    np.testing.assert_allclose(found, naive.log_pi(counts, m), rtol=1e-14)
    assert np.exp(found).sum() == pytest.approx(1)


@pytest.mark.parametrize("m", [0.5, 1.0, 10.0])
def test_likelihoods_are_smoothed_and_sum_to_one_over_values(m):
    class_counts = np.array([6.0, 4.0])
    counts = np.array([[1.0, 4.0], [2.0, 0.0], [3.0, 0.0]])
    found = log_likelihoods(counts, class_counts, np.full(3, 3), m)
    np.testing.assert_allclose(found, naive.log_theta(counts, class_counts, m), rtol=1e-13)
    np.testing.assert_allclose(np.exp(found).sum(axis=0), 1)


def test_maximum_likelihood_is_allowed_where_every_value_occurs_with_every_class():
    counts = np.array([[1.0, 2.0], [3.0, 2.0]])
    found = log_likelihoods(counts, np.array([4.0, 4.0]), np.full(2, 2), 0.0)
    np.testing.assert_allclose(np.exp(found), counts / 4)


def test_maximum_likelihood_is_refused_where_it_takes_the_logarithm_of_zero():
    with pytest.raises(ValueError, match="smoothing=0 takes the logarithm of 0"):
        log_likelihoods(np.array([[1.0, 0.0]]), np.array([1.0, 1.0]), np.ones(1), 0.0)


@pytest.mark.parametrize(("a", "n"), [(1, 1), (4, 1), (4, 2), (6, 3), (5, 5)])
def test_the_weight_is_one_over_the_partitions_that_hold_a_tuple(a, n):
    terms = Terms.of_order(n, np.full(a, 2))
    assert partition_weights(terms) == pytest.approx(1 / comb(a - 1, n - 1))


@pytest.mark.parametrize(("a", "n"), [(4, 1), (4, 2), (6, 3), (5, 5)])
def test_evidence_of_known_values_is_rescaled_to_anje_over_the_known_columns(a, n):
    unseen = np.arange(a + 1)
    expected = [comb(a - 1, n - 1) / comb(a - k - 1, n - 1) if a - k >= n else 1 for k in unseen]
    np.testing.assert_allclose(evidence_rescaling(a, n, unseen), expected)


def test_curvature_is_the_hessian_of_cells_whose_rows_share_their_probabilities():
    # One cell, 3 classes, 30 rows: at scores that give each class its share, finite differences
    # of the gradient of Σ loss + ½ λ u² are the diagonal.
    counts, scale, strength = np.array([5.0, 10.0, 15.0]), np.array([0.5, 1.0, 2.0]), 0.3
    shares = (counts + 0.5) / (counts.sum() + 1.5)
    u = np.log(shares) / scale

    def gradient(u):
        p = np.exp(scale * u)
        p /= p.sum()
        return scale * (counts.sum() * p - counts) + strength * u

    step = 1e-6
    diagonal = [
        (gradient(u + step * e)[c] - gradient(u - step * e)[c]) / (2 * step)
        for c, e in enumerate(np.eye(3))
    ]
    np.testing.assert_allclose(curvature(counts, scale, strength), diagonal, rtol=1e-6)


def test_curvature_is_positive_even_where_the_scale_is_zero():
    assert (curvature(np.array([[4.0, 0.0]]), np.zeros((1, 2)), 0.0) > 0).all()
