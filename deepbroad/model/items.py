"""Items: the values of columns that are not their common ones, and the sets of them with entries.

See `kernels.items` for why: rows of mostly common values need few look-ups, however many columns
there are.
"""

from dataclasses import dataclass
from functools import cached_property
from math import comb

import numpy as np

from deepbroad.data.source import RowItems
from deepbroad.kernels.hashing import EMPTY
from deepbroad.kernels.items import ItemIndex, count_items, list_items, list_keys
from deepbroad.model.groups import index_keys
from deepbroad.model.pickling import FieldsOnly
from deepbroad.model.terms import Terms


@dataclass(frozen=True, eq=False)
class Items(FieldsOnly):
    """The items of code columns, and an entry for every set of them that some term can hold.

    Parameters
    ----------
    common : ndarray of shape (n_columns,), int64
        The common code of each column.
    terms : Terms
        The terms that the entries stand for, their columns ascending.
    chosen : ndarray of shape (n_terms,), bool
        Which of them: the others have tables elsewhere.
    unseen : bool
        Whether the never-seen value of a column is an item of it; its cells score 0.
    """

    common: np.ndarray
    terms: Terms
    chosen: np.ndarray
    unseen: bool = False

    @cached_property
    def depth(self) -> int:
        """How many items a set has at most."""
        return int(self.terms.orders[self.chosen].max())

    @cached_property
    def columns(self) -> np.ndarray:
        """The columns of the chosen terms, ascending."""
        members = self.terms.members[self.chosen]
        return np.unique(members[members >= 0])

    @property
    def limits(self) -> np.ndarray:
        """The first code of each column that has no item and is not common."""
        return self.terms.cardinalities + self.unseen

    @cached_property
    def n_items(self) -> int:
        """How many items all columns have."""
        return int((self.limits - 1).sum())

    @cached_property
    def index(self) -> ItemIndex:
        """What kernels need to find the entry of a set of items."""
        counts = self.limits - 1
        first = np.cumsum(counts) - counts
        sets = [comb(self.n_items, k) for k in range(self.depth + 1)]
        if sum(sets) > 2**62:
            raise OverflowError("There are more than 2**62 sets of items; lower n.")
        binomials = np.ones((self.depth + 1, self.n_items + 1), np.int64)
        for k in range(1, self.depth + 1):
            # C(i, k) = Σ_{j < i} C(j, k - 1)
            binomials[k] = np.cumsum(binomials[k - 1]) - binomials[k - 1]
        bases = np.concatenate([[0], np.cumsum(sets)])
        none = np.empty(0, np.int64)
        index = ItemIndex(self.common, self.limits, first, binomials, bases, none, none)
        if self.is_complete:
            return index
        keys = np.empty(int(np.prod(self._chosen_shapes(), axis=1).sum()), np.int64)
        list_keys(self.terms.members[self.chosen], index, keys)
        # Sorted, so that smaller sets come first.
        keys = np.unique(np.append(keys, 0))
        slots, places = index_keys(keys)
        return index._replace(slots=slots, numbers=places)

    def _chosen_shapes(self) -> np.ndarray:
        """Values of each member of the chosen terms, 1 where there is none."""
        return np.append(self.limits, 1)[self.terms.members[self.chosen]]

    @cached_property
    def is_complete(self) -> bool:
        """Whether all deepest tuples are chosen, so that the rank of a set is its entry."""
        deepest = np.count_nonzero(self.terms.orders[self.chosen] == self.depth)
        return deepest == comb(len(self.limits), self.depth)

    @cached_property
    def n_entries(self) -> int:
        """How many sets have entries, the empty one included."""
        if self.is_complete:
            return sum(comb(self.n_items, k) for k in range(self.depth + 1))
        return int(np.count_nonzero(self.index.slots != EMPTY))

    @cached_property
    def n_low(self) -> int:
        """How many of them, the first ones, have fewer items than the deepest."""
        if self.is_complete:
            return int(self.index.bases[-2])
        taken = self.index.slots[self.index.slots != EMPTY]
        return int(np.count_nonzero(taken < self.index.bases[-2]))

    def rows(self, codes: np.ndarray) -> tuple[RowItems, np.ndarray]:
        """Return the items of rows of codes, and which rows hold a value that is none."""
        n_rows = codes.shape[1]
        lengths, missing = np.zeros(n_rows, np.int64), np.zeros(n_rows, bool)
        count_items(codes, self.columns, self.index, self.limits, lengths, missing)
        starts = np.concatenate([[0], np.cumsum(lengths)])
        items = np.empty(int(starts[-1]), np.int32)
        list_items(codes, self.columns, self.index, self.limits, starts[:-1].copy(), items)
        return RowItems(starts, items), missing

    def with_unseen(self) -> "Items":
        """Return the same with one item more per column, for its never-seen value."""
        return Items(self.common, self.terms, self.chosen, unseen=True)


def count_sets(lengths: np.ndarray, depth: int) -> np.ndarray:
    """Return how many sets of up to `depth` items rows of so many items have, as floats."""
    sets = np.ones(len(lengths))
    total = sets.copy()
    for k in range(1, depth + 1):
        sets = sets * np.maximum(lengths - k + 1, 0) / k
        total += sets
    return total
