"""A branch-free exponential over a block, which LLVM turns into vector instructions."""

import numpy as np
from numba.extending import overload

from deepbroad.kernels.jit import jit

LOG2_E = np.float32(1.4426950408889634)
# ln 2 in two parts, so that x - k·ln 2 keeps all of float32's digits (Cody and Waite).
LN2_HIGH = np.float32(0.693359375)
LN2_LOW = np.float32(-2.12194440e-4)
# Below this, exp(x) counts as exp(-80) = 1.8e-35: even divided by a thousand that is no subnormal
# number, and arithmetic with those is a hundred times slower.
LOWEST = np.float32(-80.0)


def exponentials(x, count, powers):
    """Replace the first `count` numbers of `x`, none above 0, by their exponentials.

    float32 uses a polynomial (relative error below 4e-7), float64 the library's function.
    `powers` is scratch of int32 as long as `x`. NaN stays NaN.
    """
    x[:count] = np.exp(x[:count])


@jit
def exponentials32(x, count, powers):
    """Compute `exponentials` for float32: exp(x) = 2^k · exp(f), |f| <= ln(2)/2."""
    scale = powers.view(np.float32)
    for i in range(count):
        value = x[i]
        value = LOWEST if value < LOWEST else value  # written so that NaN passes
        k = np.floor(value * LOG2_E + np.float32(0.5))
        f = (value - k * LN2_HIGH) - k * LN2_LOW
        # Minimax polynomial of the Cephes library's expf.
        p = np.float32(1.9875691500e-4)
        p = p * f + np.float32(1.3981999507e-3)
        p = p * f + np.float32(8.3334519073e-3)
        p = p * f + np.float32(4.1665795894e-2)
        p = p * f + np.float32(1.6666665459e-1)
        p = p * f + np.float32(5.0000001201e-1)
        x[i] = (p * f * f + f) + np.float32(1.0)
        powers[i] = (np.int32(k) + np.int32(127)) << np.int32(23)
    for i in range(count):
        x[i] *= scale[i]


@jit
def exponentials64(x, count, powers):
    """Compute `exponentials` for float64."""
    for i in range(count):
        x[i] = np.exp(x[i])


@overload(exponentials)
def choose_exponentials(x, count, powers):
    """Tell the compiler which of the two serves the dtype of `x`."""
    chosen = exponentials32 if x.dtype.bitwidth == 32 else exponentials64

    def call(x, count, powers):
        return chosen(x, count, powers)

    return call
