"""Sample weights as given, checked."""

import numbers
from typing import Any

import numpy as np
from sklearn.utils import check_array


def read_weights(sample_weight: Any, n_rows: int, *, is_part: bool = False) -> np.ndarray | None:
    """Return weights as float64 of shape (n_rows,), None for none.

    They must be finite, none negative, and one at least above zero, unless they are those of a part
    of the rows; a number is a weight for every row. The words of the errors are scikit-learn's.
    """
    if sample_weight is None:
        return None
    if isinstance(sample_weight, numbers.Real):
        sample_weight = np.full(n_rows, float(sample_weight))
    weights = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, order="C", input_name="sample_weight"
    )
    if weights.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, got {weights.ndim}D array.")
    if weights.shape != (n_rows,):
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected {(n_rows,)}!")
    if (weights < 0).any():
        raise ValueError("Negative values in data passed to `sample_weight`.")
    if not is_part and not weights.any():
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return np.asarray(weights)


def are_whole(weights: np.ndarray) -> bool:
    """Tell whether all weights are whole numbers, which count rows."""
    return bool((weights == np.round(weights)).all())


def count_rows(weights: np.ndarray | None, n_rows: int) -> int:
    """Return how many rows there are: a row whose whole-number weight is 3 counts as three.

    Other weights have no unit: each row of weight counts as one.
    """
    if weights is None:
        return n_rows
    return round(float(weights.sum())) if are_whole(weights) else int(np.count_nonzero(weights))
