"""From a source of code columns to a plan and a source of group codes."""

from math import comb

import numpy as np

from deepbroad.data.source import ArraySource, Source
from deepbroad.kernels.vector import lane_count
from deepbroad.model.groups import code_dtype, encode_groups, observe_groups, observe_tuples
from deepbroad.model.plan import Plan
from deepbroad.model.planner import SAMPLE_ROWS, plan_groups
from deepbroad.model.terms import NONE, Terms

# Below this many look-ups and entries a pass takes a few milliseconds at any precision.
CHEAP_PASS = 1_000_000
# A term of so few joint values is dense however few rows there are.
SMALL_TABLE = 4096
# A column of more values than this is not fused with others.
LARGE_CARDINALITY = 256


def sample_codes(source: Source, rows: int = SAMPLE_ROWS) -> np.ndarray:
    """Return the codes of about `rows` rows, spread evenly; none has a never-seen value."""
    step = max(1, source.n_rows // rows)
    sample = np.concatenate([block.codes[:, ::step] for block in source.blocks()], axis=1)
    seen = (sample < source.cardinalities[:, None]).all(axis=0)
    return sample[:, seen]


def choose_compact(terms: Terms, rows: int) -> np.ndarray:
    """Tell which terms get compact tables, (n_terms,) bool.

    Those whose joint values are many more than rows can show, and those with a column of so many
    values that fusing it with others would make tables too large.
    """
    wide = np.append(terms.cardinalities, 1)[terms.members].max(axis=1) > LARGE_CARDINALITY
    sparse = terms.spaces > max(SMALL_TABLE, 2 * rows)
    return sparse | (wide & (terms.orders > 1) & (terms.spaces > SMALL_TABLE))


def make_plan(
    source: Source, terms: Terms, *, fuse: bool = True, compact: bool = True, min_count: float = 1
) -> Plan:
    """Return the tables for `terms` that make a pass over `source` cheapest.

    `fuse` and `compact` allow the two ways to leave one dense table per term.
    """
    is_compact = choose_compact(terms, source.n_rows) if compact else np.zeros(len(terms), bool)
    chosen = np.flatnonzero(is_compact).tolist()
    tuples = observe_tuples(
        [terms.tuple(term) for term in chosen], terms.cardinalities, source.blocks(), min_count
    )
    dense = terms.members[~is_compact]
    used = np.unique(dense[dense != NONE])
    partition: list[tuple[int, ...]] = [(int(c),) for c in used]
    # The planner's cost supposes that all tuples exist; a few chosen ones are left as they are.
    depth = int(terms.orders.max())
    most = len(dense) >= 0.5 * comb(len(used), depth)
    if fuse and most and len(used) > 1:
        sample = sample_codes(source)[used]
        if sample.shape[1]:
            found = plan_groups(
                sample,
                terms.cardinalities[used],
                depth=depth,
                rows=source.n_rows,
                width=lane_count(source.n_classes - 1),
            )
            partition = [tuple(int(used[c]) for c in columns) for columns in found]
    blocks = (block.codes for block in source.blocks())
    groups = observe_groups(partition, terms.cardinalities, blocks)
    return Plan.of(terms, groups, dict(zip(chosen, tuples, strict=True)))


def group_source(source: Source, plan: Plan) -> ArraySource:
    """Return the source with its rows coded in the plan's groups."""
    codes = np.empty((len(plan.groups), source.n_rows), code_dtype(plan.groups))
    labels, weights, at = [], [], 0
    for block in source.blocks():
        rows = len(block.labels)
        # Rows of weight 0 may have no code; they count for nothing, so any code will do.
        codes[:, at : at + rows], _ = encode_groups(plan.groups, block.codes)
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
    )


def pass_dtype(plan: Plan, rows: int) -> np.dtype:
    """Return float64 where a pass is cheap anyway, float32 where speed and memory count."""
    cheap = rows * plan.n_tables + plan.n_entries <= CHEAP_PASS
    return np.dtype(np.float64 if cheap else np.float32)
