"""The vector work of a stochastic solver: one reading of its vectors per step.

With κ the scaling (u = κ·z) steps are taken over z, whose gradient is κ·g. The penalty
½ λ (u - t)² is known exactly, so a step takes it implicitly:

    m ← β·m + (1 - β)·κ·g,   u ← (u - η·κ·m + η·κ²·λ·t) / (1 + η·κ²·λ)

Every kernel works on one range, so that ranges can go to threads and their sums be added in a fixed
order. Vectors are (n,); u, its mean and the gradient float64, the others float32 or float64.
"""

from typing import NamedTuple

import numpy as np

from deepbroad.kernels.jit import jit


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
    keep, step, share = sizes
    distance = 0.0
    for i in range(first, last):
        kappa = np.float64(scaling[i])
        moved = keep * momentum[i] + (1.0 - keep) * (kappa * gradient[i])
        momentum[i] = moved
        rate = step * kappa
        stiff = rate * kappa * pull.strength[i]
        pulled = stiff * pull.target[i]
        point = (u[i] - rate * moved + pulled) / (1.0 + stiff)
        root = (origin[i] + pulled) / (1.0 + stiff)
        u[i] = point
        origin[i] = root
        mean[i] += share * (point - mean[i])
        distance += ((point - root) / kappa) ** 2
    return distance
