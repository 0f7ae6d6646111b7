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
    check_held_losses,
    draw_rows,
    everywhere,
    exact_traces,
    make_terms,
    naive_losses,
    naive_shares,
    naive_squares,
    one_hot,
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
    np.testing.assert_array_equal(fits.losses, losses)
    np.testing.assert_array_equal(fits.held_shares()[2], shares)
    np.testing.assert_array_equal(fits.variances(), variances)
    again = fits.traces(np.linspace(0, 0.99, len(losses)))
    np.testing.assert_allclose(again.squares, traces.squares, rtol=1e-6)
    np.testing.assert_allclose(again.diagonal, traces.diagonal, rtol=1e-6)
    # Probes are solved to a few hundredths: a last bit of K may cost or save a step.
    np.testing.assert_allclose(again.effective, traces.effective, rtol=0.1, atol=0.05)


def test_traces_of_a_point_that_was_set_back_are_those_of_its_own_strengths():
    fits, draws = make_fits(3), np.linspace(0, 0.99, 80)
    fits.minimise(STRENGTH)
    point, expected = fits.point, fits.traces(draws).effective
    fits.minimise(100.0 * OTHER)
    assert np.abs(fits.traces(draws).effective - expected).max() > 1.0
    fits.point = point
    np.testing.assert_allclose(fits.traces(draws).effective, expected, rtol=0.1, atol=0.05)


def test_a_fit_leaves_the_point_that_it_goes_on_from_as_it_was():
    fits = make_fits()
    fits.minimise(STRENGTH)
    point = fits.point
    before = [array.copy() for array in point]
    fits.minimise(OTHER)
    fits.minimise(3.0 * OTHER)
    fits.traces(np.full(fits.rows.source.n_rows, 0.5))
    for array, expected in zip(point, before, strict=True):
        np.testing.assert_array_equal(array, expected)


def test_rows_that_a_fold_holds_out_have_no_dual():
    fits = make_fits(3)
    fits.minimise(STRENGTH)
    untrained = fits.rows.trained.T == 0
    assert untrained.any(axis=1).all()
    duals = np.moveaxis(fits.point.duals, 1, 2)
    assert not duals[untrained].any()
    assert duals[~untrained].any(axis=1).all()


@pytest.mark.parametrize("tolerance", [0.1, 2e-2])
def test_a_fit_ends_within_a_share_of_the_training_loss(tolerance, monkeypatch):
    exact = make_fits(3)
    exact.minimise(STRENGTH)
    monkeypatch.setattr(row_fits, "TOLERANCE", tolerance)
    fits = make_fits(3)
    fits.minimise(STRENGTH)
    assert (fits.products < exact.products).all()
    losses = (fits.rows.trained * exact.losses).sum(axis=0)
    objectives = [
        (each.rows.trained * each.losses).sum(axis=0) + penalties(each) for each in (fits, exact)
    ]
    assert (objectives[0] - objectives[1] <= tolerance * losses).all()


def penalties(fits):
    """Return half of Σ λ β² over tables and cells for each fold; class terms are left out."""
    cells, table = one_hot(fits)
    found = []
    for inverse, duals in zip(fits.point.inverse.T, fits.point.duals, strict=True):
        every = np.vstack([-duals.sum(axis=0, keepdims=True), duals])
        found.append(0.5 * (inverse[table] * ((every @ cells) ** 2).sum(axis=0)).sum())
    return np.array(found)


def test_a_loss_that_is_known_already_ends_no_fit_of_few_rows():
    found, expected = make_fits(3).minimise(STRENGTH, 0.0), make_fits(3).minimise(STRENGTH)
    np.testing.assert_array_equal(found.each, expected.each)


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
    """Return Σ_t (1/λ_t) [rows r and r' share a cell of t], in double precision."""
    same = cells[:, :, None] == cells[:, None, :]
    return np.tensordot(inverse.astype(float), same, 1)


def check_kernel(blend, cells, inverse):
    """Compare a blend with K, entry by entry, to single precision; nothing is subtracted."""
    assert blend.factor >= 0
    assert blend.times >= 0
    found = blend.factor * blend.kernel + blend.times * blend.other
    assert found.dtype == np.float32
    for part in (blend.kernel, blend.other):
        assert (part >= 0).all()
        np.testing.assert_array_equal(part, part.T)
    np.testing.assert_allclose(found, naive_kernel(cells, inverse), rtol=3e-6, atol=0.0)


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
    known, inverse = KernelSum(cells, Threads(1)), np.ones(len(cells), np.float32)
    for kind in ["new", *kinds]:
        inverse = change_strengths(kind, inverse, rng)
        check_kernel(known.find(inverse), cells, inverse)


@given(
    st.lists(st.sampled_from([4.0, 0.25]), min_size=8, max_size=8),
    st.integers(1, 8),
    st.sampled_from([1e5, 1.0, 1e-5]),
    st.integers(0, 100),
)
def test_k_keeps_its_digits_beside_tables_of_far_weaker_penalties(steps, count, apart, seed):
    """Rows that share no cell of these have what the others give, to as many digits."""
    cells, rng = draw_cells(), np.random.default_rng(seed)
    scaled = rng.permutation(len(cells)) < count
    first = rng.uniform(0.01, 3.0, len(cells)) * np.where(scaled, 1.0, apart)
    known, factor = KernelSum(cells, Threads(1)), 1.0
    for step in [1.0, *steps]:
        factor *= step
        inverse = np.where(scaled, factor * first, first).astype(np.float32)
        check_kernel(known.find(inverse), cells, inverse)


@pytest.mark.parametrize("step", [4.0, 0.25])
def test_k_keeps_its_digits_where_some_strengths_change_eight_times_in_a_row(step):
    cells, scaled = draw_cells(), np.arange(9) < 4
    first = np.random.default_rng(1).uniform(0.5, 2.0, 9) * np.where(scaled, 1.0, 1e5)
    known = KernelSum(cells, Threads(1))
    for count in range(9):
        inverse = np.where(scaled, step**count * first, first).astype(np.float32)
        check_kernel(known.find(inverse), cells, inverse)


def test_fits_with_strengths_that_lie_far_apart_are_those_of_new_fits():
    fits, scaled = make_fits(3), np.array([True, False, False, True])
    for count in range(9):
        strength = np.where(scaled, 1e5 / 4.0**count, 1.0) * STRENGTH
        found = fits.minimise(strength)
        expected = make_fits(3).minimise(strength)
        np.testing.assert_allclose(found.each, expected.each, atol=2e-3)


def test_only_strengths_that_change_in_a_new_way_have_rows_compared_again(monkeypatch):
    compared = []

    def count(cells, tables, *rest):
        compared.append(len(tables))
        compare(cells, tables, *rest)

    compare = row_fits.compare_rows
    monkeypatch.setattr(row_fits, "compare_rows", count)
    known, few = KernelSum(draw_cells(), Threads(1)), np.arange(9) < 3

    def find(factor, others):
        before = sum(compared)
        known.find(np.where(few, factor, others).astype(np.float32))
        return sum(compared) - before

    assert find(1.0, 1.0) == 9
    assert find(2.0, 2.0) == find(1.0, 1.0) == 0
    # Some change by a factor of their own: each table is compared once more, and no more often.
    assert find(5.0, 1.0) == 9
    assert find(9.0, 1.0) == find(9.0, 0.25) == find(0.0, 7.0) == find(1.0, 1.0) == 0


def test_folds_that_have_the_same_tables_share_what_was_compared(monkeypatch):
    compared = []

    def count(cells, tables, *rest):
        compared.append(len(tables))
        compare(cells, tables, *rest)

    compare = row_fits.compare_rows
    monkeypatch.setattr(row_fits, "compare_rows", count)
    fits = make_fits()
    fits.minimise(STRENGTH)
    assert sum(compared) == len(TERMS)
    fits.minimise(0.25 * STRENGTH)
    assert sum(compared) == len(TERMS)
