"""How much residuals of held-out rows agree within the cells of a table: a U-statistic.

Cells hold sums over rows. `sums` (cells, W) has for each of D sets of labels the residuals of all
classes but the first, whose own are what is missing to 0, then the number of rows, the variances
p(1 - p) of the classes, for each set the sum of squared residuals, and last the sum of squared
variances. The first set are the labels themselves; the others are drawn from the model and tell
what chance gives.
"""

import numpy as np

from deepbroad.kernels.jit import inlined, jit


@jit
def agree(sums, offsets, shapes, first, last, n_sets, n_classes, agreement, variance):
    """Add Σ over cells of g'² - Σ e² to `agreement` (terms, D), and Σ v² - Σ v·v to `variance`.

    For the terms first..last. g' is the sum of residuals in a cell, less what tables of one member
    fewer would explain: means of the margins, added and subtracted by inclusion and exclusion.
    """
    n_scores = n_classes - 1
    n_means = n_sets * n_scores
    for term in range(first, last):
        cells = sums[offsets[term] : offsets[term + 1]]
        explained = explain_margins(cells, shapes[term], n_means)
        for x in range(len(cells)):
            rows = cells[x, n_means]
            if rows <= 0.0:
                continue
            for d in range(n_sets):
                squares, whole = 0.0, 0.0
                for c in range(d * n_scores, (d + 1) * n_scores):
                    own = cells[x, c] - rows * explained[x, c]
                    squares += own * own
                    whole += own
                squares += whole * whole
                agreement[term, d] += squares - cells[x, n_means + 1 + n_classes + d]
            spread = 0.0
            for c in range(n_classes):
                spread += cells[x, n_means + 1 + c] ** 2
            variance[term] += spread - cells[x, n_means + 1 + n_classes + n_sets]


@inlined
def explain_margins(cells, shape, n_means):
    """Return the mean residuals of each cell that its proper margins explain, (cells, n_means).

    A margin leaves out some members; without those of all members there is nothing to explain a
    table of one member by.
    """
    order = 0
    while order < len(shape) and shape[order] > 1:
        order += 1
    found = np.zeros((len(cells), n_means))
    if order < 2:
        return found
    strides = np.ones(order, np.int64)
    for k in range(order - 2, -1, -1):
        strides[k] = strides[k + 1] * shape[k + 1]
    margin = np.empty(len(cells), np.int64)
    for kept in range((1 << order) - 1):
        sign = -1.0
        for k in range(order):
            if kept >> k & 1:
                sign = -sign
        if order % 2 == 1:
            sign = -sign
        for x in range(len(cells)):
            margin[x] = 0
            for k in range(order):
                if kept >> k & 1:
                    margin[x] += x // strides[k] % shape[k] * strides[k]
        totals = np.zeros((len(cells), n_means + 1))
        for x in range(len(cells)):
            for q in range(n_means + 1):
                totals[margin[x], q] += cells[x, q]
        for x in range(len(cells)):
            rows = totals[margin[x], n_means]
            if rows > 0.0:
                for q in range(n_means):
                    found[x, q] += sign * totals[margin[x], q] / rows
    return found
