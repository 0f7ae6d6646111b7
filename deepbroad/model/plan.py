"""The fused tables of a model: which groups index each, which terms it holds, how it is built."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from deepbroad.kernels.expansion import Program
from deepbroad.kernels.lookup import TableIndex
from deepbroad.model.expansion import compile_program
from deepbroad.model.groups import Group
from deepbroad.model.items import Items
from deepbroad.model.pickling import FieldsOnly
from deepbroad.model.terms import NONE, Terms

# `find_entries` computes positions in 32 bits.
MAX_ENTRIES = np.iinfo(np.int32).max


@dataclass(frozen=True, eq=False)
class Plan(FieldsOnly):
    """Groups of columns, and one fused table per set of groups that some term needs.

    All terms whose columns lie inside the same groups share a table, so a row needs one look-up
    per table instead of one per term. A term inside fewer groups joins a table that has them all.
    A compact term has a group and a table to itself; compact groups come last. Where rows are
    mostly common values, the dense terms have `items` instead of groups and tables.
    """

    groups: tuple[Group, ...]
    terms: Terms
    supports: np.ndarray  # (n_tables, k) groups of each table in order, NONE after the last
    table_of: np.ndarray  # (n_terms,) the table that holds each term, NONE if items do
    items: Items | None = None

    @classmethod
    def of(
        cls,
        terms: Terms,
        groups: tuple[Group, ...],
        compact: dict[int, Group] | None = None,
        common: np.ndarray | None = None,
    ) -> "Plan":
        """Return the plan of `terms` over `groups`, and over own groups for the `compact` ones.

        The columns of each term are reordered to follow the groups. With `common`, the common
        code of each column, there are no groups but compact ones: items serve the other terms.
        """
        compact = compact or {}
        # A column that only compact terms use keeps its place after all others.
        position = len(terms.cardinalities) + np.arange(len(terms.cardinalities))
        group_of = np.full(len(terms.cardinalities) + 1, NONE)
        place = 0
        for g, group in enumerate(groups):
            for column in group.columns:
                position[column], group_of[column] = place, g
                place += 1
        if compact:
            stored = np.full(len(terms), NONE)
            for term, group in compact.items():
                stored[term] = len(group.keys)
            terms = Terms(terms.members, terms.cardinalities, stored)
        terms = terms.ordered_by(position)
        own = tuple(compact[t] for t in sorted(compact))
        if common is not None:
            items = Items(np.asarray(common, np.int64), terms, ~terms.is_compact)
            table_of = np.where(terms.is_compact, np.cumsum(terms.is_compact) - 1, NONE)
            return cls(own, terms, np.arange(len(own))[:, None], table_of, items)
        alone = all(len(group.columns) == 1 for group in groups) and len(set(terms.orders)) == 1
        cover = cover_alone if alone else cover_terms
        member_groups = group_of[terms.members]
        supports, table_of = cover_all(cover, member_groups, terms.is_compact, len(groups))
        return cls((*groups, *own), terms, supports, table_of)

    @cached_property
    def index(self) -> TableIndex:
        """Strides and offsets that turn group codes into table entries."""
        present = self.supports != NONE
        sizes = np.append([group.size for group in self.groups], 1)[self.supports]
        after = np.cumprod(sizes[:, ::-1], axis=1)[:, ::-1]
        strides = np.where(present, after // sizes, 0)
        offsets = np.concatenate([[0], np.cumsum(after[:, 0])])
        return TableIndex(np.where(present, self.supports, 0), strides, offsets[:-1])

    @cached_property
    def table_sizes(self) -> np.ndarray:
        """Entries of each table, (n_tables,)."""
        sizes = np.append([group.size for group in self.groups], 1)[self.supports]
        return np.prod(sizes, axis=1, dtype=np.int64)

    @property
    def n_entries(self) -> int:
        """Entries of all tables together."""
        return int(self.table_sizes.sum())

    @property
    def n_tables(self) -> int:
        """Look-ups per row, those of items aside."""
        return len(self.supports)

    @cached_property
    def program(self) -> Program:
        """The steps that carry cells into tables."""
        if self.n_entries > MAX_ENTRIES:
            raise OverflowError("The fused tables have more than 2**31 entries; lower n.")
        return compile_program(self.groups, self.terms, self.supports, self.table_of)

    def with_unseen(self) -> "Plan":
        """Return a plan of single columns whose tables also have the never-seen value, scoring 0.

        It scores the rows that this plan has no code for; its terms keep the order of their axes.
        """
        if self.items is not None:
            return replace(self, items=self.items.with_unseen())
        cardinalities = self.terms.cardinalities
        order = [int(c) for group in self.groups if not group.compact for c in group.columns]
        single = tuple(Group.single(c, int(cardinalities[c])).with_unseen() for c in order)
        return Plan.of(self.terms, single, self.compact_groups)

    @property
    def compact_groups(self) -> dict[int, Group]:
        """The groups of compact terms, by term."""
        own = (group for group in self.groups if group.compact)
        return dict(zip(np.flatnonzero(self.terms.is_compact).tolist(), own, strict=True))


def cover_alone(member_groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Do as `cover_terms` for terms of one depth over single columns: a table for each."""
    return member_groups, np.arange(len(member_groups))


def cover_all(
    cover: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    member_groups: np.ndarray,
    is_compact: np.ndarray,
    n_shared: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the groups of each table and the table of each term, compact ones after the others."""
    depth = member_groups.shape[1]
    supports, table_of = np.empty((0, depth), np.int64), np.full(len(is_compact), NONE)
    if not is_compact.all():
        covered, table_of[~is_compact] = cover(member_groups[~is_compact])
        supports = np.full((len(covered), depth), NONE)
        supports[:, : covered.shape[1]] = covered
    n_compact = int(is_compact.sum())
    own = np.full((n_compact, depth), NONE)
    own[:, 0] = n_shared + np.arange(n_compact)
    table_of[is_compact] = len(supports) + np.arange(n_compact)
    supports = np.concatenate([supports, own])
    # No wider than the widest: a pass looks at every column.
    return supports[:, : max(1, int((supports != NONE).sum(axis=1).max()))], table_of


def cover_terms(member_groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest sets of groups that terms span, and which of them serves each term.

    `member_groups` (n_terms, depth) holds the group of each member, in ascending order with NONE
    last, and possibly repeated.
    """
    repeated = np.zeros(member_groups.shape, bool)
    repeated[:, 1:] = member_groups[:, 1:] == member_groups[:, :-1]
    last = np.iinfo(np.int64).max
    spans = np.sort(np.where(repeated | (member_groups == NONE), last, member_groups), axis=1)
    spans, span_of = np.unique(spans, axis=0, return_inverse=True)
    depths = np.count_nonzero(spans != last, axis=1)
    table_of_span = np.full(len(spans), NONE)
    kept: list[int] = []
    covered: dict[tuple[int, ...], int] = {}
    shallow = depths < depths.max()
    for span in np.argsort(-depths, kind="stable"):
        groups = tuple(int(g) for g in spans[span, : depths[span]])
        if groups in covered:
            table_of_span[span] = covered[groups]
            continue
        table = len(kept)
        kept.append(span)
        table_of_span[span] = table
        if shallow.any():  # else no span can lie inside another
            for size in range(1, len(groups)):
                for subset in combinations(groups, size):
                    covered.setdefault(subset, table)
    supports = spans[kept][:, : depths.max()]
    return np.where(supports == last, NONE, supports), table_of_span[span_of.ravel()]
