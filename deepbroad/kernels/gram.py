"""Dual ascent in the space of rows: what pairs of rows share is counted once, and cells are not.

Scores that follow from beliefs need nothing of the cells but the Gram matrix

    K_rs = Σ 1/λ of the terms in which rows r and s have the same cell,

so that a step costs a row of K, however many terms there are. `deepbroad.kernels.dual` has the step
itself and `deepbroad.kernels.anchor` the anchor.

Arrays: n rows, of which the m of `rows` train and the others are only scored. A vector of scores
(C - 1, n + m) float32 has those of the n rows, of the classes but the first relative to its, and
after them the coefficients of the m: scores are K times these. Both follow the anchor alike.
"""

from typing import NamedTuple

import numpy as np

from deepbroad.kernels.anchor import choose_momentum, choose_pull, move_anchor
from deepbroad.kernels.dual import (
    count_needed,
    hold_classes,
    measure_classes,
    pull_belief,
    relate_scores,
    renew_belief,
)
from deepbroad.kernels.jit import inlined, jit

# Sweeps before an ascent may be given up.
PATIENCE = 50
# A row whose belief is so near to its scores' softmax, in the mean gap to close, stays as it is:
# most steps are those of rows that have settled long before the last ones do.
SETTLED = 0.05
# Rows and columns of a tile of the matrix, and terms at a time: what they are compared by stays in
# the cache, and so does the tile (a third less time with 6,000 terms).
TILE_ROWS, TILE_COLUMNS, TILE_TERMS = 8, 512, 128


class GramRows(NamedTuple):
    """Training rows.

    Attributes
    ----------
    rows : (m,) int64, which of the n rows
    labels : (m,) int64
    weights : (m,) float64, above 0
    orders : (k, m) int64, in which sweeps go through them, in turn
    class_weights : (C,) float64
    """

    rows: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    orders: np.ndarray
    class_weights: np.ndarray


class GramPoint(NamedTuple):
    """Where an ascent stands.

    Attributes
    ----------
    scores, anchor, before : (C - 1, n + m) float32
    class_scores : (C,) float64
    beliefs : (m, C) float64
    partitions : (m,) float64
    pull : (1,) float64, κ; 0 before the first ascent
    """

    scores: np.ndarray
    anchor: np.ndarray
    before: np.ndarray
    class_scores: np.ndarray
    beliefs: np.ndarray
    partitions: np.ndarray
    pull: np.ndarray


@jit
def add_matches(cells, values, first, last, gram):
    """Add Σ values of the terms in which rows match to the rows first..last of a Gram matrix.

    `cells` (n_terms, n); of each row only the columns from its tile's first row on are
    written: the matrix is symmetric (`mirror_gram`). `gram` is (n, n) float32 or uint16.
    """
    n = gram.shape[1]
    for start in range(0, len(cells), TILE_TERMS):
        stop = min(start + TILE_TERMS, len(cells))
        for top in range(first, last, TILE_ROWS):
            bottom = min(top + TILE_ROWS, last)
            for left in range(top, n, TILE_COLUMNS):
                right = min(left + TILE_COLUMNS, n)
                for term in range(start, stop):
                    others, value = cells[term, left:right], values[term]
                    for row in range(top, bottom):
                        match_row(cells[term, row], others, value, gram[row, left:right])


@inlined
def match_row(own, others, value, into):
    """Add the value where others have the same cell."""
    for i in range(len(into)):
        into[i] += value if others[i] == own else into.dtype.type(0)


@jit
def mirror_gram(gram):
    """Copy what is above the diagonal below it."""
    for row in range(len(gram)):
        for column in range(row):
            gram[row, column] = gram[column, row]


@jit
def join_grams(parts, values, first, last, gram):
    """Write Σ values·parts into the rows first..last; `parts` is (k, n, n)."""
    for row in range(first, last):
        into = gram[row]
        into[:] = 0.0
        for k in range(len(parts)):
            value, own = values[k], parts[k, row]
            for i in range(len(into)):
                into[i] += value * np.float32(own[i])


@jit
def gather_gram(gram, train, point):
    """Write scores and coefficients that follow from the beliefs alone; the anchor is there too."""
    n, scores = len(gram), point.scores
    scores[:] = 0.0
    for place in range(len(train.rows)):
        belief, label = point.beliefs[place], train.labels[place]
        first = np.float64(label == 0) - belief[0]
        for k in range(len(scores)):
            own = np.float64(label == k + 1) - belief[k + 1]
            move_scores(gram, train.rows[place], n + place, train.weights[place] * (own - first),
                        scores[k])  # fmt: skip
    point.anchor[:] = scores
    point.before[:] = scores


@inlined
def move_scores(gram, row, coefficient, change, scores):
    """Change the coefficient of a row, and all scores with it."""
    factor, own = np.float32(change), gram[row]
    for i in range(len(own)):
        scores[i] += factor * own[i]
    scores[coefficient] += factor


@inlined
def sweep_gram(gram, train, point, order, softness, class_inverse, settled):
    """Do as `deepbroad.kernels.dual.sweep_rows`; `softness` is 1 / (1 + κ)."""
    n, n_classes = len(gram), point.beliefs.shape[1]
    found, pulled = np.empty(n_classes), np.empty(n_classes)
    belief, logs = np.empty(n_classes), np.empty(n_classes)
    sums, gap = np.empty(n_classes - 1), 0.0
    for place in order:
        row, weight, old = train.rows[place], train.weights[place], point.beliefs[place]
        for k in range(n_classes - 1):
            sums[k] = point.scores[k, row]
        log_total = relate_scores(point.class_scores, sums, found)
        q = weight * (softness * gram[row, row] + class_inverse)
        own = pull_belief(old, found, log_total, q, logs, pulled)
        gap += weight * own
        if own < settled:
            continue
        partitions = point.partitions
        partitions[place] = renew_belief(own, pulled, q, partitions[place], logs, belief)
        first = weight * (old[0] - belief[0])
        for k in range(n_classes):
            moved = weight * (old[k] - belief[k])
            old[k] = belief[k]
            point.class_scores[k] += class_inverse * moved
            if k > 0:
                change = softness * (moved - first)
                move_scores(gram, row, n + place, change, point.scores[k - 1])
    return gap


@inlined
def measure_anchor(train, point, n):
    """Return Σ λ (β - anchor)² over all cells and classes, by rows.

    Scores of a cell count as if they added up to 0 over the classes, as penalised ones do.
    """
    total, n_scores = 0.0, len(point.scores)
    for place in range(len(train.rows)):
        row, coefficients, scores = train.rows[place], 0.0, 0.0
        for k in range(n_scores):
            coefficient = np.float64(point.scores[k, n + place] - point.anchor[k, n + place])
            score = np.float64(point.scores[k, row] - point.anchor[k, row])
            total += coefficient * score
            coefficients += coefficient
            scores += score
        total -= coefficients * scores / (n_scores + 1)
    return max(total, 0.0)


@jit
def ascend_gram(gram, train, point, class_strength, tol, most):
    """Sweep until the mean gap is closed, or will not be in `most` sweeps.

    Return sweeps, the latest gap. Begin where `gather_gram` left the scores.
    """
    total, n = train.weights.sum(), len(gram)
    gaps, residuals = np.empty(most), np.empty(len(point.class_scores))
    flat = point.scores.reshape(-1), point.anchor.reshape(-1), point.before.reshape(-1)
    by_beliefs, by_anchor, moves = 0.0, 0.0, 0
    for cycle in range(most):
        if cycle > 0:
            old = point.pull[0]
            point.pull[0] = choose_pull(old, by_beliefs, by_anchor)
            # An anchor that went too far starts anew.
            moves = 0 if cycle > 1 and gaps[cycle - 1] > gaps[cycle - 2] else moves
            move_anchor(*flat, old, point.pull[0], choose_momentum(point.pull[0], moves))
            moves += 1
        softness = 1.0 / (1.0 + point.pull[0])
        held = hold_classes(class_strength, cycle, softness * gram[train.rows[0], train.rows[0]])
        measure_classes(train.class_weights, train.weights, point.beliefs, residuals)
        point.class_scores[:] += residuals / held
        order = train.orders[cycle % len(train.orders)]
        by_beliefs = sweep_gram(gram, train, point, order, softness, 1.0 / held, SETTLED * tol)
        by_anchor = 0.5 * point.pull[0] ** 2 * measure_anchor(train, point, n)
        missed = measure_classes(train.class_weights, train.weights, point.beliefs, residuals)
        gaps[cycle] = (by_beliefs + by_anchor + missed) / total
        count = cycle + 1
        if gaps[cycle] <= tol:
            return count, gaps[cycle]
        # The first gaps of weak strengths go up and down.
        if count >= PATIENCE and count + count_needed(gaps[:count], tol) > most:
            return count, gaps[cycle]
    return most, gaps[most - 1]


@jit
def sum_losses(rows, labels, weights, point):
    """Return Σ ω·loss of some of the n rows; labels and weights are of all."""
    n_classes = len(point.class_scores)
    sums, found, loss = np.empty(n_classes - 1), np.empty(n_classes), 0.0
    for row in rows:
        for k in range(n_classes - 1):
            sums[k] = point.scores[k, row]
        log_total = relate_scores(point.class_scores, sums, found)
        loss += weights[row] * (log_total - found[labels[row]])
    return loss


@jit
def measure_effects(cells, inverse, rows, coefficients, sums, found):
    """Write the mean square of the scores of each term over its cells and classes, (n_terms,).

    `coefficients` (C - 1, m) of the training `rows`; `sums` (largest space, C - 1) is room of 0s:
    `cells` are numbered within terms.
    """
    n_scores = len(coefficients)
    seen = np.zeros(len(sums), np.bool_)
    for term in range(len(cells)):
        own, reached, squares = cells[term], 0, 0.0
        for place in range(len(rows)):
            cell = own[rows[place]]
            seen[cell] = True
            for k in range(n_scores):
                sums[cell, k] += coefficients[k, place]
        for place in range(len(rows)):
            cell = own[rows[place]]
            if not seen[cell]:
                continue
            seen[cell], whole = False, 0.0
            reached += 1
            for k in range(n_scores):
                squares += sums[cell, k] ** 2
                whole += sums[cell, k]
                sums[cell, k] = 0.0
            squares -= whole * whole / (n_scores + 1)
        found[term] = squares * inverse[term] ** 2 / max(reached, 1) / n_scores


@jit
def number_cells(listed, rows, numbers, counts, cells):
    """Write the cells of some rows, numbered within each term by first appearance.

    `listed` (len(rows), n_terms) has their numbers among all cells, and `numbers` (n_all_cells,)
    int32 those within terms, -1 for cells that did not appear before; `counts` (n_terms,) of these.
    """
    for place in range(len(rows)):
        for term in range(len(counts)):
            cell = listed[place, term]
            if numbers[cell] < 0:
                numbers[cell] = counts[term]
                counts[term] += 1
            cells[term, rows[place]] = numbers[cell]
