"""The fused tables of a model: which groups index each, which terms it holds, how it is built."""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from deepbroad.kernels.expansion import Program
from deepbroad.kernels.lookup import TableIndex
from deepbroad.model.expansion import compile_program
from deepbroad.model.groups import Group
from deepbroad.model.pickling import FieldsOnly
from deepbroad.model.terms import NONE, Terms

# `find_entries` computes positions in 32 bits.
MAX_ENTRIES = np.iinfo(np.int32).max


@dataclass(frozen=True, eq=False)
class Plan(FieldsOnly):
    """Groups of columns, and one fused table per set of groups that some term needs.

    All terms whose columns lie inside the same groups share a table, so a row needs one look-up
    per table instead of one per term. A term inside fewer groups joins a table that has them all.
    """

    groups: tuple[Group, ...]
    terms: Terms
    supports: np.ndarray  # (n_tables, k) groups of each table in order, NONE after the last
    table_of: np.ndarray  # (n_terms,) the table that holds each term

    @classmethod
    def of(cls, terms: Terms, groups: tuple[Group, ...]) -> "Plan":
        """Return the plan of `terms` over `groups`; terms are reordered to follow the groups."""
        position = np.empty(len(terms.cardinalities), np.int64)
        group_of = np.empty(len(terms.cardinalities) + 1, np.int64)
        group_of[-1] = NONE
        place = 0
        for g, group in enumerate(groups):
            for column in group.columns:
                position[column], group_of[column] = place, g
                place += 1
        terms = terms.ordered_by(position)
        supports, table_of = cover_terms(group_of[terms.members])
        return cls(groups, terms, supports, table_of)

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
        """Look-ups per row."""
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
        cardinalities = self.terms.cardinalities
        order = [int(column) for group in self.groups for column in group.columns]
        single = tuple(Group.single(c, int(cardinalities[c])).with_unseen() for c in order)
        return Plan.of(self.terms, single)


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
