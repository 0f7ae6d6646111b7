"""Scorers: chunks, precision and pickles."""

import pickle

import numpy as np
import pytest

from deepbroad.engine.scoring import CHUNK, Scorer
from tests.engine.problems import draw_problem


@pytest.fixture
def scorer():
    problem = draw_problem(0, rows=40)
    return Scorer(problem.training(2, [(0, 1), (2, 3)]).generative()), problem


def test_rows_score_the_same_in_any_company(scorer):
    scorer, problem = scorer
    rng = np.random.default_rng(0)
    rows = np.stack([rng.integers(v + 1, size=CHUNK + 100) for v in problem.cardinalities])
    rows = rows.astype(np.uint8)
    whole = scorer.scores(rows, 2)
    for chosen in (slice(0, 1), slice(CHUNK - 1, CHUNK + 1), slice(7, 50)):
        part = scorer.scores(np.ascontiguousarray(rows[:, chosen]), 1)
        np.testing.assert_array_equal(part, whole[chosen])


def test_probabilities_are_the_softmax_of_scores(scorer):
    scorer, problem = scorer
    scores = np.hstack([np.zeros((40, 1)), scorer.scores(problem.codes)])
    powers = np.exp(scores)
    expected = powers / powers.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(scorer.probabilities(problem.codes), expected, atol=1e-13)


def test_a_pickled_scorer_gives_the_same_bits_and_holds_no_fused_tables(scorer):
    scorer, problem = scorer
    before = len(pickle.dumps(scorer))
    expected = scorer.probabilities(problem.codes)
    data = pickle.dumps(scorer)
    assert len(data) <= 1.5 * before
    np.testing.assert_array_equal(pickle.loads(data).probabilities(problem.codes), expected)


def test_codes_that_are_not_contiguous_are_scored_too(scorer):
    scorer, problem = scorer
    expected = scorer.scores(problem.codes)
    strided = np.asfortranarray(problem.codes)
    np.testing.assert_array_equal(scorer.scores(strided), expected)
    np.testing.assert_array_equal(scorer.scores(problem.codes[:, ::2]), expected[::2])
