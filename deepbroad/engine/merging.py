"""Identical rows as one row of their weight together: the same sums, in less time."""

from typing import NamedTuple

import numpy as np

from deepbroad.data.source import SPAN_ROWS, ArraySource
from deepbroad.kernels.rows import FREE, hash_rows, number_rows, same_rows
from deepbroad.kernels.threads import Threads

# Rows of unequal weights cost a little more each; merging fewer than this share would not pay.
WORTH = 0.25
# Fewer rows take no time anyway: they are merged in any case, and sorted, so that neither their
# order nor their repetition changes a bit of a model.
MIN_ROWS = 8192


def merge_part(part: ArraySource, threads: Threads) -> ArraySource:
    """Return a part with identical rows merged, if that pays."""
    return merge_rows(part)


def merge_rows(source: ArraySource) -> ArraySource:
    """Return the source with identical rows of a class merged, or as it is if they are few.

    Many rows in files stay as they are: finding those that are identical takes memory for each.
    """
    n_rows = source.n_rows
    if n_rows < MIN_ROWS:
        return sort_rows(source) if source.resident else source
    if not (source.resident or n_rows < 2 * SPAN_ROWS):
        return source
    identical = find_identical(source)
    if identical is None or len(identical.first) > (1 - WORTH) * n_rows:
        return source
    return merge_identical(source, identical)


def sort_rows(source: ArraySource) -> ArraySource:
    """Return the distinct rows that have weight, in an order that only their content decides.

    Many rows in files stay as they are.
    """
    if not (source.resident or source.n_rows < 2 * SPAN_ROWS):
        return source
    weighted = source if source.n_weighted == source.n_rows else source.take(source.rows_of_weight)
    identical = find_identical(weighted)
    merged = weighted if identical is None else merge_identical(weighted, identical)
    hashes = np.empty(merged.n_rows, np.uint64)
    hash_rows(merged.codes, merged.labels, hashes)
    order = np.argsort(hashes, kind="stable")
    weights = None if merged.weights is None else merged.weights[order]
    return ArraySource(
        np.take(merged.codes, order, axis=1),
        merged.labels[order],
        n_classes=source.n_classes,
        cardinalities=source.cardinalities,
        weights=None if weights is None or (weights == 1.0).all() else weights,
        n_given=source.n_given,
        attributes=source.attributes,
    )


class Identical(NamedTuple):
    """Which rows are identical in codes and class.

    Attributes
    ----------
    numbers : int32 array of shape (n_rows,)
        Of each row, the same of identical ones.
    first : int32 array
        The first row of each number, ascending.
    """

    numbers: np.ndarray
    first: np.ndarray


def find_identical(source: ArraySource) -> Identical | None:
    """Return which rows are identical; None if two that are not look so, which is next to never."""
    n_rows = source.n_rows
    hashes = np.empty(n_rows, np.uint64)
    hash_rows(source.codes, source.labels, hashes)
    slots = np.full(1 << int(2 * n_rows).bit_length(), FREE, np.int32)
    numbers, first = np.empty(n_rows, np.int32), np.empty(n_rows, np.int32)
    first = first[: number_rows(hashes, slots, numbers, first)]
    if not same_rows(source.codes, source.labels, numbers, first):
        return None
    return Identical(numbers, first)


def merge_identical(source: ArraySource, identical: Identical) -> ArraySource:
    """Return the source with each row once, of the weight that identical ones have together."""
    numbers, first = identical
    codes = source.store.empty((len(source.codes), len(first)), source.codes.dtype)
    for column, merged in zip(source.codes, codes, strict=True):
        np.take(column, first, out=merged)
    return ArraySource(
        codes,
        source.labels[first],
        n_classes=source.n_classes,
        cardinalities=source.cardinalities,
        weights=np.bincount(numbers, source.weights, minlength=len(first)),
        n_given=source.n_rows,
        attributes=source.attributes,
        store=source.store,
    )
