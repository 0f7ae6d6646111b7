"""Small problems whose minima are known, and threads that can be counted."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np


class Counted:
    """An objective that remembers what it returned."""

    def __init__(self, function):
        self.function = function
        self.losses = []

    def __call__(self, u):
        loss, gradient = self.function(u)
        self.losses.append(loss)
        return loss, gradient


class Pool:
    """A few threads, as a solver wants them."""

    def __init__(self, count):
        self.count = count
        self.tasks = 0

    def run(self, tasks):
        self.tasks += len(tasks)
        with ThreadPoolExecutor(self.count) as pool:
            for future in [pool.submit(task) for task in tasks]:
                future.result()


def quadratic(seed=0, size=12, condition=None):
    """Return ½ (u - c)ᵀ A (u - c) + 1, c, and the diagonal of A."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(size, size))
    matrix = root @ root.T + 0.1 * np.eye(size)
    if condition is not None:
        basis = np.linalg.qr(root)[0]
        matrix = (basis * np.geomspace(1, condition, size)) @ basis.T
    centre = rng.normal(size=size)

    def value(u):
        gradient = matrix @ (u - centre)
        return 1 + 0.5 * float((u - centre) @ gradient), gradient

    return value, centre, np.diag(matrix).copy()


def rosenbrock(u):
    x, y = u
    slope = y - x * x
    return (1 - x) ** 2 + 100 * slope**2, np.array([2 * (x - 1) - 400 * x * slope, 200 * slope])


VALLEY = np.array([-1.2, 1.0])  # where Rosenbrock starts


def logistic(seed=0, size=50, rows=200):
    """Return a logistic regression with a small penalty, and a rough diagonal of its Hessian."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, size)) * np.geomspace(0.1, 10, size)
    sign = np.where(rng.random(rows) < 0.5, 1.0, -1.0)

    def value(u):
        margin = sign * (x @ u)
        loss = np.logaddexp(0, -margin).sum() + 0.5 * u @ u
        residual = -sign * np.exp(-np.logaddexp(0, margin))
        return float(loss) / rows, (x.T @ residual + u) / rows

    return value, (x * x).mean(axis=0) / 4


def wide_bowl(size):
    """Return a convex objective over many parameters that costs little, and its curvature."""
    curvature = np.geomspace(1e-2, 1e2, size)
    centre = np.cos(np.arange(size))

    def value(u):
        away = u - centre
        return (
            float(np.sum(curvature * away**2) / 2 + np.sum(away**4) / 4) / size,
            (curvature * away + away**3) / size,
        )

    return value, curvature / size
