"""Terms and groups of a model as a few small numbers, from which its plan follows."""

from collections.abc import Sequence
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
    joined = [group for group in plan.groups if len(group.columns) > 1]
    data = {
        "depth": int(terms.orders.max()),
        "groups": [group.columns.tolist() for group in plan.groups],
        "sizes": [group.size for group in joined],
    }
    tensors = {}
    if joined:
        steps = np.concatenate([np.diff(group.keys, prepend=0) for group in joined])
        tensors["keys"] = steps.astype(np.min_scalar_type(steps.max()))
    last = np.iinfo(np.int64).max
    # In ascending order: the order of axes follows from the groups.
    members = np.sort(np.where(terms.members == NONE, last, terms.members), axis=1)
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
        stored = tensors.take("terms", COUNTS, (None, depth))
        terms = _chosen_terms(stored, cardinalities, allowed_cells)
    else:
        # Sums of products, in Python's unbounded integers, before any list of tuples is made.
        n_cells = _symmetric_sum(cardinalities.tolist(), depth)
        _refuse_cells(n_cells, comb(len(cardinalities), depth), depth, allowed_cells)
        terms = Terms.of_order(depth, cardinalities)
    used = np.unique(terms.members[terms.members != NONE])
    groups = _read_groups(columns, sizes, tensors, cardinalities, used)
    # Plans look at the subsets of a term's groups; a model that was fitted has more cells.
    if len(terms) * 2.0 ** min(depth, len(groups)) > max(2.0**20, 64.0 * terms.n_cells):
        raise ModelFileError("its terms join more columns than a fitted model's can")
    return Plan.of(terms, groups)


def prediction_bytes(plan: Plan, entry_bytes: int) -> float:
    """Return what predictions will allocate: fused tables, unseen values, keys."""
    group_sizes = np.append([float(group.size) for group in plan.groups], 1.0)
    fused = group_sizes[plan.supports].prod(axis=1).sum()
    unseen = np.where(plan.terms.members == NONE, 1.0, plan.terms.shapes + 1.0).prod(axis=1).sum()
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


def _chosen_terms(stored: np.ndarray, cardinalities: np.ndarray, allowed_cells: float) -> Terms:
    """Return the terms that a file lists."""
    n_columns, depth = len(cardinalities), stored.shape[1]
    if len(stored) == 0 or int(stored.max()) > n_columns:
        raise ModelFileError("its terms name columns that it has not")
    rows = [[c for c in row if c < n_columns] for row in stored.tolist()]
    distinct = all(len(set(row)) == len(row) > 0 for row in rows)
    if not distinct or max(map(len, rows)) != depth:
        raise ModelFileError("its terms join a column with itself, or none")
    terms = Terms.of(rows, cardinalities)
    if not np.array_equal(terms.members, np.where(stored == n_columns, NONE, stored)):
        raise ModelFileError("its terms are not in order, or one comes twice")
    cells = sum(prod(shape) for shape in terms.shapes.tolist())
    _refuse_cells(cells, len(terms), depth, allowed_cells)
    return terms


def _symmetric_sum(values: Sequence[int], order: int) -> int:
    """Return the sum over all sets of `order` values of their products."""
    sums = [1] + [0] * order
    for value in values:
        for k in range(order, 0, -1):
            sums[k] += value * sums[k - 1]
    return sums[order]


def _refuse_cells(n_cells: int, n_terms: int, depth: int, allowed: float) -> None:
    """Raise ModelFileError if a file is too small for its cells, or for the list of its terms."""
    if n_cells > allowed or n_terms * depth > max(2**20, 8 * allowed):
        raise ModelFileError("its arrays are smaller than its terms need")


def _read_groups(
    columns: list[Any],
    sizes: list[Any],
    tensors: Tensors,
    cardinalities: np.ndarray,
    used: np.ndarray,
) -> tuple[Group, ...]:
    """Return the groups of a file, which must share out the columns that terms use."""
    flat = [column for group in columns if isinstance(group, list) for column in group]
    shared_out = all(type(column) is int for column in flat) and sorted(flat) == used.tolist()
    if not shared_out or not all(columns):
        raise ModelFileError("its groups do not share out its columns")
    joined = sum(len(group) > 1 for group in columns)
    if len(sizes) != joined or not all(type(size) is int and size > 0 for size in sizes):
        raise ModelFileError("its groups are damaged")
    keys = tensors.take("keys", COUNTS, (sum(sizes),)) if joined else np.empty(0, np.uint8)
    parts = iter(np.split(keys, np.cumsum(sizes)[:-1]) if joined else [])
    return tuple(
        _joint_group(np.array(group), cardinalities[group], next(parts))
        if len(group) > 1
        else Group.single(group[0], int(cardinalities[group[0]]))
        for group in columns
    )


def _joint_group(columns: np.ndarray, cardinalities: np.ndarray, steps: np.ndarray) -> Group:
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
    return Group(columns, cardinalities, keys)
