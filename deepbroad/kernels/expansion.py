"""Carry scores from the cells of terms into fused tables, and gradients back, by broadcasting.

A fused table over groups g1..gk is a sum of terms, each a function of a part of every group. It is
built one group at a time: a step replaces the axis of a part's values by the axis of the group's
joint values. So the cost is that of streaming rows of memory, not of one index per table entry.

A step (one row of `steps`) reads an array (P, V, Q) and adds to an array (P, J, Q), each item W
numbers wide: target[p, j] += source[p, map[j]], where map[j] < 0 contributes nothing.
"""

from typing import NamedTuple

import numpy as np

from deepbroad.kernels.jit import jit
from deepbroad.kernels.vector import add_lanes

# Columns of a step.
FROM_SCRATCH, SOURCE, TO_SCRATCH, TARGET, OUTER, VALUES, JOINT, INNER, MAP, OVERWRITE = range(10)
STEP_WIDTH = 10


class Program(NamedTuple):
    """Steps that expand all tables, and where each table's steps begin.

    `steps` is (n_steps, STEP_WIDTH) int64; positions count items of W numbers. `maps` holds all
    maps one after the other, int32. `scratch` is how many items the deepest table needs beside.
    """

    steps: np.ndarray
    maps: np.ndarray
    table_steps: np.ndarray
    scratch: int


@jit
def expand_steps(steps, maps, cells, entries, scratch, lanes, width):
    """Run steps in order: `cells` are read, `entries` written, both flat with W numbers an item."""
    for s in range(steps.shape[0]):
        source = scratch if steps[s, FROM_SCRATCH] else cells
        target = scratch if steps[s, TO_SCRATCH] else entries
        n_values, n_joint, run = steps[s, VALUES], steps[s, JOINT], steps[s, INNER] * width
        overwrite = steps[s, OVERWRITE] == 1
        for p in range(steps[s, OUTER]):
            for j in range(n_joint):
                value = maps[steps[s, MAP] + j]
                at = steps[s, TARGET] * width + (p * n_joint + j) * run
                begin = steps[s, SOURCE] * width + (p * n_values + value) * run
                if overwrite:
                    into = target[at : at + run]
                    for q in range(run):
                        into[q] = 0
                if value < 0:
                    continue
                if run == len(lanes):  # too short for a loop to vectorise
                    add_lanes(target, at, source, begin, lanes)
                else:
                    into = target[at : at + run]
                    out = source[begin : begin + run]
                    for q in range(run):
                        into[q] += out[q]


@jit
def marginalise_steps(steps, maps, cells, entries, scratch, lanes, width):
    """Run the transposed steps in reverse: `entries` are read, `cells` written."""
    for s in range(steps.shape[0] - 1, -1, -1):
        source = scratch if steps[s, FROM_SCRATCH] else cells
        target = scratch if steps[s, TO_SCRATCH] else entries
        n_values, n_joint, run = steps[s, VALUES], steps[s, JOINT], steps[s, INNER] * width
        first = steps[s, SOURCE] * width
        for q in range(steps[s, OUTER] * n_values * run):
            source[first + q] = 0
        for p in range(steps[s, OUTER]):
            for j in range(n_joint):
                value = maps[steps[s, MAP] + j]
                if value < 0:
                    continue
                at = steps[s, TARGET] * width + (p * n_joint + j) * run
                begin = first + (p * n_values + value) * run
                if run == len(lanes):
                    add_lanes(source, begin, target, at, lanes)
                else:
                    into = source[begin : begin + run]
                    out = target[at : at + run]
                    for q in range(run):
                        into[q] += out[q]
