"""From a source of code columns to a plan and a source of group codes."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from math import comb

import numpy as np

from deepbroad.data.source import ArraySource, RowItems, Source
from deepbroad.engine.compaction import choose_compact
from deepbroad.engine.sampling import common_codes, mean_sets, sample_codes
from deepbroad.engine.workload import ITEM_LOOKUP, Workload
from deepbroad.kernels.threads import Threads
from deepbroad.kernels.vector import lane_count
from deepbroad.model.cost import TYPICAL
from deepbroad.model.groups import (
    MAX_KEYS,
    Group,
    KeyWeights,
    code_dtype,
    frequent_tuples,
    observe_groups,
    unite_groups,
    weigh_tuples,
)
from deepbroad.model.plan import Plan
from deepbroad.model.planner import MAX_COLUMNS, MAX_GROUP, plan_groups
from deepbroad.model.terms import NONE, Terms

# How many times dearer it is to find a set of items by its hash, and cells at most for that.
HASHED = 3.0
MAX_HASHED = 20_000_000
# Shares that a model has of all tuples of some columns: with less than the first, columns are never
# joined; with less than the second, the plans in which they are and are not are compared.
LEAST_SHARE, MOST_SHARE = 0.05, 0.5
# Tables up to which a look-up for each is looked at as a plan.
MOST_SINGLE = 5_000
# Look-ups of a pass up to which no search for groups is worth it.
FEW_LOOKUPS = 1 << 20
# Where building tables takes more room than they have, groups of so many times fewer joint values
# are tried, down to the least; up to so many items of room are never too much.
SMALLER, LEAST_GROUP, SMALL_ROOM = 4, 4, 1 << 20


class Planner:
    """Plans for some terms over a source: compact terms in each, the others served in a way each.

    Parameters
    ----------
    source : Source
        Rows of code columns.
    terms : Terms
    compact : bool or mapping from term to Group
        Whether terms may have compact tables; or those that have, and their groups.
    min_count : float
        Joint values of less weight have no cell of their own in these.
    small : int, optional
        Terms of up to so many joint values are never compact for the sake of rows.
    evaluations : int
        How many evaluations a pass over all rows is divided into: tables are built for each.
    """

    def __init__(
        self,
        source: Source,
        terms: Terms,
        *,
        compact: bool | Mapping[int, Group] = True,
        min_count: float = 1,
        threads: Threads | None = None,
        small: int | None = None,
        evaluations: int = 1,
    ) -> None:
        threads = threads or Threads(1)
        self._rows = -(-source.n_rows // evaluations)
        self.source, self.terms, self.threads = source, terms, threads
        if isinstance(compact, Mapping):
            self._compact = dict(compact)
        else:
            self._compact = self._observe_compact(min_count, small) if compact else {}
        is_compact = np.zeros(len(terms), bool)
        is_compact[list(self._compact)] = True
        self._dense = terms.members[~is_compact]
        self._used = np.unique(self._dense[self._dense != NONE])
        self._sample = sample_codes(source)

    def _observe_compact(self, min_count: float, small: int | None) -> dict[int, Group]:
        """Return the groups of the terms that had better be compact, with what rows show."""
        terms, threads = self.terms, self.threads
        chosen = np.flatnonzero(choose_compact(terms, self.source, threads, small)).tolist()
        columns = [terms.tuple(term) for term in chosen]
        found: list[KeyWeights] = []
        if chosen:
            found = self.source.reduce(weigh_part, columns, join=join_weights, threads=threads)
        tuples = frequent_tuples(columns, terms.cardinalities, found, min_count)
        return dict(zip(chosen, tuples, strict=True))

    def single(self) -> Plan:
        """Return the plan with one table per term."""
        return self._grouped([(int(column),) for column in self._used])

    def by_attribute(self) -> Plan:
        """Return the plan in which the columns of an attribute are a group, without a search.

        One look-up serves all tables of the same attributes, at whichever resolution; columns that
        only shallow tuples have stay apart.
        """
        groups = [tuple(own.tolist()) for _, owned in self._owned_by_order() for own in owned]
        return self._grouped(self._split(groups))

    def fused(self) -> Plan:
        """Return the plan with groups of columns, and a table for each set of them.

        The columns of an attribute are unions of the bins of its finest, so that they join at no
        cost; but those that only shallow tuples have stay apart, since in the tables of deeper ones
        every bin more is paid for many times.
        """
        if len(self._used) < 2 or not self._sample.size:
            return self.single()
        plans, largest = self._fuse(MAX_GROUP), MAX_GROUP
        # The search for groups knows how large tables are, not that columns of a group may have far
        # more joint values by themselves than with each other (towns of departure and of arrival).
        while largest > LEAST_GROUP and plans[-1].program.scratch > max(
            plans[-1].n_entries, SMALL_ROOM
        ):
            largest //= SMALLER
            plans += self._fuse(largest)
        return self._fastest(plans)

    def _fuse(self, largest: int) -> list[Plan]:
        """Return plans whose groups have up to so many joint values."""
        orders = np.count_nonzero(self._dense != NONE, axis=1)
        joined: list[tuple[int, ...]] = []
        apart: list[tuple[int, ...]] = []
        for order, owned in self._owned_by_order():
            finest = [own[-1] for own in owned]
            members = self._dense[orders == order][:, :order]
            tuples = int(np.count_nonzero(np.isin(members, finest).all(axis=1)))
            share = tuples / max(comb(len(owned), order), 1)
            alone = [tuple(own.tolist()) for own in owned]
            some = len(owned) > 1 and share >= LEAST_SHARE
            groups = self._join(owned, order, largest) if some else alone
            joined += groups
            apart += groups if share >= MOST_SHARE else alone
        joined, apart = self._split(joined), self._split(apart)
        partitions = [joined] if joined == apart else [joined, apart]
        return [self._grouped(partition) for partition in partitions]

    def _owned_by_order(self) -> list[tuple[int, list[np.ndarray]]]:
        """Return the columns of each attribute, apart by the deepest order that has them."""
        deepest = np.zeros(len(self.terms.cardinalities), np.int64)
        orders = np.count_nonzero(self._dense != NONE, axis=1)
        for order in np.unique(orders):
            members = self._dense[orders == order]
            deepest[np.unique(members[members != NONE])] = order
        found = []
        for order in np.unique(deepest[self._used]).tolist():
            columns = np.flatnonzero(deepest == order)
            starts = np.flatnonzero(np.diff(self.source.attributes[columns])) + 1
            found.append((order, np.split(columns, starts)))
        return found

    def _join(self, owned: list[np.ndarray], order: int, largest: int) -> list[tuple[int, ...]]:
        """Return groups of attributes, given their columns, whose deepest tuples are of one order.

        The cost by which they are joined supposes that all tuples exist.
        """
        finest = np.array([own[-1] for own in owned])
        found = plan_groups(
            self._sample[finest],
            self.terms.cardinalities[finest],
            depth=order,
            rows=self._rows,
            width=lane_count(self.source.n_classes - 1),
            costs=TYPICAL,
            keys=np.array([np.prod(self.terms.cardinalities[own] + 1.0) for own in owned]),
            largest=largest,
        )
        return [tuple(np.concatenate([owned[g] for g in group]).tolist()) for group in found]

    def _split(self, groups: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """Return groups whose joint keys fit: those of a number of many levels may be cut."""
        found: list[tuple[int, ...]] = []
        for columns in groups:
            sizes = self.terms.cardinalities[list(columns)] + 1.0
            first = 0
            for last in range(len(columns)):
                if np.prod(sizes[first : last + 1]) >= MAX_KEYS:
                    found.append(columns[first:last])
                    first = last
            found.append(columns[first:])
        return found

    def items(self) -> Plan | None:
        """Return the plan with sets of items, if rows have few enough of them to be worth it."""
        # The items of rows are held in memory.
        if not len(self._dense) or not self._sample.size or not self.source.resident:
            return None
        common = common_codes(self._sample)
        depth = self._dense.shape[1]
        # Shallower terms have no tables of their own in any plan.
        n_dense = np.count_nonzero(self._dense[:, -1] != NONE)
        sets = mean_sets(self._sample, self._used, common, depth)
        lookup = ITEM_LOOKUP
        if n_dense < comb(len(self.terms.cardinalities), depth):
            # Sets of items then have a hash index, of all that some chosen term can hold.
            lookup *= HASHED
            if self.terms.spaces.sum() > MAX_HASHED:
                return None
        if lookup * sets > n_dense:
            return None
        return Plan.of(self.terms, (), self._compact, common)

    def cheapest(self) -> Plan:
        """Return the plan whose passes take the least time, by the cost model."""
        items = self.items()
        if items is None:
            return self.tabled()
        if len(self._used) > MAX_COLUMNS:
            return items  # so many columns are not fused
        return self._fastest([*self._searched(), items])

    def tabled(self) -> Plan:
        """Return the plan of look-ups in tables whose passes take the least time.

        Where a pass has few look-ups in any case, a search takes longer than it saves.
        """
        plain = self.by_attribute()
        if self._rows * plain.n_tables <= FEW_LOOKUPS:
            return plain
        return self._fastest(self._searched())

    def _searched(self) -> list[Plan]:
        """Return plans with tables for groups of columns, and for each term where that may pay."""
        plans = [self.fused()]
        orders = np.count_nonzero(self._dense != NONE, axis=1)
        if len(np.unique(orders)) > 1 and len(self._dense) <= MOST_SINGLE:
            # Chosen tables of several orders may share so little that fusing them costs more.
            plans.append(self.single())
        return plans

    def _fastest(self, plans: list[Plan]) -> Plan:
        """Return the first of the plans whose passes take the least time."""
        if len(plans) == 1:
            return plans[0]
        # At typical costs for one thread, so that the plan is the same everywhere.
        works = [Workload.of(self.source, plan, solved=False) for plan in plans]
        seconds = [replace(work, rows=self._rows).seconds(TYPICAL, 1) for work in works]
        return plans[seconds.index(min(seconds))]

    def _grouped(self, partition: list[tuple[int, ...]]) -> Plan:
        groups = self.source.reduce(
            observe_part, partition, join=unite_groups, threads=self.threads
        )
        return Plan.of(self.terms, groups, self._compact)


def observe_part(
    part: ArraySource, partition: list[tuple[int, ...]], threads: Threads
) -> tuple[Group, ...]:
    """Return the groups of a partition of the columns with the joint values of a part."""
    blocks = (block.codes for block in part.blocks()) if any(map(is_joint, partition)) else ()
    return observe_groups(partition, part.cardinalities, blocks)


def is_joint(columns: tuple[int, ...]) -> bool:
    """Tell whether there is anything to observe: a single column has all its values."""
    return len(columns) > 1


def weigh_part(
    part: ArraySource, tuples: list[tuple[int, ...]], threads: Threads
) -> list[KeyWeights]:
    """Return the joint values of tuples of columns that a part shows, and their weights."""
    return weigh_tuples(tuples, part.cardinalities, part.blocks(), threads)


def join_weights(first: list[KeyWeights], second: list[KeyWeights]) -> list[KeyWeights]:
    """Return the joint values of two parts."""
    joined = [KeyWeights() for _ in first]
    for both in (first, second):
        for into, one in zip(joined, both, strict=True):
            into.join(one.keys, one.weights)
    return joined


def group_source(source: Source, plan: Plan, threads: Threads | None = None) -> Source:
    """Return the source with its rows coded in the plan's groups."""
    return source.convert(group_part, plan, threads=threads or Threads(1))


def group_part(source: ArraySource, plan: Plan, threads: Threads) -> ArraySource:
    """Return a part with its rows coded in the plan's groups."""
    shape = len(plan.groups), source.n_rows
    codes = source.store.empty(shape, code_dtype(plan.groups))
    items, at = [], 0
    for block in source.blocks():
        rows = len(block.labels)
        # Rows of weight 0 may have no code; they count for nothing, so any code will do.
        into = codes[:, at : at + rows]
        threads.run(
            [
                partial(group.encode, block.codes, into[g], np.zeros(rows, bool))
                for g, group in enumerate(plan.groups)
            ]
        )
        if plan.items is not None:
            items.append(plan.items.rows(block.codes)[0])
        at += rows
    return ArraySource(
        codes,
        source.labels,
        n_classes=source.n_classes,
        cardinalities=np.array([group.size for group in plan.groups]),
        weights=source.weights,
        items=join_items(items) if items else None,
        n_given=source.n_given,
        store=source.store,
    )


def join_items(parts: list[RowItems]) -> RowItems:
    """Return the items of several blocks of rows as one."""
    lengths = np.concatenate([np.diff(part.starts) for part in parts])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return RowItems(starts, np.concatenate([part.items for part in parts]))
