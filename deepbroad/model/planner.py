"""Choose the groups of columns whose fusion makes a pass cheapest.

Start from one group per column and keep joining the two groups whose union saves the most, by the
cost model: fewer tables mean fewer look-ups per row, more joint values mean more entries to build.
"""

from dataclasses import dataclass
from math import comb

import numpy as np

from deepbroad.kernels.joint import count_distinct
from deepbroad.model.cost import TYPICAL, Costs
from deepbroad.model.groups import MAX_KEYS

# Rows that estimate how many joint values two groups would have.
SAMPLE_ROWS = 1 << 15
# With more columns the search itself, quadratic in them, would take longer than it saves.
MAX_COLUMNS = 256
# Larger groups would need more than 16 bits per code, and tables that no cache holds.
MAX_GROUP = 1 << 12


def plan_groups(
    sample: np.ndarray,
    cardinalities: np.ndarray,
    *,
    depth: int,
    rows: int,
    width: int,
    costs: Costs = TYPICAL,
    keys: np.ndarray | None = None,
    largest: int = MAX_GROUP,
) -> list[tuple[int, ...]]:
    """Return the partition of the columns into groups.

    Parameters
    ----------
    sample : ndarray of shape (n_columns, n_sample)
        Codes of some training rows, without never-seen values.
    cardinalities : ndarray of shape (n_columns,)
        V_i of each column.
    depth : int
        The depth of the deepest terms.
    rows : int
        How many rows a pass has.
    width : int
        Numbers per table entry.
    costs : Costs
        What look-ups and streams take.
    keys : ndarray of shape (n_columns,), optional
        How many keys the group of each column has (see `Group`): V_i + 1, or more for one that
        brings others with it.
    largest : int
        Joint values of a group at most, but of one that is a column by itself.
    """
    if len(cardinalities) > MAX_COLUMNS:
        return [(c,) for c in range(len(cardinalities))]
    values = float(np.sum(cardinalities))
    join_costs = JoinCosts(costs, depth, rows, width, values)
    search = GroupSearch(sample, cardinalities, join_costs, keys, largest)
    while search.join_best():
        pass
    return [tuple(sorted(columns)) for columns in search.columns]


@dataclass
class JoinCosts:
    """Estimates a pass's cost as if every set of `depth` groups had one table.

    `values` is the number of values of all columns together, ΣV_i.
    """

    costs: Costs
    depth: int
    rows: int
    width: int
    values: float

    def of(
        self, n_groups: int, entries: np.ndarray, sizes: np.ndarray, widened: np.ndarray
    ) -> np.ndarray:
        """Return the nanoseconds of a pass.

        `entries` counts those of all tables, `sizes` is ΣJ over groups, `widened` ΣJ·c with c the
        columns of a group.
        """
        tables = comb(n_groups, min(self.depth, n_groups))
        per_row = tables * self.costs.lookup(entries, self.width, tables=tables)
        # A table's last axis but one takes a stream of it per column of that group; the axes before
        # come at the size of their columns' values instead of the group's.
        columns, share = widened / sizes, self.values / sizes
        # Along a table's last axis every item is a run of its own.
        runs = entries * columns * share ** (self.depth - 1)
        streamed = entries * columns * (1.0 + share)
        return self.rows * per_row + self.costs.build(streamed, self.width, runs=runs)


class GroupSearch:
    """The greedy search: groups so far, and estimated joint sizes of all pairs of them."""

    def __init__(
        self,
        sample: np.ndarray,
        cardinalities: np.ndarray,
        costs: JoinCosts,
        keys: np.ndarray | None = None,
        largest: int = MAX_GROUP,
    ) -> None:
        self.largest = largest
        self.columns: list[tuple[int, ...]] = [(c,) for c in range(len(cardinalities))]
        self.codes = [np.ascontiguousarray(column) for column in sample]
        self.sizes = np.asarray(cardinalities, float)
        # Possible keys of each group, see `Group`.
        self.keys = self.sizes + 1.0 if keys is None else np.asarray(keys, float)
        self.costs = costs
        self.joint = np.full((len(self.sizes),) * 2, np.inf)
        for g in range(len(self.sizes)):
            self._estimate_pairs(g, range(g + 1, len(self.sizes)))

    def _estimate_pairs(self, g: int, others: range | list[int]) -> None:
        """Estimate how many joint values group g has with each of the others."""
        for h in others:
            low, high = min(g, h), max(g, h)
            possible = self.sizes[g] * self.sizes[h]
            # The joint size is at least the larger of the two; so hopeless pairs are not counted.
            larger = max(self.sizes[g], self.sizes[h])
            if larger > self.largest or possible > self.largest**2:
                continue
            if self.keys[g] * self.keys[h] >= MAX_KEYS:
                continue
            n_right = int(self.sizes[h])
            seen = np.zeros(int(self.sizes[g]) * n_right // 8 + 1, np.uint8)
            self.joint[low, high] = count_distinct(self.codes[g], self.codes[h], n_right, seen)

    def join_best(self) -> bool:
        """Join the two groups whose union saves the most; False if none saves anything."""
        n_groups = len(self.sizes)
        if n_groups < 2:
            return False
        lefts, rights = np.nonzero(self.joint <= self.largest)
        if len(lefts) == 0:
            return False
        joint = self.joint[lefts, rights]
        counts = np.array([len(columns) for columns in self.columns], float)
        widened = np.sum(self.sizes * counts)
        after = self.costs.of(
            n_groups - 1,
            self._entries(self._powers(joint, lefts, rights), n_groups - 1),
            self.sizes.sum() - self.sizes[lefts] - self.sizes[rights] + joint,
            widened
            - (self.sizes * counts)[lefts]
            - (self.sizes * counts)[rights]
            + joint * (counts[lefts] + counts[rights]),
        )
        powers = np.array([np.sum(self.sizes**k) for k in range(1, self.costs.depth + 1)])
        now = self.costs.of(n_groups, self._entries(powers, n_groups), self.sizes.sum(), widened)
        best = int(np.argmin(after))
        if after[best] >= now:
            return False
        self._join(int(lefts[best]), int(rights[best]))
        return True

    def _powers(self, joint: np.ndarray, lefts: np.ndarray, rights: np.ndarray) -> np.ndarray:
        """Return the power sums of the group sizes after each join, (depth, n_joins)."""
        return np.stack(
            [
                np.sum(self.sizes**k) - self.sizes[lefts] ** k - self.sizes[rights] ** k + joint**k
                for k in range(1, self.costs.depth + 1)
            ]
        )

    def _entries(self, powers: np.ndarray, n_groups: int) -> np.ndarray:
        """Return how many entries the tables of all sets of groups have."""
        depth = min(self.costs.depth, n_groups)
        return symmetric_sums(powers, depth)[depth]

    def _join(self, g: int, h: int) -> None:
        """Replace groups g < h by their union, placed at g."""
        pair = self.codes[g].astype(np.int64) * int(self.sizes[h]) + self.codes[h]
        values, codes = np.unique(pair, return_inverse=True)
        self.codes[g] = codes.astype(np.min_scalar_type(len(values)))
        self.columns[g] += self.columns[h]
        self.sizes[g] = len(values)
        self.keys[g] *= self.keys[h]
        del self.codes[h], self.columns[h]
        self.sizes, self.keys = np.delete(self.sizes, h), np.delete(self.keys, h)
        self.joint = np.delete(np.delete(self.joint, h, axis=0), h, axis=1)
        self.joint[g, :] = self.joint[:, g] = np.inf
        self._estimate_pairs(g, [o for o in range(len(self.sizes)) if o != g])


def symmetric_sums(powers: np.ndarray, depth: int) -> list[np.ndarray]:
    """Return the elementary symmetric sums e_0..e_depth from the power sums p_1.. (Newton).

    e_n of the group sizes is how many entries the tables of all sets of n groups have.
    """
    sums = [np.ones_like(powers[0])]
    for k in range(1, depth + 1):
        terms = [(-1) ** (i - 1) * sums[k - i] * powers[i - 1] for i in range(1, k + 1)]
        sums.append(np.sum(terms, axis=0) / k)
    return sums
