"""Losses, Hessian products and conjugate gradients of several folds side by side, a lane a score.

A row carries the scores of every fold's model, relative to class 0, one fold after the other. A
fold sees a row by the row's training weight there, which is 0 where the row is held out.

=========  =====================================================  ==================  ============
symbol     meaning                                                shape               dtype
=========  =====================================================  ==================  ============
scores     scores of rows, W lanes a row                          (rows, W)           float32
values     what is summed by cell: derivatives of rows            (rows, W)           float32
shares     probabilities of all classes but the first             (rows, K * (C-1))   float32
trained    training weight of each row in each fold               (rows, K)           float32
losses     log loss of each row under each fold's model           (rows, K)           float64
lanes      scores δ of cells, or a vector of their shape          (cells, K * (C-1))  float32
strength   λ of each cell in each fold                            (cells, K)          float32
sums       inner products of each chunk of cells, by fold         (chunks, K)         float64
=========  =====================================================  ==================  ============

A penalty ½ λ Σ_c β_c² on C scores that add up to 0 is ½ λ (Σ δ² - (Σ δ)² / C) of the C - 1 scores δ
relative to class 0.
"""

import numpy as np

from deepbroad.kernels.jit import inlined, jit

# Cells whose inner products are one sum, whatever the number of threads.
CHUNK = 4096


@jit
def lose_rows(scores, first, last, labels, trained, shares, losses, values):
    """Write the shares, losses and weighted derivatives of rows first..last."""
    n_folds = trained.shape[1]
    n_scores = shares.shape[1] // n_folds
    for r in range(first, last):
        label, own_scores = np.int64(labels[r]), scores[r]
        for k in range(n_folds):
            lane, largest = k * n_scores, np.float32(0.0)
            for c in range(n_scores):
                largest = max(largest, own_scores[lane + c])
            total = np.exp(-largest)
            # A loop that both sums and writes would round by where its arrays lie in memory.
            for c in range(n_scores):
                shares[r, lane + c] = np.exp(own_scores[lane + c] - largest)
            for c in range(n_scores):
                total += shares[r, lane + c]
            own = own_scores[lane + label - 1] if label > 0 else np.float32(0.0)
            losses[r, k] = np.log(np.float64(total)) + np.float64(largest - own)
            weight = trained[r, k]
            for c in range(n_scores):
                shares[r, lane + c] /= total
                values[r, lane + c] = weight * shares[r, lane + c]
            if label > 0:
                values[r, lane + label - 1] -= weight


@jit
def curve_rows(scores, first, last, trained, shares, values):
    """Write the Hessian's product with the scores s of a direction, ω (p s - p Σ p s)."""
    n_folds = trained.shape[1]
    n_scores = shares.shape[1] // n_folds
    for r in range(first, last):
        for k in range(n_folds):
            lane, mean = k * n_scores, np.float32(0.0)
            for c in range(n_scores):
                mean += shares[r, lane + c] * scores[r, lane + c]
            weight = trained[r, k]
            for c in range(n_scores):
                values[r, lane + c] = weight * shares[r, lane + c] * (scores[r, lane + c] - mean)


@jit
def place_lanes(first, last, reached, lanes, cells, width):
    """Write the scores of the reached cells numbered first..last where tables are built from."""
    for i in range(first, last):
        at = np.int64(reached[i]) * width
        for lane in range(lanes.shape[1]):
            cells[at + lane] = lanes[i, lane]


@jit
def collect_lanes(first, last, reached, cells, width, lanes):
    """Read the sums of the reached cells numbered first..last."""
    for i in range(first, last):
        at = np.int64(reached[i]) * width
        for lane in range(lanes.shape[1]):
            lanes[i, lane] = cells[at + lane]


@inlined
def centre(lanes, i, lane, n_scores):
    """Return Σ δ / C of a cell in a fold."""
    whole = np.float32(0.0)
    for c in range(n_scores):
        whole += lanes[i, lane + c]
    return whole / np.float32(n_scores + 1)


@jit
def penalise_lanes(first, last, lanes, strength, gradient, sums):
    """Add Λ times `lanes` to `gradient`, and write lanes·Λ lanes; first starts a chunk."""
    n_folds = strength.shape[1]
    n_scores = lanes.shape[1] // n_folds
    for low in range(first, last, CHUNK):
        sums[low // CHUNK] = 0.0
        for k in range(n_folds):
            lane, total = k * n_scores, 0.0
            for i in range(low, min(low + CHUNK, last)):
                whole = centre(lanes, i, lane, n_scores)
                for c in range(n_scores):
                    pulled = strength[i, k] * (lanes[i, lane + c] - whole)
                    total += np.float64(pulled * lanes[i, lane + c])
                for c in range(n_scores):
                    gradient[i, lane + c] += strength[i, k] * (lanes[i, lane + c] - whole)
            sums[low // CHUNK, k] = total


@jit
def multiply_lanes(first, last, lanes, other, sums):
    """Write the inner products of two vectors."""
    n_folds = sums.shape[1]
    n_scores = lanes.shape[1] // n_folds
    for low in range(first, last, CHUNK):
        for k in range(n_folds):
            total = 0.0
            for i in range(low, min(low + CHUNK, last)):
                for lane in range(k * n_scores, (k + 1) * n_scores):
                    total += np.float64(lanes[i, lane] * other[i, lane])
            sums[low // CHUNK, k] = total


@jit
def step_lanes(first, last, lengths, direction, product, scale, found, residual, sums):
    """Take a step of conjugate gradients; write residual·residual/scale after it."""
    n_folds = sums.shape[1]
    n_scores = direction.shape[1] // n_folds
    for low in range(first, last, CHUNK):
        high = min(low + CHUNK, last)
        for i in range(low, high):
            for lane in range(direction.shape[1]):
                found[i, lane] += lengths[lane] * direction[i, lane]
        for i in range(low, high):
            for lane in range(direction.shape[1]):
                residual[i, lane] -= lengths[lane] * product[i, lane]
        for k in range(n_folds):
            total = 0.0
            for i in range(low, high):
                for lane in range(k * n_scores, (k + 1) * n_scores):
                    total += np.float64(residual[i, lane] * residual[i, lane] / scale[i, lane])
            sums[low // CHUNK, k] = total


@jit
def turn_lanes(first, last, ratios, residual, scale, direction):
    """Write the next direction of conjugate gradients."""
    for i in range(first, last):
        for lane in range(direction.shape[1]):
            direction[i, lane] = (
                residual[i, lane] / scale[i, lane] + ratios[lane] * direction[i, lane]
            )
