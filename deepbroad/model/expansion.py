"""Write the steps that build fused tables from the cells of terms (see `kernels.expansion`)."""

from dataclasses import dataclass, field

import numpy as np

from deepbroad.kernels.expansion import (
    INNER,
    JOINT,
    OUTER,
    OVERWRITE,
    SOURCE,
    STEP_WIDTH,
    TARGET,
    VALUES,
    Program,
)
from deepbroad.model.groups import Group
from deepbroad.model.terms import NONE, Terms

Part = tuple[int, ...]  # the columns of one group that a term uses, in the group's order


@dataclass
class PartMaps:
    """For each part of a group, the value that the part takes at each of the group's codes."""

    groups: tuple[Group, ...]
    chunks: list[np.ndarray] = field(default_factory=list)
    length: int = 0
    known: dict[tuple[int, Part], tuple[int, int, bool]] = field(default_factory=dict)

    def zero(self) -> int:
        """Return where the map of one code to value 0 is."""
        if (NONE, ()) not in self.known:
            self.known[NONE, ()] = (self.length, 1, True)
            self.chunks.append(np.zeros(1, np.int32))
            self.length += 1
        return self.known[NONE, ()][0]

    def find(self, g: int, part: Part) -> tuple[int, int, bool]:
        """Return where the map of `part` starts, how many values it has, if it is the identity."""
        if (g, part) not in self.known:
            group = self.groups[g]
            values = np.zeros(group.size, np.int64)
            unseen = np.zeros(group.size, bool)
            n_values = 1
            for column in part:
                place = int(np.flatnonzero(group.columns == column)[0])
                cardinality = int(group.cardinalities[place])
                values = values * cardinality + group.digits[place]
                unseen |= group.digits[place] == cardinality
                n_values *= cardinality
            values[unseen] = -1
            identity = n_values == group.size and np.array_equal(values, np.arange(n_values))
            self.known[g, part] = (self.length, n_values, identity)
            self.chunks.append(values.astype(np.int32))
            self.length += group.size
        return self.known[g, part]


@dataclass
class TableBuilder:
    """Writes the steps of one table after the other."""

    maps: PartMaps
    steps: list[tuple[int, ...]] = field(default_factory=list)
    scratch: int = 0

    def add(self, groups: Part, parts: list[tuple[Part, ...]], cells: list[int], at: int) -> None:
        """Write the steps of the table over `groups` at entry `at`; its terms use `parts`."""
        tree: dict = {}
        for term_parts, cell in zip(parts, cells, strict=True):
            node = tree
            for part in term_parts[:-1]:
                node = node.setdefault(part, {})
            node[term_parts[-1]] = cell
        self._emit(groups, tree, 1, (0, at), 0)

    def copy(self, cell: int, at: int, size: int) -> None:
        """Write the step that copies the cells of a compact term to entry `at`."""
        self.steps.append((0, cell, 0, at, 1, 1, 1, size, self.maps.zero(), 1))

    def _emit(
        self, groups: Part, node: dict, outer: int, target: tuple[int, int], base: int
    ) -> None:
        """Write steps that fill `target` (in scratch?, position) with the sum of the node's terms.

        `outer` counts the values of the parts already chosen, `base` is the first free scratch.
        """
        g, deeper = groups[0], groups[1:]
        size = self.maps.groups[g].size
        inner = int(np.prod([self.maps.groups[h].size for h in deeper], dtype=np.int64))
        for rank, (part, child) in enumerate(node.items()):
            where, n_values, identity = self.maps.find(g, part)
            shape = (outer, n_values, size, inner, where, int(rank == 0))
            if not deeper:
                self.steps.append((0, child, *target, *shape))
            elif identity and len(node) == 1:
                self._emit(deeper, child, outer * n_values, target, base)
            else:
                after = base + outer * n_values * inner
                self.scratch = max(self.scratch, after)
                self._emit(deeper, child, outer * n_values, (1, base), after)
                self.steps.append((1, base, *target, *shape))


def copy_program(terms: Terms, table_of: np.ndarray) -> Program:
    """Return the steps where each term is a table by itself: one copy each, without a loop here."""
    by_table = np.argsort(table_of)
    sizes = terms.sizes[by_table]
    # The last entry of a compact table, for never-seen values, has no cell and stays 0.
    starts = np.concatenate([[0], np.cumsum(sizes + terms.is_compact[by_table])[:-1]])
    steps = np.zeros((len(terms), STEP_WIDTH), np.int64)
    steps[:, SOURCE], steps[:, TARGET], steps[:, INNER] = terms.offsets[by_table], starts, sizes
    steps[:, [OUTER, VALUES, JOINT, OVERWRITE]] = 1
    return Program(steps, np.zeros(1, np.int32), np.arange(len(terms) + 1), 0)


def compile_program(
    groups: tuple[Group, ...], terms: Terms, supports: np.ndarray, table_of: np.ndarray
) -> Program:
    """Return the steps of all tables; terms list their columns in the order of the groups."""
    if len(terms) == len(supports) and all(g.is_identity or g.compact for g in groups):
        return copy_program(terms, table_of)
    shared = {g: group for g, group in enumerate(groups) if not group.compact}
    group_of = {int(c): g for g, group in shared.items() for c in group.columns}
    builder = TableBuilder(PartMaps(groups))
    by_table = np.argsort(table_of, kind="stable")
    bounds = np.searchsorted(table_of[by_table], np.arange(len(supports) + 1))
    table_steps = [0]
    at = 0
    for table, support in enumerate(supports):
        members = tuple(int(g) for g in support[support != NONE])
        in_table = by_table[bounds[table] : bounds[table + 1]]
        if groups[members[0]].compact:
            builder.copy(int(terms.offsets[in_table[0]]), at, int(terms.sizes[in_table[0]]))
            at += groups[members[0]].size
            table_steps.append(len(builder.steps))
            continue
        parts = [
            tuple(tuple(c for c in terms.tuple(term) if group_of[c] == g) for g in members)
            for term in in_table
        ]
        builder.add(members, parts, [int(terms.offsets[t]) for t in in_table], at)
        at += int(np.prod([groups[g].size for g in members], dtype=np.int64))
        table_steps.append(len(builder.steps))
    return Program(
        np.array(builder.steps, np.int64).reshape(-1, STEP_WIDTH),
        np.concatenate([np.empty(0, np.int32), *builder.maps.chunks]),
        np.array(table_steps, np.int64),
        builder.scratch,
    )
