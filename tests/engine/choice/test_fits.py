"""Held-out losses and their comparison, and residuals of labels drawn from a model."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import sem

from deepbroad.engine.choice.fits import HeldLosses, draw_residuals


def draw_losses(seed, rows=12, n_folds=3):
    """Return losses of rows under each fold, and how many copies of a row each fold holds out."""
    rng = np.random.default_rng(seed)
    held = rng.integers(0, 3, (rows, n_folds)).astype(np.float32)
    held[0], held[1] = 0.0, [1.0, 0.0, 2.0]
    return rng.exponential(size=(rows, n_folds)), held


def two_losses(seed):
    """Return the held-out losses of the same rows under two models."""
    losses, held = draw_losses(seed)
    others, _ = draw_losses(seed + 1)
    return HeldLosses.of(losses, held), HeldLosses.of(others, held)


@given(st.integers(0, 100))
def test_a_row_loses_the_mean_of_the_folds_that_hold_it_out(seed):
    losses, held = draw_losses(seed)
    found = HeldLosses.of(losses, held)
    rows = [r for r in range(len(held)) if held[r].any()]
    assert found.weights.tolist() == [held[r].sum() for r in rows]
    expected = [np.average(losses[r], weights=held[r]) for r in rows]
    np.testing.assert_allclose(found.each, expected)


@given(st.integers(0, 100))
def test_the_mean_is_that_of_all_held_out_copies(seed):
    losses, held = draw_losses(seed)
    copies = [losses[r, k] for r, k in np.ndindex(*held.shape) for _ in range(int(held[r, k]))]
    assert HeldLosses.of(losses, held).mean == pytest.approx(np.mean(copies))


def test_losses_of_rows_that_a_fold_trains_do_not_matter():
    losses, held = draw_losses(0)
    changed = np.where(held > 0, losses, 100.0)
    np.testing.assert_array_equal(
        HeldLosses.of(changed, held).each, HeldLosses.of(losses, held).each
    )


@given(st.integers(0, 100))
def test_the_gain_and_its_error_are_those_of_differences_of_copies(seed):
    found, before = two_losses(seed)
    gain, error = found.gain_over(before)
    copies = np.repeat(before.each - found.each, found.weights.astype(int))
    assert gain == pytest.approx(copies.mean())
    assert gain == pytest.approx(before.mean - found.mean)
    assert error == pytest.approx(sem(copies))


def test_what_one_gains_over_the_other_the_other_loses():
    found, before = two_losses(3)
    (gain, error), (loss, same) = found.gain_over(before), before.gain_over(found)
    assert gain == pytest.approx(-loss)
    assert error == pytest.approx(same)


def test_nothing_is_gained_over_the_same_losses():
    found, _ = two_losses(4)
    assert found.gain_over(found) == (0.0, 0.0)


def test_the_gain_of_a_single_row_has_no_spread():
    one = HeldLosses(np.array([0.5]), np.array([1.0]))
    assert one.gain_over(HeldLosses(np.array([0.75]), np.array([1.0]))) == (0.25, 0.0)


# Residuals of drawn labels.


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_labels_are_drawn_as_often_as_their_probabilities_say(n_classes):
    count = 20_000
    p = np.random.default_rng(n_classes).dirichlet(np.ones(n_classes))
    # Evenly spaced numbers are as uniform as can be: each frequency is right to a draw or two.
    residuals = draw_residuals(np.tile(p[1:], (count, 1)), (np.arange(count) + 0.5) / count)
    np.testing.assert_allclose((residuals + p[1:]).mean(axis=0), p[1:], atol=2 / count)
    np.testing.assert_allclose(residuals.mean(axis=0), 0.0, atol=2 / count)


def test_residuals_have_mean_0_and_the_covariance_of_their_label():
    count, rng = 40_000, np.random.default_rng(0)
    p = np.array([0.5, 0.3, 0.2])
    residuals = draw_residuals(np.tile(p[1:], (count, 1)), rng.random(count))
    np.testing.assert_allclose(residuals.mean(axis=0), 0.0, atol=0.01)
    expected = (np.diag(p) - np.outer(p, p))[1:, 1:]
    np.testing.assert_allclose(np.cov(residuals.T), expected, atol=0.01)


@given(st.integers(0, 100), st.integers(2, 5))
def test_a_row_has_one_label_at_most_beside_the_first(seed, n_classes):
    rng = np.random.default_rng(seed)
    # Shares in single precision may add up to slightly more than 1.
    p = rng.dirichlet(np.full(n_classes, 0.2), 50).astype(np.float32)
    draws = rng.random(50)
    draws[:2] = 0.0, np.nextafter(1.0, 0.0)
    labels = draw_residuals(p[:, 1:], draws) + p[:, 1:]
    ones = np.isclose(labels, 1.0, atol=1e-6)
    assert (ones | np.isclose(labels, 0.0, atol=1e-6)).all()
    assert (ones.sum(axis=1) <= 1).all()


def test_larger_numbers_draw_later_classes():
    shares = np.tile([0.25, 0.25], (4, 1))
    labels = draw_residuals(shares, np.array([0.1, 0.5, 0.7, 0.75])) + shares
    assert labels.tolist() == [[0, 0], [1, 0], [1, 0], [0, 1]]
