"""Rows with their classes, as codes and as what a model says of them: all that reports measure."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from deepbroad.data.files import is_files
from deepbroad.engine.cluster_reading import is_collection

# Of longer tables every second row is taken, every third, ...
MOST_ROWS = 500_000


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Rows of a table and what a model says of them.

    Attributes
    ----------
    codes : array of shape (n_columns, n_rows)
        As the model's encoding gives them.
    y : int64 array of shape (n_rows,)
        The class of each row, as a number.
    probabilities : float64 array of shape (n_rows, C)
    n_total, stride : int
        How many rows the table has; the first of every `stride` was taken.
    """

    codes: np.ndarray
    y: np.ndarray
    probabilities: np.ndarray
    n_total: int
    stride: int

    def __len__(self) -> int:
        return len(self.y)

    @property
    def predicted(self) -> np.ndarray:
        """The number of the most probable class of each row, the first of equals."""
        best: np.ndarray = self.probabilities.argmax(axis=1)
        return best

    @property
    def losses(self) -> np.ndarray:
        """-log P(y|x) of each row."""
        p = self.probabilities[np.arange(len(self)), self.y]
        found: np.ndarray = -np.log(np.maximum(p, np.finfo(np.float64).eps))
        return found


def score_rows(model: Any, X: Any, y: Any, most: int = MOST_ROWS) -> ScoredRows:
    """Read a table, in memory or in files, and score its rows.

    Of a table of more than `most` rows only every second is taken, every third, ...
    """
    if is_collection(X):
        raise TypeError(
            "A report is of rows in memory or in files; compute() the collection first."
        )
    n_total, batches = _file_batches(model, X, y) if is_files(X) else _memory_batch(model, X, y)
    stride = ceil(n_total / most)
    codes, labels, begin = [], [], 0
    for some, own in batches:
        taken = slice(-begin % stride, None, stride)
        codes.append(some[:, taken])
        labels.append(own[taken])
        begin += len(own)
    joined, found = np.concatenate(codes, axis=1), np.concatenate(labels)
    known = found >= 0
    if not known.all():
        _warn_of_strangers(int(np.count_nonzero(~known)), len(known))
        joined, found = joined[:, known], found[known]
    probabilities = model._probabilities(np.ascontiguousarray(joined)).astype(np.float64)
    return ScoredRows(joined, found, probabilities, n_total, stride)


def _warn_of_strangers(count: int, among: int) -> None:
    """Warn of rows that nothing can be said of; ValueError if that is all of them."""
    if count == among:
        raise ValueError("No row is of a class that the model knows: is y the right column?")
    warnings.warn(
        f"{count:,} of {among:,} rows are of classes that the model never saw; they are left out.",
        UserWarning,
        stacklevel=2,
    )


Batches = Iterator[tuple[np.ndarray, np.ndarray]]


def _memory_batch(model: Any, X: Any, y: Any) -> tuple[int, Batches]:
    """Return how many rows a table in memory has, and its codes and classes."""
    labels = model._labels.find(y)
    (codes,) = model._batches(X)
    if codes.shape[1] != len(labels):
        raise ValueError(f"X has {codes.shape[1]:,} rows and y has {len(labels):,}; give as many.")
    return len(labels), iter([(codes, labels)])


def _file_batches(model: Any, X: Any, y: str) -> tuple[int, Batches]:
    """Return how many rows files have, and their codes and classes batch by batch."""
    files = model._open_labelled(X, y)
    batches = ((model._encoding.encode(b.table), model._labels.find(b.y)) for b in files.batches())
    return files.n_rows, batches
