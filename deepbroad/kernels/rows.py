"""Find rows that are the same in every column."""

import numpy as np

from deepbroad.kernels.hashing import SPREAD
from deepbroad.kernels.jit import jit

FREE = -1


@jit
def hash_rows(codes, labels, hashes):
    """Write a 64-bit hash of each row's codes and label."""
    for r in range(labels.shape[0]):
        hashes[r] = np.uint64(labels[r]) * SPREAD
    for c in range(codes.shape[0]):
        column = codes[c]
        for r in range(column.shape[0]):
            mixed = (hashes[r] ^ np.uint64(column[r])) * SPREAD
            hashes[r] = mixed ^ (mixed >> np.uint64(29))


@jit
def number_rows(hashes, slots, numbers, first):
    """Number the different hashes as they come; return how many there are.

    `numbers` gets the number of each row's hash, `first` the first row of each number. `slots` has
    a power of two of places, all `FREE`, at most half of which fill up.
    """
    mask = slots.shape[0] - 1
    count = 0
    for r in range(hashes.shape[0]):
        slot = np.int64(hashes[r] & np.uint64(mask))
        while slots[slot] != FREE and hashes[first[slots[slot]]] != hashes[r]:
            slot = (slot + 1) & mask
        if slots[slot] == FREE:
            slots[slot] = count
            first[count] = r
            count += 1
        numbers[r] = slots[slot]
    return count


@jit
def same_rows(codes, labels, numbers, first):
    """Tell whether every row is the same as the first row of its number."""
    for r in range(labels.shape[0]):
        if labels[r] != labels[first[numbers[r]]]:
            return False
    for c in range(codes.shape[0]):
        column = codes[c]
        for r in range(column.shape[0]):
            if column[r] != column[first[numbers[r]]]:
                return False
    return True
