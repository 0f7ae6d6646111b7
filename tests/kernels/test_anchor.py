"""Kernels of the anchor against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.kernels.anchor import measure_terms, move_anchor

pytestmark = pytest.mark.uncompiled

pulls = st.floats(0.01, 100.0)


def draw(seed, shape):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@given(st.integers(0, 99), st.integers(2, 5))
def test_distances_are_of_scores_that_add_up_to_0(seed, n_classes):
    bounds = np.array([0, 3, 3, 7])
    scores, anchor = draw([seed, 0], (7, 8)), draw([seed, 1], (7, 8))
    found = np.full(3, np.nan)
    measure_terms(scores, anchor, bounds, 0, 2, n_classes, found)
    measure_terms(scores, anchor, bounds, 2, 3, n_classes, found)
    apart = np.zeros((7, n_classes))
    apart[:, 1:] = (scores - anchor)[:, : n_classes - 1]
    squares = ((apart - apart.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    expected = [squares[:3].sum(), 0.0, squares[3:].sum()]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@given(st.integers(0, 99), pulls, pulls, st.floats(0.0, 0.9))
def test_an_anchor_that_moves_takes_scores_to_where_beliefs_and_it_have_them(
    seed, old, new, momentum
):
    by_beliefs, anchor = draw([seed, 0], 6), draw([seed, 1], 6)
    scores = (by_beliefs + np.float32(old) * anchor) / np.float32(1 + old)
    before, reached, moved = draw([seed, 2], 6), scores.copy(), anchor.copy()
    expected = reached + momentum * (reached - before)
    move_anchor(scores, moved, before, old, new, momentum)
    np.testing.assert_array_equal(before, reached)
    np.testing.assert_allclose(moved, expected, rtol=1e-4, atol=1e-5)
    if old == new:
        same = (by_beliefs + new * moved) / (1 + new)
        np.testing.assert_allclose(scores, same, rtol=1e-3, atol=1e-4)


@given(st.integers(0, 99), pulls, pulls)
def test_another_pull_leaves_scores_as_they_are_until_the_anchor_moves(seed, old, new):
    scores, anchor = draw([seed, 0], 6), draw([seed, 1], 6)
    expected = scores.copy()
    # Where the anchor would be, so that its way to the scores is all that they follow.
    kept = scores + old / new * (anchor - scores)
    move_anchor(scores, anchor, expected.copy(), old, new, 0.0)
    follows = expected + new / (1 + new) * (expected - kept)
    np.testing.assert_allclose(scores, follows, rtol=1e-3, atol=1e-4)
