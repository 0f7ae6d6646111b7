"""What a pass costs: look-ups by table size, and the streaming that builds tables.

Nanoseconds on one core, fitted by hand to measurements of `benchmarks/pass_speed.py`; only their
ratios steer the planner.
"""

import numpy as np
from numpy.typing import ArrayLike

# A look-up adds one entry forward and one backward: a fixed part and one per number.
LOOKUP = 1.2
LOOKUP_LANE = 0.2
# How much dearer a look-up is when all tables together, which every tile of rows passes through,
# outgrow a level of the cache: (bytes, factor).
CACHE_LEVELS = ((256 << 10, 1.0), (1 << 20, 1.3), (4 << 20, 1.8), (20 << 20, 4.0))
BEYOND_CACHE = (128 << 20, 6.0)
# Streaming one number into a table and out of it again.
STREAM = 0.35
# Softmax and loss, per row and score.
SOFTMAX_ROW = 10.0
SOFTMAX_SCORE = 2.5


def cache_factor(table_bytes: ArrayLike) -> np.ndarray:
    """Return how many times dearer a look-up is when tables have so many bytes in all.

    Between two levels the logarithm of the size decides, so that the planner sees no cliffs.
    """
    sizes, factors = zip(*CACHE_LEVELS, BEYOND_CACHE, strict=True)
    return np.interp(np.log(np.maximum(table_bytes, 1.0)), np.log(sizes), factors)


def lookup_cost(entries: ArrayLike, width: int) -> np.ndarray:
    """Return the nanoseconds of one look-up, forward and back, in tables of so many entries."""
    factor = cache_factor(np.asarray(entries, float) * width * 4)
    return (LOOKUP + LOOKUP_LANE * width) * factor


def build_cost(items: float, width: int) -> float:
    """Return the nanoseconds to stream so many table items, forward and back."""
    return STREAM * width * items


def softmax_cost(n_scores: int) -> float:
    """Return the nanoseconds of one row's loss and residuals."""
    return SOFTMAX_ROW + SOFTMAX_SCORE * n_scores
