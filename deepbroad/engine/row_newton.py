"""Newton's method in the space of rows: where the fit of a model of few rows begins, and ends."""

from typing import NamedTuple

import numpy as np

from deepbroad.kernels.newton import fit_rows
from deepbroad.kernels.similarity import compare_rows, mirror

# Rows up to which the matrix of all pairs of them is small, and quick to multiply by.
FEW_ROWS = 2048
# Variance that the scores of classes may have about their frequencies: as good as free where models
# are compared in single precision, and free where one is kept.
CLASS_VARIANCE, FREE = 10.0, 1e6


class Beliefs(NamedTuple):
    """A model by what it says of its rows.

    Attributes
    ----------
    shares : ndarray of shape (n, C)
        Probabilities of the classes.
    class_scores : ndarray of shape (C,)
        Relative to the first class.
    """

    shares: np.ndarray
    class_scores: np.ndarray


def find_offsets(labels: np.ndarray, weights: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the log odds of classes, (C - 1,), for weights of rows (n,)."""
    counts = np.bincount(labels, weights.astype(np.float64), n_classes)
    logs = np.log((counts + 1.0 / n_classes) / (counts.sum() + 1.0))
    found: np.ndarray = logs[1:] - logs[0]
    return found


def find_beliefs(
    cells: np.ndarray,
    inverse: np.ndarray,
    labels: np.ndarray,
    weights: np.ndarray,
    n_classes: int,
    *,
    tol: float,
    steps: int,
) -> Beliefs:
    """Fit a model to few rows.

    Parameters
    ----------
    cells : ndarray of shape (n_tables, n), int16
        The cell of each row in each table, numbered by table.
    inverse : ndarray of shape (n_tables,)
        1/λ.
    tol : float
        Share of the loss of rows that the last step may promise.
    """
    n_rows = len(labels)
    kernel = np.full((n_rows, n_rows), FREE)
    compare_rows(cells, np.flatnonzero(inverse), inverse, 0, n_rows, kernel)
    mirror(kernel)
    offset = find_offsets(labels, weights, n_classes)
    duals, scores, shares = np.zeros((3, n_classes - 1, n_rows))
    fit_rows(
        kernel, labels.astype(np.int64), weights, offset, duals, scores, shares, tol, steps,
        np.zeros(1, np.int64),
    )  # fmt: skip
    found = np.empty((n_rows, n_classes))
    found[:, 1:] = shares.T
    found[:, 0] = np.maximum(1.0 - found[:, 1:].sum(axis=1), 0.0)
    sums = duals.sum(axis=1, dtype=np.float64)
    class_scores = np.append(0.0, offset + FREE * (sums + sums.sum()))
    return Beliefs(found, class_scores)
