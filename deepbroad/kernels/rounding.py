"""Sums that do not depend on the order of their terms, because each is a multiple of one quantum.

Multiples of a power of two are added without any rounding as long as a sum has no more than 53 bits
of them. What is rounded is each term, once.
"""

from math import frexp, ldexp

import numpy as np

from deepbroad.kernels.jit import jit

# Bits of a sum beyond those of the largest one: it may be of 2 ** SPARE_BITS times as much.
SPARE_BITS = 3


def quantum_of(largest: float) -> float:
    """Return the quantum of sums of up to `largest`: the smallest that is safe to add."""
    return ldexp(1.0, frexp(largest)[1] + SPARE_BITS - 53)


def round_to(quantum: float, numbers: np.ndarray) -> np.ndarray:
    """Return the multiples of the quantum nearest to some numbers."""
    rounded: np.ndarray = np.rint(numbers / quantum) * quantum
    return rounded


@jit
def round_numbers(first, last, numbers, quantum):
    """Round the numbers first..last, float32 or float64, to the quantum."""
    inverse = 1.0 / quantum
    for i in range(first, last):
        numbers[i] = np.rint(np.float64(numbers[i]) * inverse) * quantum


@jit
def move_rounded(first, last, source, target, quantum):
    """Add the numbers first..last of `source`, rounded to the quantum, to `target`; clear them."""
    inverse = 1.0 / quantum
    for i in range(first, last):
        target[i] += np.rint(np.float64(source[i]) * inverse) * quantum
        source[i] = 0
