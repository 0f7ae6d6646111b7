"""Entries of sets of items: built from cells, added to by rows, summed back into cells."""

from functools import partial
from itertools import pairwise

import numpy as np

from deepbroad.data.source import Holders, RowItems
from deepbroad.kernels.items import (
    expand_items,
    list_holders,
    reduce_items,
    scatter_holders,
    scatter_items,
    score_holders,
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
RANGES = 4
# Bytes of entries up to which rows are gone through one by one: most look-ups are near. Beyond it
# item by item, if each entry is looked up so often at least.
NEAR_BYTES = 1 << 23
FEWEST_LOOKUPS = 0.5


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
        # Ranges of items by block: every pass goes through the same blocks.
        self._known: dict[tuple[int, int], list[tuple[int, int]]] = {}

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

    def score(self, rows: RowItems, first: int, last: int, values: np.ndarray) -> None:
        """Add the scores of rows first..last to their values."""
        known = self.items.index, self.entries, values, self.width
        if rows.by_item is None:
            score_items(rows.starts, rows.items, first, last, *known)
        else:
            score_holders(rows.starts, rows.items, *rows.by_item, first, last, *known)

    def add(self, rows: RowItems, values: np.ndarray) -> None:
        """Add the values of rows to the entries of their sets."""
        n_rows = len(rows.starts) - 1
        sum_rows(values, n_rows, self.entries, self.width)
        if rows.by_item is None:
            add = partial(scatter_items, rows.starts, rows.items, n_rows)
        else:
            add = partial(scatter_holders, rows.starts, rows.items, *rows.by_item)
        known = self.items.index, values, self.entries, self.width
        self.threads.run([partial(add, low, high, *known) for low, high in self._ranges_of(rows)])

    def _ranges_of(self, rows: RowItems) -> list[tuple[int, int]]:
        """Return the ranges of a block; which they are changes no sum."""
        block = int(rows.starts[0]), len(rows.starts)
        if block not in self._known:
            self._known[block] = self._ranges(rows)
        return self._known[block]

    def _ranges(self, rows: RowItems) -> list[tuple[int, int]]:
        """Return ranges of items that are the largest of about equally many sets."""
        if self.threads.count == 1 or self.items.n_items == 0:
            return [(0, self.items.n_items)]
        inside = rows.items[rows.starts[0] : rows.starts[-1]]
        # An item that is the k-th of its row is the largest of about C(k, n - 1) sets.
        place = np.arange(rows.starts[0], rows.starts[-1]) - np.repeat(
            rows.starts[:-1], np.diff(rows.starts)
        )
        weight = (1.0 + place) ** (self.items.depth - 1)
        work = np.cumsum(np.bincount(inside, weight, self.items.n_items))
        parts = RANGES * self.threads.count
        cuts = np.searchsorted(work, work[-1] * np.arange(1, parts) / parts) + 1
        bounds = np.unique(np.concatenate([[0], cuts, [self.items.n_items]]))
        return [(int(a), int(b)) for a, b in pairwise(bounds)]


def is_far(items: Items, width: int) -> bool:
    """Tell whether entries are so many that most look-ups of a row are far from the last."""
    return 8 * items.n_entries * width > NEAR_BYTES


def list_by_item(items: Items, rows: RowItems, width: int) -> RowItems:
    """Return the rows of a block with those that hold each item, where that makes passes faster."""
    if not is_far(items, width):
        return rows
    lengths = np.diff(rows.starts)
    if count_sets(lengths, items.depth).sum() < FEWEST_LOOKUPS * items.n_entries:
        return rows
    inside = rows.items[rows.starts[0] : rows.starts[-1]]
    holders = np.append(0, np.cumsum(np.bincount(inside, minlength=items.n_items)))
    held_by, held_at = (np.empty(len(inside), np.int32) for _ in range(2))
    list_holders(rows.starts, rows.items, holders[:-1].copy(), held_by, held_at)
    return rows._replace(by_item=Holders(holders, held_by, held_at))
