"""Fits of folds in the space of rows, against separate fits of explicit one-hot models in NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.engine.choice import cell_fits, row_fits
from deepbroad.engine.choice.cell_fits import CellFits
from deepbroad.engine.choice.dealing import deal_rows
from deepbroad.engine.choice.row_fits import KernelSum, RowFits
from deepbroad.engine.row_newton import CLASS_VARIANCE
from deepbroad.kernels.threads import Threads
from tests.engine.choice.naive_fits import (
    OTHER,
    STRENGTH,
    TERMS,
    draw_rows,
    everywhere,
    exact_traces,
    make_terms,
    naive_losses,
    naive_shares,
    naive_squares,
    probe,
)
from tests.engine.choice.tables_for_tests import make_source


@pytest.fixture(autouse=True)
def _precise(monkeypatch):
    """Fit until next to nothing is promised: the choice itself needs fewer digits."""
    monkeypatch.setattr(row_fits, "TOLERANCE", 1e-8)


def make_fits(n_classes=2, present=None, terms=TERMS, threads=None, rows=80):
    dealt = draw_rows(n_classes, rows)
    present = everywhere(dealt, terms) if present is None else present
    return RowFits(dealt, make_terms(dealt, terms), present, threads or Threads(1))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_fits_are_separate_fits_of_each_fold(n_classes):
    fits = make_fits(n_classes)
    found = fits.minimise(STRENGTH)
    expected, held = naive_losses(fits, STRENGTH, CLASS_VARIANCE), fits.rows.held
    np.testing.assert_allclose(fits.losses, expected, atol=2e-3)
    assert found.mean == pytest.approx((expected * held).sum() / held.sum(), abs=1e-3)


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
    assert variances[2, 1] == 0.0
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
    point, losses, variances = fits.point, fits.losses, fits.variances()
    shares, traces = fits.held_shares()[2], fits.traces(np.linspace(0, 0.99, len(losses)))
    assert np.abs(fits.minimise(OTHER).each - first.each).max() > 0.01
    fits.point = point
    np.testing.assert_allclose(fits.losses, losses, atol=1e-3)
    np.testing.assert_allclose(fits.held_shares()[2], shares, atol=1e-3)
    np.testing.assert_allclose(fits.variances(), variances, rtol=1e-2)
    again = fits.traces(np.linspace(0, 0.99, len(losses)))
    np.testing.assert_allclose(again.squares, traces.squares, rtol=1e-2)
    np.testing.assert_allclose(again.diagonal, traces.diagonal, rtol=1e-2)
    # Probes are solved to a few hundredths: a last bit of K'a may cost or save a step.
    np.testing.assert_allclose(again.effective, traces.effective, rtol=0.1, atol=0.05)


def test_a_fit_leaves_the_point_that_it_goes_on_from_as_it_was():
    fits = make_fits()
    fits.minimise(STRENGTH)
    point = fits.point
    duals, kernels = point.duals.copy(), [kernel.copy() for kernel in point.kernels]
    fits.minimise(OTHER)
    fits.minimise(3.0 * OTHER)
    np.testing.assert_array_equal(point.duals, duals)
    np.testing.assert_array_equal(point.kernels, kernels)


def test_fits_do_not_depend_on_the_fit_that_they_go_on_from():
    fits = make_fits(3)
    fits.minimise(OTHER)
    found = fits.minimise(STRENGTH)
    np.testing.assert_allclose(found.each, make_fits(3).minimise(STRENGTH).each, atol=1e-3)


def test_going_on_from_the_solution_takes_fewer_products():
    fits, other = make_fits(3), make_fits(3)
    fits.minimise(STRENGTH)
    before = fits.products.sum()
    other.carry(fits)
    losses = other.minimise(STRENGTH)
    assert other.products.sum() < before
    np.testing.assert_allclose(losses.each, fits.minimise(STRENGTH).each, atol=1e-3)


def test_carried_duals_lead_to_the_fit_of_more_tables():
    few, more = make_fits(3, terms=TERMS[:2]), make_fits(3)
    few.minimise(STRENGTH[:2])
    more.carry(few)
    found = more.minimise(STRENGTH)
    np.testing.assert_allclose(found.each, make_fits(3).minimise(STRENGTH).each, atol=1e-3)


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


# As precise as the choice has them.


def fit_many_rows(kind, strength):
    """Return fits of twelve features to 1500 rows, the first of which tells the class."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (12, 1500))
    rows = deal_rows(make_source(codes, codes[0] ^ (rng.random(1500) < 0.1)), 16_000, 5, 0)
    tuples = [(f,) for f in range(12)]
    fits = kind(rows, make_terms(rows, tuples), everywhere(rows, tuples), Threads(1))
    return fits, fits.minimise(np.full(12, strength)).mean


def test_variances_and_squares_are_those_of_a_precise_fit_with_weak_penalties(monkeypatch):
    monkeypatch.undo()
    fits, _ = fit_many_rows(RowFits, 1.5)
    monkeypatch.setattr(cell_fits, "TOLERANCE", 1e-9)
    exact, _ = fit_many_rows(CellFits, 1.5)
    draws = np.full(fits.rows.source.n_rows, 0.5)
    np.testing.assert_allclose(
        fits.variances().mean(axis=1), exact.variances().mean(axis=1), rtol=0.3, atol=2.0
    )
    np.testing.assert_allclose(
        fits.traces(draws).squares, exact.traces(draws).squares, rtol=0.3, atol=5e-3
    )


@pytest.mark.parametrize("strength", [1.5, 150.0, 15_000.0])
def test_the_loss_is_that_of_a_precise_fit_to_a_share_that_the_search_minds(strength, monkeypatch):
    monkeypatch.undo()
    _, found = fit_many_rows(RowFits, strength)
    monkeypatch.setattr(cell_fits, "TOLERANCE", 1e-9)
    assert found == pytest.approx(fit_many_rows(CellFits, strength)[1], rel=3e-3)


# Threads.


def test_two_threads_give_the_same_bits_as_one(monkeypatch):
    monkeypatch.setattr(row_fits, "WORTH_THREADS", 1)

    def run(threads):
        fits = make_fits(3, threads=threads)
        fits.minimise(OTHER)
        losses = fits.minimise(STRENGTH)
        draws = np.random.default_rng(2).random(fits.rows.source.n_rows)
        return [losses.each, fits.losses, fits.variances(), *fits.traces(draws)]

    with Threads(2) as threads:
        found = run(threads)
    for one, two in zip(run(Threads(1)), found, strict=True):
        np.testing.assert_array_equal(one, two)


# K as a sum.


def draw_cells(rows=25, n_tables=9):
    return np.random.default_rng(0).integers(0, 4, (n_tables, rows)).astype(np.int16)


def naive_kernel(cells, inverse):
    same = cells[:, :, None] == cells[:, None, :]
    return CLASS_VARIANCE + np.tensordot(inverse.astype(float), same, 1)


def change_strengths(kind, before, rng):
    """Return 1/λ of tables: all scaled, some scaled, some absent, all new, or as they were."""
    some = rng.random(len(before)) < 0.4
    factor = rng.choice([0.25, 0.5, 3.0, 4.0])
    found = {
        "scaled": before * factor,
        "partly": np.where(some, before * factor, before),
        "mixed": np.where(some, before * factor, before * 2.0),
        "absent": np.where(some, 0.0, before),
        "new": rng.uniform(0.01, 3.0, len(before)),
        "same": before,
        "none": np.zeros(len(before)),
    }[kind]
    return np.clip(found, 0.0, 100.0).astype(np.float32)


KINDS = ["scaled", "partly", "mixed", "absent", "new", "same", "none"]


@given(st.lists(st.sampled_from(KINDS), min_size=1, max_size=8), st.integers(0, 100))
def test_k_is_the_same_whatever_was_found_before(kinds, seed):
    cells, rng = draw_cells(), np.random.default_rng(seed)
    known, inverse, found = KernelSum(cells, Threads(1)), np.ones(len(cells), np.float32), []
    for kind in ["new", *kinds]:
        inverse = change_strengths(kind, inverse, rng)
        found.append((known.find(inverse), inverse))
    # Earlier ones too, since points keep them.
    for kernel, own in found:
        np.testing.assert_array_equal(kernel, kernel.T)
        np.testing.assert_allclose(kernel, naive_kernel(cells, own), rtol=1e-5, atol=1e-3)


def test_only_what_changed_is_compared_again(monkeypatch):
    compared = []

    def count(cells, tables, *rest):
        compared.append(len(tables))
        compare(cells, tables, *rest)

    compare = row_fits.compare_rows
    monkeypatch.setattr(row_fits, "compare_rows", count)
    known, inverse = KernelSum(draw_cells(), Threads(1)), np.ones(9, np.float32)
    for factor in (1.0, 2.0, 1.0):
        known.find(factor * inverse)
    assert compared == [9]
    few = np.arange(9) < 3
    for factor in (5.0, 9.0):  # the same tables, by one factor and by another
        known.find(np.where(few, factor, 1.0).astype(np.float32))
    assert compared == [9, 3]
