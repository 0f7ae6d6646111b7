"""Nested cuts of a numeric column: halves, quarters, eighths, ... of its rows.

Level l has up to 2^l bins of about equal weight, and each of its bins is the union of bins of the
next level. Coarse bins tell well what few rows can tell, fine ones keep what many rows can; a model
that has both, each with its own weights, needs no choice between them. Coarse levels come shifted
as well, cut in the middle and in the quarters of their bins: a sum of them is nearly as smooth at
one place as at another, and a threshold is nowhere far from a cut. No label is looked at, so that
an attribute which matters only together with others keeps its bins.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from deepbroad.data.cuts import midpoints

# Shifted bins have their cuts among those of this level. What finer bins add is little, and where
# their cuts lie matters less.
SHIFTED_LEVELS = 6
# Of the weight of a bin, by which two ways to halve it differ that are as good.
TIE = 1e-9


class Place(NamedTuple):
    """Which bins a code column has: those of a level, shifted by so many quarters of a bin."""

    level: int
    quarters: int

    @property
    def cut_level(self) -> int:
        """The level that has all cuts of these bins."""
        return self.level + (0, 2, 1, 2)[self.quarters]


@cache
def list_places(levels: int) -> tuple[Place, ...]:
    """Return what the code columns of a number of so many levels are, in order.

    The cuts of all columns before the unshifted one of a level are among the cuts of that one.

    Examples
    --------
    >>> [tuple(place) for place in list_places(3)]
    [(1, 0), (1, 2), (2, 0), (1, 1), (1, 3), (2, 2), (3, 0)]
    """
    found: list[Place] = []
    for level in range(1, levels + 1):
        if 2 < level <= SHIFTED_LEVELS:
            found += [Place(level - 2, 1), Place(level - 2, 3)]
        if 1 < level <= SHIFTED_LEVELS:
            found.append(Place(level - 1, 2))
        found.append(Place(level, 0))
    return tuple(found)


def count_levels(columns: int) -> int:
    """Return how many levels a number of so many code columns has."""
    levels = 1
    while len(list_places(levels)) < columns:
        levels += 1
    if len(list_places(levels)) > columns:
        raise ValueError(f"no number has {columns} code columns")
    return levels


def nested_cuts(
    values: np.ndarray, weights: np.ndarray | None = None, *, levels: int
) -> list[np.ndarray]:
    """Return the cut points of each code column, as `list_places` has them.

    Each bin is cut where its weight is halved most nearly; one of a single value is left whole.
    Levels end where no bin can be cut any more. All cuts of a level are in the next; those of its
    bins shifted by a half are where the next level cuts them, and those of bins shifted by one or
    three quarters where the level after it cuts the lower or upper halves. Where no bin can be cut
    so, the bins are not shifted.

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
    [[4.5], [2.5, 6.5], [2.5, 4.5, 6.5]]
    """
    return nest_cuts(*_gather(values, weights), levels=levels)


def nest_cuts(distinct: np.ndarray, mass: np.ndarray, *, levels: int) -> list[np.ndarray]:
    """Return what `nested_cuts` does, of distinct values, ascending, and the weight of each."""
    before = np.concatenate([[0.0], np.cumsum(mass)])
    bounds = [np.array([0, len(distinct)])]
    while len(bounds) <= levels and len(halves := _halve(bounds[-1], before)):
        bounds.append(np.union1d(bounds[-1], halves))
    if len(bounds) == 1:
        return [np.empty(0)]
    inner = [_shift(bounds, place) for place in list_places(len(bounds) - 1)]
    return [midpoints(distinct[cuts - 1], distinct[cuts]) for cuts in inner]


def _shift(bounds: list[np.ndarray], place: Place) -> np.ndarray:
    """Return where the bins of a code column are cut, given the bounds of each level from 0."""
    level, quarters = place
    if quarters == 0:
        return bounds[level][1:-1]
    half = quarters == 2
    finer = bounds[level + 1] if half else bounds[level + 2]
    cuts = np.setdiff1d(finer, bounds[level] if half else bounds[level + 1])
    if not half:
        # Of the halves of a bin, the upper one begins at a bound that its level does not have.
        starts = bounds[level + 1][np.searchsorted(bounds[level + 1], cuts) - 1]
        cuts = cuts[np.isin(starts, bounds[level]) == (quarters == 1)]
    return cuts if len(cuts) else bounds[level][1:-1]


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
    # Two that are as near are so in any unit of the weights, whatever their sums are rounded to.
    slack = TIE * (before[high] - before[low])
    nearer = middle - before[below] <= before[above] - middle + slack
    return np.where(nearer, below, above)
