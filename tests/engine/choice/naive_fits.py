"""Models of validation folds by explicit one-hot designs in NumPy: what fits of folds must find."""

import numpy as np
import pytest
from scipy.optimize import minimize

from deepbroad.engine.choice.dealing import deal_rows
from deepbroad.model.terms import Terms
from tests.engine.choice.tables_for_tests import make_source

TERMS = [(0,), (1,), (0, 1), (1, 2)]
STRENGTH = np.array([0.5, 1.0, 2.0, 4.0])
OTHER = np.array([5.0, 1.0, 20.0, 4.0])


def draw_rows(n_classes, rows=80, seed=0, n_folds=3):
    """Return dealt rows of three features, the first two of which tell about the class."""
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, size, rows) for size in (3, 3, 4)])
    labels = (codes[:2].sum(axis=0) + rng.integers(0, 2, rows)) % n_classes
    return deal_rows(make_source(codes, labels, n_classes=n_classes), 1000, n_folds, 0)


def make_terms(rows, tuples=TERMS):
    return Terms.of(tuples, rows.source.cardinalities)


def everywhere(rows, tuples=TERMS):
    """Return that every fold has every table."""
    return np.ones((len(tuples), rows.n_folds), bool)


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


def naive_fit(fits, fold, strength, class_variance):
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
    penalty = np.append(1.0 / class_variance, strength[table[kept]])[:, None]

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


def naive_losses(fits, strength, class_variance):
    """Return the log loss of each row under the model of each fold, (n, K)."""
    rows, labels = np.arange(fits.rows.source.n_rows), fits.rows.source.labels
    logs = [naive_fit(fits, k, strength, class_variance)[0] for k in range(fits.n_folds)]
    return np.column_stack([-own[rows, labels] for own in logs])


def naive_held_losses(fits, strength, class_variance):
    """Return losses of held-out rows whose label is another one with probability ½ / (N + 1)."""
    held, labels = fits.rows.held.astype(float), fits.rows.source.labels
    doubt = 0.5 / (held.sum() + 1.0)
    logs = np.stack([naive_fit(fits, k, strength, class_variance)[0] for k in range(fits.n_folds)])
    found = []
    for row in np.flatnonzero(held.any(axis=1)):
        own = -logs[:, row, labels[row]]
        others = -np.delete(logs[:, row], labels[row], axis=1).mean(axis=1)
        found.append(np.average((1.0 - doubt) * own + doubt * others, weights=held[row]))
    return np.array(found)


def margins_by_shares(fits):
    """Return log odds of the labels of held-out rows against the mean of the others, (n, K)."""
    rows, folds, shares = fits.held_shares()
    margins = np.zeros(fits.rows.held.shape)
    for row, fold, p in zip(rows, folds, np.log(shares), strict=True):
        label = fits.rows.source.labels[row]
        margins[row, fold] = p[label] - np.delete(p, label).mean()
    return margins


def naive_shares(fits, strength, class_variance):
    """Return the probabilities of the model of each fold, (K, n, C)."""
    found = [naive_fit(fits, k, strength, class_variance)[0] for k in range(fits.n_folds)]
    return np.exp(np.stack(found))


def naive_squares(fits, strength, class_variance, weighted=False):
    """Return the sums of squared scores of cells, by their mean weight or not, (n_tables, K)."""
    cells, table = one_hot(fits)
    weights = fits.rows.trained.mean(axis=1) @ cells if weighted else np.ones(len(table))
    found = np.zeros(fits.present.shape)
    for k in range(fits.n_folds):
        squares = (naive_fit(fits, k, strength, class_variance)[1] ** 2).sum(axis=1)
        found[:, k] = np.bincount(table, weights * squares)
    return found


def exact_traces(fits, strength, class_variance):
    """Return the trace of (H + Λ)⁻¹ H over the cells of each table, the mean over folds."""
    cells, table = one_hot(fits)
    n_scores = fits.n_classes - 1
    design = np.hstack([np.ones((len(cells), 1)), cells])
    penalty = np.kron(
        np.diag(np.append(1.0 / class_variance, strength[table])),
        np.eye(n_scores) - 1.0 / fits.n_classes,
    )
    found = np.zeros(len(strength))
    for fold in range(fits.n_folds):
        shares = np.exp(naive_fit(fits, fold, strength, class_variance)[0])[:, 1:]
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


def check_held_losses(fits, class_variance):
    """Fit, and compare the losses of held-out rows, and their doubt, with those of naive fits."""
    found = fits.minimise(STRENGTH)
    expected = naive_held_losses(fits, STRENGTH, class_variance)
    np.testing.assert_allclose(found.each, expected, atol=2e-3)
    plain, held = naive_losses(fits, STRENGTH, class_variance), fits.rows.held
    doubted = np.average(expected, weights=found.weights) - (plain * held).sum() / held.sum()
    assert found.mean - found.plain == pytest.approx(doubted, rel=0.01)
