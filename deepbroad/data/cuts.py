"""Where to cut a numeric column into bins: minimum description length, Fayyad and Irani (1993)."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from deepbroad.kernels.cuts import merge_rows, split_blocks

# By the name of a number, the cut points of each of its resolutions.
Edges: TypeAlias = Mapping[str, Sequence[Sequence[float]]]


def cuts_of_edges(resolutions: Sequence[Sequence[float] | np.ndarray]) -> list[np.ndarray]:
    """Return the cuts of each code column of a number whose resolutions are given.

    One column more, with all cuts, comes last unless the last resolution has them all. A number of
    no resolution has one column without cuts.

    Examples
    --------
    >>> [cuts.tolist() for cuts in cuts_of_edges([[2.0], [1.0, 3.0]])]
    [[2.0], [1.0, 3.0], [1.0, 2.0, 3.0]]
    """
    found = [np.asarray(cuts, np.float64) for cuts in resolutions]
    union = np.unique(np.concatenate([*found, np.empty(0)]))
    return found if found and len(found[-1]) == len(union) else [*found, union]


def mdl_cuts(
    values: np.ndarray, labels: np.ndarray, n_classes: int, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return the cut points that tell most about the class for their length.

    The rows S are split where the class entropy Ent falls most, and the split is kept if

        gain > [ log2(N − 1) + log2(3^k − 2) − k Ent(S) + k1 Ent(S1) + k2 Ent(S2) ] / N,

    N being the weight of S, and k, k1, k2 the number of classes in S and in its two parts; then
    each part is split in turn. A repeated row counts as a weight of two.

    Parameters
    ----------
    values : float64 array of shape (n,)
        NaN is left out; infinities are ordinary extreme values.
    labels : integer array of shape (n,)
        Class codes in [0, n_classes).
    n_classes : int
    weights : float64 array of shape (n,), optional
        Rows of weight 0 are as if absent.

    Returns
    -------
    float64 array
        Cut points, ascending. The bin of x is the number of cuts <= x.

    Examples
    --------
    >>> mdl_cuts(np.array([1.0, 2, 3, 4, 5, 6, 7, 8]), np.array([0, 0, 0, 0, 1, 1, 1, 1]), 2)
    array([4.5])
    """
    return cuts_and_distinct(values, labels, n_classes, weights)[0]


def cuts_and_distinct(
    values: np.ndarray,
    labels: np.ndarray,
    n_classes: int,
    weights: np.ndarray | None,
    *,
    keeps_two: bool = False,
) -> tuple[np.ndarray, int]:
    """Return what `mdl_cuts` does, and how many distinct values there are: one sort for both.

    With `keeps_two`, two values are cut apart whatever minimum description length says.
    """
    values, labels, weights = counted_rows(values, labels, weights)
    return cut_sorted(*sort_rows(values, labels, n_classes, weights), n_classes, keeps_two)


def counted_rows(
    values: np.ndarray, labels: np.ndarray, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return the rows that have a number and a weight."""
    keep = ~np.isnan(values)
    if weights is not None:
        keep &= weights > 0
    if keep.all():
        return values, labels, weights
    return values[keep], labels[keep], None if weights is None else weights[keep]


def cut_sorted(
    values: np.ndarray,
    labels: np.ndarray,
    weights: np.ndarray | None,
    n_classes: int,
    keeps_two: bool,
) -> tuple[np.ndarray, int]:
    """Return what `cuts_and_distinct` does, of rows of weight in the order of their values."""
    low, high, first, kind, weight, distinct = merge_rows(
        values,
        labels.astype(np.int32, copy=False),
        np.empty(0) if weights is None else weights.astype(np.float64, copy=False),
        n_classes,
    )
    if keeps_two and distinct == 2:
        return midpoints(values[:1], values[-1:]), distinct
    before = np.flatnonzero(split_blocks(first, kind, weight, n_classes))
    return midpoints(high[before - 1], low[before]), distinct


def sort_rows(
    values: np.ndarray, labels: np.ndarray, n_classes: int, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return the rows in the order of their values.

    Whole numbers of a small range are counted by value and class instead: one row of the summed
    weight stands for all that agree, in a fifth of the time of a sort.
    """
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, np.inf)
    cells = (high - low + 1) * n_classes
    few = cells <= 4 * len(values) and max(-low, high) < 2**53
    if not few or (values != np.floor(values)).any():
        order = np.argsort(values)
        return values[order], labels[order], None if weights is None else weights[order]
    cell = (values - low).astype(np.int64)
    cell *= n_classes
    cell += labels
    sums = np.bincount(cell, weights)
    occupied = np.flatnonzero(sums)
    return low + occupied // n_classes, occupied % n_classes, sums[occupied]


def midpoints(below: np.ndarray, above: np.ndarray) -> np.ndarray:
    """Return a cut between each pair of values: their middle if it separates them, else `above`.

    The middle fails between neighbouring floats (it rounds to one of them) and beside an infinity;
    `above` always separates, since a bin counts the cuts <= x.
    """
    with np.errstate(invalid="ignore"):
        # Halved first, because the sum of two large values overflows; what that loses on
        # subnormal numbers, the test below catches.
        middle = below / 2 + above / 2
    return np.where((below < middle) & (middle <= above), middle, above)
