"""The labels of rows that come in parts: what is seen of them, then how they become codes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deepbroad.data.labels import Labels
from deepbroad.data.weights import are_whole


@dataclass
class ClassSketch:
    """The classes that some rows have.

    Parameters
    ----------
    labels : Labels or None
        None if no row has weight.
    totals : float64 array of shape (n_classes,)
        The sample weight of each class.
    rows : int64 array of shape (n_classes,)
        The rows of weight of each class.
    is_whole : bool
        Whether all weights are whole numbers.
    """

    labels: Labels | None
    totals: np.ndarray
    rows: np.ndarray
    is_whole: bool = True

    @classmethod
    def fit(cls, y: Any, weights: np.ndarray | None) -> tuple["ClassSketch", np.ndarray]:
        """Return the classes of `y`, and `y` as their codes."""
        counted = None if weights is None else weights > 0
        if counted is not None and not counted.any():
            return cls(None, np.empty(0), np.empty(0, np.int64)), np.zeros(len(counted), np.uint8)
        labels, codes = Labels.fit(y, weights)
        totals = np.bincount(codes, weights, labels.n_classes).astype(np.float64)
        seen = codes if counted is None else codes[counted]
        rows = np.bincount(seen, minlength=labels.n_classes)
        return cls(labels, totals, rows, weights is None or are_whole(weights)), codes

    def count_rows(self, factors: np.ndarray | None) -> int:
        """Return how many rows the weights stand for (`deepbroad.data.weights.count_rows`).

        `factors` (n_classes,) multiply the weights of each class.
        """
        if factors is None:
            factors = np.ones(len(self.totals))
        if self.is_whole and are_whole(factors):
            return round(float(self.totals @ factors))
        return int(self.rows[factors > 0].sum())

    def merge(self, other: "ClassSketch") -> tuple[np.ndarray, np.ndarray]:
        """Take in the classes of other rows; return the new codes of the old ones of both."""
        parts = (self, other)
        seen = [part.labels.classes for part in parts if part.labels is not None]
        if not seen:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        self.labels, codes = Labels.fit(np.concatenate(seen))
        totals = np.concatenate([part.totals for part in parts])
        rows = np.concatenate([part.rows for part in parts])
        n_first = len(self.totals)
        self.totals = np.bincount(codes, totals, self.labels.n_classes)
        self.rows = np.bincount(codes, rows, self.labels.n_classes).astype(np.int64)
        self.is_whole &= other.is_whole
        return codes[:n_first], codes[n_first:]

    def codes_of(self, labels: Sequence[Any]) -> np.ndarray:
        """Return the codes of those of `labels` that are classes here."""
        found = [] if self.labels is None else [self.labels.code_of(label) for label in labels]
        return np.array(sorted({code for code in found if code is not None}), np.int64)


class Target:
    """How labels and sample weights become class codes and weights, whatever part they come in.

    Parameters
    ----------
    seen : Labels
        The classes that rows have.
    factors : array of shape (n_classes,), optional
        The weight of each of them; a class of weight 0 is as if absent.

    Attributes
    ----------
    labels : Labels
        The classes of weight.

    Examples
    --------
    >>> target = Target(Labels(np.array(["a", "b", "c"])), np.array([1.0, 0.0, 2.0]))
    >>> target.labels.classes
    array(['a', 'c'], dtype='<U1')
    >>> target.encode(["c", "b", "a"], None)
    (array([1, 0, 0], dtype=uint8), array([2., 0., 1.]))
    """

    def __init__(self, seen: Labels, factors: np.ndarray | None = None) -> None:
        self.seen, self.factors = seen, factors
        self.labels = seen
        self.codes = np.arange(seen.n_classes)
        if factors is not None and not factors.all():
            kept = factors > 0
            if not kept.any():
                raise ValueError("y has no labels: every row has weight 0")
            self.labels = Labels(seen.classes[kept])
            self.codes = np.where(kept, np.cumsum(kept) - 1, 0)
        self.codes = self.codes.astype(np.min_scalar_type(self.labels.n_classes - 1))

    @property
    def kept_factors(self) -> np.ndarray | None:
        """The weight of each of `labels`, None if all are 1."""
        return None if self.factors is None else self.factors[self.factors > 0]

    def encode(self, y: Any, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the class codes and the weights of some rows, None if all weights are 1.

        Rows of weight 0 may have any label. ValueError for one of the others that is no class.
        """
        codes = self.seen.encode(y, weights)
        if self.factors is not None:
            factors = self.factors[codes]
            weights = factors if weights is None else weights * factors
        return self.codes[codes], weights
