"""Write the steps that build fused tables from the cells of terms (see `kernels.expansion`).

The terms of a table form a tree: its levels are the table's groups, its branches at a level the
parts of that group (the columns of it that a term uses), its leaves the terms. A leaf's step
replaces the axis of its last part by the axis of the last group; a branch sums what its leaves
gave in scratch memory, and its own step replaces the axis of its part. All steps of all tables
are computed at once, one level after the other, since there can be millions.
"""

from typing import NamedTuple

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


class PartMaps(NamedTuple):
    """The value that each part of a group takes at each of the group's codes.

    `maps` holds them one after the other; the map of part i starts at `starts[i]`, its values are
    fewer than `n_values[i]`, and `identities[i]` tells whether it maps every code to itself.
    """

    maps: np.ndarray
    starts: np.ndarray
    n_values: np.ndarray
    identities: np.ndarray


def map_part(group: Group, columns: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the value of some of a group's columns at each of its codes, and how many values."""
    values = np.zeros(group.size, np.int64)
    unseen = np.zeros(group.size, bool)
    n_values = 1
    for column in columns:
        place = int(np.flatnonzero(group.columns == column)[0])
        cardinality = int(group.cardinalities[place])
        values = values * cardinality + group.digits[place]
        unseen |= group.digits[place] == cardinality
        n_values *= cardinality
    values[unseen] = -1
    return values.astype(np.int32), n_values


def map_parts(
    groups: tuple[Group, ...], supports: np.ndarray, members: np.ndarray, group_of: np.ndarray
) -> tuple[np.ndarray, PartMaps]:
    """Return the part of each term in each group of its table, (n_terms, k), and the parts' maps.

    `supports` has the groups of each term's table, NONE after the last.
    """
    base = len(group_of)
    keys = np.full(supports.shape, NONE)
    for level in range(supports.shape[1]):
        # A part is written as a number with a digit per column; none of its columns is -2 - group.
        key = np.zeros(len(members), np.int64)
        for axis in range(members.shape[1]):
            inside = (members[:, axis] != NONE) & (group_of[members[:, axis]] == supports[:, level])
            key = np.where(inside, key * base + members[:, axis] + 1, key)
        key = np.where(key == 0, -2 - supports[:, level], key)
        keys[:, level] = np.where(supports[:, level] == NONE, NONE, key)
    distinct, first, parts = np.unique(keys, return_index=True, return_inverse=True)
    parts = parts.reshape(keys.shape)
    own: list[tuple[Group, np.ndarray] | None] = []
    for key, place in zip(distinct.tolist(), first.tolist(), strict=True):
        row, level = divmod(place, supports.shape[-1])
        group, term = supports[row, level], members[row]
        inside = (term != NONE) & (group_of[term] == group) & (key > 0)
        own.append(None if group == NONE else (groups[group], term[inside]))
    return parts, join_maps(own)


def join_maps(parts: list[tuple[Group, np.ndarray] | None]) -> PartMaps:
    """Return the maps of parts, each given by its group and columns; None has none."""
    lengths = [0 if part is None else part[0].size for part in parts]
    # The first map has one code, for steps that copy.
    starts = 1 + np.cumsum([0, *lengths[:-1]])
    # Written where they belong: they may be large, all together.
    maps = np.zeros(1 + sum(lengths), np.int32)
    n_values, identities = np.ones(len(parts), np.int64), np.zeros(len(parts), bool)
    for i, part in enumerate(parts):
        into = maps[starts[i] : starts[i] + lengths[i]]
        if part is not None:
            into[:], n_values[i] = map_part(*part)
        identities[i] = np.array_equal(into, np.arange(n_values[i]))
    return PartMaps(maps, starts, n_values, identities)


class Branch(NamedTuple):
    """Where the sums of each term's branch go, level by level; arrays of (n_terms,).

    `outer` counts the values of the parts chosen so far, `free` is the first free scratch.
    """

    in_scratch: np.ndarray
    target: np.ndarray
    outer: np.ndarray
    free: np.ndarray


def write_tables(
    sizes: np.ndarray, tables: np.ndarray, supports: np.ndarray, starts: np.ndarray,
    cells: np.ndarray, parts: np.ndarray, found: PartMaps,
) -> tuple[np.ndarray, np.ndarray, int]:  # fmt: skip
    """Return steps, the table of each, and how much scratch the deepest needs.

    Terms are sorted by table and parts. `sizes` has the codes of each group and, last, 1; `starts`
    and `cells` are the first entry of each term's table and its first cell.
    """
    n_terms, k = parts.shape
    last = (supports != NONE).sum(axis=1) - 1
    lengths = sizes[supports]
    # Entries that one code of a level's group spans.
    inner = np.cumprod(lengths[:, ::-1], axis=1)[:, ::-1] // lengths
    change = np.empty(n_terms, bool)
    change[:1] = True
    change[1:] = tables[1:] != tables[:-1]
    zero = np.zeros(n_terms, np.int64)
    branch = Branch(zero, starts, zero + 1, zero)
    written, scratch = [], 0
    for level in range(k):
        above, change = change, change.copy()
        change[1:] |= parts[1:, level] != parts[:-1, level]
        part = parts[:, level]
        n_values = found.n_values[part]
        # Whether this is the first, and the only, branch of the branch above.
        only = np.bincount(np.cumsum(above) - 1, change)[np.cumsum(above) - 1] == 1
        first_row = np.maximum.accumulate(np.where(change, np.arange(n_terms), 0))
        shape = [
            branch.outer, n_values, lengths[:, level], inner[:, level], found.starts[part],
            above[first_row].astype(np.int64),
        ]  # fmt: skip
        leaf = last == level
        step = np.column_stack([zero, cells, branch.in_scratch, branch.target, *shape])
        written.append((np.flatnonzero(leaf), 0, step[leaf]))
        inside = last > level
        through = found.identities[part] & only
        ends = inside & ~through & np.append(change[1:], True)
        step = np.column_stack([zero + 1, branch.free, branch.in_scratch, branch.target, *shape])
        written.append((np.flatnonzero(ends), k - level, step[ends]))
        after = branch.free + branch.outer * n_values * inner[:, level]
        scratch = max(scratch, int(after[inside & ~through].max(initial=0)))
        branch = Branch(
            np.where(through, branch.in_scratch, 1),
            np.where(through, branch.target, branch.free),
            branch.outer * n_values,
            np.where(through, branch.free, after),
        )
    rows = np.concatenate([row for row, _, _ in written])
    # A branch follows its last leaf, the deeper branches first.
    order = np.argsort(
        rows * (k + 1) + np.repeat([rank for _, rank, _ in written], [len(r) for r, *_ in written])
    )
    return np.concatenate([step for *_, step in written])[order], tables[rows[order]], scratch


def copy_steps(terms: Terms, chosen: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return one step per chosen term that copies its cells to a table of its own."""
    steps = np.zeros((len(chosen), STEP_WIDTH), np.int64)
    steps[:, SOURCE], steps[:, TARGET] = terms.offsets[chosen], starts
    # The last entry of a compact table, for never-seen values, has no cell and stays 0.
    steps[:, INNER] = terms.sizes[chosen]
    steps[:, [OUTER, VALUES, JOINT, OVERWRITE]] = 1
    return steps


def compile_program(
    groups: tuple[Group, ...], terms: Terms, supports: np.ndarray, table_of: np.ndarray
) -> Program:
    """Return the steps of all tables; terms list their columns in the order of the groups."""
    sizes = np.append([group.size for group in groups], 1)
    starts = np.cumsum(sizes[supports].prod(axis=1, dtype=np.int64))
    starts = np.concatenate([[0], starts[:-1]]).astype(np.int64)
    alone = len(terms) == len(supports) and all(g.is_identity or g.compact for g in groups)
    copied = np.flatnonzero((table_of != NONE) & (terms.is_compact | alone))
    fused = np.flatnonzero((table_of != NONE) & ~(terms.is_compact | alone))
    steps = copy_steps(terms, copied, starts[table_of[copied]])
    tables, maps, scratch = table_of[copied], np.zeros(1, np.int32), 0
    if len(fused):
        group_of = np.full(len(terms.cardinalities) + 1, NONE)
        for g, group in enumerate(groups):
            if not group.compact:
                group_of[group.columns] = g
        members, own = terms.members[fused], table_of[fused]
        parts, found = map_parts(groups, supports[own], members, group_of)
        order = np.lexsort([*parts.T[::-1], own])
        own, fused = own[order], fused[order]
        written, of_table, scratch = write_tables(
            sizes, own, supports[own], starts[own], terms.offsets[fused], parts[order], found
        )
        steps, tables = np.concatenate([steps, written]), np.concatenate([tables, of_table])
        maps = found.maps
    order = np.argsort(tables, kind="stable")
    counts = np.bincount(tables, minlength=len(supports))
    return Program(steps[order], maps, np.concatenate([[0], np.cumsum(counts)]), scratch)
