"""Rows to look at before a model is chosen: spread over a source, and made ready for counting."""

from typing import NamedTuple

import numpy as np

from deepbroad.data.source import Source
from deepbroad.kernels.information import Observations

# Rows × tuples: 5-10 s on 2 cores. A core takes 1.0-1.3 ns per row and tuple of 2 classes, 3.5 with
# 10 classes, 5 with fractional weights (logarithms), 15 where joint values are hashed.
ROW_BUDGET = 10_000_000_000
MIN_ROWS = 1_000
MAX_ROWS = 1_000_000
# Up to this total weight x·log x of the counts is a list: 32 MB.
MAX_LOGS = 1 << 22


class Sample(NamedTuple):
    """Some rows of a source.

    Parameters
    ----------
    codes : array of shape (n_columns, rows), unsigned
    labels : array of shape (rows,), unsigned
    weights : float64 array of shape (rows,), or None for ones
    n_classes : int
    """

    codes: np.ndarray
    labels: np.ndarray
    weights: np.ndarray | None
    n_classes: int


def sample_rows(source: Source, n_tuples: int, budget: int = ROW_BUDGET) -> Sample:
    """Return so many rows that rows × `n_tuples` stay within `budget`, but at least `MIN_ROWS`.

    The rows of the source are cut into as many equal stretches, and one row is taken from each at
    a random place (always the same ones), since a fixed step could fall in with a period of the
    data.
    """
    n_rows = source.n_rows
    size = min(n_rows, MAX_ROWS, max(MIN_ROWS, budget // max(n_tuples, 1)))
    bounds = np.arange(size + 1) * n_rows // max(size, 1)
    places = np.random.default_rng(0).random(size) * np.diff(bounds)
    positions = bounds[:-1] + places.astype(np.int64)
    taken = source.take(positions)
    return Sample(taken.codes, taken.labels, taken.weights, source.n_classes)


def observe(sample: Sample, cardinalities: np.ndarray) -> Observations:
    """Leave out rows of weight 0 and of values never seen, and number what the others show."""
    kept = np.ones(len(sample.labels), bool)
    if sample.weights is not None:
        kept &= sample.weights > 0
    for column, cardinality in zip(sample.codes, cardinalities, strict=True):
        kept &= column < cardinality
    weights = np.empty(0) if sample.weights is None else sample.weights[kept].astype(np.float64)
    labels, n_classes = _number_shown(sample.labels[kept], sample.n_classes)
    observed = np.empty(len(cardinalities), np.int64)
    columns = []
    given = sample.codes if kept.all() else sample.codes[:, kept]
    for i, column in enumerate(given):
        codes, observed[i] = _number_shown(column, int(cardinalities[i]))
        columns.append(codes)
    dtype = np.min_scalar_type(max(0, int(observed.max(initial=1)) - 1))
    if (observed < cardinalities).any():
        given = np.array(columns, dtype).reshape(len(columns), len(labels))
    totals = np.bincount(labels, weights if len(weights) else None, n_classes)
    return Observations(
        codes=np.ascontiguousarray(given, dtype),
        labels=labels.astype(np.int32),
        weights=weights,
        cardinalities=observed,
        class_totals=totals.astype(np.float64),
        logs=_log_list(weights, float(totals.sum())),
    )


def _number_shown(codes: np.ndarray, cardinality: int) -> tuple[np.ndarray, int]:
    """Return the codes numbered among those that occur, and how many these are."""
    if cardinality > 4 * len(codes):
        shown, numbered = np.unique(codes, return_inverse=True)
        return numbered, len(shown)
    occurs = np.bincount(codes, minlength=cardinality) > 0
    n_shown = int(np.count_nonzero(occurs))
    if n_shown == len(occurs):
        return codes, n_shown
    numbers = (np.cumsum(occurs) - 1).astype(np.min_scalar_type(max(n_shown - 1, 0)))
    return numbers[codes], n_shown


def _log_list(weights: np.ndarray, total: float) -> np.ndarray:
    """Return x·log x of 0, 1, ..., the total weight; empty where sums need not be integers."""
    if total > MAX_LOGS or (weights != np.rint(weights)).any():
        return np.empty(0)
    x = np.arange(int(total) + 1, dtype=np.float64)
    return x * np.log(np.maximum(x, 1.0))
