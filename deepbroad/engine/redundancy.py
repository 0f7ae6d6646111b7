"""Pairs of attributes whose joint values tell no more than each by itself, such as indicators.

Take the values of two attributes as the nodes of a graph, and the joint values that rows have as
its edges. Where it has no circle, any score of joint values is a sum of scores of single values: go
along the edges and give each new node what is missing. Such pairs are indicators of which at most
one is 1 (a category that was one-hot encoded), attributes that are the same under other names, and
one that follows from the other. The same holds for the rows of any third value, so that a tuple
with such a pair tells no more than the tuples without one or the other.
"""

from itertools import chain, combinations, islice, product

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from deepbroad.data.source import ArraySource
from deepbroad.model.resolutions import Resolutions

# Attributes of two values that are looked at, and pairs of others; more would take seconds.
MAX_INDICATORS = 2_000
MAX_PAIRS = 2_000
# Values of an attribute that is looked at: of larger ones, rows show too few joint values to tell.
MAX_VALUES = 256
# Rows from which what none of them has is taken for impossible: in fewer, it may be chance, and all
# tuples are cheap.
CERTAIN_ROWS = 3_000


def find_redundant(source: ArraySource) -> np.ndarray:
    """Tell which pairs of attributes tell no more than their parts.

    Parameters
    ----------
    source : ArraySource
        Rows of code columns. Numbers of several resolutions are redundant with nothing: what is
        rare in fine bins is not in coarse ones.

    Returns
    -------
    ndarray of shape (a, a), bool
        Symmetric.
    """
    resolutions = Resolutions(source.attributes, source.cardinalities)
    firsts = resolutions.firsts
    redundant = np.zeros((resolutions.n_attributes,) * 2, bool)
    values = source.cardinalities[firsts[:-1]]
    single = (np.diff(firsts) == 1) & (values > 1) & (values <= MAX_VALUES)
    binary = np.flatnonzero(single & (values == 2))[:MAX_INDICATORS]
    redundant[np.ix_(binary, binary)] = _find_among_indicators(source.codes[firsts[:-1][binary]])
    others = np.flatnonzero(single & (values > 2)).tolist()
    pairs = chain(combinations(others, 2), product(others, binary.tolist()))
    for a, b in islice(pairs, MAX_PAIRS):
        codes = source.codes[firsts[a]], source.codes[firsts[b]]
        redundant[a, b] = redundant[b, a] = _has_no_circle(*codes, int(values[a]), int(values[b]))
    return redundant


def _find_among_indicators(codes: np.ndarray) -> np.ndarray:
    """Tell which pairs of columns of two values lack one of the four joint values, (k, k)."""
    ones = (codes == 1).astype(np.float32)
    zeros = (codes == 0).astype(np.float32)
    lacking = np.zeros((len(codes),) * 2, bool)
    for first, second in ((ones, ones), (ones, zeros), (zeros, zeros)):
        absent = first @ second.T == 0
        lacking |= absent | absent.T
    np.fill_diagonal(lacking, False)
    return lacking


def _has_no_circle(first: np.ndarray, second: np.ndarray, n_first: int, n_second: int) -> bool:
    """Tell whether the graph of joint values is a forest."""
    known = (first < n_first) & (second < n_second)
    seen = np.zeros(n_first * n_second, bool)
    seen[first[known].astype(np.int64) * n_second + second[known]] = True
    edges = np.flatnonzero(seen)
    if len(edges) >= n_first + n_second:
        return False
    ends = edges // n_second, n_first + edges % n_second
    nodes = n_first + n_second
    graph = coo_matrix((np.ones(len(edges), bool), ends), shape=(nodes, nodes))
    count, _ = connected_components(graph, directed=False)
    return len(edges) == nodes - count


def list_lean(redundant: np.ndarray, order: int) -> np.ndarray:
    """Return the tuples of `order` attributes without a redundant pair, (n, order), ascending."""
    count = len(redundant)
    tuples = np.arange(count, dtype=np.int64)[:, None]
    for _ in range(order - 1):
        fits = ~redundant[tuples].any(axis=1) & (np.arange(count) > tuples[:, -1:])
        which, added = np.nonzero(fits)
        tuples = np.column_stack([tuples[which], added])
    return tuples
