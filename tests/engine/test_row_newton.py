"""Newton's method in the space of rows, against explicit one-hot models and fits by L-BFGS."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from deepbroad import DBLClassifier, LRClassifier
from deepbroad.engine.row_newton import find_beliefs, find_offsets

PRECISE = {"tol": 1e-12, "steps": 60}


def draw(n_classes, rows=60, seed=0, weighted=True):
    """Return cells of two features and their pair, labels that these tell of, and weights."""
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, 3, rows), rng.integers(0, 4, rows)])
    cells = np.stack([codes[0], codes[1], 4 * codes[0] + codes[1]]).astype(np.int16)
    labels = (codes.sum(axis=0) + rng.integers(0, 2, rows)) % n_classes
    labels[:n_classes] = np.arange(n_classes)
    weights = rng.uniform(0.2, 3.0, rows) if weighted else np.ones(rows)
    return cells, labels.astype(np.uint8), weights


def one_hot(cells):
    """Return a column for each cell, and the table of each."""
    parts = [np.eye(own.max() + 1)[own] for own in cells]
    tables = np.repeat(np.arange(len(parts)), [part.shape[1] for part in parts])
    return np.hstack(parts), tables


def naive_fit(cells, inverse, labels, weights, n_classes):
    """Return probabilities and class scores of the model whose class terms cost nothing."""
    design, tables = one_hot(cells)
    design, tables = design[:, inverse[tables] > 0], tables[inverse[tables] > 0]
    strength = 1.0 / inverse[tables][:, None]

    def scores_of(u):
        classes, beta = np.append(0.0, u[: n_classes - 1]), u[n_classes - 1 :]
        return classes + design @ beta.reshape(-1, n_classes)

    def objective(u):
        scores, beta = scores_of(u), u[n_classes - 1 :].reshape(-1, n_classes)
        logs = scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
        rest = weights[:, None] * (np.exp(logs) - np.eye(n_classes)[labels])
        loss = -(weights @ logs[np.arange(len(labels)), labels])
        gradient = design.T @ rest + strength * beta
        return loss + 0.5 * (strength * beta**2).sum(), np.concatenate(
            [rest.sum(axis=0)[1:], gradient.ravel()]
        )

    start = np.zeros(n_classes - 1 + design.shape[1] * n_classes)
    found = minimize(objective, start, jac=True, method="L-BFGS-B",
                     options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 20_000})  # fmt: skip
    scores = scores_of(found.x)
    shares = np.exp(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))
    return shares, np.append(0.0, found.x[: n_classes - 1])


def naive_scores(cells, inverse, labels, weights, beliefs):
    """Return the scores that follow from beliefs, relative to the first class, (n, C)."""
    n_classes = beliefs.shares.shape[1]
    duals = weights[:, None] * (np.eye(n_classes)[labels] - beliefs.shares)
    design, tables = one_hot(cells)
    scores = beliefs.class_scores + design @ (inverse[tables][:, None] * (design.T @ duals))
    return scores - scores[:, :1]


@pytest.mark.parametrize(
    "inverse", [(2.0, 1.0, 0.5), (0.01, 0.02, 0.005), (30.0, 30.0, 30.0), (1.0, 0.0, 1.0)]
)
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_the_model_is_that_of_an_explicit_one_hot_design(n_classes, inverse):
    cells, labels, weights = draw(n_classes)
    inverse = np.array(inverse)
    found = find_beliefs(cells, inverse, labels, weights, n_classes, **PRECISE)
    shares, class_scores = naive_fit(cells, inverse, labels, weights, n_classes)
    np.testing.assert_allclose(found.shares, shares, atol=1e-4)
    np.testing.assert_allclose(found.class_scores, class_scores, atol=1e-3)


@given(st.integers(0, 200), st.integers(2, 5), st.integers(5, 60), st.booleans())
def test_scores_follow_from_beliefs_as_those_of_the_ascent_do(seed, n_classes, rows, weighted):
    cells, labels, weights = draw(n_classes, rows, seed, weighted)
    inverse = np.random.default_rng(seed).choice([0.1, 1.0, 5.0], 3)
    found = find_beliefs(cells, inverse, labels, weights, n_classes, **PRECISE)
    scores = naive_scores(cells, inverse, labels, weights, found)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares = powers / powers.sum(axis=1, keepdims=True)
    # Sums of beliefs over the rows of a cell magnify what they are off by.
    np.testing.assert_allclose(found.shares, shares, atol=2e-3)
    assert found.class_scores[0] == 0.0


@given(st.integers(0, 200), st.integers(2, 5))
def test_classes_have_the_weight_that_rows_believe(seed, n_classes):
    cells, labels, weights = draw(n_classes, seed=seed)
    found = find_beliefs(cells, np.ones(3), labels, weights, n_classes, **PRECISE)
    np.testing.assert_allclose(found.shares.sum(axis=1), 1.0, atol=1e-9)
    expected = np.bincount(labels, weights, n_classes)
    np.testing.assert_allclose(weights @ found.shares, expected, rtol=1e-4)


def test_a_row_of_weight_3_is_three_rows():
    cells, labels, _ = draw(3)
    times = np.random.default_rng(0).integers(1, 4, len(labels))
    inverse = np.array([2.0, 1.0, 0.5])
    once = find_beliefs(cells, inverse, labels, times.astype(float), 3, **PRECISE)
    rows = np.repeat(np.arange(len(labels)), times)
    each = find_beliefs(
        np.ascontiguousarray(cells[:, rows]), inverse, labels[rows], np.ones(len(rows)), 3,
        **PRECISE,
    )  # fmt: skip
    np.testing.assert_allclose(each.shares, once.shares[rows], atol=1e-6)
    np.testing.assert_allclose(each.class_scores, once.class_scores, atol=1e-5)


@given(st.integers(0, 200), st.integers(2, 5))
def test_offsets_are_log_odds_of_classes_that_are_drawn_to_each_other(seed, n_classes):
    rng = np.random.default_rng(seed)
    labels, weights = rng.integers(0, n_classes, 50), rng.uniform(0.0, 40.0, 50)
    counts = np.bincount(labels, weights, n_classes) + 1.0 / n_classes
    found = find_offsets(labels, weights, n_classes)
    np.testing.assert_allclose(found, np.log(counts[1:] / counts[0]))
    assert np.isfinite(find_offsets(labels, 0.0 * weights, n_classes)).all()


# The estimators.


def draw_table(rows=240, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (rows, 4)).astype(str)
    y = (X[:, 0].astype(int) + X[:, 1].astype(int) + (rng.random(rows) < 0.3)) % n_classes
    return X, y, rng.uniform(0.5, 2.0, rows)


@pytest.mark.parametrize("estimator", [DBLClassifier, LRClassifier])
@pytest.mark.parametrize("alpha", [0.5, 20.0])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_fit_of_few_rows_is_that_by_lbfgs(estimator, alpha, n_classes):
    X, y, weights = draw_table(n_classes=n_classes)
    auto, exact = (
        estimator(2, alpha=alpha, solver=solver, tol=1e-8, max_iter=5000).fit(X, y, weights)
        for solver in ("auto", "lbfgs")
    )
    assert auto.status_ == exact.status_ == "converged"
    assert auto.loss_ == pytest.approx(exact.loss_, abs=1e-7)
    np.testing.assert_allclose(auto.predict_proba(X), exact.predict_proba(X), atol=5e-4)


def test_the_model_of_the_automatic_choice_is_that_by_lbfgs():
    X, y, _ = draw_table()
    auto, exact = (
        DBLClassifier(solver=solver, tol=1e-8, max_iter=5000).fit(X, y)
        for solver in ("auto", "lbfgs")
    )
    assert auto.selection_ == exact.selection_
    assert auto.loss_ == pytest.approx(exact.loss_, abs=1e-7)
    np.testing.assert_allclose(auto.predict_proba(X), exact.predict_proba(X), atol=5e-4)
