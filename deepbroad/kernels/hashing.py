"""An exact index of 64-bit keys: open addressing with linear probing, no collision ever taken.

`slots` has a power of two of places, at most half of them taken; `EMPTY` marks a free one.
`numbers` holds what each key stands for.
"""

import numpy as np

from deepbroad.kernels.jit import inlined, jit

EMPTY = -1  # keys are never negative
# Fibonacci hashing: 2^64 over the golden ratio, whose multiples spread over the high bits.
SPREAD = np.uint64(0x9E3779B97F4A7C15)


@inlined
def first_slot(key, slots):
    """Return where the search for a key begins."""
    mixed = np.uint64(key) * SPREAD
    mixed ^= mixed >> np.uint64(32)
    return np.int64(mixed & np.uint64(slots.shape[0] - 1))


@jit
def insert_keys(keys, slots, numbers):
    """Enter keys that have not been entered, the i-th with the number i."""
    mask = slots.shape[0] - 1
    for i in range(keys.shape[0]):
        slot = first_slot(keys[i], slots)
        while slots[slot] != EMPTY:
            slot = (slot + 1) & mask
        slots[slot] = keys[i]
        numbers[slot] = i


@inlined
def find_key(key, slots, numbers):
    """Return the number of a key, -1 if it was never entered."""
    mask = slots.shape[0] - 1
    slot = first_slot(key, slots)
    while slots[slot] != EMPTY:
        if slots[slot] == key:
            return np.int64(numbers[slot])
        slot = (slot + 1) & mask
    return np.int64(-1)


@jit
def find_keys(keys, slots, numbers, absent, found):
    """Write the number of each key into `found`, or `absent` where it has none."""
    for r in range(keys.shape[0]):
        number = find_key(keys[r], slots, numbers)
        found[r] = number if number >= 0 else absent


@jit
def collect_distinct(keys, slots, counts, weights):
    """Enter the keys of rows and add up their weights by slot; return how many are different."""
    mask = slots.shape[0] - 1
    distinct = 0
    for r in range(keys.shape[0]):
        slot = first_slot(keys[r], slots)
        while slots[slot] != EMPTY and slots[slot] != keys[r]:
            slot = (slot + 1) & mask
        if slots[slot] == EMPTY:
            slots[slot] = keys[r]
            distinct += 1
        counts[slot] += weights[r]
    return distinct
