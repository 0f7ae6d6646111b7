"""The anchor of dual ascent: how far scores are from it, and how it moves after them.

Arrays: scores, anchor and before (n_cells, W) float32, those of the classes but the first, relative
to its, padded to W lanes; bounds (terms + 1,), where the cells of each term begin.
"""

import numpy as np

from deepbroad.kernels.jit import jit

# The pull κ, which makes strengths 1 + κ times as large.
LEAST_PULL, MOST_PULL = 0.01, 1000.0
# Beliefs and the anchor are to close their parts of the gap together: the pull grows where that of
# beliefs is so many times the anchor's, and falls where it is not even this many times.
SLOW_BELIEFS, SLOW_ANCHOR = 30.0, 2.0
FACTOR = 2.0


@jit
def choose_pull(old, by_beliefs, by_anchor):
    """Return the pull for the next sweep, by both parts of the gap of the latest."""
    if by_beliefs > SLOW_BELIEFS * by_anchor:
        return min(old * FACTOR, MOST_PULL)
    if by_beliefs < SLOW_ANCHOR * by_anchor:
        return max(old / FACTOR, LEAST_PULL)
    return old


@jit
def choose_momentum(pull, moves):
    """Return how far the anchor goes beyond the scores, in their latest change.

    As far as Nesterov's steps, but no farther than what a pull this strong bears.
    """
    root = np.sqrt(1.0 + pull)
    return min(moves / (moves + 3.0), (root - 1.0) / (root + 1.0))


@jit
def measure_terms(scores, anchor, bounds, first, last, n_classes, found):
    """Write Σ (β - anchor)² over the cells and classes of the terms first..last into `found`.

    Scores of a cell count as if they added up to 0 over the classes, as penalised ones do.
    """
    for term in range(first, last):
        total = 0.0
        for cell in range(bounds[term], bounds[term + 1]):
            whole, squares = 0.0, 0.0
            for k in range(n_classes - 1):
                apart = np.float64(scores[cell, k]) - np.float64(anchor[cell, k])
                whole += apart
                squares += apart * apart
            total += squares - whole * whole / n_classes
        found[term] = total


@jit
def move_anchor(scores, anchor, before, old, new, momentum):
    """Move the anchor to the scores and beyond, by `momentum` times their latest change.

    Beliefs stay, so that scores follow the anchor by new / (1 + new) of what it moves; a pull that
    changes from `old` to `new` is as if the anchor had been where it leaves them as they are.
    """
    share = new / (1.0 + new)
    for i in range(len(scores)):
        score = scores[i]
        kept = score + old / new * (anchor[i] - score)
        moved = score + momentum * (score - before[i])
        before[i], anchor[i] = score, moved
        scores[i] = score + share * (moved - kept)
