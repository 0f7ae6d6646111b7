"""The best of many scored tuples, kept while they pass by in chunks."""

from typing import NamedTuple

import numpy as np

from deepbroad.model.information import Scores

# Scores that are equal in theory differ in their last bits by the order of the sums; tuples are
# ranked by rounded ones, so that their own order decides.
DECIMALS = 10


class ScoredTuples(NamedTuple):
    """Tuples of one order and their scores."""

    members: np.ndarray
    relevance: np.ndarray
    gain: np.ndarray

    @classmethod
    def none(cls, n: int) -> "ScoredTuples":
        """Return no tuples, of order `n`."""
        return cls(np.empty((0, n), np.int64), np.empty(0), np.empty(0))

    @classmethod
    def join(cls, parts: list["ScoredTuples"]) -> "ScoredTuples":
        """Return the tuples of all parts, one part after the other."""
        return cls(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def take(self, rows: np.ndarray) -> "ScoredTuples":
        """Return some of the tuples."""
        return ScoredTuples(self.members[rows], self.relevance[rows], self.gain[rows])

    def distinct(self) -> "ScoredTuples":
        """Return each tuple once, in lexicographic order."""
        return self.take(first_occurrences(self.members))


class Selection:
    """Keeps the tuples of highest gain and, for each column, its tuple of highest relevance.

    Parameters
    ----------
    n : int
        Order of the tuples.
    cardinalities : ndarray of shape (n_columns,)
        A column of a single value tells nothing, and needs no tuple.
    size : int
        How many tuples to keep.
    """

    def __init__(self, n: int, cardinalities: np.ndarray, size: int) -> None:
        self._covered = np.asarray(cardinalities) > 1
        self.size = size
        self._covering = ScoredTuples.none(n)
        self._best = ScoredTuples.none(n)
        self._pending: list[ScoredTuples] = []
        self._threshold = -np.inf

    def add(self, members: np.ndarray, scores: Scores) -> None:
        """Take notice of tuples in lexicographic order; those seen before change nothing."""
        chunk = ScoredTuples(members, scores.relevance, scores.gain)
        covering = chunk.take(best_of_columns(chunk, self._covered))
        pool = ScoredTuples.join([self._covering, covering]).distinct()
        self._covering = pool.take(best_of_columns(pool, self._covered))
        self._pending.append(chunk.take(np.flatnonzero(rank(chunk.gain) >= self._threshold)))
        # Merging costs a sort of all that are kept, so it waits for as many new ones.
        if sum(len(part.members) for part in self._pending) >= self.size:
            self._merge()

    def by_gain(self) -> np.ndarray:
        """Return the `size` tuples of highest gain, in lexicographic order."""
        self._merge()
        return self._best.members

    def chosen(self) -> ScoredTuples:
        """Return `size` tuples in lexicographic order: those that cover columns, then by gain."""
        self._merge()
        covering = self._covering.take(descending(self._covering.relevance))
        best = self._best.take(descending(self._best.gain))
        ranked = ScoredTuples.join([covering, best])
        first = np.sort(first_occurrences(ranked.members))[: self.size]
        return ranked.take(first).distinct()

    def _merge(self) -> None:
        pool = ScoredTuples.join([self._best, *self._pending]).distinct()
        self._pending = []
        kept = descending(pool.gain)[: self.size]
        if len(kept) == self.size:
            self._threshold = rank(pool.gain[kept[-1:]])[0]
        self._best = pool.take(np.sort(kept))


def rank(scores: np.ndarray) -> np.ndarray:
    """Return scores without their last bits."""
    return np.round(scores, DECIMALS)


def descending(scores: np.ndarray) -> np.ndarray:
    """Return the rows from the highest score to the lowest, the first of equal ones first."""
    return np.argsort(-rank(scores), kind="stable")


def first_occurrences(members: np.ndarray) -> np.ndarray:
    """Return the first row of each different tuple, in the lexicographic order of the tuples."""
    order = np.lexsort(members.T[::-1])
    ordered = members[order]
    differs = (ordered[1:] != ordered[:-1]).any(axis=1)
    return order[np.append(True, differs)[: len(order)]]


def best_of_columns(tuples: ScoredTuples, covered: np.ndarray) -> np.ndarray:
    """Return the rows of the first tuples of highest relevance among those of a covered column."""
    scores = rank(tuples.relevance)
    best = np.full(len(covered), -np.inf)
    for column in tuples.members.T:
        np.maximum.at(best, column, scores)
    first = np.full(len(covered), len(scores))
    for column in tuples.members.T:
        rows = np.flatnonzero(scores == best[column])
        np.minimum.at(first, column[rows], rows)
    return np.unique(first[covered & (first < len(scores))])
