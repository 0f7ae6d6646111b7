"""The vector work of a stochastic solver: one reading of its vectors per step.

With κ the scaling (u = κ·z) steps are taken over z, whose gradient is κ·g. The penalty
½ λ (u - t)² is known exactly, so a step takes it implicitly:

    m ← β·m + (1 - β)·κ·g,   u ← (u - η·κ·m + η·κ²·λ·t) / (1 + η·κ²·λ)

Every kernel works on one range, so that ranges can go to threads and their sums be added in a fixed
order. Vectors are (n,); u, its mean and the gradient float64, the others float32 or float64.
"""

from typing import NamedTuple

import numpy as np

from deepbroad.kernels.jit import inlined, jit

# Parameters at a time: what one loop reads again is still in the cache.
CHUNK = 1024


class Pull(NamedTuple):
    """λ and t of the penalty, by parameter."""

    strength: np.ndarray
    target: np.ndarray


@jit
def square_gradient(first, last, gradient, scaling):
    """Return Σ (κ·g)²."""
    total = 0.0
    for i in range(first, last):
        total += (scaling[i] * gradient[i]) ** 2
    return total


@jit
def probe_gradient(first, last, u, gradient, scaling, length, trial):
    """Write u - length·κ²·g into `trial`."""
    for i in range(first, last):
        trial[i] = u[i] - length * scaling[i] * (scaling[i] * gradient[i])


@jit
def square_change(first, last, gradient, changed, scaling):
    """Return Σ (κ·(g' - g))² of two gradients."""
    total = 0.0
    for i in range(first, last):
        total += (scaling[i] * (changed[i] - gradient[i])) ** 2
    return total


@jit
def take_step(first, last, u, momentum, gradient, pull, scaling, origin, mean, sizes):
    """Take a step, move the mean of the points along, and return Σ ((u - origin)/κ)².

    The penalty moves the origin as it moves u, so that the distance is what the loss alone has
    brought about. `sizes` are β, η and the share that the new point has in the mean.
    """
    distance = 0.0
    for start in range(first, last, CHUNK):
        part = slice(start, min(start + CHUNK, last))
        move_point(
            u[part], momentum[part], gradient[part], pull.strength[part], pull.target[part],
            scaling[part], origin[part], sizes,
        )  # fmt: skip
        distance += move_mean(u[part], origin[part], scaling[part], mean[part], sizes[2])
    return distance


@inlined
def move_point(u, momentum, gradient, strength, target, scaling, origin, sizes):
    """Take the step of a few parameters.

    A loop for each vector that is written: LLVM vectorises none that could alias more than a few
    others (half the time).
    """
    keep, step, _ = sizes
    for i in range(len(u)):
        momentum[i] = keep * momentum[i] + (1.0 - keep) * (np.float64(scaling[i]) * gradient[i])
    for i in range(len(u)):
        rate = step * np.float64(scaling[i])
        stiff = rate * scaling[i] * strength[i]
        u[i] = (u[i] - rate * momentum[i] + stiff * target[i]) / (1.0 + stiff)
    for i in range(len(u)):
        stiff = step * np.float64(scaling[i]) * scaling[i] * strength[i]
        origin[i] = (origin[i] + stiff * target[i]) / (1.0 + stiff)


@inlined
def move_mean(u, origin, scaling, mean, share):
    """Move the mean of the points along; return Σ ((u - origin)/κ)²."""
    distance = 0.0
    for i in range(len(u)):
        mean[i] += share * (u[i] - mean[i])
    for i in range(len(u)):
        distance += ((u[i] - origin[i]) / np.float64(scaling[i])) ** 2
    return distance
