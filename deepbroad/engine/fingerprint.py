"""A number that tells the rows of one training set from those of another."""

from operator import add

import numpy as np

from deepbroad.data.source import ArraySource, Source
from deepbroad.kernels.hashing import SPREAD
from deepbroad.kernels.rows import hash_rows
from deepbroad.kernels.threads import Threads


def fingerprint_rows(source: Source, threads: Threads) -> str:
    """Return a hash of codes, labels and weights as hexadecimal digits.

    It is a sum over rows, so that neither their order matters nor where they lie: in memory, in
    files, or on a cluster. Rows of weight 0 are as if absent.
    """
    total = source.reduce(sum_hashes, join=add, threads=threads)
    return f"{total % 2**64:016x}"


def sum_hashes(part: ArraySource, threads: Threads) -> int:
    """Return the sum of the hashes of some rows, each mixed with its weight, modulo 2⁶⁴."""
    total = 0
    for block in part.blocks():
        hashes = np.empty(len(block.labels), np.uint64)
        hash_rows(block.codes, block.labels, hashes)
        weights = np.ones(len(hashes)) if block.weights is None else block.weights
        hashes ^= np.ascontiguousarray(weights, np.float64).view(np.uint64) * SPREAD
        # Sums of hashes that nothing follows would show some swaps of labels or weights only.
        hashes *= SPREAD
        hashes ^= hashes >> np.uint64(32)
        hashes *= SPREAD
        total += int(hashes[weights > 0].sum(dtype=np.uint64))
    return total % 2**64
