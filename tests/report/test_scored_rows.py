"""Rows of classes that a model never saw."""

import numpy as np
import pytest

from deepbroad import AnJEClassifier
from deepbroad.report.scored_rows import score_rows

X = np.array([["a"], ["b"], ["a"], ["b"]])
MODEL = AnJEClassifier(n=1).fit(X, ["no", "yes", "no", "yes"])


def test_rows_of_unknown_classes_are_left_out_and_announced():
    with pytest.warns(UserWarning, match="1 of 4 rows are of classes"):
        rows = score_rows(MODEL, X, ["no", "maybe", "no", "yes"])
    np.testing.assert_array_equal(rows.y, [0, 0, 1])
    np.testing.assert_array_equal(rows.probabilities, MODEL.predict_proba(X[[0, 2, 3]]))


def test_a_column_of_unknown_classes_is_refused():
    with pytest.raises(ValueError, match="right column"):
        score_rows(MODEL, X, ["x", "y", "x", "y"])
