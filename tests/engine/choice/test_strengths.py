"""Strengths of tables: what they start from, and what the search makes of them."""

from math import inf

import numpy as np
import pytest

from deepbroad.engine.choice.dealing import deal_rows
from deepbroad.engine.choice.fold_fits import FoldFits
from deepbroad.engine.choice.settings import EFFORTS
from deepbroad.engine.choice.strengths import LEAST, MOST, Tuning, first_strengths
from deepbroad.engine.choice.tables import Candidates
from deepbroad.kernels.threads import Threads
from tests.engine.choice.tables_for_tests import make_source

SETTINGS = EFFORTS["fast"]


def tune(source, start=1.0, known=inf, is_late=lambda: False):
    """Return the tuned strengths of single features, and the fits."""
    rows = deal_rows(source, 10_000, 3, 0)
    made = Candidates(source.attributes, source.cardinalities, 1000.0, shifted=False)
    tables = made.unshifted(np.arange(len(source.cardinalities))[:, None])
    fits = FoldFits(
        rows, tables.terms, np.ones((len(tables.terms), rows.n_folds), bool), Threads(1)
    )
    draws = np.random.default_rng(0).random(rows.source.n_rows)
    tuning = Tuning(fits, tables, SETTINGS, draws, is_late)
    every = np.ones(len(tables.terms), bool)
    return tuning.run(np.full(len(tables.terms), start), every, known), fits


def told_by_one(rows=1500, seed=0):
    """Return three features of four values, the first of which tells the class."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 4, (3, rows))
    return make_source(codes, (codes[0] >= 2) ^ (rng.random(rows) < 0.1))


def test_first_strengths_share_out_a_variance():
    numbers = Candidates(np.zeros(7, int), np.array([2, 3, 4, 3, 3, 5, 8]), 1e4, shifted=True)
    tables = numbers.with_shifts(numbers.unshifted(np.array([[0]])))
    strength = first_strengths(tables, 3.0)
    assert (1.0 / strength).sum() == pytest.approx(3.0)
    by_level = [float((1.0 / strength)[tables.levels == level].sum()) for level in (1, 2, 3)]
    assert by_level[0] == pytest.approx(2 * by_level[1]) == pytest.approx(4 * by_level[2])


@pytest.mark.parametrize("start", [0.1, 100.0])
def test_features_that_tell_nothing_have_the_stronger_penalty(start):
    tuned, _ = tune(told_by_one(), start)
    assert tuned.strength[0] < 3.0
    assert (tuned.strength[1:] > 3 * tuned.strength[0]).all()


def test_the_loss_is_that_of_the_strengths_and_no_worse_than_at_the_start():
    source = told_by_one()
    tuned, fits = tune(source, 100.0)
    fits.point = tuned.point
    assert fits.held_loss() == tuned.loss
    late, _ = tune(source, 100.0, is_late=lambda: True)
    assert tuned.loss < late.loss
    np.testing.assert_array_equal(late.strength, 100.0)


def test_tables_that_gain_nothing_are_not_tuned_further():
    source = told_by_one()
    tuned, fits = tune(source)
    hopeless, short = tune(source, known=0.5 * tuned.loss)
    assert short.passes < fits.passes
    assert len(set(hopeless.strength.tolist())) == 1


def test_strengths_stay_within_bounds():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (2, 300))
    for labels in (codes[0], rng.integers(0, 2, 300)):
        tuned, _ = tune(make_source(codes, labels))
        assert ((tuned.strength >= LEAST) & (tuned.strength <= MOST)).all()
        assert np.isfinite(tuned.loss)
