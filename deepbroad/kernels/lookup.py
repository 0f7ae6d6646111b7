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
values     scores of rows, of the type of entries; or residuals,  (rows * W,)         float32/64
           also single ones where entries are double
lanes      its length is the vector width, W or 16 if W > 16      tuple               int
=========  =====================================================  ==================  ============
"""

from typing import NamedTuple

import numpy as np

from deepbroad.kernels.jit import inlined, jit
from deepbroad.kernels.vector import add_lanes

# Rows whose values and indices stay in the first-level cache while the tables pass by.
TILE = 512
# Rows whose values stay in the second-level cache: a table is written to by more of them before the
# next one takes its place there.
SCATTER_TILE = 16384


class TableIndex(NamedTuple):
    """Where a row of group codes finds its entry in each table; shapes as listed above."""

    members: np.ndarray
    strides: np.ndarray
    offsets: np.ndarray


@inlined
def find_entries(codes, start, stop, index, table, found):
    """Write the entry of `table` that each of the rows start..stop reads into `found`."""
    # 32 bits: twice as many per vector as 64, and multiplication has an instruction.
    offset = np.int32(index.offsets[table])
    stride = np.int32(index.strides[table, 0])
    # A slice, so that the loop's index cannot be negative: else LLVM does not vectorise it.
    column = codes[index.members[table, 0], start:stop]
    for r in range(stop - start):
        found[r] = offset + np.int32(column[r]) * stride
    for k in range(1, index.members.shape[1]):
        stride = np.int32(index.strides[table, k])
        if stride != 0:
            column = codes[index.members[table, k], start:stop]
            for r in range(stop - start):
                found[r] += np.int32(column[r]) * stride


@jit
def score_rows(codes, start, stop, index, base, entries, values, lanes):
    """Set the `values` of rows start..stop to `base` plus each table's entry; row 0 is `start`."""
    width, vector = base.shape[0], len(lanes)
    found = np.empty(TILE, np.int32)
    for low in range(0, stop - start, TILE):
        rows = min(TILE, stop - start - low)
        tile = values[low * width : (low + rows) * width]
        for r in range(rows):
            for lane in range(width):
                tile[r * width + lane] = base[lane]
        for table in range(index.offsets.shape[0]):
            find_entries(codes, start + low, start + low + rows, index, table, found)
            if width == vector:  # a constant here, which spares a multiplication per look-up
                for r in range(rows):
                    add_lanes(tile, r * vector, entries, np.int64(found[r]) * vector, lanes)
            else:
                for r in range(rows):
                    for lane in range(0, width, vector):
                        entry = np.int64(found[r]) * width + lane
                        add_lanes(tile, r * width + lane, entries, entry, lanes)


@jit
def scatter_rows(codes, start, stop, first, last, index, values, entries, lanes, width):
    """Add the `values` of rows start..stop to their entries in the tables first..last."""
    vector = len(lanes)
    found = np.empty(SCATTER_TILE, np.int32)
    for low in range(0, stop - start, SCATTER_TILE):
        rows = min(SCATTER_TILE, stop - start - low)
        tile = values[low * width : (low + rows) * width]
        for table in range(first, last):
            find_entries(codes, start + low, start + low + rows, index, table, found)
            if width == vector:
                for r in range(rows):
                    add_lanes(entries, np.int64(found[r]) * vector, tile, r * vector, lanes)
            else:
                for r in range(rows):
                    for lane in range(0, width, vector):
                        entry = np.int64(found[r]) * width + lane
                        add_lanes(entries, entry, tile, r * width + lane, lanes)
