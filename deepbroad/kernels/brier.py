"""Squared error of probabilities and its residuals, from scores relative to the first class.

Named after Brier's score. Tiles are those of `deepbroad.kernels.softmax`, and so is the signature:
one loss takes the place of another.
"""

import numpy as np

from deepbroad.kernels.jit import inlined, jit
from deepbroad.kernels.lookup import TILE
from deepbroad.kernels.softmax import (
    exponentiate_tile,
    padded_width,
    shift_tile,
    sum_residuals,
    transpose_in,
    transpose_out,
)


@inlined
def sum_others(tile, rows, n_scores, others, squares):
    """Add up each row's exponentials, and their squares, over the classes of the tile."""
    for r in range(rows):
        others[r] = 0.0
        squares[r] = 0.0
    for c in range(n_scores + 1):
        powers = tile[c if c < n_scores else tile.shape[0] - 1]
        for r in range(rows):
            power = np.float64(powers[r])
            others[r] += power
            squares[r] += power * power


@jit
def brier_rows(values, start, stop, labels, weights, n_scores, partial, lanes):
    """Turn scores into weighted residuals of Σ_c (1[y = c] - P_c)², and sum both per tile.

    With the probability o = 1 - P_y of the other classes and q = Σ_{c≠y} P_c² the loss is o² + q,
    and its derivative by the score of class k is 2 P_k (P_k - 1[y = k] - a), a = q - o P_y. Sums
    over the other classes lose no digits where P_y is nearly 1. Arguments: see `softmax_rows`.
    """
    width = padded_width(n_scores, lanes)
    tile = np.empty((width + 1, TILE), values.dtype)
    largest = np.empty(TILE, values.dtype)
    own, total = np.empty(TILE, values.dtype), np.empty(TILE, np.float64)
    others, squares = np.empty(TILE, np.float64), np.empty(TILE, np.float64)
    inverse, mean = np.empty(TILE, values.dtype), np.empty(TILE, values.dtype)
    twice = np.empty(TILE, values.dtype)
    powers = np.empty(TILE, np.int32)
    place = np.empty(TILE, np.int64)
    for low in range(0, stop - start, TILE):
        rows = min(TILE, stop - start - low)
        scored = values[low * width : (low + rows) * width]
        label = labels[start + low : start + low + rows]
        weight = weights[start + low : start + low + rows]
        sums = partial[(start + low) // TILE]
        transpose_in(scored, rows, tile, lanes)
        shift_tile(tile, rows, n_scores, largest)
        exponentiate_tile(tile, rows, n_scores, total, powers)
        for r in range(rows):
            place[r] = np.int64(label[r]) - 1 if label[r] > 0 else width
            own[r] = tile[place[r], r]
            tile[place[r], r] = 0
        sum_others(tile, rows, n_scores, others, squares)
        loss = 0.0
        for r in range(rows):
            share = 1.0 / total[r]
            o, q, p = others[r] * share, squares[r] * share * share, own[r] * share
            loss += weight[r] * (o * o + q)
            inverse[r], mean[r], twice[r] = share, q - o * p, 2.0 * weight[r]
            own[r] = 2.0 * weight[r] * p * (o * p - o - q)
        for c in range(n_scores):
            scores = tile[c]
            for r in range(rows):
                p_c = scores[r] * inverse[r]
                scores[r] = twice[r] * p_c * (p_c - mean[r])
        for r in range(rows):
            tile[place[r], r] = own[r]
        sum_residuals(tile, rows, n_scores, sums)
        sums[0] = loss
        transpose_out(tile, rows, scored, lanes)
