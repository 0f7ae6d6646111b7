"""Weak spots are found where they were planted, and nowhere by chance."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss

from deepbroad import LRClassifier
from deepbroad.report.quality import reliability, thin
from deepbroad.report.scored_rows import ScoredRows
from deepbroad.report.slices import SIGNIFICANCE, find_weak_slices


def scored(wrong_share, seed=0, n=4000):
    """Return an encoding and rows whose y is noise with a share that depends on the colour."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"colour": rng.choice(["blue", "red"], n), "size": rng.normal(size=n)})
    model = LRClassifier(n=1).fit(X, rng.integers(2, size=n))
    share = np.where(X["colour"] == "red", wrong_share, 0.2)
    y = (rng.random(n) < share).astype(int)
    p = np.broadcast_to([0.8, 0.2], (n, 2))
    (codes,) = model._batches(X)
    return model._encoding, ScoredRows(codes, y, p, n, 1), X


def test_a_planted_weak_spot_comes_first():
    encoding, rows, X = scored(0.5)
    weak, n_tests = find_weak_slices(encoding, rows)
    assert n_tests >= 2
    first = weak[0]
    red = (X["colour"] == "red").to_numpy()
    assert (first.attribute, first.value) == ("colour", "red")
    assert first.rows == red.sum()
    assert first.loss == pytest.approx(log_loss(rows.y[red], rows.probabilities[red]))
    assert first.error == pytest.approx(rows.y[red].mean())
    assert first.expected == pytest.approx(0.2)
    expected = (rows.losses[red] - rows.losses.mean()).sum() / len(rows)
    assert first.excess == pytest.approx(expected)
    assert first.p < SIGNIFICANCE


def test_chance_alone_is_no_weak_spot():
    found = [len(find_weak_slices(*scored(0.2, seed)[:2])[0]) for seed in range(10)]
    assert sum(found) <= 1


def test_reliability_counts_what_happened():
    p = np.array([0.05, 0.05, 0.15, 0.95, 1.0])
    found = reliability(np.array([0, 1, 0, 1, 1]), p)
    assert [bin_[4] for bin_ in found["bins"]] == [2, 1, 2]
    assert [bin_[1] for bin_ in found["bins"]] == [0.5, 0.0, 1.0]
    assert found["gap"] == pytest.approx((2 * 0.45 + 0.15 + 2 * 0.025) / 5)
    assert all(low <= share <= high for _, share, low, high, _ in found["bins"])


def test_thinned_curves_keep_their_ends_and_shape():
    x = np.linspace(0, 1, 5000)
    curve = np.column_stack([x, np.sqrt(x)])
    points = np.array(thin(curve, 100))
    assert len(points) <= 102
    np.testing.assert_allclose(points[[0, -1]], curve[[0, -1]])
    np.testing.assert_allclose(np.interp(x, *points.T), curve[:, 1], atol=0.02)
