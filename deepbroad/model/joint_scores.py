"""Scores of the joint values of some code columns: all of them in an array, or a few in a list.

An axis has V + 1 places, the last for a value that training never saw. Conventions: scores are
float64 with K numbers per joint value, last; codes are of shape (n_axes, n_rows).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np

# Tables of so many cells are arrays, however few of these are filled.
SMALL = 4096
# A list of cells takes about so many times the memory of an array's cell.
LISTED = 4


@dataclass(frozen=True, eq=False)
class DenseScores:
    """An array of shape (V_1 + 1, ..., V_k + 1, K)."""

    values: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        """V + 1 of each axis."""
        return self.values.shape[:-1]

    def at(self, codes: np.ndarray) -> np.ndarray:
        """Return the scores of rows, (n_rows, K)."""
        found: np.ndarray = self.values[tuple(codes)]
        return found

    def mean(self, kept: Sequence[int], weights: Sequence[np.ndarray]) -> "DenseScores":
        """Return the mean over all axes but some, given the weights of each axis."""
        values = self.values
        for axis in reversed(range(len(self.shape))):
            if axis not in kept:
                values = average(values, axis, weights[axis])
        return DenseScores(values)

    def refined(self, bins: Sequence[np.ndarray]) -> "DenseScores":
        """Return the scores by finer codes, given the code here of each finer one."""
        return DenseScores(self.values[np.ix_(*bins)] if bins else self.values)

    def cells(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the codes of all cells, (n_axes, n), and their scores, (n, K)."""
        codes = np.indices(self.shape).reshape(len(self.shape), -1)
        return codes, self.values.reshape(-1, self.values.shape[-1])

    def square(self, weights: Sequence[np.ndarray]) -> np.ndarray:
        """Return the mean of squares, (K,)."""
        return DenseScores(self.values**2).mean((), weights).values

    def negated(self) -> "DenseScores":
        """Return the scores with the opposite sign."""
        return DenseScores(-self.values)

    def added_to(self, total: np.ndarray) -> None:
        """Add the scores to an array of all cells."""
        total += self.values


@dataclass(frozen=True, eq=False)
class SparseScores:
    """Scores of listed cells, and 0 elsewhere.

    Attributes
    ----------
    shape : tuple of int
        V + 1 of each axis.
    keys : int64 array of shape (n,)
        The cells, by their place in an array of that shape, ascending.
    values : array of shape (n, K)
    """

    shape: tuple[int, ...]
    keys: np.ndarray
    values: np.ndarray

    @classmethod
    def of(cls, shape: tuple[int, ...], codes: np.ndarray, values: np.ndarray) -> "SparseScores":
        """Return the sums of the scores of listed cells, which may come more than once."""
        keys, place = np.unique(np.ravel_multi_index(tuple(codes), shape), return_inverse=True)
        sums = np.stack([np.bincount(place, column, len(keys)) for column in values.T], axis=1)
        return cls(shape, keys, sums)

    @property
    def codes(self) -> np.ndarray:
        """The cells by the codes of their axes, (n_axes, n)."""
        return np.array(np.unravel_index(self.keys, self.shape))

    def at(self, codes: np.ndarray) -> np.ndarray:
        """Return the scores of rows, (n_rows, K)."""
        wanted = np.ravel_multi_index(tuple(np.asarray(codes, np.int64)), self.shape)
        place = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        found = (self.keys[place] == wanted) if len(self.keys) else np.zeros(len(wanted), bool)
        scores = np.zeros((len(wanted), self.values.shape[1]))
        scores[found] = self.values[place[found]]
        return scores

    def mean(self, kept: Sequence[int], weights: Sequence[np.ndarray]) -> "JointScores":
        """Return the mean over all axes but some, given the weights of each axis."""
        codes = self.codes
        share = np.ones(len(self.keys))
        for axis in range(len(self.shape)):
            if axis not in kept:
                share *= weights[axis][codes[axis]]
        values = self.values * share[:, None]
        if not kept:
            return DenseScores(values.sum(axis=0))
        shape = tuple(self.shape[axis] for axis in kept)
        return settle(SparseScores.of(shape, codes[list(kept)], values))

    def refined(self, bins: Sequence[np.ndarray]) -> "SparseScores":
        """Return the scores by finer codes, given the code here of each finer one."""
        if all(
            np.array_equal(inside, np.arange(v)) for inside, v in zip(bins, self.shape, strict=True)
        ):
            return self
        codes, values = self.codes, self.values
        for axis, inside in enumerate(bins):
            order = np.argsort(inside, kind="stable")  # finer codes, those of one bin together
            sizes = np.bincount(inside, minlength=self.shape[axis])
            repeats = sizes[codes[axis]]
            starts = (np.cumsum(sizes) - sizes)[codes[axis]]
            step = np.arange(repeats.sum()) - np.repeat(np.cumsum(repeats) - repeats, repeats)
            finer = order[np.repeat(starts, repeats) + step]
            codes, values = np.repeat(codes, repeats, axis=1), np.repeat(values, repeats, axis=0)
            codes[axis] = finer
        return SparseScores.of(tuple(map(len, bins)), codes, values)

    def cells(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the codes of the listed cells, (n_axes, n), and their scores, (n, K)."""
        return self.codes, self.values

    def square(self, weights: Sequence[np.ndarray]) -> np.ndarray:
        """Return the mean of squares, (K,)."""
        return SparseScores(self.shape, self.keys, self.values**2).mean((), weights).values

    def negated(self) -> "SparseScores":
        """Return the scores with the opposite sign."""
        return SparseScores(self.shape, self.keys, -self.values)

    def added_to(self, total: np.ndarray) -> None:
        """Add the scores to an array of all cells."""
        total.reshape(-1, total.shape[-1])[self.keys] += self.values


def average(values: np.ndarray, axis: int, weight: np.ndarray) -> np.ndarray:
    """Return the weighted sum over one axis; `np.tensordot` takes four times as long on few."""
    shape = values.shape
    rows = prod(shape[:axis])
    found: np.ndarray = weight @ values.reshape(rows, shape[axis], -1)
    return found.reshape(*shape[:axis], *shape[axis + 1 :])


JointScores: TypeAlias = DenseScores | SparseScores


def is_small(shape: Sequence[int], n_listed: int) -> bool:
    """Tell whether an array of all cells takes no more memory than a list of some would."""
    return prod(shape) <= max(SMALL, LISTED * n_listed)


def settle(scores: JointScores) -> JointScores:
    """Return a list of cells as an array, if that takes no more memory."""
    if isinstance(scores, DenseScores) or not is_small(scores.shape, len(scores.keys)):
        return scores
    values = np.zeros((*scores.shape, scores.values.shape[1]))
    scores.added_to(values)
    return DenseScores(values)


def add_scores(parts: Sequence[JointScores]) -> JointScores:
    """Return the sum of scores over the same codes; an array if one of them is, or if small."""
    if len(parts) == 1:
        return settle(parts[0])
    shape, width = parts[0].shape, parts[0].values.shape[-1]
    listed = sum(len(part.keys) for part in parts if isinstance(part, SparseScores))
    if any(isinstance(part, DenseScores) for part in parts) or is_small(shape, listed):
        values = np.zeros((*shape, width))
        for part in parts:
            part.added_to(values)
        return DenseScores(values)
    cells = [part.cells() for part in parts]
    codes = np.concatenate([codes for codes, _ in cells], axis=1)
    return settle(SparseScores.of(shape, codes, np.concatenate([values for _, values in cells])))
