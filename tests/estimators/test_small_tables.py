"""The default model on tables of a few rows, and of columns that tell nothing."""

import numpy as np
import pandas as pd
import pytest

from deepbroad import DBLClassifier


@pytest.mark.parametrize(
    "X",
    [
        [[1.0], [2.0], [3.0], [4.0]],
        [["a"], ["a"], ["b"], ["b"]],
        [[1.0, "a"], [1.0, "a"], [1.0, "b"], [1.0, "b"]],
        [[1.0, 5.0, "c"], [2.0, 5.0, "c"], [3.0, 5.0, "c"], [4.0, 5.0, "c"]],
        [[None, 1.0], [None, 2.0], [None, 3.0], [None, 4.0]],
        [[np.nan, 0.0, np.inf], [np.nan, 0.0, 1.0], [1.0, 0.0, -np.inf], [1.0, 0.0, 2.0]],
    ],
    ids=["number", "category", "constant number", "constants", "missing", "infinities"],
)
def test_two_rows_of_each_class_are_enough(X):
    X, y = pd.DataFrame(X), ["no", "no", "yes", "yes"]
    model = DBLClassifier().fit(X, y)
    found = model.predict_proba(X)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert model.selection_["n"] >= 1
    if not X.isna().any().any():
        assert model.predict(X).tolist() == y


@pytest.mark.parametrize("value", [3.0, np.nan, "same", None])
@pytest.mark.parametrize("parameters", [{}, {"n": 2, "alpha": [1.0, 2.0]}, {"orders": "exact"}])
def test_columns_of_one_value_leave_the_frequencies_of_classes(value, parameters):
    X = pd.DataFrame({"a": [value] * 8, "b": [value] * 8})
    model = DBLClassifier(**parameters).fit(X, [0, 1, 1, 1] * 2)
    np.testing.assert_allclose(model.predict_proba(X)[0], [0.25, 0.75], atol=1e-3)


def test_one_row_of_a_class_is_enough():
    model = DBLClassifier().fit([[0.0], [1.0], [2.0], [3.0], [9.0]], [0, 0, 0, 1, 2])
    assert np.isfinite(model.predict_proba([[0.0], [9.0], [np.nan]])).all()
    assert np.isfinite(DBLClassifier().fit([[0], [1]], [0, 1]).predict_proba([[0]])).all()
