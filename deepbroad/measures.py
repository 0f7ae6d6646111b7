"""How good predicted probabilities are: error, root mean squared error and logarithmic loss.

All three take the probabilities as `predict_proba` gives them and the classes of their columns.
Nothing here may know of models.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

# A probability of 0 for the true class would make the mean infinite. This bound, the relative
# spacing of float64, is also scikit-learn's.
_SMALLEST = float(np.finfo(np.float64).eps)


class Measures(NamedTuple):
    """The three measures of one prediction, see `measure`."""

    error: float
    rmse: float
    log_loss: float


def measure(
    y: ArrayLike,
    probabilities: ArrayLike,
    *,
    classes: ArrayLike,
    labels: ArrayLike | None = None,
) -> Measures:
    """Measure predicted probabilities against the true classes.

    With P(c|x_r) = 0 for a class c that the model does not know,

    - error = share of rows whose most probable class (the first of equals) is not y_r,
    - RMSE = sqrt(1/(N·C) Σ_r Σ_c (1[y_r = c] − P(c|x_r))²), over all C classes of the data set,
    - log loss = −1/N Σ_r log max(P(y_r|x_r), 2⁻⁵²).

    Parameters
    ----------
    y : array-like of shape (N,)
        True classes.
    probabilities : array-like of shape (N, number of classes known to the model)
        One row per row of `y`, as `predict_proba` returns them.
    classes : array-like
        Class of each column of `probabilities`: the model's ``classes_``.
    labels : array-like, optional
        Classes of the whole data set. RMSE divides by their number, so that a class too rare to
        be in the training or the test part still counts. Those of `classes` and `y` are added.

    Returns
    -------
    measures : Measures
        Named tuple of error, rmse and log_loss.

    Examples
    --------
    >>> from deepbroad.measures import measure
    >>> found = measure(["a", "b"], [[0.8, 0.2], [0.6, 0.4]], classes=["a", "b"])
    >>> found.error, round(found.rmse, 4), round(found.log_loss, 4)
    (0.5, 0.4472, 0.5697)
    """
    truth, known = np.asarray(y), np.asarray(classes)
    p = np.asarray(probabilities, dtype=np.float64)
    _check_shapes(truth, p, known)
    every = np.unique(np.concatenate([known, truth] + ([] if labels is None else [labels])))

    order = np.argsort(known)
    column = order[np.minimum(np.searchsorted(known, truth, sorter=order), known.size - 1)]
    is_known = known[column] == truth
    rows = np.arange(truth.size)
    p_truth = np.where(is_known, p[rows, column], 0.0)

    error = np.mean(known[p.argmax(axis=1)] != truth)
    # Σ_c (1[y=c] − P_c)² = (1 − P_y)² + Σ_{c≠y} P_c²; the squares are summed without a one-hot
    # table, and P_y is set to 0 rather than subtracted, which would cancel.
    others = p.copy()
    others[rows[is_known], column[is_known]] = 0.0
    squares = np.sum((1.0 - p_truth) ** 2) + np.sum(others**2)
    rmse = np.sqrt(squares / (truth.size * every.size))
    log_loss = -np.mean(np.log(np.maximum(p_truth, _SMALLEST)))
    return Measures(float(error), float(rmse), float(log_loss))


def _check_shapes(truth: NDArray[Any], p: NDArray[np.float64], known: NDArray[Any]) -> None:
    """Refuse inputs whose sizes do not match."""
    if truth.ndim != 1 or truth.size == 0:
        raise ValueError(f"y must have one dimension and at least one row, got {truth.shape}.")
    if p.shape != (truth.size, known.size):
        raise ValueError(
            f"probabilities must have shape {(truth.size, known.size)}, one row per y and one "
            f"column per class, got {p.shape}."
        )
