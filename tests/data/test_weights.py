"""Sample weights as given."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from deepbroad.data.weights import count_rows, read_weights


def test_no_weights_are_none():
    assert read_weights(None, 3) is None


@pytest.mark.parametrize(
    "given", [2, 2.0, [2, 2, 2], np.full(3, 2), pd.Series([2, 2, 2]), pl.Series([2.0, 2, 2])]
)
def test_weights_are_floats_one_per_row(given):
    weights = read_weights(given, 3)
    assert weights.dtype == np.float64
    assert weights.tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1, 2], r"shape == \(2,\), expected \(3,\)"),
        (np.ones((3, 1)), "1D array or scalar, got 2D"),
        ([1, -1, 1], "Negative values"),
        ([1, np.nan, 1], "NaN"),
        ([1, np.inf, 1], "infinity"),
        ([0, 0, 0], "at least one non-zero"),
        (0, "at least one non-zero"),
        (["a", "b", "c"], "could not convert"),
    ],
)
def test_wrong_weights_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        read_weights(given, 3)


@pytest.mark.parametrize(
    ("weights", "rows"),
    [(None, 4), ([1, 1, 1, 1], 4), ([3, 0, 1, 0], 4), ([0.5, 0, 7, 2], 3), ([2, 2, 2, 2], 8)],
)
def test_whole_weights_count_rows(weights, rows):
    assert count_rows(None if weights is None else np.array(weights, float), 4) == rows
