"""What tuples of code columns tell about the class: sums over their contingency tables.

A tuple's table (joint values × classes) is a small buffer that one loop over the rows fills and
one loop over the cells reads and clears. Where the joint values are many more than the rows, those
that rows show are numbered through a hash instead; the sums are the same.
"""

from math import log
from typing import NamedTuple

import numpy as np

from deepbroad.kernels.hashing import EMPTY, first_slot
from deepbroad.kernels.jit import inlined, jit

# A sweep over a cell costs about a twentieth of hashing a row, and a table should stay in cache.
CELLS_PER_ROW = 16
MAX_CELLS = 1 << 20


class Observations(NamedTuple):
    """Rows to count: every code and every label occurs in them.

    Parameters
    ----------
    codes : array of shape (n_columns, rows), unsigned
    labels : array of shape (rows,), int32
    weights : array of shape (rows,), float64, or empty for ones
    cardinalities : array of shape (n_columns,), int64
    class_totals : array of shape (n_classes,), float64
    logs : array, float64
        x·log x of the integers up to the total weight, or empty where weights are no integers.
    """

    codes: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    cardinalities: np.ndarray
    class_totals: np.ndarray
    logs: np.ndarray


class Workspace(NamedTuple):
    """Buffers of one thread; `table` is all zero between calls."""

    table: np.ndarray
    prefix: np.ndarray
    labelled: np.ndarray
    keys: np.ndarray
    joint: np.ndarray
    cells: np.ndarray
    slots: np.ndarray
    slot_numbers: np.ndarray


def new_workspace(observations: Observations, n_cells: int | None = None) -> Workspace:
    """Allocate buffers; tuples of more than `n_cells` cells are hashed."""
    rows = len(observations.labels)
    if n_cells is None:
        n_cells = min(CELLS_PER_ROW * rows, MAX_CELLS)
    n_slots = 1 << max(2 * rows - 1, 1).bit_length()
    return Workspace(
        table=np.zeros(n_cells, np.float64 if len(observations.weights) else np.int32),
        prefix=np.empty(rows, np.int64),
        labelled=np.empty(rows, np.int32),
        keys=np.empty(rows, np.int64),
        joint=np.empty(rows, np.int64),
        cells=np.empty(rows, np.int64),
        slots=np.empty(n_slots, np.int64),
        slot_numbers=np.empty(n_slots, np.int32),
    )


@inlined
def x_log_x(x, logs):
    """Return x·log x, from the list of logarithms if there is one."""
    if logs.size > 0:
        return logs[np.int64(x)]
    return x * log(x) if x > 0 else 0.0


@inlined
def number_keys(keys, slots, slot_numbers, numbers):
    """Number the different keys in the order of their first rows; return how many there are."""
    mask = slots.size - 1
    slots[:] = EMPTY
    count = 0
    for r in range(keys.size):
        key = keys[r]
        slot = first_slot(key, slots)
        while slots[slot] != EMPTY and slots[slot] != key:
            slot = (slot + 1) & mask
        if slots[slot] == EMPTY:
            slots[slot] = key
            slot_numbers[slot] = count
            count += 1
        numbers[r] = slot_numbers[slot]
    return count


@inlined
def join_prefix(observations, columns, workspace):
    """Write each row's joint value of `columns` into `prefix`; return how many values it has.

    Values are numbers in mixed radix while these are few, and else those that rows show are
    numbered, so that keys never overflow.
    """
    prefix, table = workspace.prefix, workspace.table
    n_classes = observations.class_totals.size
    prefix[:] = 0
    n_values = 1
    for k in range(columns.size):
        radix = observations.cardinalities[columns[k]]
        column = observations.codes[columns[k]]
        for r in range(prefix.size):
            prefix[r] = prefix[r] * radix + column[r]
        n_values *= radix
        if n_values * n_classes > table.size:
            n_values = number_keys(prefix, workspace.slots, workspace.slot_numbers, prefix)
    if n_values * n_classes <= table.size:
        for r in range(prefix.size):
            workspace.labelled[r] = prefix[r] * n_classes + observations.labels[r]
    return n_values


@inlined
def count_cells(labelled, column, stride, weights, table):
    """Add each row to its cell (code in `column`, joint value of the prefix, label)."""
    if weights.size > 0:
        for r in range(labelled.size):
            table[np.int64(column[r]) * stride + labelled[r]] += weights[r]
    else:
        for r in range(labelled.size):
            table[np.int64(column[r]) * stride + labelled[r]] += 1


@inlined
def sweep_cells(table, n_joint, n_classes, logs):
    """Return Σ n_xy·log n_xy − Σ n_x·log n_x and how many joint values x rows show."""
    total = 0.0
    shown = 0
    if n_classes == 2 and logs.size > 0:
        # The common case without branches and inner loops: more than twice as fast.
        for x in range(n_joint):
            first, second = np.int64(table[2 * x]), np.int64(table[2 * x + 1])
            total += logs[first] + logs[second] - logs[first + second]
            shown += 1 if first + second > 0 else 0
        return total, shown
    for x in range(n_joint):
        n_x = table[x * n_classes]
        total += x_log_x(n_x, logs)
        for y in range(1, n_classes):
            n_xy = table[x * n_classes + y]
            n_x += n_xy
            total += x_log_x(n_xy, logs)
        total -= x_log_x(n_x, logs)
        shown += 1 if n_x > 0 else 0
    return total, shown


@inlined
def sweep_squares(table, n_joint, class_totals):
    """Return Σ n_xy² / (n_x·n_y)."""
    n_classes = class_totals.size
    total = 0.0
    for x in range(n_joint):
        n_x = 0.0
        squares = 0.0
        for y in range(n_classes):
            n_xy = table[x * n_classes + y]
            n_x += n_xy
            squares += np.float64(n_xy) * n_xy / class_totals[y]
        if n_x > 0:
            total += squares / n_x
    return total


@inlined
def sum_groups(numbers, n_groups, weights):
    """Return the weight of the rows of each number."""
    totals = np.zeros(n_groups)
    for r in range(numbers.size):
        totals[numbers[r]] += weights[r] if weights.size > 0 else 1.0
    return totals


@inlined
def hash_cells(observations, column, workspace, with_squares):
    """Return what `sweep_cells` and `sweep_squares` do, without a table."""
    labels, weights, logs = observations.labels, observations.weights, observations.logs
    n_classes = observations.class_totals.size
    keys, joint, cells = workspace.keys, workspace.joint, workspace.cells
    radix = observations.cardinalities[column]
    codes = observations.codes[column]
    for r in range(keys.size):
        keys[r] = workspace.prefix[r] * radix + codes[r]
    n_joint = number_keys(keys, workspace.slots, workspace.slot_numbers, joint)
    for r in range(keys.size):
        keys[r] = joint[r] * n_classes + labels[r]
    n_cells = number_keys(keys, workspace.slots, workspace.slot_numbers, cells)
    n_x = sum_groups(joint, n_joint, weights)
    n_xy = sum_groups(cells, n_cells, weights)
    total = 0.0
    for c in range(n_cells):
        total += x_log_x(n_xy[c], logs)
    for x in range(n_joint):
        total -= x_log_x(n_x[x], logs)
    squares = 0.0
    if with_squares:
        # A cell's share n_xy² is spread over its rows as weight · n_xy.
        for r in range(keys.size):
            share = n_xy[cells[r]] / (n_x[joint[r]] * observations.class_totals[labels[r]])
            squares += share * (weights[r] if weights.size > 0 else 1.0)
    return total, n_joint, squares


@jit
def sum_tuples(observations, members, workspace, totals, shown, squares):
    """For each tuple write what `sweep_cells` returns and, unless `squares` is empty, its squares.

    Neighbouring tuples that differ in their last column alone share the work on the others.
    """
    table = workspace.table
    n_classes = observations.class_totals.size
    depth = members.shape[1]
    n_values = 1
    for t in range(members.shape[0]):
        is_new = t == 0
        for k in range(depth - 1):
            is_new |= members[t, k] != members[t - 1, k]
        if is_new:
            n_values = join_prefix(observations, members[t, : depth - 1], workspace)
        last = members[t, depth - 1]
        n_joint = n_values * observations.cardinalities[last]
        if n_joint * n_classes > table.size:
            totals[t], shown[t], squared = hash_cells(
                observations, last, workspace, squares.size > 0
            )
            if squares.size > 0:
                squares[t] = squared
            continue
        stride = n_values * n_classes
        column = observations.codes[last]
        count_cells(workspace.labelled, column, stride, observations.weights, table)
        if squares.size > 0:
            squares[t] = sweep_squares(table, n_joint, observations.class_totals)
        totals[t], shown[t] = sweep_cells(table, n_joint, n_classes, observations.logs)
        table[: n_joint * n_classes] = 0
