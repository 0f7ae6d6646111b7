"""Tables with copies of rows: a model that is no worse for them, and a warning."""

import warnings

import numpy as np
import pandas as pd
import pytest

from deepbroad import DBLClassifier
from deepbroad.measures import measure
from tests.steps import smooth_table


def log_loss(model, X, y):
    return measure(y, model.predict_proba(X), classes=model.classes_).log_loss


@pytest.fixture(scope="module")
def tables():
    return smooth_table(200, 1), smooth_table(3000, 2)


def test_a_table_twice_over_is_no_better_known_by_heart(tables):
    (X, y), (X_new, y_new) = tables
    with pytest.warns(UserWarning, match="200 of the rows .* exact copies"):
        twice = DBLClassifier().fit(pd.concat([X, X], ignore_index=True), np.tile(y, 2))
    assert twice.selection_["copies"] == 200
    weighted = DBLClassifier().fit(X, y, sample_weight=np.full(200, 2.0))
    assert log_loss(twice, X_new, y_new) < 1.1 * log_loss(weighted, X_new, y_new)


def test_a_class_drawn_again_is_no_better_known_by_heart(tables):
    (X, y), (X_new, y_new) = tables
    rows = np.r_[np.arange(200), np.random.default_rng(0).choice(np.flatnonzero(y == 1), 300)]
    with pytest.warns(UserWarning, match="give sample_weight or class_weight"):
        drawn = DBLClassifier().fit(X.iloc[rows].reset_index(drop=True), y[rows])
    weights = np.bincount(rows, minlength=200).astype(float)
    weighted = DBLClassifier().fit(X, y, sample_weight=weights)
    assert log_loss(drawn, X_new, y_new) < 1.1 * log_loss(weighted, X_new, y_new)


def test_other_tables_have_no_copies_and_no_warning(tables):
    (X, y), _ = tables
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = DBLClassifier().fit(X, y)
    assert model.selection_["copies"] == 0
