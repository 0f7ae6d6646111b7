"""Identical rows as one row of their weight together: the same sums, in less time."""

import numpy as np

from deepbroad.data.source import SPAN_ROWS, ArraySource
from deepbroad.kernels.rows import FREE, hash_rows, number_rows, same_rows
from deepbroad.kernels.threads import Threads

# Rows of unequal weights cost a little more each; merging fewer than this share would not pay.
WORTH = 0.25
# Fewer rows take no time anyway.
MIN_ROWS = 8192


def merge_part(part: ArraySource, threads: Threads) -> ArraySource:
    """Return a part with identical rows merged, if that pays."""
    return merge_rows(part)


def merge_rows(source: ArraySource) -> ArraySource:
    """Return the source with identical rows of a class merged, or as it is if they are few.

    Many rows in files stay as they are: finding those that are identical takes memory for each.
    """
    n_rows = source.n_rows
    if n_rows < MIN_ROWS or not (source.resident or n_rows < 2 * SPAN_ROWS):
        return source
    hashes = np.empty(n_rows, np.uint64)
    hash_rows(source.codes, source.labels, hashes)
    slots = np.full(1 << int(2 * n_rows).bit_length(), FREE, np.int32)
    numbers, first = np.empty(n_rows, np.int32), np.empty(n_rows, np.int32)
    count = number_rows(hashes, slots, numbers, first)
    first = first[:count]
    # Different rows of one hash are next to impossible; then nothing is merged.
    if count > (1 - WORTH) * n_rows or not same_rows(source.codes, source.labels, numbers, first):
        return source
    codes = source.store.empty((len(source.codes), count), source.codes.dtype)
    for column, merged in zip(source.codes, codes, strict=True):
        np.take(column, first, out=merged)
    return ArraySource(
        codes,
        source.labels[first],
        n_classes=source.n_classes,
        cardinalities=source.cardinalities,
        weights=np.bincount(numbers, source.weights, minlength=count),
        n_given=n_rows,
        attributes=source.attributes,
        store=source.store,
    )
