"""Softmax losses and Hessian products of several folds side by side, one lane for each score.

A row carries the scores of every fold's model, relative to class 0, one fold after the other. A
fold sees a row by the row's training weight there, which is 0 where the row is held out.

=========  =====================================================  ==================  ============
symbol     meaning                                                shape               dtype
=========  =====================================================  ==================  ============
values     scores of rows in, derivatives out, W lanes a row      (rows * W,)         float32
shares     probabilities of all classes but the first             (rows, K * (C-1))   float32
trained    training weight of each row in each fold               (rows, K)           float32
losses     log loss of each row under each fold's model           (rows, K)           float64
lanes      scores δ of cells, or their gradient                   (cells, K * (C-1))  float64
strength   λ of each cell in each fold                            (cells, K)          float64
=========  =====================================================  ==================  ============

A penalty ½ λ Σ_c β_c² on C scores that add up to 0 is ½ λ (Σ δ² - (Σ δ)² / C) of the C - 1 scores δ
relative to class 0.
"""

import numpy as np

from deepbroad.kernels.jit import jit

# Cells whose penalty is one sum, whatever the number of threads.
CHUNK = 4096


@jit
def lose_rows(values, first, last, width, labels, trained, shares, losses):
    """Turn the scores of rows first..last into weighted derivatives; write shares and losses."""
    n_folds = trained.shape[1]
    n_scores = shares.shape[1] // n_folds
    for r in range(first, last):
        label = np.int64(labels[r])
        for k in range(n_folds):
            at, lane = r * width + k * n_scores, k * n_scores
            largest = np.float32(0.0)
            for c in range(n_scores):
                largest = max(largest, values[at + c])
            total = np.exp(-largest)
            # A loop that both sums and writes would round by where its arrays lie in memory.
            for c in range(n_scores):
                shares[r, lane + c] = np.exp(values[at + c] - largest)
            for c in range(n_scores):
                total += shares[r, lane + c]
            own = values[at + label - 1] if label > 0 else np.float32(0.0)
            losses[r, k] = np.log(np.float64(total)) + np.float64(largest - own)
            weight = trained[r, k]
            for c in range(n_scores):
                shares[r, lane + c] /= total
                values[at + c] = weight * shares[r, lane + c]
            if label > 0:
                values[at + label - 1] -= weight


@jit
def curve_rows(values, first, last, width, trained, shares):
    """Turn scores s of a direction into the Hessian's product with it, ω (p s - p Σ p s)."""
    n_folds = trained.shape[1]
    n_scores = shares.shape[1] // n_folds
    for r in range(first, last):
        for k in range(n_folds):
            at, lane, mean = r * width + k * n_scores, k * n_scores, np.float32(0.0)
            for c in range(n_scores):
                mean += shares[r, lane + c] * values[at + c]
            weight = trained[r, k]
            for c in range(n_scores):
                values[at + c] = weight * shares[r, lane + c] * (values[at + c] - mean)


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


@jit
def penalise_lanes(first, last, lanes, strength, gradient, penalties):
    """Add the penalty's gradient, and write the penalty of each chunk; first starts a chunk."""
    n_folds = strength.shape[1]
    n_scores = lanes.shape[1] // n_folds
    for low in range(first, last, CHUNK):
        penalty = 0.0
        for i in range(low, min(low + CHUNK, last)):
            for k in range(n_folds):
                lane, whole = k * n_scores, 0.0
                for c in range(n_scores):
                    whole += lanes[i, lane + c]
                whole /= n_scores + 1
                for c in range(n_scores):
                    penalty += strength[i, k] * (lanes[i, lane + c] - whole) * lanes[i, lane + c]
                for c in range(n_scores):
                    gradient[i, lane + c] += strength[i, k] * (lanes[i, lane + c] - whole)
        penalties[low // CHUNK] = 0.5 * penalty
