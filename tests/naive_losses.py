"""Slow, obvious twins of the losses beside the softmax: loops over rows, in double precision."""

import numpy as np

from tests.naive import softmax


def brier_loss(scores, labels, weights):
    """Return Σ ω·Σ_c (1[y = c] - P(c|x))² and its weighted derivatives by the scores."""
    loss, residuals = 0.0, np.zeros(np.shape(scores))
    for r, (row, y, weight) in enumerate(zip(scores, labels, weights, strict=True)):
        p = softmax(row)
        miss = p - np.eye(len(row))[y]
        loss += weight * float(miss @ miss)
        residuals[r] = weight * 2 * (np.diag(p) - np.outer(p, p)) @ miss
    return loss, residuals


def hinge_loss(scores, labels, weights, rounding):
    """Return Σ ω·loss and its derivatives: Crammer and Singer's squared hinge, ties rounded off.

    That is max_{q≥0} q·m - q'Mq/4, m being the margins of the rivals and M = (1 - μ) 11' + μ I.
    The best q has the k largest margins for some k; with μ = 0 it is one of them alone.
    """
    loss, residuals = 0.0, np.zeros(np.shape(scores))
    for r, (row, y, weight) in enumerate(zip(scores, labels, weights, strict=True)):
        rivals = [c for c in range(len(row)) if c != y]
        rivals.sort(key=lambda c: -row[c])
        margins = np.array([1 + row[c] - row[y] for c in rivals])
        best = (0.0, [])
        for k in range(1, 2 if rounding == 0 else len(rivals) + 1):
            matrix = (1 - rounding) * np.ones((k, k)) + rounding * np.eye(k)
            q = 2 * np.linalg.solve(matrix, margins[:k])
            value = float(q @ margins[:k] - q @ matrix @ q / 4)
            if (q >= 0).all() and value > best[0]:
                best = (value, q)
        loss += weight * best[0]
        for c, part in zip(rivals, best[1], strict=False):
            residuals[r, c] += weight * part
            residuals[r, y] -= weight * part
    return loss, residuals
