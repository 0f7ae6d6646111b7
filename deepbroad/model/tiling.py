"""Tilings: bins of the numbers in a tuple, each shifted by itself, several times over.

One grid of coarse bins tells little of where a row lies in its cell. Several grids that overlap, a
part of a bin apart in each direction, tell nearly as much as one of fine bins, while their cells
still have rows enough: what few rows say of one place is shared by its neighbours (tile coding;
Albus 1975).
"""

from math import floor, log2

import numpy as np

# Grids of each tuple.
COPIES = 8
# Bins of a number at most, and rows of a cell if they were spread evenly, as powers of two.
MAX_LEVEL = 4
CELL_BITS = 2.0


def list_shifts(order: int) -> np.ndarray:
    """Return by how many quarters of a bin each member is shifted in each grid, (COPIES, order).

    The points of a lattice: any two members are shifted by different quarters in different grids,
    and each of them by each quarter equally often.

    Examples
    --------
    >>> list_shifts(3)[:4].tolist()
    [[0, 0, 0], [0, 1, 2], [1, 3, 1], [1, 0, 3]]
    """
    eighths = np.outer(np.arange(COPIES), 2 * np.arange(order) + 1) % 8
    return eighths // 2


def tiling_level(n_rows: float, order: int) -> int:
    """Return the level of the bins that so many rows bear."""
    return max(1, min(MAX_LEVEL, floor((log2(max(n_rows, 2.0)) - CELL_BITS) / order)))
