"""Softmax loss and residuals from scores relative to the first class.

Only differences of scores matter to a softmax, so rows carry C - 1 scores: class 0 has score 0.
Work goes tile by tile, transposed to (class, row), so that every loop runs along contiguous memory.
Rows of a tile beyond the scores are padding; the last one belongs to class 0.
"""

import numpy as np

from deepbroad.kernels.exponential import exponentials
from deepbroad.kernels.jit import inlined, jit
from deepbroad.kernels.lookup import TILE

# Rows whose totals are multiplied before a logarithm is taken.
FOLD = 8


@inlined
def padded_width(n_scores, lanes):
    """Return how many numbers a row of values has: one vector, or several if that is too short."""
    return len(lanes) * -(-n_scores // len(lanes))


@inlined
def transpose_in(values, rows, tile, lanes):
    """Copy rows of values into tile[class, row]."""
    flat = tile.reshape(-1)
    width = tile.shape[0] - 1
    vector = len(lanes)
    if width == vector:  # a constant stride becomes whole loads and shuffles, 3 times faster
        for r in range(rows):
            for c in range(vector):
                flat[c * TILE + r] = values[r * vector + c]
    else:
        for c in range(width):
            for r in range(rows):
                flat[c * TILE + r] = values[r * width + c]


@inlined
def transpose_out(tile, rows, values, lanes):
    """Copy tile[class, row] back into rows of values."""
    flat = tile.reshape(-1)
    width = tile.shape[0] - 1
    vector = len(lanes)
    if width == vector:
        for r in range(rows):
            for c in range(vector):
                values[r * vector + c] = flat[c * TILE + r]
    else:
        for c in range(width):
            for r in range(rows):
                values[r * width + c] = flat[c * TILE + r]


@inlined
def shift_tile(tile, rows, n_scores, largest):
    """Take each row's largest score, class 0's 0 included, from all its scores."""
    for r in range(rows):
        largest[r] = 0
    for c in range(n_scores):
        scores = tile[c]
        for r in range(rows):
            # Written so that a NaN score makes the row's largest NaN, and with it the loss.
            largest[r] = largest[r] if scores[r] <= largest[r] else scores[r]
    for c in range(n_scores):
        scores = tile[c]
        for r in range(rows):
            scores[r] -= largest[r]
    scores = tile[tile.shape[0] - 1]
    for r in range(rows):
        scores[r] = -largest[r]


@inlined
def exponentiate_tile(tile, rows, n_scores, total, powers):
    """Replace a tile's scores by their exponentials and add them up per row."""
    for r in range(rows):
        total[r] = 0.0
    for c in range(n_scores + 1):
        scores = tile[c if c < n_scores else tile.shape[0] - 1]
        exponentials(scores, rows, powers)
        # In float64 the largest term, exactly 1, does not swallow the small ones.
        for r in range(rows):
            total[r] += scores[r]


@inlined
def sum_logarithms(total, weights, rows, products):
    """Return Σ weight·log(total) over a tile; `products` is scratch of TILE // FOLD.

    Where all weights are equal, one logarithm serves the product of FOLD rows: the totals lie
    between 1 and C, so products stay far from overflow, and logarithms were a third of the time.
    """
    equal = True
    for r in range(1, rows):
        equal &= weights[r] == weights[0]
    result = 0.0
    if equal:
        for r in range(rows, TILE):
            total[r] = 1.0
        for i in range(TILE // FOLD):
            products[i] = 1.0
        for k in range(FOLD):
            part = total[k * (TILE // FOLD) : (k + 1) * (TILE // FOLD)]
            for i in range(TILE // FOLD):
                products[i] *= part[i]
        for i in range(TILE // FOLD):
            result += np.log(products[i])
        return weights[0] * result
    for r in range(rows):
        result += weights[r] * np.log(total[r])
    return result


@inlined
def sum_residuals(tile, rows, n_scores, sums):
    """Write the sum of each class's residuals in a tile after the tile's loss."""
    for c in range(n_scores):
        residuals = tile[c]
        sum_c = 0.0
        for r in range(rows):
            sum_c += residuals[r]
        sums[1 + c] = sum_c


@jit
def softmax_rows(values, start, stop, labels, weights, n_scores, partial, lanes):
    """Turn scores into weighted residuals p - 1[y = c], and sum loss and residuals per tile.

    Row i of `values` belongs to labels[start + i] and weights[start + i]. partial[t] takes the
    weighted loss of tile t and then its residual sums, in float64: added up in a fixed order they
    do not depend on how tiles were spread over threads. `start` is a multiple of TILE.
    """
    width = padded_width(n_scores, lanes)
    tile = np.empty((width + 1, TILE), values.dtype)
    largest = np.empty(TILE, values.dtype)
    scale = np.empty(TILE, values.dtype)
    total = np.empty(TILE, np.float64)
    products = np.empty(TILE // FOLD, np.float64)
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
        loss = 0.0
        for r in range(rows):
            place[r] = np.int64(label[r]) - 1 if label[r] > 0 else width
            loss -= weight[r] * np.float64(tile[place[r], r])
        exponentiate_tile(tile, rows, n_scores, total, powers)
        for r in range(rows):
            scale[r] = weight[r] / total[r]
        for c in range(n_scores):
            scores = tile[c]
            for r in range(rows):
                scores[r] *= scale[r]
        for r in range(rows):
            tile[place[r], r] -= weight[r]
        sum_residuals(tile, rows, n_scores, sums)
        sums[0] = loss + sum_logarithms(total, weight, rows, products)
        transpose_out(tile, rows, scored, lanes)


@jit
def probability_rows(values, start, stop, n_scores, probabilities, lanes):
    """Write the softmax of the scores of rows start..stop into probabilities[start:stop, C]."""
    width = padded_width(n_scores, lanes)
    tile = np.empty((width + 1, TILE), values.dtype)
    largest = np.empty(TILE, values.dtype)
    total = np.empty(TILE, np.float64)
    powers = np.empty(TILE, np.int32)
    for low in range(0, stop - start, TILE):
        rows = min(TILE, stop - start - low)
        transpose_in(values[low * width : (low + rows) * width], rows, tile, lanes)
        shift_tile(tile, rows, n_scores, largest)
        exponentiate_tile(tile, rows, n_scores, total, powers)
        for r in range(rows):
            total[r] = 1.0 / total[r]
        # Row by row: the output is far larger than a cache, the tile is not.
        for r in range(rows):
            block = probabilities[start + low + r]
            block[0] = tile[width, r] * total[r]
            for c in range(n_scores):
                block[c + 1] = tile[c, r] * total[r]
