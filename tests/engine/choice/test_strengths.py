"""Strengths of tables: what they start from, and what the search makes of them."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.engine.choice.cell_fits import CellFits
from deepbroad.engine.choice.dealing import deal_rows
from deepbroad.engine.choice.fits import HeldLosses, Traces
from deepbroad.engine.choice.row_fits import RowFits
from deepbroad.engine.choice.settings import EFFORTS
from deepbroad.engine.choice.strengths import (
    HARMFUL,
    LEAST,
    MOST,
    Tuning,
    find_vertex,
    first_strengths,
    is_better,
)
from deepbroad.engine.choice.tables import SHIFTS, Candidates
from deepbroad.kernels.threads import Threads
from tests.engine.choice.tables_for_tests import make_source

SETTINGS = EFFORTS["fast"]
# Nothing is ever better by so many standard errors: what the evidence gives is never taken.
SURE = replace(SETTINGS, certainty=1e9)
KINDS = [CellFits, RowFits]


def list_singles(source):
    """Return the tables of single features."""
    made = Candidates(source.attributes, source.cardinalities, 1e3, shifted=False, searched=())
    return made.unshifted(np.arange(len(source.cardinalities))[:, None])


def tune(
    source, start=1.0, known=inf, is_late=lambda: False, kind=CellFits, settings=SETTINGS, kept=()
):
    """Return the tuned strengths of single features, the fits, and all strengths that were fitted.

    Those of the `kept` features are not scaled at first.
    """
    rows, tables = deal_rows(source, 10_000, 3, 0), list_singles(source)
    count = len(tables.terms)
    fits = kind(rows, tables.terms, np.ones((count, rows.n_folds), bool), Threads(1))
    minimise, tried = fits.minimise, []

    def note(strength):
        tried.append(strength.copy())
        return minimise(strength)

    fits.minimise = note
    draws = np.random.default_rng(0).random(rows.source.n_rows)
    scaled = np.ones(count, bool)
    scaled[list(kept)] = False
    tuning = Tuning(fits, tables, settings, draws, is_late)
    return tuning.run(np.full(count, start), scaled, known), fits, tried


def told_by_one(rows=1500, seed=0, features=3):
    """Return features of four values, the first of which tells the class."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 4, (features, rows))
    return make_source(codes, (codes[0] >= 2) ^ (rng.random(rows) < 0.1))


def test_first_strengths_share_out_a_variance():
    sizes = np.array([2, 3, 4, 3, 3, 5, 8])
    numbers = Candidates(np.zeros(7, int), sizes, 1e4, shifted=True, searched=SHIFTS)
    tables = numbers.with_shifts(numbers.unshifted(np.array([[0]])))
    strength = first_strengths(tables, 3.0)
    assert (1.0 / strength).sum() == pytest.approx(3.0)
    by_level = [float((1.0 / strength)[tables.levels == level].sum()) for level in (1, 2, 3)]
    assert by_level[0] == pytest.approx(2 * by_level[1]) == pytest.approx(4 * by_level[2])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("start", [0.1, 100.0])
def test_features_that_tell_nothing_have_the_stronger_penalty(start, kind):
    # So many tell nothing that held-out rows show it.
    strength = tune(told_by_one(400, features=30), start, kind=kind)[0].strength
    assert strength[0] < 3.0
    assert np.median(strength[1:]) > 3 * strength[0]


@pytest.mark.parametrize("kind", KINDS)
def test_the_losses_are_those_of_the_strengths_and_better_than_at_the_start(kind):
    source = told_by_one()
    tuned, fits, _ = tune(source, 100.0, kind=kind)
    fits.point = tuned.point
    found = HeldLosses.of(fits.losses, fits.rows.held)
    np.testing.assert_allclose(found.each, tuned.losses.each, atol=2e-3)
    assert tuned.loss == tuned.losses.mean
    late, _, tried = tune(source, 100.0, is_late=lambda: True, kind=kind)
    assert tuned.loss < late.loss
    np.testing.assert_array_equal(late.strength, 100.0)
    assert len(tried) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_tables_that_gain_nothing_are_not_tuned_further(kind):
    source = told_by_one()
    tuned, _, every = tune(source, kind=kind)
    hopeless, _, few = tune(source, known=0.5 * tuned.loss, kind=kind, kept=[1])
    assert len(few) < len(every)
    # Those that are scaled have one factor, and the evidence is not asked for others.
    assert hopeless.strength[0] == hopeless.strength[2]
    assert hopeless.strength[1] == 1.0


@pytest.mark.parametrize("kind", KINDS)
def test_only_strengths_that_are_to_be_scaled_are_scaled(kind):
    tuned, _, tried = tune(told_by_one(), 30.0, kind=kind, settings=SURE, kept=[1])
    assert tuned.strength[1] == 30.0
    assert tuned.strength[0] == pytest.approx(tuned.strength[2])
    assert tuned.strength[0] < 30.0
    # The last fits are of the strengths that the evidence gives: of all tables.
    assert tried[-1][1] != 30.0


@pytest.mark.parametrize("kind", KINDS)
def test_strengths_stay_within_bounds(kind):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (2, 300))
    for labels in (codes[0], rng.integers(0, 2, 300)):
        tuned, _, tried = tune(make_source(codes, labels), kind=kind)
        for strength in (tuned.strength, *tried):
            assert ((strength >= LEAST) & (strength <= MOST)).all()
        assert np.isfinite(tuned.loss)


# The search by itself, over losses that are known.


class KnownLosses:
    """Fits whose loss is a function of the strength of the first table."""

    n_folds, point = 2, None

    def __init__(self, loss, traces=None):
        self.loss, self.known, self.tried = loss, traces, []

    def minimise(self, strength):
        self.tried.append(strength.copy())
        self.point = len(self.tried)
        return HeldLosses(np.full(2, self.loss(strength[0])), np.ones(2))

    def traces(self, draws):
        count = len(self.tried[0])
        return self.known or Traces(*np.ones((3, count)))


def search(loss, known=inf, settings=SURE, is_late=lambda: False, traces=None, start=1.0):
    """Return what is tuned, and all strengths that were fitted, for three features."""
    tables, fits = list_singles(told_by_one(20)), KnownLosses(loss, traces)
    every = np.ones(3, bool)
    tuning = Tuning(fits, tables, settings, np.empty(0), is_late)
    return tuning.run(np.full(3, start), every, known), np.array(fits.tried)


def parabola(best, curve=0.1):
    """Return a loss that is least, 1, `best` steps of weaker penalties from a strength of 1."""
    return lambda strength: 1.0 + curve * (np.log(1 / strength) / np.log(SETTINGS.step) - best) ** 2


@pytest.mark.parametrize("best", [-2.3, -0.4, 0.0, 0.2, 0.8, 1.7, 3.0])
def test_the_common_factor_is_that_of_the_least_loss(best):
    tuned, _ = search(parabola(best))
    np.testing.assert_allclose(tuned.strength, SETTINGS.step**-best, rtol=1e-6)
    assert tuned.loss == pytest.approx(1.0)


@given(st.floats(-4.0, 4.0), st.floats(0.01, 1.0))
def test_the_loss_is_the_least_of_all_that_were_fitted(best, curve):
    loss = parabola(best, curve)
    tuned, tried = search(loss)
    of_search = [loss(s[0]) for s in tried if s[0] == s[1] == s[2]]
    assert tuned.loss == pytest.approx(loss(tuned.strength[0]))
    assert tuned.loss <= min(of_search) or tuned.loss == pytest.approx(min(of_search))


def test_where_new_tables_do_harm_only_stronger_penalties_are_tried_and_few_of_them():
    # Ever less harm, but harm it is.
    tuned, tried = search(lambda strength: 2.0 + 1.0 / (1.0 + np.log1p(strength)), known=1.9)
    assert (tried[1:] > 1.0).all()
    assert len(tried) <= HARMFUL + 1
    assert tuned.loss > 1.9


def test_stronger_penalties_may_turn_harm_to_gain():
    tuned, _ = search(parabola(-2.0, 0.2), known=1.3)
    assert tuned.strength[0] == pytest.approx(SETTINGS.step**2)


def test_a_search_that_is_late_tries_nothing_new():
    tuned, tried = search(parabola(2.0), is_late=lambda: True)
    assert len(tried) == 1
    np.testing.assert_array_equal(tuned.strength, 1.0)


@given(st.integers(0, 200))
def test_the_evidence_gives_strengths_even_where_probes_are_negative(seed):
    rng = np.random.default_rng(seed)
    traces = Traces(rng.normal(size=3), rng.exponential(size=3), rng.exponential(size=3))
    _, tried = search(parabola(0.0), traces=traces)
    assert ((tried >= LEAST) & (tried <= MOST)).all()


def test_the_evidence_has_stronger_penalties_for_smaller_scores():
    traces = Traces(np.full(3, 5.0), np.full(3, 8.0), np.array([0.1, 1.0, 10.0]))
    _, tried = search(parabola(0.0), traces=traces)
    weighed = next(strength for strength in tried if len(set(strength)) == 3)
    assert weighed[0] > weighed[1] > weighed[2]
    # With as many parameters that tell so much, the ratio is nearly that of γ / ‖β‖².
    assert 2.0 < weighed[1] / weighed[2] < 10.0


# Comparisons.


@given(st.floats(-50, 50), st.floats(-5, 5), st.floats(0.01, 100.0))
def test_the_vertex_of_three_points_is_that_of_their_parabola(height, place, curve):
    values = [height + 0.5 * curve * (x - place) ** 2 for x in (-1.0, 0.0, 1.0)]
    found, gain = find_vertex(*values)
    assert found == pytest.approx(place, rel=1e-4, abs=1e-6 + 1e-9 * abs(height) / curve)
    assert values[1] - gain == pytest.approx(height, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("values", [(1.0, 1.0, 1.0), (3.0, 2.0, 1.0), (0.0, 1.0, 0.0)])
def test_values_without_a_least_have_no_vertex(values):
    assert find_vertex(*values) == (0.0, 0.0)


def of_rows(losses):
    return HeldLosses(np.asarray(losses, float), np.ones(len(losses)))


def test_better_is_what_gains_a_share_of_the_loss_and_more_than_chance():
    before, rng = of_rows(np.full(400, 0.5)), np.random.default_rng(0)
    noise = rng.normal(size=400)
    noise = (noise - noise.mean()) / noise.std()
    settings = replace(SETTINGS, gain=0.01, certainty=2.0)
    for gain, spread, expected in (
        (0.004, 0.0, False),  # less than a hundredth of 0.5
        (0.006, 0.0, True),
        (0.03, 0.4, False),  # a standard error is 0.02
        (0.05, 0.4, True),
        (-0.05, 0.4, False),
    ):
        found = of_rows(0.5 - gain + spread * noise)
        assert is_better(found, before, settings) == expected


def test_nothing_is_better_than_itself():
    losses = of_rows([0.1, 0.7, 0.3])
    assert not is_better(losses, losses, replace(SETTINGS, gain=0.0, certainty=0.0))
