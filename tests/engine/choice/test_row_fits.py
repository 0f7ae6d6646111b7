"""Fits of folds in the space of rows, against separate fits of explicit one-hot models in NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from deepbroad.engine.choice import row_fits
from deepbroad.engine.choice.dealing import deal_rows
from deepbroad.engine.choice.row_fits import CLASS_VARIANCE, KernelSum, RowFits
from deepbroad.kernels.threads import Threads
from deepbroad.model.terms import Terms
from tests.engine.choice.tables_for_tests import make_source

TERMS = [(0,), (1,), (0, 1), (1, 2)]
STRENGTH = np.array([0.5, 1.0, 2.0, 4.0])
OTHER = np.array([5.0, 1.0, 20.0, 4.0])


@pytest.fixture(autouse=True)
def _precise(monkeypatch):
    """Fit until next to nothing is promised: the choice itself needs fewer digits."""
    monkeypatch.setattr(row_fits, "TOLERANCE", 1e-8)


def draw(n_classes, rows=80, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, size, rows) for size in (3, 3, 4)])
    labels = (codes[:2].sum(axis=0) + rng.integers(0, 2, rows)) % n_classes
    return make_source(codes, labels, n_classes=n_classes)


def make_fits(n_classes=2, present=None, terms=TERMS, threads=None, rows=80):
    source = draw(n_classes, rows)
    dealt = deal_rows(source, 1000, 3, 0)
    if present is None:
        present = np.ones((len(terms), dealt.n_folds), bool)
    return RowFits(dealt, Terms.of(terms, source.cardinalities), present, threads or Threads(1))


def one_hot(fits):
    """Return the cells of rows and the table of each cell."""
    codes, sizes = fits.rows.source.codes.astype(int), fits.rows.source.cardinalities
    tuples = [fits.terms.tuple(t) for t in range(len(fits.terms))]
    parts = [
        np.eye(int(np.prod(sizes[list(own)])))[
            np.ravel_multi_index(tuple(codes[list(own)]), tuple(sizes[list(own)]))
        ]
        for own in tuples
    ]
    return np.hstack(parts), np.repeat(np.arange(len(tuples)), [part.shape[1] for part in parts])


def naive_fit(fits, fold, strength):
    """Return log probabilities (rows, C) and cell scores (cells, C) of the model of one fold.

    Every class has scores of its own; class terms have a weak prior about the frequencies.
    """
    source, weights = fits.rows.source, fits.rows.trained[:, fold].astype(float)
    cells, table = one_hot(fits)
    kept = fits.present[table, fold]
    design = np.hstack([np.ones((len(cells), 1)), cells[:, kept]])
    n_classes, rows = fits.n_classes, np.arange(source.n_rows)
    counts = np.bincount(source.labels, weights, n_classes)
    base = np.log(counts + 1.0 / n_classes)
    penalty = np.append(1.0 / CLASS_VARIANCE, strength[table[kept]])[:, None]

    def logs_of(beta):
        scores = base + design @ beta
        return scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)

    def objective(u):
        beta = u.reshape(-1, n_classes)
        logs = logs_of(beta)
        residuals = weights[:, None] * (np.exp(logs) - np.eye(n_classes)[source.labels])
        loss = -(weights @ logs[rows, source.labels]) + 0.5 * (penalty * beta**2).sum()
        return loss, (design.T @ residuals + penalty * beta).ravel()

    start = np.zeros(design.shape[1] * n_classes)
    found = minimize(objective, start, jac=True, options={"gtol": 1e-6, "maxiter": 5000})
    beta = found.x.reshape(-1, n_classes)
    scores = np.zeros((len(table), n_classes))
    scores[kept] = beta[1:]
    return logs_of(beta), scores


def naive_losses(fits, strength):
    """Return the log loss of each row under the model of each fold, (n, K)."""
    rows, labels = np.arange(fits.rows.source.n_rows), fits.rows.source.labels
    return np.column_stack(
        [-naive_fit(fits, k, strength)[0][rows, labels] for k in range(fits.n_folds)]
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_fits_are_separate_fits_of_each_fold(n_classes):
    fits = make_fits(n_classes)
    found = fits.minimise(STRENGTH)
    expected, held = naive_losses(fits, STRENGTH), fits.rows.held
    np.testing.assert_allclose(fits.losses, expected, atol=2e-3)
    assert found.mean == pytest.approx((expected * held).sum() / held.sum(), abs=1e-3)


def test_held_shares_are_those_of_the_fold_that_holds_a_row_out():
    fits = make_fits(3)
    fits.minimise(STRENGTH)
    rows, folds, shares = fits.held_shares()
    assert len(rows) == np.count_nonzero(fits.rows.held)
    expected = np.stack([np.exp(naive_fit(fits, k, STRENGTH)[0]) for k in range(fits.n_folds)])
    np.testing.assert_allclose(shares, expected[folds, rows], atol=2e-3)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-6)
    own = shares[np.arange(len(rows)), fits.rows.source.labels[rows]]
    np.testing.assert_allclose(-np.log(own), fits.losses[rows, folds], atol=1e-4)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_variances_are_in_proportion_to_the_squares_of_what_tables_add(n_classes):
    fits = make_fits(n_classes)
    fits.minimise(STRENGTH)
    (cells, table), weights = one_hot(fits), fits.rows.trained.mean(axis=1)
    expected = np.zeros(fits.present.shape)
    for k in range(fits.n_folds):
        squares = (naive_fit(fits, k, STRENGTH)[1] ** 2).sum(axis=1)
        expected[:, k] = np.bincount(table, (weights @ cells) * squares)
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
    np.testing.assert_allclose(fits.losses, naive_losses(fits, STRENGTH), atol=2e-3)


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
    np.testing.assert_array_equal(fits.variances(), variances)
    again = fits.traces(np.linspace(0, 0.99, len(losses)))
    np.testing.assert_allclose(again.squares, traces.squares)
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


def exact_traces(fits, strength):
    """Return the trace of (H + Λ)⁻¹ H over the cells of each table, the mean over folds."""
    cells, table = one_hot(fits)
    n_scores = fits.n_classes - 1
    design = np.hstack([np.ones((len(cells), 1)), cells])
    penalty = np.kron(
        np.diag(np.append(1.0 / CLASS_VARIANCE, strength[table])),
        np.eye(n_scores) - 1.0 / fits.n_classes,
    )
    found = np.zeros(len(strength))
    for fold in range(fits.n_folds):
        shares = np.exp(naive_fit(fits, fold, strength)[0])[:, 1:]
        hessian = np.zeros_like(penalty)
        for x, p, weight in zip(design, shares, fits.rows.trained[:, fold], strict=True):
            hessian += weight * np.kron(np.outer(x, x), np.diag(p) - np.outer(p, p))
        diagonal = np.diag(np.linalg.solve(hessian + penalty, hessian)).reshape(-1, n_scores)
        found += np.bincount(table, diagonal[1:].sum(axis=1))
    return found / fits.n_folds


def probe(fits, count):
    """Return the mean effective parameters of some probes, and the traces of the last."""
    random, rows = np.random.default_rng(1), fits.rows.source.n_rows
    probes = [fits.traces(random.random(rows)) for _ in range(count)]
    return np.mean([each.effective for each in probes], axis=0), probes[-1]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probes_are_right_about_the_effective_parameters_in_the_mean(n_classes):
    fits = make_fits(n_classes)
    fits.minimise(STRENGTH)
    found, one = probe(fits, 300)
    expected = exact_traces(fits, STRENGTH)
    np.testing.assert_allclose(found, expected, rtol=0.15, atol=0.1)
    assert (one.diagonal >= expected - 0.1).all()


@pytest.mark.xfail(
    strict=True,
    reason="The class term fills the norm in which a probe's residual falls; tables are unsolved.",
)
def test_probes_are_right_in_the_mean_where_penalties_are_strong():
    fits, strength = make_fits(), 1000.0 * STRENGTH
    fits.minimise(strength)
    found, _ = probe(fits, 300)
    np.testing.assert_allclose(found, exact_traces(fits, strength), rtol=0.2)


def test_squares_are_those_of_the_scores_of_cells():
    fits = make_fits(3)
    fits.minimise(STRENGTH)
    table = one_hot(fits)[1]
    squares = [(naive_fit(fits, k, STRENGTH)[1] ** 2).sum(axis=1) for k in range(fits.n_folds)]
    found = fits.traces(np.full(fits.rows.source.n_rows, 0.5)).squares
    expected = np.bincount(table, np.mean(squares, axis=0))
    np.testing.assert_allclose(found, expected, rtol=1e-2, atol=1e-3)


def test_traces_are_means_over_the_folds_that_have_a_table():
    present = np.ones((len(TERMS), 3), bool)
    present[:, 1:] = False
    present[0] = True
    fits = make_fits(present=present)
    fits.minimise(STRENGTH)
    squares = [(naive_fit(fits, k, STRENGTH)[1] ** 2).sum(axis=1) for k in range(fits.n_folds)]
    by_fold = [np.bincount(one_hot(fits)[1], each) for each in squares]
    expected = np.where(present.all(axis=1), np.mean(by_fold, axis=0), by_fold[0])
    found = fits.traces(np.full(fits.rows.source.n_rows, 0.5)).squares
    np.testing.assert_allclose(found, expected, rtol=1e-2, atol=1e-3)


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
