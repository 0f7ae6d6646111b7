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
    Tuned,
    Tuning,
    find_vertex,
    first_strengths,
    is_better,
)
from deepbroad.engine.choice.tables import SHIFTS, Candidates
from deepbroad.kernels.threads import Threads
from tests.engine.choice.naive_fits import margins_by_shares
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
    source, start=1.0, known=inf, is_late=lambda: False, kind=CellFits, settings=SETTINGS, kept=(),
    weighed=False,
):  # fmt: skip
    """Return the tuned strengths of single features, the fits, and all strengths that were fitted.

    Those of the `kept` features are not scaled; all are `weighed` by the evidence if asked for.
    """
    rows, tables = deal_rows(source, 10_000, 3, 0), list_singles(source)
    count = len(tables.terms)
    fits = kind(rows, tables.terms, np.ones((count, rows.n_folds), bool), Threads(1))
    minimise, tried = fits.minimise, []

    def note(strength, known=inf):
        tried.append(strength.copy())
        return minimise(strength, known)

    fits.minimise = note
    draws = np.random.default_rng(0).random(rows.source.n_rows)
    scaled = np.ones(count, bool)
    scaled[list(kept)] = False
    tuning = Tuning(fits, tables, settings, draws, is_late)
    tuned = tuning.run(np.full(count, start), scaled, known)
    return tuning.weigh(tuned) if weighed else tuned, fits, tried


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
    source = told_by_one(400, features=30)
    strength = tune(source, start, kind=kind, weighed=True)[0].strength
    assert strength[0] < 3.0
    assert np.median(strength[1:]) > 3 * strength[0]


@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_losses_are_those_of_the_strengths_and_better_than_at_the_start(kind, weighed):
    source = told_by_one()
    tuned, fits, _ = tune(source, 100.0, kind=kind, weighed=weighed)
    fits.point = tuned.point
    found = HeldLosses.of(fits.losses, fits.rows.held, margins_by_shares(fits))
    np.testing.assert_allclose(found.each, tuned.losses.each, atol=2e-3)
    assert found.plain == pytest.approx(tuned.losses.plain, abs=1e-4)
    assert tuned.loss == tuned.losses.mean
    late, _, tried = tune(source, 100.0, is_late=lambda: True, kind=kind)
    assert tuned.loss < late.loss
    np.testing.assert_array_equal(late.strength, 100.0)
    assert len(tried) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_tables_that_do_harm_are_given_up_after_few_fits(kind):
    source = told_by_one()
    tuned, _, every = tune(source, 100.0, kind=kind)
    hopeless, _, few = tune(source, 100.0, known=0.5 * tuned.loss, kind=kind, kept=[1])
    assert len(few) <= HARMFUL + 1 < len(every)
    # Those that are scaled have one factor.
    assert hopeless.strength[0] == hopeless.strength[2]
    assert hopeless.strength[1] == 100.0


@pytest.mark.parametrize("kind", KINDS)
def test_only_strengths_that_are_to_be_scaled_are_scaled(kind):
    tuned, _, tried = tune(told_by_one(), 30.0, kind=kind, kept=[1])
    assert tuned.strength[0] == pytest.approx(tuned.strength[2])
    assert tuned.strength[0] < 30.0
    for strength in (tuned.strength, *tried):
        assert strength[1] == 30.0


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_evidence_gives_is_never_taken_where_nothing_is_sure_enough(kind):
    source = told_by_one(400, features=30)
    best, _, few = tune(source, kind=kind, settings=SURE)
    kept, fits, every = tune(source, kind=kind, settings=SURE, weighed=True)
    assert len(every) > len(few)
    np.testing.assert_array_equal(kept.strength, best.strength)
    np.testing.assert_array_equal(kept.losses.each, best.losses.each)
    fits.point = kept.point
    found = HeldLosses.of(fits.losses, fits.rows.held, margins_by_shares(fits))
    np.testing.assert_allclose(found.each, kept.losses.each, atol=2e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_strengths_stay_within_bounds(kind):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (2, 300))
    for labels in (codes[0], rng.integers(0, 2, 300)):
        tuned, _, tried = tune(make_source(codes, labels), kind=kind, weighed=True)
        for strength in (tuned.strength, *tried):
            assert ((strength >= LEAST) & (strength <= MOST)).all()
        assert np.isfinite(tuned.loss)


# The search by itself, over losses that are known.


def of_rows(losses):
    """Return the losses of rows that there is no doubt about."""
    return HeldLosses(np.asarray(losses, float), np.ones(len(losses)), float(np.mean(losses)))


class KnownLosses:
    """Fits of some tables whose loss is a function of the strength of the first."""

    n_folds, point = 2, None

    def __init__(self, loss, count=3, traces=None):
        self.loss, self.known = loss, traces
        self.present = np.ones((count, self.n_folds), bool)
        self.tried, self.begun, self.told = [], [], []

    def minimise(self, strength, known=inf):
        self.tried.append(strength.copy())
        self.begun.append(self.point)
        self.told.append(known)
        self.point = len(self.tried)
        return of_rows(np.full(2, self.loss(strength[0])))

    def traces(self, draws):
        return self.known or Traces(*np.ones((3, len(self.present))))


def search(loss, known=inf, settings=SURE, is_late=lambda: False, start=1.0):
    """Return what is tuned, and all strengths that were fitted, for three features."""
    tables, fits = list_singles(told_by_one(20)), KnownLosses(loss)
    every = np.ones(3, bool)
    tuning = Tuning(fits, tables, settings, np.empty(0), is_late)
    return tuning.run(np.full(3, start), every, known), np.array(fits.tried)


def list_both(chosen=range(6)):
    """Return the tables of three features and of their pairs, or some of them."""
    source = told_by_one(20)
    made = Candidates(source.attributes, source.cardinalities, 1e3, shifted=False, searched=())
    pairs = made.unshifted(np.array([[0, 1], [0, 2], [1, 2]]))
    return made.take(made.join(list_singles(source), pairs), np.array(chosen))


def weigh(loss, traces, settings=SETTINGS, is_late=lambda: False):
    """Return fits of three features and their pairs, the best scaled one, and one weighed."""
    fits = KnownLosses(loss, 6, traces)
    tuning = Tuning(fits, list_both(), settings, np.empty(0), is_late)
    best = tuning.run(np.arange(1.0, 7.0), np.ones(6, bool), inf)
    fits.tried, fits.begun, fits.told = [best.strength], [], []
    return fits, best, tuning.weigh(best)


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


@given(st.floats(-4.0, 4.0), st.sampled_from([inf, 1.01, 0.5]))
def test_each_fit_is_told_the_least_loss_before_it(best, known):
    fits = KnownLosses(parabola(best))
    tables = list_singles(told_by_one(20))
    tuning = Tuning(fits, tables, SURE, np.empty(0), lambda: False)
    tuning.run(np.ones(3), np.ones(3, bool), known)
    losses = [fits.loss(strength[0]) for strength in fits.tried]
    assert fits.told[0] == inf
    for place, told in enumerate(fits.told[1:], start=1):
        assert told == min(losses[:place])


def test_weaker_strengths_go_on_from_the_nearest_fit_and_stronger_ones_from_the_beginning():
    fits = KnownLosses(parabola(-2.0))
    tuning = Tuning(fits, list_singles(told_by_one(20)), SURE, np.empty(0), lambda: False)
    tuning.run(np.ones(3), np.ones(3, bool), inf)
    for place, strength in enumerate(fits.tried):
        stronger = [k for k in range(place) if fits.tried[k][0] > strength[0]]
        nearest = min(stronger, key=lambda k: fits.tried[k][0], default=None)
        assert fits.begun[place] == (None if nearest is None else nearest + 1)


# What the evidence gives.


@given(st.integers(0, 200))
def test_the_evidence_gives_strengths_even_where_probes_are_negative(seed):
    rng = np.random.default_rng(seed)
    traces = Traces(rng.normal(size=6), rng.exponential(size=6), rng.exponential(size=6))
    fits, _, _ = weigh(parabola(0.0), traces)
    assert len(fits.tried) > 2
    for strength in fits.tried:
        assert ((strength >= LEAST) & (strength <= MOST)).all()


SMALLER_TO_LARGER = Traces(np.full(6, 5.0), np.full(6, 8.0), np.array([0.1, 1.0, 10.0] * 2))


def test_the_evidence_has_stronger_penalties_for_smaller_scores():
    fits, _, _ = weigh(parabola(0.0), SMALLER_TO_LARGER)
    for strength in fits.tried[1:]:
        assert strength[0] > strength[1] > strength[2]
        # With as many parameters that tell so much, the ratio is nearly that of γ / ‖β‖².
        assert 2.0 < strength[1] / strength[2] < 10.0


@given(st.integers(0, 200))
def test_the_evidence_is_tried_with_variances_of_its_own_and_with_those_known_by_order(seed):
    rng = np.random.default_rng(seed)
    traces = Traces(*rng.uniform(1.0, 9.0, (2, 6)), rng.uniform(0.1, 30.0, 6))
    fits, best, _ = weigh(parabola(0.0), traces)
    own, kept = fits.tried[1:3]
    for order in (slice(0, 3), slice(3, 6)):
        # Tables of an order compare alike in both.
        np.testing.assert_allclose(own[order] / own[order][0], kept[order] / kept[order][0])
        assert (1.0 / kept[order]).sum() == pytest.approx((1.0 / best.strength[order]).sum())
    # Both go on from the best fit.
    assert fits.begun[:2] == [best.point, best.point]


@pytest.mark.parametrize("chosen", [0, 1])
def test_the_better_of_the_two_is_taken_if_it_gains(chosen):
    fits, best, _ = weigh(parabola(0.0), SMALLER_TO_LARGER)
    wanted = fits.tried[1 + chosen]
    loss = {tuple(wanted): 0.5}

    class ByStrengths(KnownLosses):
        def minimise(self, strength, known=inf):
            super().minimise(strength, known)
            return of_rows(np.full(2, loss.get(tuple(strength), 1.0)))

    fits = ByStrengths(None, 6, SMALLER_TO_LARGER)
    fits.loss = lambda strength: 1.0
    tuning = Tuning(fits, list_both(), SETTINGS, np.empty(0), lambda: False)
    fits.tried, fits.point = [best.strength], best.point
    found = tuning.weigh(best)
    np.testing.assert_array_equal(found.strength, wanted)
    assert found.loss == 0.5


def test_what_the_evidence_gives_is_made_weaker_but_never_stronger():
    fits, _, found = weigh(parabola(1.0), SMALLER_TO_LARGER)
    of_search = np.array(fits.tried[3:])
    assert len(of_search)
    factors = of_search / min(fits.tried[1:3], key=lambda strength: fits.loss(strength[0]))
    assert (factors < 1.0).all()
    np.testing.assert_allclose(factors, factors[:, :1].repeat(6, axis=1))
    assert found.loss == min(fits.loss(strength[0]) for strength in fits.tried)
    fits, _, _ = weigh(parabola(-6.0), SMALLER_TO_LARGER)
    first = min(fits.tried[1:3], key=lambda strength: fits.loss(strength[0]))
    assert all(strength[0] <= first[0] for strength in fits.tried[3:])


def test_where_it_is_late_what_the_evidence_gives_is_not_scaled():
    fits, _, _ = weigh(parabola(6.0), SMALLER_TO_LARGER, is_late=lambda: True)
    assert len(fits.begun) == 2


def weigh_some(chosen, traces, absent=()):
    """Return the strengths that the evidence gives some tables, of which no fold has `absent`."""
    chosen = np.array(chosen)
    fits = KnownLosses(lambda strength: 1.0, len(chosen), Traces(*np.array(traces)[:, chosen]))
    fits.present[list(absent)] = False
    tuning = Tuning(fits, list_both(chosen), SETTINGS, np.empty(0), lambda: False)
    tuning.weigh(Tuned(chosen + 1.0, of_rows([1.0, 1.0]), None))
    return fits.tried[:2]


@given(st.integers(0, 200), st.sampled_from([[4], [0, 5], [3, 4, 5]]))
def test_tables_that_no_fold_has_keep_their_strength_and_change_no_others(seed, absent):
    rng, some = np.random.default_rng(seed), [t for t in range(6) if t not in absent]
    traces = np.stack([*rng.uniform(1.0, 9.0, (2, 6)), rng.uniform(0.1, 30.0, 6)])
    traces[:, absent] = 0.0
    found = weigh_some(range(6), traces, absent)
    # Both as the evidence has it, and with the variances that were known.
    for strength, expected in zip(found, weigh_some(some, traces), strict=True):
        np.testing.assert_array_equal(strength[absent], np.array(absent) + 1.0)
        np.testing.assert_allclose(strength[some], expected)


@pytest.mark.parametrize("some", [[0, 1, 2], [0, 1, 2, 4]])
@pytest.mark.parametrize("kind", KINDS)
def test_fits_of_tables_that_no_fold_has_give_others_what_they_have_without_them(kind, some):
    rows = deal_rows(told_by_one(400), 10_000, 3, 0)
    draws = np.random.default_rng(0).random(rows.source.n_rows)

    def weigh_all(chosen, absent=()):
        tables, strength, tried = list_both(chosen), np.array(chosen) + 1.0, []
        present = np.ones((len(chosen), rows.n_folds), bool)
        present[list(absent)] = False
        fits = kind(rows, tables.terms, present, Threads(1))
        best = Tuned(strength, fits.minimise(strength), fits.point)
        minimise = fits.minimise
        fits.minimise = lambda strength, known=inf: tried.append(strength) or minimise(strength)
        tuned = Tuning(fits, tables, SETTINGS, draws, lambda: False).weigh(best)
        assert np.isfinite(tuned.strength).all()
        assert np.isfinite(tuned.losses.each).all()
        return tried[:2]

    absent = [t for t in range(6) if t not in some]
    for strength, expected in zip(weigh_all(range(6), absent), weigh_all(some), strict=True):
        np.testing.assert_array_equal(strength[absent], np.array(absent) + 1.0)
        np.testing.assert_allclose(strength[some], expected, rtol=0.02)


@given(st.integers(0, 200))
def test_a_table_that_fewer_folds_have_is_nearer_to_what_is_typical(seed):
    diagonal = np.random.default_rng(seed).uniform(1.0, 9.0, 3)
    # The first has more effective parameters than others: alone it would have more strength.
    traces = Traces(diagonal * np.array([0.9, 0.5, 0.1]), diagonal, np.ones(3))
    tables, found = list_singles(told_by_one(20)), []
    for present in (True, False):
        fits = KnownLosses(lambda strength: 1.0, 3, traces)
        fits.present[0, 1] = present
        tuning = Tuning(fits, tables, SETTINGS, np.empty(0), lambda: False)
        tuning.weigh(Tuned(np.ones(3), of_rows([1.0, 1.0]), None))
        found.append(fits.tried[0])
    assert found[1][0] < found[0][0]
    np.testing.assert_array_equal(found[1][1:], found[0][1:])


# Time.


def test_a_search_that_gave_up_for_harm_does_not_ask_for_the_time():
    asked, tried = [], []

    def loss(strength):
        tried.append(strength)
        return 2.0 + 1.0 / (1.0 + np.log1p(strength))

    search(loss, known=1.9, is_late=lambda: bool(asked.append(len(tried))))
    assert asked
    assert all(count < len(tried) for count in asked)


@pytest.mark.parametrize("rounds", [1, 3])
def test_the_time_is_asked_for_between_rounds_and_not_after_the_last(rounds):
    asked, begun = [], []

    class Steady(Tuning):
        """One whose strengths are not scaled, so that nothing but rounds may ask for the time."""

        def _scale(self, first, scaled, known, ways=(1, -1)):
            begun.append(first)
            return first

    fits = KnownLosses(None, 6, SMALLER_TO_LARGER)
    fits.loss = lambda strength: 0.5 ** len(fits.tried)
    settings = replace(SETTINGS, rounds=rounds)
    tuning = Steady(
        fits, list_both(), settings, np.empty(0), lambda: bool(asked.append(len(begun)))
    )
    tuning.weigh(Tuned(np.ones(6), of_rows([1.0, 1.0]), None))
    assert len(begun) == rounds
    assert asked == list(range(1, rounds))


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
