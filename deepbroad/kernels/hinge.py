"""Squared multiclass hinge and its residuals, from scores relative to the first class.

Crammer and Singer's loss is the square of the largest margin m = max(0, 1 + max_{c≠y} s_c - s_y).
It has a kink wherever two rivals of the true class have the same score, fits end at such kinks, and
a subgradient there need not even point downhill: from scores of 0 L-BFGS takes no step at all with
five classes. Since m² = max_{q≥0} Σ_c q_c m_c - ¼ (Σ_c q_c)² over the margins m_c = 1 + s_c - s_y,
a little of Σ q² in the square makes it smooth and leaves it convex:

    loss = max_{q≥0} Σ_c q_c m_c - ¼ [(1 - μ) (Σ_c q_c)² + μ Σ_c q_c²],  μ = `ROUNDING`.

Its derivative by the score of a rival is q_c, that by s_y is -Σ_c q_c. It is m² itself where the
second margin is below (1 - μ) m, and m² / (1 - μ + μ/k) at the most, with k equal ones.

Tiles are those of `deepbroad.kernels.softmax`, and so is the signature: one loss takes the place
of another.

References
----------
Crammer and Singer, On the algorithmic implementation of multiclass kernel-based vector machines,
2001; Nesterov, Smooth minimization of non-smooth functions, 2005.
"""

import numpy as np

from deepbroad.kernels.jit import inlined, jit
from deepbroad.kernels.lookup import TILE
from deepbroad.kernels.softmax import padded_width, sum_residuals, transpose_in, transpose_out

# μ. Ten times as much halves the iterations of exact fits to 50 rows, but spares none where real
# data are fitted to the default tolerance.
ROUNDING = 0.01


@inlined
def measure_distances(tile, rows, n_scores, best):
    """Write each row's best score; replace scores by how far they are below it, in units of μ."""
    zero = tile[tile.shape[0] - 1]
    for r in range(rows):
        best[r] = zero[r]
    for c in range(n_scores):
        scores = tile[c]
        for r in range(rows):
            # A NaN score makes the row's best NaN, and with it the loss; it stays so.
            stays = scores[r] <= best[r] or best[r] != best[r]
            best[r] = best[r] if stays else scores[r]
    for c in range(n_scores + 1):
        scores = tile[c if c < n_scores else tile.shape[0] - 1]
        for r in range(rows):
            scores[r] = (best[r] - scores[r]) * (1.0 / ROUNDING)


@inlined
def find_levels(tile, rows, n_scores, margin, level, depth, count):
    """Write the level v of each row, such that q_c = 2 max(0, v - e_c) at the distance e_c.

    With k rivals nearer than v it is (m + (1 - μ) Σ e_c) / (μ + (1 - μ) k), m being the largest
    margin. From m, its value for one rival alone, it only falls, and k with it: a few rounds.
    """
    for r in range(rows):
        level[r] = margin[r]
    fell = True
    while fell:
        for r in range(rows):
            depth[r] = 0.0
            count[r] = 0.0
        for c in range(n_scores + 1):
            distance = tile[c if c < n_scores else tile.shape[0] - 1]
            for r in range(rows):
                near = distance[r] < level[r]
                depth[r] += distance[r] if near else 0.0
                count[r] += 1.0 if near else 0.0
        fell = False
        for r in range(rows):
            new = margin[r] + (1.0 - ROUNDING) * depth[r]
            depth[r] = new / (ROUNDING + (1.0 - ROUNDING) * count[r])
            # As stored, and never up again: rounding must not keep the rounds going.
            fell |= depth[r] < level[r]
            level[r] = min(depth[r], level[r])


@jit
def hinge_rows(values, start, stop, labels, weights, n_scores, partial, lanes):
    """Turn scores into weighted residuals of the squared hinge, and sum both per tile.

    Arguments: see `softmax_rows`.
    """
    width = padded_width(n_scores, lanes)
    tile = np.empty((width + 1, TILE), values.dtype)
    best, own = np.empty(TILE, values.dtype), np.empty(TILE, values.dtype)
    margin, level = np.empty(TILE, values.dtype), np.empty(TILE, values.dtype)
    depth, count = np.empty(TILE, values.dtype), np.empty(TILE, values.dtype)
    place = np.empty(TILE, np.int64)
    for low in range(0, stop - start, TILE):
        rows = min(TILE, stop - start - low)
        scored = values[low * width : (low + rows) * width]
        label = labels[start + low : start + low + rows]
        weight = weights[start + low : start + low + rows]
        sums = partial[(start + low) // TILE]
        transpose_in(scored, rows, tile, lanes)
        for r in range(rows):
            tile[width, r] = 0.0
        for r in range(rows):
            place[r] = np.int64(label[r]) - 1 if label[r] > 0 else width
            own[r] = tile[place[r], r]
            tile[place[r], r] = -np.inf  # no rival of itself
        measure_distances(tile, rows, n_scores, best)
        for r in range(rows):
            largest = 1.0 + (best[r] - own[r])
            margin[r] = 0.0 if largest <= 0.0 else largest
            own[r] = 0.0
        find_levels(tile, rows, n_scores, margin, level, depth, count)
        loss = 0.0
        for c in range(n_scores + 1):
            distance = tile[c if c < n_scores else width]
            for r in range(rows):
                d = min(distance[r], level[r])
                q = level[r] - d
                loss += weight[r] * q * (margin[r] - ROUNDING * d)
                distance[r] = 2.0 * weight[r] * q
                own[r] -= distance[r]
        for r in range(rows):
            tile[place[r], r] = own[r]
        sum_residuals(tile, rows, n_scores, sums)
        sums[0] = loss
        transpose_out(tile, rows, scored, lanes)
