"""Terms and groups of a model as a few small numbers, from which its plan follows."""

from math import comb, prod
from typing import Any

import numpy as np

from deepbroad.model.groups import DIRECT_KEYS, MAX_KEYS, Group
from deepbroad.model.plan import MAX_ENTRIES, Plan
from deepbroad.model.terms import NONE, Terms
from deepbroad.persist.error import ModelFileError
from deepbroad.persist.tensors import COUNTS, Tensors

MAX_DEPTH = 62  # of columns with two values or more, no tuple can be deeper
# Bytes that predictions may need however small the file: planners trade memory for speed.
SPARE_BYTES = 1 << 30


def pack_plan(plan: Plan) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return plain data and arrays from which `unpack_plan` makes an equal plan."""
    terms = plan.terms
    shared = [group for group in plan.groups if not group.compact]
    own = plan.compact_groups
    keyed = [*(group for group in shared if len(group.columns) > 1), *own.values()]
    data = {
        "depth": int(terms.orders.max()),
        "groups": [group.columns.tolist() for group in shared],
        "sizes": [len(group.keys) for group in keyed],
    }
    tensors = {}
    if keyed:
        steps = np.concatenate([np.diff(group.keys, prepend=0) for group in keyed])
        tensors["keys"] = steps.astype(np.min_scalar_type(steps.max(initial=0)))
    if own:
        tensors["compact"] = np.array(list(own)).astype(np.min_scalar_type(len(terms)))
    if plan.items is not None:
        common = plan.items.common
        tensors["common"] = common.astype(np.min_scalar_type(common.max(initial=0)))
    last = np.iinfo(np.int64).max
    # In ascending order: the order of axes follows from the groups.
    members = np.sort(np.where(terms.members == NONE, last, terms.members), axis=1)
    # Pickled models of earlier versions may have room for orders of which no term was left.
    members = members[:, : data["depth"]]
    if not _is_everything(members, len(terms.cardinalities)):
        stored = np.where(members == last, len(terms.cardinalities), members)
        tensors["terms"] = stored.astype(np.min_scalar_type(len(terms.cardinalities)))
    return data, tensors


def unpack_plan(
    data: Any, tensors: Tensors, cardinalities: np.ndarray, allowed_cells: float
) -> Plan:
    """Return the plan of a file, of at most so many cells; ModelFileError if it is none."""
    match data:
        case {"depth": int(depth), "groups": list(columns), "sizes": list(sizes)} if len(data) == 3:
            pass
        case _:
            raise ModelFileError("its groups are damaged")
    if not 1 <= depth <= min(len(cardinalities), MAX_DEPTH):
        raise ModelFileError(f"it joins {depth} columns of {len(cardinalities)}")
    if "terms" in tensors:
        stored = tensors.take("terms", COUNTS, (None, None))
        terms = _chosen_terms(_trim_terms(stored, depth, len(cardinalities)), cardinalities)
    else:
        # Before any list of tuples is made.
        _refuse_list(comb(len(cardinalities), depth), depth, allowed_cells)
        terms = Terms.of_order(depth, cardinalities)
    is_compact = _read_compact(tensors, len(terms))
    n_own = int(is_compact.sum())
    if not all(type(size) is int and size >= 0 for size in sizes) or len(sizes) < n_own:
        raise ModelFileError("its groups are damaged")
    # In Python's unbounded integers: dense terms have all their joint values.
    dense = sum(prod(shape) for shape in terms.shapes[~is_compact].tolist())
    n_cells = dense + sum(sizes[len(sizes) - n_own :]) + n_own
    if n_cells > allowed_cells:
        raise ModelFileError("its arrays are smaller than its terms need")
    _refuse_list(len(terms), depth, allowed_cells)
    common = _read_common(tensors, cardinalities, is_compact)
    members = terms.members[~is_compact]
    used = np.unique(members[members != NONE]) if common is None else np.empty(0, np.int64)
    compact = [terms.tuple(int(term)) for term in np.flatnonzero(is_compact)]
    groups, own = _read_groups(columns, compact, sizes, tensors, cardinalities, used)
    # Plans look at the subsets of a term's groups; a model that was fitted has more cells.
    if len(terms) * 2.0 ** min(depth, len(groups)) > max(2.0**20, 64.0 * n_cells):
        raise ModelFileError("its terms join more columns than a fitted model's can")
    by_term = dict(zip(np.flatnonzero(is_compact).tolist(), own, strict=True))
    return Plan.of(terms, groups, by_term, common)


def _read_common(
    tensors: Tensors, cardinalities: np.ndarray, is_compact: np.ndarray
) -> np.ndarray | None:
    """Return the common code of each column, if the plan has items."""
    if "common" not in tensors:
        return None
    common = tensors.take("common", COUNTS, (len(cardinalities),))
    if is_compact.all() or (common >= cardinalities).any():
        raise ModelFileError("its common values are damaged")
    return common.astype(np.int64)


def _read_compact(tensors: Tensors, n_terms: int) -> np.ndarray:
    """Return which terms have compact tables."""
    is_compact = np.zeros(n_terms, bool)
    if "compact" in tensors:
        chosen = tensors.take("compact", COUNTS, (None,)).astype(np.int64)
        if len(chosen) == 0 or chosen[-1] >= n_terms or (np.diff(chosen) <= 0).any():
            raise ModelFileError("its compact tables are damaged")
        is_compact[chosen] = True
    return is_compact


def prediction_bytes(plan: Plan, entry_bytes: int) -> float:
    """Return what predictions will allocate: fused tables, unseen values, keys."""
    group_sizes = np.append([float(group.size) for group in plan.groups], 1.0)
    fused = group_sizes[plan.supports].prod(axis=1).sum()
    if plan.items is not None and plan.items.is_complete:
        # In double precision, and once more with the never-seen values.
        fused += 2.0 * (plan.items.n_entries + plan.items.with_unseen().n_entries)
    shapes = np.where(plan.terms.members == NONE, 1.0, plan.terms.shapes + 1.0)
    unseen = np.where(plan.terms.is_compact, plan.terms.sizes + 1.0, shapes.prod(axis=1)).sum()
    if fused > MAX_ENTRIES or unseen > MAX_ENTRIES:
        raise ModelFileError("its tables have more than 2**31 entries")
    possible = [prod(group.radices.tolist()) for group in plan.groups]
    direct = sum(4 * keys for keys in possible if keys <= DIRECT_KEYS)
    return float((fused + unseen) * entry_bytes + direct)


def _is_everything(members: np.ndarray, n_columns: int) -> bool:
    """Tell whether terms are all tuples of their depth, in the order in which those are listed."""
    depth = members.shape[1]
    if len(members) != comb(n_columns, depth):  # first, since there may be billions
        return False
    return np.array_equal(members, Terms.of_order(depth, np.ones(n_columns)).members)


def _trim_terms(stored: np.ndarray, depth: int, n_columns: int) -> np.ndarray:
    """Return the list of terms at the width of the deepest.

    Earlier versions wrote a wider one, filled up, where no term of the highest orders was left.
    """
    if stored.shape[1] < depth or (stored[:, depth:] != n_columns).any():
        raise ModelFileError(f"its array 'terms' cannot be of shape {stored.shape}")
    return stored[:, :depth]


def _chosen_terms(stored: np.ndarray, cardinalities: np.ndarray) -> Terms:
    """Return the terms that a file lists."""
    n_columns, depth = len(cardinalities), stored.shape[1]
    if len(stored) == 0 or int(stored.max()) > n_columns:
        raise ModelFileError("its terms name columns that it has not")
    stored = stored.astype(np.int64)  # which has room for NONE
    rows = [[c for c in row if c < n_columns] for row in stored.tolist()]
    distinct = all(len(set(row)) == len(row) > 0 for row in rows)
    if not distinct or max(map(len, rows)) != depth:
        raise ModelFileError("its terms join a column with itself, or none")
    terms = Terms.of(rows, cardinalities)
    if not np.array_equal(terms.members, np.where(stored == n_columns, NONE, stored)):
        raise ModelFileError("its terms are not in order, or one comes twice")
    return terms


def _refuse_list(n_terms: int, depth: int, allowed: float) -> None:
    """Raise ModelFileError if a file is too small for the list of its terms."""
    if n_terms * depth > max(2**20, 8 * allowed):
        raise ModelFileError("its arrays are smaller than its terms need")


def _read_groups(
    columns: list[Any],
    compact: list[tuple[int, ...]],
    sizes: list[int],
    tensors: Tensors,
    cardinalities: np.ndarray,
    used: np.ndarray,
) -> tuple[tuple[Group, ...], list[Group]]:
    """Return the groups of a file, which must share out the columns that dense terms use.

    After them come the groups of the compact terms.
    """
    flat = [column for group in columns if isinstance(group, list) for column in group]
    shared_out = all(type(column) is int for column in flat) and sorted(flat) == used.tolist()
    if not shared_out or not all(columns):
        raise ModelFileError("its groups do not share out its columns")
    joined = sum(len(group) > 1 for group in columns)
    if len(sizes) != joined + len(compact) or not all(sizes[:joined]):
        raise ModelFileError("its groups are damaged")
    keys = tensors.take("keys", COUNTS, (sum(sizes),)) if sizes else np.empty(0, np.uint8)
    parts = iter(np.split(keys, np.cumsum(sizes)[:-1]) if sizes else [])
    shared = tuple(
        _joint_group(np.array(group), cardinalities[group], next(parts))
        if len(group) > 1
        else Group.single(group[0], int(cardinalities[group[0]]))
        for group in columns
    )
    own = [
        _joint_group(np.array(term), cardinalities[list(term)], next(parts), compact=True)
        for term in compact
    ]
    return shared, own


def _joint_group(
    columns: np.ndarray, cardinalities: np.ndarray, steps: np.ndarray, *, compact: bool = False
) -> Group:
    """Return the group whose sorted keys lie `steps` apart."""
    n_keys = prod((cardinalities + 1).tolist())
    # In floats first, since a sum of hostile integers may wrap around.
    if n_keys >= MAX_KEYS or steps.sum(dtype=np.float64) >= MAX_KEYS or (steps[1:] == 0).any():
        raise ModelFileError("its groups have keys out of order or out of range")
    keys = np.cumsum(steps, dtype=np.int64)
    rest, inside = keys, np.ones(len(keys), bool)
    for cardinality in cardinalities[::-1].tolist():
        rest, digit = np.divmod(rest, cardinality + 1)
        inside &= digit < cardinality
    if rest.any() or not inside.all():
        raise ModelFileError("its groups have keys out of order or out of range")
    return Group(columns, cardinalities, keys, compact)
