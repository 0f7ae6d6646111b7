"""Held-out losses and their comparison, and residuals of labels drawn from a model."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import sem

from deepbroad.engine.choice.fits import HeldLosses, draw_residuals, find_margins


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
    found = HeldLosses.of(losses, held)
    assert found.mean == pytest.approx(np.mean(copies))
    assert found.plain == pytest.approx(np.mean(copies))


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
    one, before = (HeldLosses(np.array([loss]), np.ones(1), loss) for loss in (0.5, 0.75))
    assert one.gain_over(before) == (0.25, 0.0)


# Doubt.


def draw_scores(n_classes, n_folds, seed=0, rows=15):
    """Return scores of all classes, (n, K, C), that of the first 0, and labels, and held copies."""
    rng = np.random.default_rng(seed)
    scores = np.concatenate(
        [np.zeros((rows, n_folds, 1)), rng.normal(0.0, 3.0, (rows, n_folds, n_classes - 1))], axis=2
    )
    labels = rng.permutation(np.arange(rows) % n_classes)
    return scores, labels, rng.integers(0, 3, (rows, n_folds)).astype(np.float32)


def losses_of(scores, labels):
    """Return the log losses of labels, (n, K)."""
    own = np.take_along_axis(scores, labels[:, None, None], axis=2)[:, :, 0]
    return logsumexp(scores, axis=2) - own


@pytest.mark.parametrize("n_folds", [1, 2, 5])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_margins_are_those_between_a_label_and_the_mean_of_the_others(n_classes, n_folds):
    scores, labels, _ = draw_scores(n_classes, n_folds)
    found = find_margins(scores[:, :, 1:], labels)
    assert found.shape == (len(labels), n_folds)
    for row, fold in np.ndindex(*found.shape):
        others = [scores[row, fold, c] for c in range(n_classes) if c != labels[row]]
        expected = scores[row, fold, labels[row]] - np.mean(others)
        assert found[row, fold] == pytest.approx(expected)


@pytest.mark.parametrize("n_folds", [1, 2, 5])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_row_loses_what_is_expected_of_a_label_that_may_be_another_one(n_classes, n_folds):
    scores, labels, held = draw_scores(n_classes, n_folds, seed=1)
    losses, total = losses_of(scores, labels), held.sum()
    doubt = 0.5 / (total + 1.0)
    chances = np.full((len(labels), n_classes), doubt / (n_classes - 1))
    chances[np.arange(len(labels)), labels] = 1.0 - doubt
    found = HeldLosses.of(losses, held, find_margins(scores[:, :, 1:], labels))
    expected, copies = [], []
    for row in np.flatnonzero(held.any(axis=1)):
        by_fold = [
            sum(
                chances[row, label] * (logsumexp(scores[row, fold]) - scores[row, fold, label])
                for label in range(n_classes)
            )
            for fold in range(n_folds)
        ]
        expected.append(np.average(by_fold, weights=held[row]))
        copies += np.repeat(by_fold, held[row].astype(int)).tolist()
    np.testing.assert_allclose(found.each, expected)
    assert len(copies) == total
    assert found.mean == pytest.approx(np.mean(copies))
    assert found.plain == pytest.approx(HeldLosses.of(losses, held).mean)


def lose_surely(n_rows, p, n_classes, weight=1.0):
    """Return the losses of rows all of whose labels a model gives 1 - p, and the others alike p."""
    labels = np.arange(n_rows) % n_classes
    scores = np.full((n_rows, 1, n_classes), np.log(p / (n_classes - 1)))
    scores[np.arange(n_rows), 0, labels] = np.log1p(-p)
    margins = find_margins((scores - scores[:, :, :1])[:, :, 1:], labels)
    return HeldLosses.of(losses_of(scores, labels), np.full((n_rows, 1), weight), margins)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("n_rows", [4, 100, 5000])
def test_of_models_that_make_no_mistake_the_surest_is_not_the_best(n_rows, n_classes):
    fair = lose_surely(n_rows, 0.5 / (n_rows + 1), n_classes)
    for p in (1e-12, 1e-50, 1e-300):
        surer = lose_surely(n_rows, p, n_classes)
        assert surer.plain < fair.plain
        assert fair.mean < surer.mean
        assert fair.gain_over(surer)[0] > 0.0
    assert lose_surely(n_rows, 1e-300, n_classes).mean > lose_surely(n_rows, 1e-50, n_classes).mean


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(("n_rows", "weight"), [(4, 1.0), (100, 1.0), (100, 7.0), (5000, 1.0)])
def test_the_best_model_doubts_as_much_as_so_many_held_out_rows_do(n_rows, weight, n_classes):
    fair = 0.5 / (n_rows * weight + 1.0)
    shares = fair * 2.0 ** np.arange(-3, 3)
    means = [lose_surely(n_rows, p, n_classes, weight).mean for p in shares]
    assert shares[np.argmin(means)] == fair


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
