"""The anchor of dual ascent: its pull, and its part of the gap."""

import numpy as np
import pytest

from deepbroad.engine import anchor as anchor_module
from deepbroad.engine.anchor import FIRST_PULL, SHARE, Anchor
from deepbroad.kernels.anchor import FACTOR, LEAST_PULL, MOST_PULL
from deepbroad.kernels.threads import Threads
from tests.engine.problems import ONE_THREAD

BOUNDS = np.array([0, 2, 5])


def make(threads=ONE_THREAD, softness=100.0):
    scores = np.random.default_rng(0).normal(size=(5, 2)).astype(np.float32)
    anchor = Anchor(scores.shape, BOUNDS, 3, threads)
    anchor.strength = np.array([2.0, 5.0])
    anchor.begin(np.zeros_like(scores), softness)
    return anchor, scores


def test_the_first_pull_is_weaker_where_strengths_are_strong():
    assert make(softness=100.0)[0].pull == FIRST_PULL
    assert make(softness=1.0)[0].pull == SHARE
    assert make(softness=0.0)[0].pull == LEAST_PULL


def test_the_pull_follows_what_closes_the_gap_more_slowly():
    anchor, scores = make()
    anchor.move(scores, 100.0, 1.0)
    assert anchor.pull == FACTOR * FIRST_PULL
    anchor.move(scores, 10.0, 1.0)
    assert anchor.pull == FACTOR * FIRST_PULL
    anchor.move(scores, 1.0, 1.0)
    assert anchor.pull == FIRST_PULL
    for _ in range(20):
        anchor.move(scores, 100.0, 1.0)
    assert anchor.pull == MOST_PULL


def test_a_pull_that_was_found_is_kept_for_other_strengths():
    anchor, scores = make()
    anchor.move(scores, 100.0, 1.0)
    anchor.begin(scores, 100.0)
    assert (anchor.pull, anchor.moves) == (FACTOR * FIRST_PULL, 0)


def test_its_gap_is_half_the_squared_pull_times_the_penalty():
    anchor, scores = make()
    apart = np.zeros((5, 3))
    apart[:, 1:] = scores - anchor.point
    apart -= apart.mean(axis=1, keepdims=True)
    strength = np.repeat(anchor.strength, np.diff(BOUNDS))
    expected = 0.5 * anchor.pull**2 * float(strength @ (apart**2).sum(axis=1))
    assert anchor.gap(scores) == pytest.approx(expected, rel=1e-5)
    assert anchor.gap(anchor.point) == 0.0


def test_threads_change_nothing(monkeypatch):
    monkeypatch.setattr(anchor_module, "WORTH", 0)
    with Threads(3) as threads:
        one, many = make(), make(threads)
        for anchor, scores in (one, many):
            anchor.gap(scores)
            anchor.move(scores, 1.0, 1.0)
            anchor.move(scores, 1.0, 1.0)
    np.testing.assert_array_equal(one[1], many[1])
    assert one[0].gap(one[1]) == many[0].gap(many[1])
