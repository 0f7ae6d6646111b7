"""What the choice finds in tables whose rule is known."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.engine.choice import EFFORTS, choose, search
from deepbroad.engine.choice.dealing import deal_rows
from deepbroad.engine.choice.fits import HeldLosses
from deepbroad.engine.choice.search import Search, select_strong
from deepbroad.kernels.threads import Threads
from tests.engine.choice.naive_fits import margins_by_shares
from tests.engine.choice.tables_for_tests import make_source, noise, parity


@pytest.fixture(params=["rows", "cells"])
def _space(request, monkeypatch):
    """Have the fits be in the space of rows, as few rows have, or in that of cells."""
    if request.param == "cells":
        monkeypatch.setattr(search, "FEW_ROWS", 0)


in_both_spaces = pytest.mark.usefixtures("_space")
# Every interaction has to show in a screening.
SCREENED = replace(EFFORTS["fast"], unscreened=0.0)


def find(source, threads=1, **options):
    with Threads(threads) as pool:
        return choose(
            source, **{"depth": None, "settings": EFFORTS["fast"], "threads": pool} | options
        )


def tuples_of(choice):
    return {tuple(sorted(m for m in row if m >= 0)) for row in choice.members.tolist()}


@in_both_spaces
def test_an_interaction_of_two_is_found_and_noise_has_none():
    assert (0, 1) in tuples_of(find(parity(800)))
    assert find(noise(800)).selection["n"] == 1


@in_both_spaces
def test_an_interaction_of_three_that_shows_in_no_pair_is_found():
    assert (0, 1, 2) in tuples_of(find(parity(1500, features=10, members=3)))


@pytest.mark.parametrize("members", [2, 3])
def test_interactions_that_are_found_show_in_a_screening(members, monkeypatch):
    monkeypatch.setattr(search, "FEW_ROWS", 0)
    choice = find(parity(1500, features=8, members=members), settings=SCREENED)
    assert tuple(range(members)) in tuples_of(choice)
    trial = next(trial for trial in choice.selection["trials"] if trial["order"] == members)
    assert trial["tables"] < 10
    choice = find(noise(800), settings=SCREENED)
    assert choice.selection["n"] == 1


@in_both_spaces
def test_a_given_depth_is_kept_though_it_gains_nothing():
    assert find(noise(500), depth=2).selection["n"] == 2


@in_both_spaces
def test_exact_orders_have_no_others():
    choice = find(parity(500), depth=2, exact=True)
    assert {len(t) for t in tuples_of(choice)} == {2}


@in_both_spaces
def test_given_tuples_are_the_only_ones():
    among = {1: np.array([[0], [1]]), 2: np.array([[0, 1]])}
    choice = find(parity(500), depth=2, among=among)
    assert tuples_of(choice) <= {(0,), (1,), (0, 1)}
    assert (0, 1) in tuples_of(choice)


@in_both_spaces
@pytest.mark.parametrize("change", ["order", "threads", "weights"])
def test_the_choice_depends_on_data_and_seed_alone(change):
    source = parity(600, features=5)
    first = find(source)
    if change == "order":
        order = np.random.default_rng(0).permutation(600)
        second = find(make_source(source.codes[:, order], source.labels[order]))
    elif change == "threads":
        second = find(source, threads=2)
    else:
        times = np.full(600, 2)
        first = find(make_source(source.codes.repeat(2, axis=1), source.labels.repeat(2)))
        second = find(make_source(source.codes, source.labels, times.astype(float)))
    np.testing.assert_array_equal(first.members, second.members)
    np.testing.assert_array_equal(first.strength, second.strength)
    assert first.selection == second.selection


@in_both_spaces
def test_time_that_is_up_is_told():
    choice = find(parity(500), time_limit=1e-9)
    assert not choice.selection["complete"]
    assert "time_limit" in choice.selection["warnings"][0]
    assert find(parity(500)).selection["warnings"] == []


@in_both_spaces
def test_progress_names_what_is_tried():
    seen = []
    find(parity(500), progress=lambda what, loss, share: seen.append((what, loss, share)))
    assert seen
    assert all(0.0 <= share <= 1.0 for _, _, share in seen)


def test_the_spaces_of_rows_and_of_cells_choose_alike(monkeypatch):
    source = parity(800, features=4)
    by_rows = find(source)
    monkeypatch.setattr(search, "FEW_ROWS", 0)
    by_cells = find(source)
    assert (0, 1) in tuples_of(by_rows) & tuples_of(by_cells)
    assert by_rows.selection["loss"] == pytest.approx(by_cells.selection["loss"], rel=0.01)


def told_by_two(rows=1500, features=14):
    """Return features of two values: the last tells much, and more together with the one before."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (features, rows))
    chance = 0.1 + 0.5 * codes[-1] + 0.35 * (codes[-1] ^ codes[-2])
    return make_source(codes, rng.random(rows) < chance)


@in_both_spaces
def test_where_tables_are_too_many_features_that_tell_most_are_extended():
    source = told_by_two()
    few = replace(EFFORTS["fast"], orders=2, candidates=14)
    assert (12, 13) in tuples_of(find(source, settings=few))
    trial = next(t for t in find(source, settings=few).selection["trials"] if t["order"] == 2)
    assert 0 < trial["tables"] <= 14


@in_both_spaces
@pytest.mark.parametrize("start", [0.5, 8.0, 500.0])
def test_the_search_ends_at_the_same_loss_wherever_it_begins(start):
    source = told_by_two(features=6)
    pairs = replace(EFFORTS["fast"], orders=2)
    expected = find(source, settings=pairs)
    found = find(source, settings=replace(pairs, start=start))
    assert found.selection["n"] == expected.selection["n"] == 2
    assert found.selection["loss"] == pytest.approx(expected.selection["loss"], rel=5e-3)


@in_both_spaces
def test_trials_tell_the_loss_of_what_was_taken():
    # Tables that tell little are left out at the end, which no trial tells of.
    settings = replace(EFFORTS["fast"], orders=2, share=1.0)
    choice = find(told_by_two(features=6), settings=settings)
    taken = [trial for trial in choice.selection["trials"] if trial["taken"]]
    assert [trial["order"] for trial in taken] == [1, 2]
    assert choice.selection["loss"] == taken[-1]["loss"] < taken[0]["loss"]


@in_both_spaces
def test_one_order_alone_is_chosen_and_told():
    choice = find(parity(500), exact=True)
    trials = choice.selection["trials"]
    assert [trial["order"] for trial in trials] == [1, 2, 3]
    assert [trial["taken"] for trial in trials] == [False, True, False]
    assert {len(t) for t in tuples_of(choice)} == {2}


@in_both_spaces
def test_one_order_alone_is_chosen_of_those_that_were_tried_in_time():
    choice = find(parity(500), exact=True, time_limit=1e-9)
    assert [(trial["order"], trial["taken"]) for trial in choice.selection["trials"]] == [(1, True)]
    assert {len(t) for t in tuples_of(choice)} == {1}
    assert not choice.selection["complete"]


def run_search(source, time_limit=inf, **changes):
    """Return what a search finds in a table."""
    settings = replace(EFFORTS["fast"], **changes)
    rows = deal_rows(source, settings.rows, settings.folds, 0)
    found = Search(rows, settings, settings.orders, 0, Threads(1), time_limit=time_limit)
    return found.run()


@in_both_spaces
@pytest.mark.parametrize("time_limit", [inf, 1e-9])
def test_losses_are_told_without_the_doubt_that_comparisons_have(time_limit):
    source, changes = told_by_two(features=4), {"orders": 2, "share": 1.0}
    model = run_search(source, time_limit, **changes)
    model.fits.point = model.tuned.point
    told = HeldLosses.of(model.fits.losses, model.fits.rows.held).mean
    assert model.trial["loss"] == model.tuned.losses.plain == pytest.approx(told, abs=1e-5)
    assert model.tuned.loss > told + 1e-4
    settings = replace(EFFORTS["fast"], **changes)
    choice = find(source, settings=settings, time_limit=time_limit)
    assert choice.selection["loss"] == model.trial["loss"]


# Weak tables.


@in_both_spaces
def test_features_that_tell_nothing_are_left_out_where_a_share_of_the_variance_is_asked_for():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (12, 1500))
    source = make_source(codes, codes[0] ^ (rng.random(1500) < 0.1))
    settings = replace(EFFORTS["fast"], orders=1)
    whole = find(source, settings=replace(settings, share=1.0))
    fewer = find(source, settings=replace(settings, share=0.8))
    assert len(tuples_of(whole)) == 12
    assert tuples_of(fewer) == {(0,)}
    assert fewer.selection["loss"] < whole.selection["loss"] * (1.0 + settings.gain)


@in_both_spaces
def test_tables_that_held_out_rows_need_are_never_left_out():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (3, 1500))
    source = make_source(codes, rng.binomial(3, 0.05 + 0.3 * codes.sum(axis=0)) >= 2)
    settings = replace(EFFORTS["fast"], orders=1, share=0.3)
    assert len(tuples_of(find(source, settings=settings))) == 3


@in_both_spaces
def test_fits_are_as_they_were_where_tables_were_not_to_be_left_out(monkeypatch):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (3, 1500))
    source = make_source(codes, rng.binomial(3, 0.05 + 0.3 * codes.sum(axis=0)) >= 2)
    fitted = []

    def note(kind):
        minimise = kind.minimise

        def minimise_noted(self, strength, known=inf):
            fitted.append(self.present.copy())
            return minimise(self, strength, known)

        monkeypatch.setattr(kind, "minimise", minimise_noted)

    note(search.RowFits)
    note(search.CellFits)
    model = run_search(source, orders=1, share=0.3)
    # It was tried.
    assert not fitted[-1].all()
    assert model.final.all()
    assert model.fits.present is model.present
    assert model.present.all()
    assert model.fits.point is model.tuned.point
    found = HeldLosses.of(model.fits.losses, model.fits.rows.held, margins_by_shares(model.fits))
    np.testing.assert_allclose(found.each, model.tuned.losses.each, atol=1e-4)


@given(st.lists(st.floats(0.0, 10.0), min_size=1, max_size=8), st.floats(0.05, 1.0))
def test_the_strong_tables_are_the_fewest_that_have_the_share(variances, share):
    variances = np.array(variances)
    strong = select_strong(variances, share)
    total, count = variances.sum(), np.count_nonzero(strong)
    assert count >= 1
    assert variances[strong].min() >= variances[~strong].max(initial=0.0)
    assert variances[strong].sum() >= share * total * (1 - 1e-12)
    assert np.sort(variances)[::-1][: count - 1].sum() < share * total or count == 1
