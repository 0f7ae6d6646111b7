"""Fits of folds in lanes, against separate fits in NumPy."""

import numpy as np
import pytest
from scipy.optimize import minimize

from deepbroad.engine.choice.dealing import deal_rows
from deepbroad.engine.choice.fold_fits import FoldFits
from deepbroad.kernels.threads import Threads
from deepbroad.model.terms import Terms
from deepbroad.solvers import LBFGS
from tests.engine.choice.tables_for_tests import make_source

TERMS = [(0,), (1,), (0, 1)]
STRENGTH = np.array([0.5, 1.0, 2.0])
PRECISE = LBFGS(max_iter=500, tol=1e-9)


def draw(n_classes, rows=80, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, (2, rows))
    labels = (codes.sum(axis=0) + rng.integers(0, 2, rows)) % n_classes
    return make_source(codes, labels, n_classes=n_classes)


def make_fits(n_classes, present=None):
    source = draw(n_classes)
    rows = deal_rows(source, 1000, 3, 0)
    terms = Terms.of(TERMS, source.cardinalities)
    if present is None:
        present = np.ones((len(TERMS), rows.n_folds), bool)
    return FoldFits(rows, terms, present, Threads(1))


def one_hot(source):
    """Return the cells of rows, and the table of each cell."""
    codes, sizes = source.codes.astype(int), source.cardinalities
    parts = [codes[0], codes[1], codes[0] * sizes[1] + codes[1]]
    widths = [sizes[0], sizes[1], sizes[0] * sizes[1]]
    return np.hstack([np.eye(w)[p] for p, w in zip(parts, widths, strict=True)]), np.repeat(
        np.arange(3), widths
    )


def naive_fit(fits, fold, strength):
    """Return the log loss of each row under the model of one fold."""
    source, weights = fits.rows.source, fits.rows.trained[:, fold].astype(float)
    cells, table = one_hot(source)
    n_classes, rows = fits.n_classes, np.arange(source.n_rows)

    def scores_of(u):
        classes, beta = u[:n_classes], u[n_classes:].reshape(-1, n_classes)
        scores = classes + cells @ beta
        return scores - np.logaddexp.reduce(scores, axis=1, keepdims=True), beta

    def objective(u):
        logs, beta = scores_of(u)
        residuals = weights[:, None] * (np.exp(logs) - np.eye(n_classes)[source.labels])
        pull = strength[table][:, None] * beta
        loss = -(weights @ logs[rows, source.labels]) + 0.5 * (pull * beta).sum()
        return loss, np.concatenate([residuals.sum(axis=0), (cells.T @ residuals + pull).ravel()])

    start = np.zeros(n_classes * (1 + cells.shape[1]))
    found = minimize(objective, start, jac=True, options={"gtol": 1e-9, "maxiter": 5000})
    return -scores_of(found.x)[0][rows, source.labels]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_lanes_are_the_fits_of_each_fold(n_classes):
    fits = make_fits(n_classes)
    loss = fits.minimise(STRENGTH, PRECISE)
    expected = np.column_stack([naive_fit(fits, k, STRENGTH) for k in range(fits.n_folds)])
    np.testing.assert_allclose(fits.losses, expected, atol=2e-3)
    held = fits.rows.held
    assert loss == pytest.approx((expected * held).sum() / held.sum(), abs=1e-3)


def test_a_table_that_a_fold_does_not_have_scores_nothing_there():
    present = np.array([[True, True], [True, True], [True, False]])
    source = draw(2)
    rows = deal_rows(source, 160, 2, 0)
    fits = FoldFits(rows, Terms.of(TERMS, source.cardinalities), present, Threads(1))
    fits.minimise(STRENGTH, PRECISE)
    variances = fits.variances(fits.point)
    assert variances[2, 0] > 1e-4
    assert variances[2, 1] < 1e-8


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probes_are_right_about_the_effective_parameters_in_the_mean(n_classes):
    fits = make_fits(n_classes)
    fits.minimise(STRENGTH, PRECISE)
    random = np.random.default_rng(1)
    rows = fits.rows.source.n_rows
    probes = [fits.traces(STRENGTH, random.random(rows)) for _ in range(300)]
    found = np.mean([probe.effective for probe in probes], axis=0)
    np.testing.assert_allclose(found, exact_traces(fits), rtol=0.15, atol=0.1)
    assert (probes[0].diagonal >= exact_traces(fits) - 0.1).all()


def exact_traces(fits):
    """Return the trace of (H + Λ)⁻¹ H over the cells of each table, the mean over folds."""
    cells, table = one_hot(fits.rows.source)
    n_scores = fits.n_classes - 1
    found = np.zeros(3)
    for fold in range(fits.n_folds):
        shares = fits.shares.reshape(len(cells), fits.n_folds, n_scores)[:, fold].astype(float)
        design = np.hstack([np.ones((len(cells), 1)), cells])
        weights = fits.rows.trained[:, fold].astype(float)
        spread = [np.diag(p) - np.outer(p, p) for p in shares]
        hessian = sum(
            w * np.kron(np.outer(x, x), v) for w, x, v in zip(weights, design, spread, strict=True)
        )
        penalty = np.kron(
            np.diag(np.concatenate([[1e-9], STRENGTH[table]])),
            np.eye(n_scores) - 1.0 / fits.n_classes,
        )
        diagonal = np.diag(np.linalg.solve(hessian + penalty, hessian)).reshape(-1, n_scores)
        found += np.bincount(table, diagonal[1:].sum(axis=1), 3)
    return found / fits.n_folds


def test_scores_are_carried_to_the_fits_of_more_tables():
    source = draw(3)
    rows = deal_rows(source, 1000, 3, 0)
    few = FoldFits(
        rows, Terms.of([(0,), (1,)], source.cardinalities), np.ones((2, 3), bool), Threads(1)
    )
    loss = few.minimise(STRENGTH[:2], PRECISE)
    more = FoldFits(rows, Terms.of(TERMS, source.cardinalities), np.ones((3, 3), bool), Threads(1))
    more.carry(few)
    assert more.held_loss() == pytest.approx(loss, rel=1e-5)
