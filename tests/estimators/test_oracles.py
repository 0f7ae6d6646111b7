"""Whole fits, from a data frame to probabilities, against implementations from outside."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB
from sklearn.preprocessing import OrdinalEncoder

from deepbroad import AnJEClassifier, DBLClassifier, LRClassifier
from tests import naive
from tests.engine.problems import Problem
from tests.estimators.tables import categorical_table

with_and_without_weights = pytest.mark.parametrize("weighted", [False, True])
two_and_more_classes = pytest.mark.parametrize("n_classes", [2, 3])


def draw(n_classes, weighted, rows=70):
    X, y = categorical_table(rows, n_classes=n_classes, a=3)
    weights = np.random.default_rng(7).choice([0.5, 1.0, 3.0], rows) if weighted else None
    return X, y, weights


def one_hot_tuples(X, n):
    joined = {"+".join(names): X[list(names)].sum(axis=1) for names in combinations(X.columns, n)}
    return pd.get_dummies(pd.DataFrame(joined)).to_numpy(float)


@with_and_without_weights
@two_and_more_classes
def test_naive_bayes_is_scikit_learns_but_for_the_smoothing_of_classes(n_classes, weighted):
    X, y, weights = draw(n_classes, weighted)
    # Every column has 3 values: one smoothing serves all.
    assert (X.nunique() == 3).all()
    codes = OrdinalEncoder(dtype=int).fit_transform(X)
    counts = naive.count_classes(y, np.ones(len(y)) if weights is None else weights, n_classes)
    prior = np.exp(naive.log_pi(counts, 1.0))
    oracle = CategoricalNB(alpha=1 / 3, class_prior=prior).fit(codes, y, sample_weight=weights)
    found = AnJEClassifier(n=1).fit(X, y, weights).predict_proba(X)
    np.testing.assert_allclose(found, oracle.predict_proba(codes), atol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 3])
@with_and_without_weights
@two_and_more_classes
def test_lr_is_logistic_regression_on_one_hot_tuples(n_classes, weighted, n):
    X, y, weights = draw(n_classes, weighted)
    features = one_hot_tuples(X, n)
    oracle = LogisticRegression(C=(2 if n_classes == 2 else 1) / 0.5, tol=1e-10, max_iter=10_000)
    expected = oracle.fit(features, y, sample_weight=weights).predict_proba(features)
    model = LRClassifier(n=n, alpha=0.5, tol=1e-9, max_iter=5000).fit(X, y, weights)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-3)


@pytest.mark.parametrize("shrink_to", ["zero", "generative"])
@pytest.mark.parametrize("n", [1, 2, 3])
@with_and_without_weights
def test_dbl_is_scipys_fit_on_explicit_features(weighted, n, shrink_to):
    X, y, weights = draw(3, weighted)
    codes = np.ascontiguousarray(OrdinalEncoder(dtype=np.uint8).fit_transform(X).T)
    problem = Problem(codes, y.astype(np.uint8), np.full(3, 3), 3, weights)
    fitted = naive.fit_dbl(problem, n, 0.5, to_generative=shrink_to == "generative")
    expected = naive.probabilities(naive.score_rows(*fitted, codes, problem.cardinalities))
    model = DBLClassifier(n=n, alpha=0.5, shrink_to=shrink_to, tol=1e-9, max_iter=5000)
    np.testing.assert_allclose(model.fit(X, y, weights).predict_proba(X), expected, atol=1e-3)
