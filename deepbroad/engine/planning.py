"""From a source of code columns to a plan and a source of group codes."""

from functools import partial
from math import comb

import numpy as np

from deepbroad.data.source import ArraySource, RowItems, Source
from deepbroad.kernels.joint import count_joint
from deepbroad.kernels.threads import Threads, split_range
from deepbroad.kernels.vector import lane_count
from deepbroad.model.groups import code_dtype, observe_groups, observe_tuples
from deepbroad.model.items import count_sets
from deepbroad.model.plan import Plan
from deepbroad.model.planner import SAMPLE_ROWS, plan_groups
from deepbroad.model.terms import NONE, Terms

# Below this many look-ups and entries a pass takes a few milliseconds at any precision.
CHEAP_PASS = 1_000_000
# A term of so few joint values is dense however few rows there are.
SMALL_TABLE = 4096
# Bytes of dense cells beyond which terms may be compact for the memory alone.
LARGE_MODEL = 1 << 30
# Rows times terms whose joint values are counted to see which pay, and the rows at least.
SAMPLE_WORK = 300_000_000
MIN_SAMPLE = 2048
# Codes in a sample of rows at most.
MAX_SAMPLE = 1 << 26
# How many times dearer the look-up of a set of items is than one in a fused table.
ITEM_LOOKUP = 4.0
# A column of more values than this is not fused with others.
LARGE_CARDINALITY = 256


def sample_codes(source: Source, rows: int = SAMPLE_ROWS) -> np.ndarray:
    """Return the codes of about `rows` rows, spread evenly; none has a never-seen value."""
    step = max(1, source.n_rows // min(rows, MAX_SAMPLE // len(source.cardinalities) + 1))
    sample = np.concatenate([block.codes[:, ::step] for block in source.blocks()], axis=1)
    seen = (sample < source.cardinalities[:, None]).all(axis=0)
    return sample[:, seen]


def must_be_compact(terms: Terms, rows: int) -> np.ndarray:
    """Tell which terms are compact whatever rows show, (n_terms,) bool.

    Those whose joint values are many more than rows can show, and those with a column of so many
    values that fusing it with others would make tables too large.
    """
    wide = np.append(terms.cardinalities, 1)[terms.members].max(axis=1) > LARGE_CARDINALITY
    sparse = terms.spaces > max(SMALL_TABLE, 2 * rows)
    return sparse | (wide & (terms.orders > 1) & (terms.spaces > SMALL_TABLE))


def cell_bytes(n_classes: int) -> int:
    """Return about what a cell takes in a fit: counts, scores and scale, and two tables."""
    return 12 * n_classes + 8 * lane_count(n_classes - 1)


def choose_compact(terms: Terms, source: Source, threads: Threads) -> np.ndarray:
    """Tell which terms get compact tables, (n_terms,) bool.

    In a large model also those whose cells would take far more memory than compact ones.
    """
    compact = must_be_compact(terms, source.n_rows)
    per_cell = cell_bytes(source.n_classes)
    spaces = np.where(compact, 0, terms.spaces).astype(np.float64)
    if spaces.sum() * per_cell <= LARGE_MODEL:
        return compact
    # A compact term holds a code of 4 bytes for every row.
    worth = np.flatnonzero(spaces * per_cell > 2 * 4 * source.n_rows)
    if len(worth):
        seen = estimate_seen(terms, worth, source, threads)
        held = 4 * source.n_rows + seen * per_cell
        compact[worth[2 * held < spaces[worth] * per_cell]] = True
    return compact


def estimate_seen(terms: Terms, chosen: np.ndarray, source: Source, threads: Threads) -> np.ndarray:
    """Estimate how many joint values all rows show of each chosen term, from a sample of them."""
    sample = sample_codes(source, min(SAMPLE_ROWS, max(MIN_SAMPLE, SAMPLE_WORK // len(chosen))))
    members = np.ascontiguousarray(terms.members[chosen])
    counts = np.zeros((3, len(chosen)), np.int64)
    largest = int(terms.spaces[chosen].max())

    def count(first: int, last: int) -> None:
        times = np.zeros(largest, np.uint8)
        count_joint(sample, members, terms.cardinalities, first, last, times, *counts)

    threads.run([partial(count, *part) for part in split_range(len(chosen), threads.count)])
    distinct, single, double = counts.astype(np.float64)
    # Chao's estimate of how many there are in all.
    total = distinct + single * np.maximum(single - 1, 0) / (2 * (double + 1))
    if sample.shape[1] >= source.n_rows:
        total = distinct
    return np.minimum(total, np.minimum(terms.spaces[chosen], source.n_rows))


def make_plan(
    source: Source,
    terms: Terms,
    *,
    fuse: bool = True,
    compact: bool = True,
    min_count: float = 1,
    threads: Threads | None = None,
) -> Plan:
    """Return the tables for `terms` that make a pass over `source` cheapest.

    `fuse` and `compact` allow the two ways to leave one dense table per term.
    """
    threads = threads or Threads(1)
    is_compact = np.zeros(len(terms), bool)
    if compact:
        is_compact = choose_compact(terms, source, threads)
    chosen = np.flatnonzero(is_compact).tolist()
    tuples = observe_tuples(
        [terms.tuple(term) for term in chosen],
        terms.cardinalities,
        source.blocks(),
        min_count,
        threads,
    )
    own = dict(zip(chosen, tuples, strict=True))
    dense = terms.members[~is_compact]
    used = np.unique(dense[dense != NONE])
    partition: list[tuple[int, ...]] = [(int(c),) for c in used]
    if fuse and len(used) > 1:
        sample = sample_codes(source)
        if sample.shape[1]:
            partition = choose_groups(sample, dense, terms.cardinalities, source)
            depth = dense.shape[1]
            n_tables = min(len(dense), comb(len(partition), depth))
            common = common_codes(sample)
            if ITEM_LOOKUP * mean_sets(sample, used, common, depth) < n_tables:
                return Plan.of(terms, (), own, common)
    blocks = (block.codes for block in source.blocks())
    groups = observe_groups(partition, terms.cardinalities, blocks)
    return Plan.of(terms, groups, own)


def choose_groups(
    sample: np.ndarray, dense: np.ndarray, cardinalities: np.ndarray, source: Source
) -> list[tuple[int, ...]]:
    """Return the groups of columns for dense terms: the planner's, where most tuples are terms."""
    used = np.unique(dense[dense != NONE])
    depth = dense.shape[1]
    # The planner's cost supposes that all tuples exist; a few chosen ones are left as they are.
    if len(dense) < 0.5 * comb(len(used), depth):
        return [(int(c),) for c in used]
    found = plan_groups(
        sample[used],
        cardinalities[used],
        depth=depth,
        rows=source.n_rows,
        width=lane_count(source.n_classes - 1),
    )
    return [tuple(int(used[c]) for c in columns) for columns in found]


def common_codes(sample: np.ndarray) -> np.ndarray:
    """Return the most common code of each column in a sample of rows."""
    return np.array([np.bincount(column).argmax() for column in sample])


def mean_sets(sample: np.ndarray, used: np.ndarray, common: np.ndarray, depth: int) -> float:
    """Return how many sets of items a row has on average: the look-ups that items would need."""
    lengths = np.zeros(sample.shape[1])
    for column in used:
        lengths += sample[column] != common[column]
    return float(count_sets(lengths, depth).mean())


def group_source(source: Source, plan: Plan, threads: Threads | None = None) -> ArraySource:
    """Return the source with its rows coded in the plan's groups."""
    threads = threads or Threads(1)
    codes = np.empty((len(plan.groups), source.n_rows), code_dtype(plan.groups))
    labels, weights, items, at = [], [], [], 0
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
        labels.append(block.labels)
        if block.weights is not None:
            weights.append(block.weights)
        at += rows
    return ArraySource(
        codes,
        np.concatenate(labels),
        n_classes=source.n_classes,
        cardinalities=np.array([group.size for group in plan.groups]),
        weights=np.concatenate(weights) if weights else None,
        items=join_items(items) if items else None,
    )


def join_items(parts: list[RowItems]) -> RowItems:
    """Return the items of several blocks of rows as one."""
    lengths = np.concatenate([np.diff(part.starts) for part in parts])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return RowItems(starts, np.concatenate([part.items for part in parts]))


def pass_dtype(plan: Plan, rows: int) -> np.dtype:
    """Return float64 where a pass is cheap anyway, float32 where speed and memory count."""
    cheap = rows * plan.n_tables + plan.n_entries <= CHEAP_PASS
    return np.dtype(np.float64 if cheap else np.float32)
