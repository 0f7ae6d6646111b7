"""Average dependence estimators over parent sets: sums of table look-ups, then a log-sum-exp.

A sub-model's score is a sum over its children, so it is looked up as the additive models' scores
are; but the sub-models' probabilities are added, not their logarithms. The sum is kept as the
largest score so far and the total of exponentials relative to it, number by number.
"""

from typing import NamedTuple

import numpy as np

from deepbroad.kernels.exponential import exponentials
from deepbroad.kernels.jit import inlined, jit
from deepbroad.kernels.lookup import TableIndex, find_entries
from deepbroad.kernels.vector import add_lanes

# Rows at a time: enough that a table is read often while it is in the cache. Measured on covertype
# with n = 2, 10,000 rows take 3.6 s by 128, 2.1 s by 512 and 1.6 s by 2048.
ROWS = 2048
# The largest score of a row that no sub-model served yet, and the score of one that may not. Far
# below any logarithm of a probability, and far from one another.
NOTHING = -1e30
LEFT_OUT = -2e30


class Lookups(NamedTuple):
    """Codes of rows and the tables that they index, as `deepbroad.kernels.lookup` lists them."""

    codes: np.ndarray
    places: TableIndex
    entries: np.ndarray


class Joints(NamedTuple):
    """What the children's tables need beside: which they are, and their unseen joint values.

    Attributes
    ----------
    children : ndarray of shape (n_parent_sets, n_children)
        The table of each child with its parents.
    shared : ndarray of shape (n_tables,)
        The entry that a compact table's unseen joint values share, -1 for dense tables.
    members : ndarray of shape (n_tables, n + 1)
        Columns that a table joins.
    """

    children: np.ndarray
    shared: np.ndarray
    members: np.ndarray


@jit
def average_rows(start, stop, parents, enough, joints, tables, singles, known, values, lanes):
    """Write the log of the sum of the sub-models' ratios to naive Bayes into `values`.

    `parents` and `tables` hold lifts (`deepbroad.model.lifts`) of parent sets and of these with
    a child; `enough` (entries of parents,) tells which parent values were seen often enough;
    `singles` the columns' log θ; `known` (rows,) how many children of a row have known values.
    Row 0 of `values` is `start`. A row that no parent set serves gets `NOTHING`.
    """
    vector = len(lanes)
    width = values.shape[0] // (stop - start)
    found = np.empty(ROWS, np.int32)
    scores, totals = np.empty(ROWS * width, values.dtype), np.empty(ROWS * width, values.dtype)
    ahead, powers = np.empty(ROWS * width, np.bool_), np.empty(ROWS * width, np.int32)
    for low in range(start, stop, ROWS):
        high = min(low + ROWS, stop)
        rows = high - low
        largest = values[(low - start) * width : (high - start) * width]
        for j in range(rows * width):
            largest[j], totals[j] = NOTHING, 0.0
        for p in range(joints.children.shape[0]):
            find_entries(parents.codes, low, high, parents.places, p, found)
            begin_scores(found, rows, parents.entries, enough, known[low:high], scores, width)
            for c in range(joints.children.shape[1]):
                table = joints.children[p, c]
                find_entries(tables.codes, low, high, tables.places, table, found)
                if width == vector:
                    for r in range(rows):
                        entry = np.int64(found[r]) * vector
                        add_lanes(scores, r * vector, tables.entries, entry, lanes)
                else:
                    for r in range(rows):
                        for lane in range(0, width, vector):
                            entry = np.int64(found[r]) * width + lane
                            add_lanes(scores, r * width + lane, tables.entries, entry, lanes)
                if joints.shared[table] >= 0:
                    subtract_singles(found, low, rows, table, joints, singles, scores, width)
            merge_scores(scores, rows * width, largest, totals, ahead, powers)
        for j in range(rows * width):
            if largest[j] > NOTHING:
                largest[j] += np.log(totals[j])


@inlined
def begin_scores(found, rows, entries, enough, known, scores, width):
    """Write (1 - children) · the lift of the parents: each child is conditional on them."""
    for r in range(rows):
        weight = scores.dtype.type(1 - known[r])
        if enough[found[r]]:
            for lane in range(width):
                scores[r * width + lane] = weight * entries[np.int64(found[r]) * width + lane]
        else:
            for lane in range(width):
                scores[r * width + lane] = LEFT_OUT


@inlined
def subtract_singles(found, low, rows, table, joints, singles, scores, width):
    """Turn the log θ of the unseen joint values of a compact table into lifts."""
    for r in range(rows):
        if found[r] == joints.shared[table]:
            for k in range(joints.members.shape[1]):
                column = joints.members[table, k]
                code = singles.codes[singles.places.members[column, 0], low + r]
                entry = singles.places.offsets[column] + np.int64(code)
                for lane in range(width):
                    scores[r * width + lane] -= singles.entries[entry * width + lane]


@inlined
def merge_scores(scores, count, largest, totals, ahead, powers):
    """Add exp(score) to each sum exp(largest) · total; scores become scratch.

    One exponential of the distance serves both ways: it shrinks the old total where the new score
    is the larger, else the new term.
    """
    for j in range(count):
        distance = scores[j] - largest[j]
        ahead[j] = distance > 0
        largest[j] = scores[j] if distance > 0 else largest[j]
        scores[j] = -abs(distance)
    exponentials(scores, count, powers)
    for j in range(count):
        old, new = totals[j], scores[j]
        totals[j] = old * new + 1 if ahead[j] else old + new


@jit
def lift_cells(members, sizes, bounds, first, single, cells):
    """Subtract the log θ of its single values from each cell (n_cells, C) of dense terms.

    `single` (values, C) has the values of all columns, those of column c from first[c] on;
    `sizes` (n_terms, n) are the axes of the terms, `bounds` (n_terms, 2) their cells.
    """
    for t in range(members.shape[0]):
        stride = 1
        for axis in range(members.shape[1] - 1, -1, -1):
            size, base = sizes[t, axis], first[members[t, axis]]
            for cell in range(bounds[t, 0], bounds[t, 1]):
                value = base + (cell - bounds[t, 0]) // stride % size
                for c in range(cells.shape[1]):
                    cells[cell, c] -= single[value, c]
            stride *= size
