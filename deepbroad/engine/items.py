"""Entries of sets of items: built from cells, added to by rows, summed back into cells."""

from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from deepbroad.data.source import RowItems
from deepbroad.kernels.items import (
    expand_items,
    reduce_items,
    scatter_items,
    score_items,
    sum_rows,
)
from deepbroad.kernels.threads import Threads, split_range
from deepbroad.model.items import Items, count_sets
from deepbroad.model.terms import NONE

# Parts of the terms that sum into copies of their own; not the number of threads, which must
# change no bit.
PARTS = 4
# Ranges of items per thread: enough to even out how much work their sets are.
RANGES = 2
# Bytes of entries that stay near, and look-ups that a row must have for each band of so many.
BAND_BYTES = 1 << 22
BAND_LOOKUPS = 4


class ItemTables:
    """One entry per set of items, for the terms of a plan that items serve.

    Entries are float64: they are differences of cells, and long sums of such.

    Parameters
    ----------
    items : Items
        The sets and the terms.
    cells : ndarray of shape (n_cells * width,)
        The cells of all terms of the plan, read by `build` and written by `reduce`.
    """

    def __init__(self, items: Items, cells: np.ndarray, width: int, threads: Threads) -> None:
        self.items, self.cells, self.width, self.threads = items, cells, width, threads
        self.entries = np.zeros(items.n_entries * width)
        terms, chosen = items.terms, items.chosen
        everything = bool(chosen.all())
        self._members = terms.members if everything else terms.members[chosen]
        self._offsets = terms.offsets[:-1] if everything else terms.offsets[:-1][chosen]
        self._parts = split_range(len(self._members), PARTS)
        shapes = np.append(items.limits, 1)[self._members]
        largest = int(np.where(self._members == NONE, 1, shapes).prod(axis=1).max())
        self._buffers = [np.empty(largest * width) for _ in self._parts]
        # By block: every pass goes through the same ones.
        self._known: dict[tuple[int, int], Course] = {}

    def build(self) -> None:
        """Fill the entries from the cells."""
        low = np.zeros((len(self._parts), self.items.n_low * self.width))
        self.entries[:] = 0
        self.threads.run(
            [
                partial(
                    expand_items, self._members[a:b], self._offsets[a:b],
                    self.items.terms.cardinalities, self.items.index, self.cells,
                    self.entries, low[part], self._buffers[part], self.width,
                )
                for part, (a, b) in enumerate(self._parts)
            ]
        )  # fmt: skip
        self.entries[: low.shape[1]] = low.sum(axis=0)

    def reduce(self) -> None:
        """Fill the cells with the sums of what rows added to the entries."""
        self.threads.run(
            [
                partial(
                    reduce_items, self._members[a:b], self._offsets[a:b], self.items.index,
                    self.entries, self.cells, self._buffers[part], self.width,
                )
                for part, (a, b) in enumerate(self._parts)
            ]
        )  # fmt: skip

    def clear(self) -> None:
        """Start from zero."""
        self.entries[:] = 0

    def is_banded(self, rows: RowItems) -> bool:
        """Tell whether rows are gone through several times, so that more of them at a time pay."""
        return len(self._course_of(rows).bands) > 2

    def score(self, rows: RowItems, first: int, last: int, values: np.ndarray) -> None:
        """Add the scores of rows first..last to their values."""
        bands = self._course_of(rows).bands
        known = bands, self.items.index, self.entries, values, self.width
        score_items(rows.starts, rows.items, first, last, *known)

    def add(self, rows: RowItems, values: np.ndarray) -> None:
        """Add the values of rows to the entries of their sets."""
        n_rows = len(rows.starts) - 1
        sum_rows(values, n_rows, self.entries, self.width)
        known = self.items.index, values, self.entries, self.width
        self.threads.run(
            [
                partial(scatter_items, rows.starts, rows.items, n_rows, bands, *known)
                for bands in self._course_of(rows).shares
            ]
        )

    def _course_of(self, rows: RowItems) -> "Course":
        """Return how rows of a block are gone through; it changes no sum."""
        block = int(rows.starts[0]), len(rows.starts)
        if block not in self._known:
            bands = choose_bands(self.items, rows, self.width)
            cuts = self._cut(rows)
            edges = np.unique(np.concatenate([bands, cuts]))
            places = np.searchsorted(edges, cuts)
            shares = [edges[a : b + 1] for a, b in pairwise(places)]
            self._known[block] = Course(bands, shares)
        return self._known[block]

    def _cut(self, rows: RowItems) -> np.ndarray:
        """Return bounds of ranges of items that are the largest of about equally many sets."""
        if self.threads.count == 1 or self.items.n_items == 0:
            return np.array([0, self.items.n_items])
        inside = rows.items[rows.starts[0] : rows.starts[-1]]
        # An item that is the k-th of its row is the largest of about C(k, n - 1) sets.
        place = np.arange(rows.starts[0], rows.starts[-1]) - np.repeat(
            rows.starts[:-1], np.diff(rows.starts)
        )
        weight = (1.0 + place) ** (self.items.depth - 1)
        work = np.cumsum(np.bincount(inside, weight, self.items.n_items))
        parts = RANGES * self.threads.count
        cuts = np.searchsorted(work, work[-1] * np.arange(1, parts) / parts) + 1
        return np.unique(np.concatenate([[0], cuts, [self.items.n_items]]))


class Course(NamedTuple):
    """How rows are gone through: all bands, and shares of them that run side by side."""

    bands: np.ndarray
    shares: list[np.ndarray]


def choose_bands(items: Items, rows: RowItems, width: int) -> np.ndarray:
    """Return bounds of bands of items, so many that the entries of each stay near."""
    n_items, lengths = items.n_items, np.diff(rows.starts)
    wanted = -(-8 * items.n_entries * width // BAND_BYTES)
    worth = count_sets(lengths, items.depth).sum() / (BAND_LOOKUPS * max(len(lengths), 1))
    count = min(wanted, int(worth))
    if count <= 1:
        return np.array([0, n_items])
    # Sets of items below each item.
    below = items.index.binomials[1:].sum(axis=0, dtype=np.float64)
    inner = np.searchsorted(below, below[-1] * np.arange(1, count) / count)
    return np.unique(np.concatenate([[0], inner, [n_items]]))
