"""Fits of folds in the space of cells, against explicit one-hot models of each fold in NumPy."""

import numpy as np
import pytest

from deepbroad.engine import lane_passes
from deepbroad.engine.choice import cell_fits, row_fits
from deepbroad.engine.choice.cell_fits import CellFits
from deepbroad.engine.choice.row_fits import RowFits
from deepbroad.kernels.threads import Threads
from tests.engine.choice.naive_fits import (
    OTHER,
    STRENGTH,
    TERMS,
    check_held_losses,
    draw_rows,
    everywhere,
    exact_traces,
    make_terms,
    naive_losses,
    naive_shares,
    naive_squares,
    probe,
)

# Class terms are free.
CLASS_VARIANCE = 1e6


@pytest.fixture(autouse=True)
def _precise(monkeypatch):
    """Fit until next to nothing is promised: the choice itself needs fewer digits."""
    monkeypatch.setattr(cell_fits, "TOLERANCE", 1e-8)
    monkeypatch.setattr(row_fits, "TOLERANCE", 1e-8)
    monkeypatch.setattr(cell_fits, "PROBED", 1e-5)
    monkeypatch.setattr(row_fits, "PROBE_TOLERANCE", 1e-3)


def make_fits(n_classes=2, present=None, terms=TERMS, threads=None, rows=80, kind=CellFits):
    dealt = draw_rows(n_classes, rows)
    present = everywhere(dealt, terms) if present is None else present
    return kind(dealt, make_terms(dealt, terms), present, threads or Threads(1))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_lanes_are_the_fits_of_each_fold(n_classes):
    fits = make_fits(n_classes)
    found = fits.minimise(STRENGTH)
    expected, held = naive_losses(fits, STRENGTH, CLASS_VARIANCE), fits.rows.held
    np.testing.assert_allclose(fits.losses, expected, atol=2e-3)
    assert found.plain == pytest.approx((expected * held).sum() / held.sum(), abs=1e-3)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_held_out_losses_allow_for_labels_that_are_other_ones(n_classes):
    check_held_losses(make_fits(n_classes), CLASS_VARIANCE)


def test_held_shares_are_those_of_the_fold_that_holds_a_row_out():
    fits = make_fits(3)
    fits.minimise(STRENGTH)
    rows, folds, shares = fits.held_shares()
    assert len(rows) == np.count_nonzero(fits.rows.held)
    expected = naive_shares(fits, STRENGTH, CLASS_VARIANCE)
    np.testing.assert_allclose(shares, expected[folds, rows], atol=2e-3)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-6)
    own = shares[np.arange(len(rows)), fits.rows.source.labels[rows]]
    np.testing.assert_allclose(-np.log(own), fits.losses[rows, folds], atol=1e-4)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_variances_are_in_proportion_to_the_squares_of_what_tables_add(n_classes):
    fits = make_fits(n_classes)
    fits.minimise(STRENGTH)
    expected = naive_squares(fits, STRENGTH, CLASS_VARIANCE, weighted=True)
    found = fits.variances()
    np.testing.assert_allclose(found / found.sum(), expected / expected.sum(), atol=2e-3)


def test_a_table_that_a_fold_does_not_have_scores_nothing_there():
    present = np.ones((len(TERMS), 3), bool)
    present[2, 1] = False
    fits = make_fits(present=present)
    fits.minimise(STRENGTH)
    variances = fits.variances()
    assert variances[2, 1] < 1e-8
    assert (variances[present] > 1e-4).all()
    np.testing.assert_allclose(fits.losses, naive_losses(fits, STRENGTH, CLASS_VARIANCE), atol=2e-3)


def test_tables_may_leave_and_come_back_between_fits():
    fits, fewer = make_fits(), np.ones((len(TERMS), 3), bool)
    whole = fits.minimise(STRENGTH)
    fewer[[0, 2], [1, 2]] = False
    fits.present = fewer
    np.testing.assert_allclose(
        fits.minimise(STRENGTH).each, make_fits(present=fewer).minimise(STRENGTH).each, atol=1e-3
    )
    fits.present = np.ones_like(fewer)
    np.testing.assert_allclose(fits.minimise(STRENGTH).each, whole.each, atol=1e-3)


def test_setting_the_point_back_gives_its_losses_again():
    fits = make_fits(3)
    first = fits.minimise(STRENGTH)
    draws = np.linspace(0, 0.99, fits.rows.source.n_rows)
    point, losses, variances = fits.point, fits.losses.copy(), fits.variances()
    shares, traces = fits.held_shares()[2], fits.traces(draws)
    assert np.abs(fits.minimise(OTHER).each - first.each).max() > 0.01
    fits.point = point
    np.testing.assert_allclose(fits.losses, losses, atol=1e-4)
    np.testing.assert_allclose(fits.held_shares()[2], shares, atol=1e-4)
    np.testing.assert_allclose(fits.variances(), variances, rtol=1e-4)
    # The strengths of the point are those of its own fit.
    for one, other in zip(fits.traces(draws), traces, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-2, atol=1e-3)


def test_a_fit_leaves_the_point_that_it_goes_on_from_as_it_was():
    fits = make_fits()
    fits.minimise(STRENGTH)
    point = fits.point
    scores, strength = point.scores.copy(), point.strength.copy()
    present = np.ones((len(TERMS), 3), bool)
    present[2] = False
    fits.minimise(OTHER)
    fits.point, fits.present = point, present
    fits.minimise(OTHER)
    for one, other in zip(point.scores, scores, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(point.strength, strength)


def test_losses_of_a_fit_stay_as_they_are_while_others_are_made():
    fits = make_fits()
    first = fits.minimise(STRENGTH)
    each = first.each.copy()
    fits.minimise(OTHER)
    np.testing.assert_array_equal(first.each, each)


def test_fits_do_not_depend_on_the_fit_that_they_go_on_from():
    fits = make_fits(3)
    fits.minimise(OTHER)
    found = fits.minimise(STRENGTH)
    np.testing.assert_allclose(found.each, make_fits(3).minimise(STRENGTH).each, atol=1e-3)


def test_going_on_from_the_solution_takes_fewer_passes():
    fits, other = make_fits(3), make_fits(3)
    fits.minimise(STRENGTH)
    first = fits.products
    other.carry(fits)
    before = other.products
    losses = other.minimise(STRENGTH)
    assert other.products - before < first
    np.testing.assert_allclose(losses.each, fits.minimise(STRENGTH).each, atol=1e-3)


@pytest.mark.parametrize("terms", [[(0,), (1,), (0, 1)], [(0, 1), (1,), (2,), (0,)]])
def test_scores_are_carried_to_the_fits_of_more_tables(terms):
    few, more = make_fits(3, terms=[(1,), (0, 1)]), make_fits(3, terms=terms)
    loss = few.minimise(STRENGTH[:2])
    more.carry(few)
    np.testing.assert_allclose(more.losses, few.losses, atol=1e-5)
    found = more.minimise(STRENGTH[: len(terms)])
    expected = make_fits(3, terms=terms).minimise(STRENGTH[: len(terms)])
    np.testing.assert_allclose(found.each, expected.each, atol=1e-3)
    assert np.abs(found.each - loss.each).max() > 0.01


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_the_weakest_and_the_strongest_penalties_have_a_solution(scale):
    fits = make_fits(3)
    found = fits.minimise(scale * STRENGTH)
    assert np.isfinite(found.each).all()
    trained = fits.rows.trained > 0
    expected = make_fits(3, kind=RowFits)
    expected.minimise(scale * STRENGTH)
    np.testing.assert_allclose(fits.losses[trained], expected.losses[trained], atol=0.01)


# Fits that have no hope.


def test_a_fit_that_gets_ever_worse_than_a_known_loss_ends_early():
    whole, fits = make_fits(3), make_fits(3)
    expected = whole.minimise(1e-4 * STRENGTH).mean
    found = fits.minimise(1e-4 * STRENGTH, 0.1).mean
    assert 0.1 < found < expected
    assert fits.products < whole.products


def test_a_fit_that_ended_early_is_a_fit_to_go_on_from():
    fits = make_fits(3)
    fits.minimise(1e-4 * STRENGTH, 0.0)
    point, losses = fits.point, fits.losses.copy()
    found = fits.minimise(STRENGTH)
    np.testing.assert_allclose(found.each, make_fits(3).minimise(STRENGTH).each, atol=1e-3)
    fits.point = point
    np.testing.assert_allclose(fits.losses, losses, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("known", [0.0, 0.3, 1e9])
def test_a_fit_that_gets_no_worse_is_the_same_whatever_is_known(known):
    found, expected = make_fits(3).minimise(STRENGTH, known), make_fits(3).minimise(STRENGTH)
    np.testing.assert_array_equal(found.each, expected.each)


def test_a_fit_that_is_never_worse_than_what_is_known_goes_on_to_its_end():
    """Held-out rows lose by every step, but less than what is known: the loss is to be compared."""
    found = make_fits().minimise(1e-4 * STRENGTH, 1e9)
    np.testing.assert_array_equal(found.each, make_fits().minimise(1e-4 * STRENGTH).each)


# The evidence.


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probes_are_right_about_the_effective_parameters_in_the_mean(n_classes):
    fits = make_fits(n_classes)
    fits.minimise(STRENGTH)
    found, one = probe(fits, 300)
    expected = exact_traces(fits, STRENGTH, CLASS_VARIANCE)
    np.testing.assert_allclose(found, expected, rtol=0.15, atol=0.1)
    assert (one.diagonal >= expected - 0.1).all()


def test_probes_are_right_in_the_mean_where_penalties_are_strong():
    fits, strength = make_fits(), 1000.0 * STRENGTH
    fits.minimise(strength)
    found, _ = probe(fits, 300)
    np.testing.assert_allclose(found, exact_traces(fits, strength, CLASS_VARIANCE), rtol=0.2)


def test_probes_as_rough_as_those_of_the_choice_are_right_to_a_third(monkeypatch):
    monkeypatch.undo()
    fits = make_fits(3)
    fits.minimise(STRENGTH)
    expected = exact_traces(fits, STRENGTH, CLASS_VARIANCE)
    np.testing.assert_allclose(probe(fits, 300)[0], expected, rtol=0.33)


def test_squares_are_those_of_the_scores_of_cells():
    fits = make_fits(3)
    fits.minimise(STRENGTH)
    found = fits.traces(np.full(fits.rows.source.n_rows, 0.5)).squares
    expected = naive_squares(fits, STRENGTH, CLASS_VARIANCE).mean(axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-2, atol=1e-3)


def test_traces_are_means_over_the_folds_that_have_a_table():
    present = np.ones((len(TERMS), 3), bool)
    present[:, 1:] = False
    present[0] = True
    fits = make_fits(present=present)
    fits.minimise(STRENGTH)
    by_fold = naive_squares(fits, STRENGTH, CLASS_VARIANCE)
    expected = np.where(present.all(axis=1), by_fold.mean(axis=1), by_fold[:, 0])
    found = fits.traces(np.full(fits.rows.source.n_rows, 0.5)).squares
    np.testing.assert_allclose(found, expected, rtol=1e-2, atol=1e-3)


def test_probes_leave_the_fit_as_it_is():
    fits = make_fits(3)
    fits.minimise(STRENGTH)
    losses, draws = fits.losses.copy(), np.random.default_rng(0).random(fits.rows.source.n_rows)
    first = fits.traces(draws)
    np.testing.assert_array_equal(fits.losses, losses)
    for one, other in zip(fits.traces(draws), first, strict=True):
        np.testing.assert_array_equal(one, other)


# The other space, and threads.


@pytest.mark.parametrize("n_classes", [2, 3])
def test_fits_in_the_space_of_rows_say_the_same(n_classes):
    by_cells, by_rows = (make_fits(n_classes, rows=150, kind=kind) for kind in (CellFits, RowFits))
    found, expected = by_cells.minimise(STRENGTH), by_rows.minimise(STRENGTH)
    np.testing.assert_array_equal(found.weights, expected.weights)
    np.testing.assert_allclose(found.each, expected.each, atol=2e-3)
    np.testing.assert_allclose(by_cells.losses, by_rows.losses, atol=2e-3)
    for one, other in zip(by_cells.held_shares(), by_rows.held_shares(), strict=True):
        np.testing.assert_allclose(one, other, atol=2e-3)
    np.testing.assert_allclose(by_cells.variances(), by_rows.variances(), rtol=0.02, atol=1e-3)
    draws = np.random.default_rng(0).random(by_rows.rows.source.n_rows)
    ours, theirs = by_cells.traces(draws), by_rows.traces(draws)
    np.testing.assert_allclose(ours.diagonal, theirs.diagonal, rtol=0.01)
    np.testing.assert_allclose(ours.squares, theirs.squares, rtol=0.02, atol=1e-3)
    np.testing.assert_allclose(ours.effective, theirs.effective, rtol=0.02, atol=0.05)


def test_two_threads_give_the_same_bits_as_one(monkeypatch):
    monkeypatch.setattr(lane_passes, "WORTH_THREADS", 1)
    monkeypatch.setattr(lane_passes, "WORTH_CELLS", 1)

    def run(threads):
        fits = make_fits(3, threads=threads, rows=900)
        fits.minimise(OTHER)
        losses = fits.minimise(STRENGTH)
        draws = np.random.default_rng(2).random(fits.rows.source.n_rows)
        return [losses.each, fits.losses, fits.variances(), *fits.traces(draws)]

    with Threads(2) as threads:
        found = run(threads)
    for one, two in zip(run(Threads(1)), found, strict=True):
        np.testing.assert_array_equal(one, two)
