"""Rows that someone copied, told from rows that happen to be identical.

Rows drawn independently may be the same by chance: those in both parts of a split are what a model
will meet again, and a choice is right to count on them. A table that was read twice, or whose rare
class was drawn again and again to balance it, has copies instead, which would reward a model for
knowing rows by heart. They are one row of their weight together.
"""

import numpy as np

from deepbroad.data.source import ArraySource
from deepbroad.engine.merging import Identical, find_identical, merge_identical

# Share of rows that others repeat, up to which they matter little (segment has 5 % of copies).
FEW = 0.1
# Standard deviations that chance may account for, and what it may where a count is 0.
DOUBT = 3.0
# Of the rows that are repeated, share that have relatives unless they are copies.
RELATED = 0.5
# Of no more different rows than these, the share that come once, unless there are so few that all
# must come again (the indicators of one category).
FEW_ROWS, SINGLE = 200, 0.1
# Repeated rows that are too few to tell, and rows that are too many to look for relatives of.
TOO_FEW, TOO_MANY = 10, 100_000


def merge_copies(source: ArraySource) -> ArraySource:
    """Return the source with identical rows of a class merged if they are copies, or as it is."""
    identical = find_identical(source)
    if identical is None or len(identical.first) > (1.0 - FEW) * source.n_rows:
        return source
    times = np.bincount(identical.numbers)
    if not is_unlikely(times) and not are_strangers(source, identical, times):
        return source
    return merge_identical(source, identical)


def is_unlikely(times: np.ndarray) -> bool:
    """Tell whether no rows drawn independently would come so many times each.

    How many different rows come k times is a mixture of Poisson distributions, with f_k·k! as its
    moments but for a common measure, so that k·f_k² ≤ (k + 1)·f_{k-1}·f_{k+1} whatever the rows are
    drawn from (Cauchy and Schwarz). Rows that all come twice have no f_1 and no f_3.
    """
    counts = np.append(np.bincount(times, minlength=3), 0).astype(np.float64)
    at_least = np.maximum(counts - DOUBT * np.sqrt(counts), 0.0)
    at_most = counts + DOUBT * np.sqrt(counts) + DOUBT
    k = np.arange(2, len(counts) - 1)
    bound = (k + 1) * at_most[k - 1] * at_most[k + 1]
    return bool((k * at_least[k] ** 2 > bound).any())


def are_strangers(source: ArraySource, identical: Identical, times: np.ndarray) -> bool:
    """Tell whether most rows that come several times have no relatives.

    A relative is of the same class and the same in all attributes but one, or the same in all but
    of another class. Where rows are the same by chance, many are nearly the same.
    """
    repeated = times > 1
    if np.count_nonzero(repeated) < TOO_FEW or source.n_rows > TOO_MANY:
        return False
    if len(times) <= FEW_ROWS and 1.0 - repeated.mean() < SINGLE:
        return False
    rows = source.take(identical.first)
    attributes = np.unique(rows.attributes)
    of_class = draw_keys(rows.n_classes, rows.labels, 0)
    keys = of_class + sum(key_attribute(rows, attribute) for attribute in attributes)
    related = is_shared(keys - of_class)
    for attribute in attributes:
        related |= is_shared(keys - key_attribute(rows, attribute))
    return bool(related[repeated].mean() < RELATED)


def is_shared(keys: np.ndarray) -> np.ndarray:
    """Return which rows have the key of another one."""
    _, which, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    return sizes[which] > 1


def key_attribute(rows: ArraySource, attribute: int) -> np.ndarray:
    """Return the keys of an attribute's values, row by row."""
    keys = np.zeros(rows.n_rows, np.uint64)
    for c in np.flatnonzero(rows.attributes == attribute):
        keys += draw_keys(int(rows.cardinalities[c]) + 1, rows.codes[c], int(c) + 1)
    return keys


def draw_keys(count: int, codes: np.ndarray, seed: int) -> np.ndarray:
    """Return random keys of codes: sums of several are next to never the same by chance."""
    return np.random.default_rng(seed).integers(1 << 63, size=count, dtype=np.uint64)[codes]
