"""Which tuples of code columns have cells, and where each tuple's cells are."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb

import numpy as np

from deepbroad.model.pickling import FieldsOnly

NONE = -1  # fills the rows of `members` of terms that join fewer columns than the deepest


@dataclass(frozen=True, eq=False)
class Terms(FieldsOnly):
    """Tuples of code columns; the cells of a tuple are its joint values in row-major order.

    Parameters
    ----------
    members : ndarray of shape (n_terms, depth), int64
        Code columns of each term, in the order of the axes of its cells, `NONE` after the last.
    cardinalities : ndarray of shape (n_columns,), int64
        V_i, the number of values of each code column.
    stored : ndarray of shape (n_terms,), int64, or None
        For terms with compact tables how many joint values have cells of their own, `NONE` for
        dense ones; None where all are dense. After those cells a compact term has one more, which
        all its other joint values share.
    """

    members: np.ndarray
    cardinalities: np.ndarray
    stored: np.ndarray | None = None

    @classmethod
    def of_order(cls, n: int, cardinalities: np.ndarray) -> "Terms":
        """Return all tuples of exactly `n` of the columns."""
        return cls(list_tuples(len(cardinalities), n), np.asarray(cardinalities, np.int64))

    @classmethod
    def of(cls, tuples: Sequence[Sequence[int]], cardinalities: np.ndarray) -> "Terms":
        """Return the given tuples, each once; the order inside a tuple does not matter."""
        unique = sorted({tuple(sorted(t)) for t in tuples}, key=lambda t: (len(t), t))
        depth = max(len(t) for t in unique)
        members = np.array([[*t, *[NONE] * (depth - len(t))] for t in unique], np.int64)
        return cls(members, np.asarray(cardinalities, np.int64))

    def ordered_by(self, position: np.ndarray) -> "Terms":
        """Return the same terms with the columns of each sorted by `position`."""
        padded = np.append(np.asarray(position, np.int64), np.iinfo(np.int64).max)
        order = np.argsort(padded[self.members], axis=1, kind="stable")
        members = np.take_along_axis(self.members, order, axis=1)
        return Terms(members, self.cardinalities, self.stored)

    def __len__(self) -> int:
        return len(self.members)

    @cached_property
    def orders(self) -> np.ndarray:
        """How many columns each term joins, (n_terms,)."""
        return np.count_nonzero(self.members != NONE, axis=1)

    @cached_property
    def shapes(self) -> np.ndarray:
        """Cardinality of each member, 1 where there is none, (n_terms, depth)."""
        return np.append(self.cardinalities, 1)[self.members]

    @cached_property
    def spaces(self) -> np.ndarray:
        """|x_α|: how many joint values each term has, seen or not, (n_terms,) int64."""
        if (np.prod(self.shapes, axis=1, dtype=np.float64) > 2.0**62).any():
            raise OverflowError("A tuple has more than 2**62 joint values; lower n.")
        return np.prod(self.shapes, axis=1, dtype=np.int64)

    @cached_property
    def is_compact(self) -> np.ndarray:
        """Which terms have compact tables, (n_terms,) bool."""
        if self.stored is None:
            return np.zeros(len(self), bool)
        return self.stored != NONE

    @cached_property
    def sizes(self) -> np.ndarray:
        """How many cells each term has, (n_terms,) int64."""
        if self.stored is None:
            return self.spaces
        return np.where(self.is_compact, self.stored + 1, self.spaces)

    @cached_property
    def shared_cells(self) -> np.ndarray:
        """The cells that joint values without one of their own share, one per compact term."""
        return self.offsets[1:][self.is_compact] - 1

    @cached_property
    def offsets(self) -> np.ndarray:
        """First cell of each term and, last, the number of cells, (n_terms + 1,) int64."""
        return np.concatenate([[0], np.cumsum(self.sizes)])

    @property
    def n_cells(self) -> int:
        """The number of cells of all terms together."""
        return int(self.offsets[-1])

    def tuple(self, term: int) -> tuple[int, ...]:
        """Return the columns of one term."""
        return tuple(int(c) for c in self.members[term, : self.orders[term]])

    def spaces_of(self, cells: np.ndarray | slice) -> np.ndarray:
        """Return |x_α| of the terms of some cells: a slice, or an ascending list of them."""
        return self.values_of(self.spaces, cells)

    def values_of(self, values: np.ndarray, cells: np.ndarray | slice) -> np.ndarray:
        """Return the value of the term of each of some cells, as `spaces_of` does |x_α|."""
        if isinstance(cells, slice):
            first, last = cells.start, cells.stop
        elif len(cells) == 0:
            return np.empty(0, values.dtype)
        else:
            first, last = int(cells[0]), int(cells[-1]) + 1
        low = int(np.searchsorted(self.offsets, first, side="right")) - 1
        high = int(np.searchsorted(self.offsets, last, side="left"))
        bounds = np.clip(self.offsets[low : high + 1], first, last)
        spread = np.repeat(values[low:high], np.diff(bounds))
        return spread if isinstance(cells, slice) else spread[cells - first]

    def per_cell(self, values: np.ndarray) -> np.ndarray:
        """Repeat one value per term for each of its cells."""
        return np.repeat(values, self.sizes)


def stack_tuples(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return tuples of several orders, (m, order) each, as the members of one set of terms.

    They are as wide as the deepest tuple that there is, not as an order that has none.
    """
    parts = [part for part in parts if len(part)]
    depth = max(part.shape[1] for part in parts)
    return np.concatenate(
        [np.pad(part, ((0, 0), (0, depth - part.shape[1])), constant_values=NONE) for part in parts]
    )


def list_tuples(a: int, n: int) -> np.ndarray:
    """Return all tuples of n of 0..a-1, ascending, in lexicographic order, (C(a, n), n)."""
    members = np.empty((comb(a, n), n), np.int64)
    # The last entry of a prefix that ends in c runs over c + 1..a - 1; prefixes stay in order.
    prefixes = np.full((1, 1), -1)
    for depth in range(n):
        last = prefixes[:, -1]
        # Entries that leave room for those to come.
        counts = a - (n - depth - 1) - (last + 1)
        rows = np.repeat(np.arange(len(prefixes)), counts)
        steps = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        prefixes = np.column_stack([prefixes[rows], last[rows] + 1 + steps])
    members[:] = prefixes[:, 1:]
    return members
