"""What is remembered of a numeric column that is never held: enough to find its cut points."""

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from deepbroad.data.cuts import counted_rows, cut_sorted, cuts_of_edges, sort_rows
from deepbroad.data.pyramid import nest_cuts
from deepbroad.kernels.triples import group_neighbours, sum_pairs

# However many classes, so many values are kept, that the sketch stays one of values.
_LEAST_VALUES = 64
_GROWTH = 1.5


class Triples(NamedTuple):
    """Pairs of value and class, ascending in value, each with its weight."""

    values: np.ndarray
    labels: np.ndarray
    weights: np.ndarray

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return self.values.nbytes + self.labels.nbytes + self.weights.nbytes


NOTHING = Triples(np.empty(0), np.empty(0, np.int32), np.empty(0))


class NumberSketch:
    """A mergeable summary of a numeric column with its classes and weights.

    While there are at most `capacity` pairs of value and class, it holds them all, and cuts are
    those of the whole column, bit for bit where sums of weights are exact. Beyond, the pairs so far
    are merged: neighbouring values become one, the median of their weight, which takes the weight
    of each class. Two summaries that were merged d times are merged into one of depth d + 1, as
    in a binary counter, so that no row is ever merged more than

        D = 1 + log2(n_rows / capacity)

    times, in any order of rows and any tree of merges. With W the weight and C the classes, a
    group of values weighs at most 6.3 C W / capacity, and at most half of it is on the wrong side
    of any x. So the weight of the rows <= x, of one class or of all, differs from that of the
    triples <= x by at most

        error <= 3.2 D C W / capacity     (`error` is the bound that this very column has).

    A value that is heavier than a group stays exact. Memory is at most capacity (3 + D) / 2
    triples of 20 bytes, and those of one batch.

    Parameters
    ----------
    capacity : int
        Pairs of value and class to remember; 64 per class at least.

    Attributes
    ----------
    error : float
        How much weight `triples` may have on the wrong side of any value; 0 if exact.

    Examples
    --------
    >>> sketch = NumberSketch(1000)
    >>> sketch.add(np.array([1.0, 2, 3, 4]), np.array([0, 0, 0, 0]))
    >>> sketch.add(np.array([5.0, 6, 7, 8]), np.array([1, 1, 1, 1]))
    >>> sketch.cuts(2)
    [array([4.5])]

    References
    ----------
    Manku, Rajagopalan and Lindsay (1998). Approximate medians and other quantiles in one pass and
    with limited memory.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.error = 0.0
        self._n_classes = 1
        self._exact = NOTHING  # pairs that were never merged with a neighbour
        self._pending: list[Triples] = []  # the same, not yet sorted into `_exact`
        self._merged: list[Triples] = []  # by depth, NOTHING where there is none

    @property
    def is_exact(self) -> bool:
        """Whether no two values were ever merged."""
        self._fold()
        return not self._merged

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return sum(part.nbytes for part in [self._exact, *self._pending, *self._merged])

    @property
    def depth(self) -> int:
        """D: how often a row was merged at most."""
        self._fold()
        return len(self._merged)

    def add(
        self, values: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None
    ) -> None:
        """Take in some rows; NaN and rows of weight 0 are left out.

        Parameters
        ----------
        values : float64 array of shape (n,)
        labels : integer array of shape (n,)
            Class codes from 0.
        weights : float64 array of shape (n,), optional
        """
        values, labels, weights = counted_rows(values, labels, weights)
        if not len(values):
            return
        self._n_classes = max(self._n_classes, int(labels.max()) + 1)
        rows = sort_rows(values, labels, self._n_classes, weights)
        self._take(self._sum(*rows))

    def merge(self, other: "NumberSketch") -> None:
        """Take in the rows of another sketch, whose codes mean the same classes.

        The other one is left as it is.
        """
        self._n_classes = max(self._n_classes, other._n_classes)
        self.capacity = min(self.capacity, other.capacity)
        self.error += other.error
        for depth, part in enumerate(other._merged):
            if len(part.values):
                self._carry(part, depth)
        for part in [other._exact, *other._pending]:
            self._take(part)

    def relabelled(self, codes: np.ndarray) -> "NumberSketch":
        """Return this sketch with each class code replaced by its entry in `codes`."""
        if (codes == np.arange(len(codes))).all():
            return self
        new = codes.astype(np.int32)

        def rename(part: Triples) -> Triples:
            return part._replace(labels=new[part.labels])

        renamed = NumberSketch(self.capacity)
        renamed.error = self.error
        renamed._n_classes = max(self._n_classes, int(codes.max()) + 1)
        renamed._exact = rename(self._exact)
        renamed._pending = [rename(part) for part in self._pending]
        renamed._merged = [rename(part) for part in self._merged]
        return renamed

    def triples(self) -> Triples:
        """Return all that is remembered, ascending in value."""
        self._fold()
        return self._join([self._exact, *self._merged])

    def cuts(
        self,
        n_classes: int,
        factors: np.ndarray | None = None,
        *,
        levels: int = 0,
        keeps_two: bool = False,
        edges: Sequence[Sequence[float]] | None = None,
    ) -> list[np.ndarray]:
        """Return the cuts of each code column of this number; none if there is no number at all.

        Parameters
        ----------
        n_classes : int
        factors : float64 array of shape (n_classes,), optional
            By which weights of each class are multiplied; none is 0.
        levels : int, default=0
            Levels of `nested_cuts`; 0 for the cuts of `mdl_cuts`.
        keeps_two : bool, default=False
            Whether two values are cut apart whatever minimum description length says.
        edges : sequence of cut points, optional
            Of each resolution, instead of any that depend on the rows (`cuts_of_edges`).
        """
        values, labels, weights = self.triples()
        if not len(values):
            return []
        if edges is not None:
            return cuts_of_edges(edges)
        if factors is not None:
            weights = weights * factors[labels]
        if not levels:
            return [cut_sorted(values, labels, weights, n_classes, keeps_two)[0]]
        first = _firsts(values)
        return nest_cuts(values[first], np.add.reduceat(weights, first), levels=levels)

    @property
    def _room(self) -> int:
        """How many exact pairs there may be."""
        return max(self.capacity, _LEAST_VALUES * self._n_classes)

    def _take(self, part: Triples) -> None:
        """Take in exact pairs."""
        if len(part.values):
            self._pending.append(part)
        # Few large merges cost less than many small ones.
        if 2 * sum(len(pending.values) for pending in self._pending) > self._room:
            self._fold()

    def _fold(self) -> None:
        """Sort in what is pending, and merge neighbours where that is more than there is room."""
        if not self._pending:
            return
        self._exact = self._join([self._exact, *self._pending])
        self._pending = []
        if len(self._exact.values) > self._room:
            overflow, self._exact = self._exact, NOTHING
            self._carry(self._shrink(overflow), 0)

    def _carry(self, part: Triples, depth: int) -> None:
        """Put merged pairs in their place, as a binary counter carries."""
        while depth < len(self._merged) and len(self._merged[depth].values):
            part = self._shrink(self._join([self._merged[depth], part]))
            self._merged[depth] = NOTHING
            depth += 1
        self._merged += [NOTHING] * (depth + 1 - len(self._merged))
        self._merged[depth] = part

    def _shrink(self, part: Triples) -> Triples:
        """Merge neighbouring values until half of the room is enough."""
        room = self._room // 2
        if len(part.values) <= room:
            return part
        first = _firsts(part.values)
        mass = np.add.reduceat(part.weights, first)
        distinct = part.values[first]
        sizes = np.diff(np.append(first, len(part.values)))
        # Two groups in a row are heavier than the limit together, so 2 W / limit + 1 is the most.
        limit = 2 * float(mass.sum()) / room
        while limit < inf:
            median, error = group_neighbours(mass, limit)
            merged = self._sum(np.repeat(distinct[median], sizes), part.labels, part.weights)
            if len(merged.values) <= room:
                self.error += error
                return merged
            limit *= _GROWTH
        raise AssertionError("one group holds all the weight")

    def _join(self, parts: list[Triples]) -> Triples:
        """Return the pairs of several parts as one."""
        parts = [part for part in parts if len(part.values)]
        if len(parts) <= 1:
            return parts[0] if parts else NOTHING
        values, labels, weights = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        order = np.argsort(values, kind="stable")  # linear in a few ascending runs
        return self._sum(values[order], labels[order], weights[order])

    def _sum(self, values: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> Triples:
        """Return sorted rows as one triple for each pair of value and class."""
        return Triples(
            *sum_pairs(
                values,
                labels.astype(np.int32, copy=False),
                np.empty(0) if weights is None else weights.astype(np.float64, copy=False),
                self._n_classes,
            )
        )

    def __repr__(self) -> str:
        return f"NumberSketch({len(self.triples().values)} pairs, error {self.error:g})"


def _firsts(values: np.ndarray) -> np.ndarray:
    """Return where each distinct value of an ascending array begins."""
    return np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
