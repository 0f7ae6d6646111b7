"""Nested cuts of a numeric column: halves, quarters, eighths, ... of its rows.

Level l has up to 2^l bins of about equal weight, and each of its bins is the union of bins of the
next level. Coarse bins tell well what few rows can tell, fine ones keep what many rows can; a model
that has both, each with its own weights, needs no choice between them. No label is looked at, so
that an attribute which matters only together with others keeps its bins.
"""

import numpy as np

from deepbroad.data.cuts import midpoints


def nested_cuts(
    values: np.ndarray, weights: np.ndarray | None = None, *, levels: int
) -> list[np.ndarray]:
    """Return the cut points of each level, coarsest first; all cuts of one are in the next.

    Each bin is cut where its weight is halved most nearly; one of a single value is left whole.
    Levels end where no bin can be cut any more.

    Parameters
    ----------
    values : float64 array of shape (n,)
        NaN is left out.
    weights : float64 array of shape (n,), optional
        Rows of weight 0 are as if absent.
    levels : int
        Levels at most.

    Returns
    -------
    list of float64 arrays
        At least one, which is empty if the values are all equal. The bin of x is the number of
        cuts <= x.

    Examples
    --------
    >>> [cuts.tolist() for cuts in nested_cuts(np.array([1.0, 2, 3, 4, 5, 6, 7, 8]), levels=2)]
    [[4.5], [2.5, 4.5, 6.5]]
    """
    return nest_cuts(*_gather(values, weights), levels=levels)


def nest_cuts(distinct: np.ndarray, mass: np.ndarray, *, levels: int) -> list[np.ndarray]:
    """Return what `nested_cuts` does, of distinct values, ascending, and the weight of each."""
    before = np.concatenate([[0.0], np.cumsum(mass)])
    bounds = np.array([0, len(distinct)])
    found: list[np.ndarray] = []
    for _ in range(levels):
        halves = _halve(bounds, before)
        if not len(halves):
            break
        bounds = np.union1d(bounds, halves)
        inner = bounds[1:-1]
        found.append(midpoints(distinct[inner - 1], distinct[inner]))
    return found or [np.empty(0)]


def _gather(values: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct values, ascending, and the weight of each."""
    keep = ~np.isnan(values)
    if weights is not None:
        keep &= weights > 0
    distinct, places = np.unique(values[keep], return_inverse=True)
    return distinct, np.bincount(places, None if weights is None else weights[keep], len(distinct))


def _halve(bounds: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Return where to cut each bin of two values or more, as places of distinct values."""
    low, high = bounds[:-1], bounds[1:]
    wide = high - low > 1
    low, high = low[wide], high[wide]
    middle = (before[low] + before[high]) / 2
    above = np.clip(np.searchsorted(before, middle), low + 1, high - 1)
    below = np.maximum(above - 1, low + 1)
    nearer = middle - before[below] <= before[above] - middle
    return np.where(nearer, below, above)
