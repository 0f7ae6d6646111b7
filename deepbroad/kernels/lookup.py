"""The two kernels that carry the library: look scores up in fused tables, and scatter them back.

Scoring adds one table entry per table to each row's scores. Scattering is its transpose: it adds
each row's values to one entry per table; one-hot labels give counts, residuals give the gradient.

=========  =====================================================  ==================  ============
symbol     meaning                                                shape               dtype
=========  =====================================================  ==================  ============
codes      joint value of each group of columns, for each row     (groups, rows)      uint8/16/32
members    groups that index each table, 0 where there are fewer  (tables, k)         int64
strides    entries that one step of that group moves, else 0      (tables, k)         int64
offsets    first entry of each table                              (tables,)           int64
entries    all tables, one after the other, classes innermost     (entries * W,)      float32/64
values     scores or residuals of rows                            (rows * W,)         as entries
lanes      its length is the vector width, W or 16 if W > 16      tuple               int
=========  =====================================================  ==================  ============
"""

from typing import NamedTuple

import numpy as np

from deepbroad.kernels.jit import jit
from deepbroad.kernels.vector import add_lanes

# Rows whose values and indices stay in the first-level cache while the tables pass by.
TILE = 512


class TableIndex(NamedTuple):
    """Where a row of group codes finds its entry in each table; shapes are in the module's table."""

    members: np.ndarray
    strides: np.ndarray
    offsets: np.ndarray


@jit
def find_entries(codes, start, stop, index, table, found):
    """Write the entry of `table` that each of the rows start..stop reads into `found`."""
    # 32 bits: twice as many per vector as 64, and multiplication has an instruction.
    offset = np.int32(index.offsets[table])
    for r in range(stop - start):
        found[r] = offset
    for k in range(index.members.shape[1]):
        stride = np.int32(index.strides[table, k])
        if stride != 0:
            column = codes[index.members[table, k]]
            for r in range(stop - start):
                found[r] += np.int32(column[start + r]) * stride


@jit
def score_rows(codes, start, stop, index, base, entries, values, lanes):
    """Set the `values` of rows start..stop to `base` plus each table's entry; row 0 is `start`."""
    width = base.shape[0]
    found = np.empty(TILE, np.int32)
    for low in range(start, stop, TILE):
        high = min(low + TILE, stop)
        for r in range(low - start, high - start):
            for lane in range(width):
                values[r * width + lane] = base[lane]
        for table in range(index.offsets.shape[0]):
            find_entries(codes, low, high, index, table, found)
            for r in range(high - low):
                row = np.int64(low - start + r) * width
                entry = np.int64(found[r]) * width
                for lane in range(0, width, len(lanes)):
                    add_lanes(values, row + lane, entries, entry + lane, lanes)


@jit
def scatter_rows(codes, start, stop, first, last, index, values, entries, lanes, width):
    """Add the `values` of rows start..stop to their entries in the tables first..last."""
    found = np.empty(TILE, np.int32)
    for low in range(start, stop, TILE):
        high = min(low + TILE, stop)
        for table in range(first, last):
            find_entries(codes, low, high, index, table, found)
            for r in range(high - low):
                row = np.int64(low - start + r) * width
                entry = np.int64(found[r]) * width
                for lane in range(0, width, len(lanes)):
                    add_lanes(entries, entry + lane, values, row + lane, lanes)
