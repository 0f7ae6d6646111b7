"""What a pass costs: look-ups by table size, and the streaming that builds tables.

Nanoseconds on one core, fitted by hand to measurements of `benchmarks/pass_speed.py`; only their
ratios steer the planner.
"""

import numpy as np

# A look-up adds one entry forward and one backward: a fixed part and one per number.
LOOKUP = 2.0
LOOKUP_LANE = 0.25
# How much dearer a look-up is when its table outgrows a level of the cache: (bytes, factor).
CACHE_LEVELS = ((32 << 10, 1.0), (512 << 10, 1.3), (4 << 20, 2.0), (32 << 20, 4.0))
BEYOND_CACHE = 8.0
# Streaming one number into a table and out of it again.
STREAM = 0.35
# Softmax and loss, per row and score.
SOFTMAX_ROW = 8.0
SOFTMAX_SCORE = 3.0


def cache_factor(table_bytes: np.ndarray) -> np.ndarray:
    """Return how many times dearer a look-up is in a table of so many bytes."""
    factor = np.full(np.shape(table_bytes), BEYOND_CACHE)
    for size, level in reversed(CACHE_LEVELS):
        factor = np.where(table_bytes <= size, level, factor)
    return factor


def lookup_cost(table_entries: np.ndarray, width: int) -> np.ndarray:
    """Return the nanoseconds of one row's look-ups, forward and back, in tables of these sizes."""
    factor = cache_factor(np.asarray(table_entries, float) * width * 4)
    return (LOOKUP + LOOKUP_LANE * width) * factor


def build_cost(items: float, width: int) -> float:
    """Return the nanoseconds to stream so many table items, forward and back."""
    return STREAM * width * items


def softmax_cost(n_scores: int) -> float:
    """Return the nanoseconds of one row's loss and residuals."""
    return SOFTMAX_ROW + SOFTMAX_SCORE * n_scores
