"""Dual ascent row by row: each row's step is exact, so that there is no step size.

The dual of F has a belief p_r for each row, a probability of each class, and the scores that follow
from all beliefs are

    β_j = t_j + (1/λ_j) Σ_r ω_r (1[y_r] - p_r)    over the rows r that reach cell j.

At the solution every belief is the softmax of its row's scores. A step takes one row there, all
others as they are: with q = ω_r Σ_j 1/λ_j over its cells and s its scores,

    p ← softmax(s + q·(p_old - p)).

Steps know nothing of an anchor (`deepbroad.engine.anchor`): it makes λ larger and shifts t.

Arrays: rows (n,), numbers of rows, of which `cells` (n, terms) int32 has the cell of each term that
they reach; inverse (terms,), 1/λ; scores (n_cells * W,), those of the classes but the first,
relative to its, padded to W lanes; beliefs (n_rows, C) and partitions (n_rows,) float64, the latter
being where the search for a row's log partition starts.

References
----------
Shalev-Shwartz and Zhang, Stochastic dual coordinate ascent methods for regularized loss
minimization, 2013.
"""

import numpy as np

from deepbroad.kernels.jit import inlined, jit
from deepbroad.kernels.vector import add_lanes, add_scaled

# Accuracy of a belief's sum, and how often it is corrected at most.
CLOSE = 1e-6
MOST_STEPS = 60
# Steps from the belief before, how far each may go, and how far from 1 the sum may end.
REFINEMENTS, LONGEST, FAR = 10, 3.0, 1e-3
# Newton steps for the belief in a class: by then it has six digits.
NEWTON_STEPS = 2
# A row whose belief is so near to its scores' softmax stays as it is.
SETTLED = 1e-9
# One whose belief is so far from it is solved for from scratch.
UNSETTLED = 0.5
# A belief below this counts as this.
LEAST = 1e-30
# Sweeps after which it can be told how fast the gap closes.
TELLING = 3
# Class terms are held back by so much less in each sweep than in the one before.
CLASS_RELEASE = 0.5
# What is missing to the frequencies of classes counts ten times what it costs F: people see it.
CLASS_GAIN = 5.0
# Sums that a row's scores are added to in turn.
ADDERS = 4
# Below this a belief is too small for its own effect on its score to matter.
NEGLIGIBLE = -20.0


@jit
def count_needed(gaps, tol):
    """Return how many more sweeps it takes to close the gap at the rate of the latest."""
    count = len(gaps)
    if count < TELLING:
        return 1.0
    # Over more sweeps the more there are: the gaps of single ones go up and down.
    back = max(TELLING - 1, count // 2)
    if not 0.0 < gaps[count - 1] < gaps[count - 1 - back]:
        return np.inf
    rate = np.log(gaps[count - 1 - back] / gaps[count - 1]) / back
    return np.log(gaps[count - 1] / tol) / rate


@jit
def hold_classes(strength, cycle, softness):
    """Return how strongly class terms are held back in a sweep; `softness` is Σ 1/λ of a row.

    Less and less, so that they do not lag behind; but a row's step is to be that of its cells.
    """
    return max(strength * CLASS_RELEASE**cycle, 1.0 / max(softness, 1e-12))


@jit
def measure_classes(class_weights, weights, beliefs, residuals):
    """Write by how much each class has more weight than rows believe; return what counts of it."""
    residuals[:] = class_weights
    for row in range(len(beliefs)):
        for k in range(len(residuals)):
            residuals[k] -= weights[row] * beliefs[row, k]
    # A class without a row counts like one that has a row.
    missed, each = 0.0, class_weights.sum() / max(len(weights), 1)
    for k in range(len(residuals)):
        missed += residuals[k] ** 2 / max(class_weights[k], each)
    return CLASS_GAIN * missed


@inlined
def solve_belief(pulled, q, partition, belief):
    """Find the p with p = softmax(pulled - q·p); return its log partition, begin at the given one.

    With L the log partition, u = q·p of each class solves u + ln u = pulled - L + ln q; Σ p falls
    as L grows, and L is found by Newton's method inside bounds.
    """
    count = len(pulled)
    highest = pulled[0]
    for k in range(1, count):
        highest = max(highest, pulled[k])
    low, high = highest - q - 1e-9, highest - q / count + np.log(count) + 1e-9
    if not low < partition < high:
        partition = 0.5 * (low + high)
    log_q = np.log(q)
    for _ in range(MOST_STEPS):
        total, slope = 0.0, 0.0
        for k in range(count):
            z = pulled[k] - partition + log_q
            if z < NEGLIGIBLE:
                u = np.exp(z)
            else:
                u = np.log1p(np.exp(z)) if z < 1.0 else z - np.log(z)
                for _ in range(NEWTON_STEPS):
                    u -= (u + np.log(u) - z) * u / (1.0 + u)
            belief[k] = u / q
            total += belief[k]
            slope += belief[k] / (1.0 + u)
        excess = np.log(total)
        if abs(excess) < CLOSE:
            break
        if excess > 0.0:
            low = partition
        else:
            high = partition
        partition += excess * total / slope
        if not low < partition < high:
            partition = 0.5 * (low + high)
    for k in range(count):
        belief[k] /= total
    return partition


@inlined
def refine_belief(pulled, q, logs, belief):
    """Do as `solve_belief` by Newton's method on ln p, from `logs`; tell whether it got there.

    The log partition of each step is the one that keeps the sum of beliefs. Far from the solution
    it may go astray; near it, it takes an exponential per class and step.
    """
    count = len(pulled)
    for k in range(count):
        belief[k] = np.exp(logs[k])
    for _ in range(REFINEMENTS):
        total, slope, residual = -1.0, 0.0, 0.0
        for k in range(count):
            rate = belief[k] / (1.0 + q * belief[k])
            total += belief[k]
            slope += rate
            residual += rate * (logs[k] + q * belief[k] - pulled[k])
        partition = (total - residual) / slope
        largest = 0.0
        for k in range(count):
            excess = logs[k] + q * belief[k] - pulled[k] + partition
            step = excess / (1.0 + q * belief[k])
            step = max(-LONGEST, min(LONGEST, step))
            logs[k] -= step
            belief[k] = np.exp(logs[k])
            # A small belief may be on its way to a large one.
            largest = max(largest, abs(step) * (belief[k] if abs(step) < 1.0 else 1.0))
        if largest < CLOSE:
            total = 0.0
            for k in range(count):
                total += belief[k]
            for k in range(count):
                belief[k] /= total
            return abs(total - 1.0) < FAR
    return False


@inlined
def pull_belief(old, found, log_total, q, logs, pulled):
    """Write ln of a row's belief, and what its scores would be without it; return KL(p ‖ softmax).

    `found` has its scores and `log_total` their log sum.
    """
    own = 0.0
    for k in range(len(old)):
        logs[k] = np.log(max(old[k], LEAST))
        own += old[k] * (logs[k] - found[k] + log_total)
        pulled[k] = found[k] + q * old[k]
    return own


@inlined
def renew_belief(own, pulled, q, partition, logs, belief):
    """Find a row's new belief; return where the next search for its log partition starts."""
    if own > UNSETTLED or not refine_belief(pulled, q, logs, belief):
        return solve_belief(pulled, q, partition, belief)
    return partition


@inlined
def score_row(place, cells, scores, sums, lanes, width):
    """Write the sum of a row's scores into the first `width` of `sums`; there are ADDERS times."""
    for lane in range(ADDERS * width):
        sums[lane] = 0.0
    vector = len(lanes)
    adder = 0
    for term in range(cells.shape[1]):
        # In turn: an addition need not wait for the one before it.
        for lane in range(0, width, vector):
            entry = np.int64(cells[place, term]) * width + lane
            add_lanes(sums, adder + lane, scores, entry, lanes)
        adder = adder + width if adder < (ADDERS - 1) * width else 0
    for lane in range(width):
        for adder in range(1, ADDERS):
            sums[lane] += sums[adder * width + lane]


@inlined
def relate_scores(class_scores, sums, found):
    """Write the scores of a row's classes into `found`, given its sums; return their log sum."""
    n_classes = len(found)
    found[0] = class_scores[0]
    highest = found[0]
    for k in range(1, n_classes):
        found[k] = class_scores[k] + sums[k - 1]
        highest = max(highest, found[k])
    total = 0.0
    for k in range(n_classes):
        total += np.exp(found[k] - highest)
    return highest + np.log(total)


@inlined
def move_row(place, cells, inverse, change, scores, lanes, width):
    """Add the change of a row, over the strength of each term, to the scores of its cells."""
    vector = len(lanes)
    for term in range(cells.shape[1]):
        for lane in range(0, width, vector):
            entry = np.int64(cells[place, term]) * width + lane
            add_scaled(scores, entry, change, lane, inverse[term], lanes)


@jit
def sweep_rows(order, rows, cells, weights, inverse, class_inverse, class_scores, scores, beliefs,
               partitions, lanes, width):  # fmt: skip
    """Take the step of each of the `rows`, in an order; return Σ ω·KL(belief ‖ softmax of scores).

    That sum, by the scores before each step, is about the gap between F and its dual: the row's own
    part of it, at its turn.
    """
    n_classes = beliefs.shape[1]
    sums, change = np.empty(ADDERS * width, scores.dtype), np.zeros(width, scores.dtype)
    found, pulled = np.empty(n_classes), np.empty(n_classes)
    belief, logs = np.empty(n_classes), np.empty(n_classes)
    sum_inverse = class_inverse
    for term in range(len(inverse)):
        sum_inverse += inverse[term]
    gap = 0.0
    for place in order:
        row = rows[place]
        score_row(place, cells, scores, sums, lanes, width)
        log_total = relate_scores(class_scores, sums, found)
        q, old = weights[row] * sum_inverse, beliefs[row]
        own = pull_belief(old, found, log_total, q, logs, pulled)
        gap += weights[row] * own
        if own < SETTLED:
            continue
        partitions[row] = renew_belief(own, pulled, q, partitions[row], logs, belief)
        first = weights[row] * (old[0] - belief[0])
        for k in range(n_classes):
            moved = weights[row] * (old[k] - belief[k])
            old[k] = belief[k]
            class_scores[k] += class_inverse * moved
            if k > 0:
                change[k - 1] = moved - first
        move_row(place, cells, inverse, change, scores, lanes, width)
    return gap


@jit
def measure_rows(rows, cells, weights, class_scores, scores, beliefs, lanes, width):
    """Return Σ ω·KL(belief ‖ softmax of scores) with all scores as they are: the gap itself."""
    n_classes = beliefs.shape[1]
    sums, found = np.empty(ADDERS * width, scores.dtype), np.empty(n_classes)
    gap = 0.0
    for place in range(len(rows)):
        row = rows[place]
        score_row(place, cells, scores, sums, lanes, width)
        log_total = relate_scores(class_scores, sums, found)
        for k in range(n_classes):
            belief = beliefs[row, k]
            gap += weights[row] * belief * (np.log(max(belief, LEAST)) - found[k] + log_total)
    return gap


@jit
def gather_scores(rows, cells, labels, weights, inverse, beliefs, scores, lanes, width):
    """Add what follows from the beliefs of rows to the scores of their cells."""
    change = np.zeros(width, scores.dtype)
    for place in range(len(rows)):
        row = rows[place]
        first = np.float64(labels[row] == 0) - beliefs[row, 0]
        for k in range(1, beliefs.shape[1]):
            own = np.float64(labels[row] == k) - beliefs[row, k]
            change[k - 1] = weights[row] * (own - first)
        move_row(place, cells, inverse, change, scores, lanes, width)


@jit
def list_dense(codes, members, strides, offsets, terms, numbers, cells):
    """Write the number of the cell that each row reaches in each of the dense `terms`.

    `codes` (n_columns, n) are of single columns; `numbers` (n_all_cells,) has those of cells.
    """
    depth = members.shape[1]
    for place in range(cells.shape[0]):
        for i in range(len(terms)):
            cell = offsets[i]
            for k in range(depth):
                cell += np.int64(codes[members[i, k], place]) * strides[i, k]
            cells[place, terms[i]] = numbers[cell]


@jit
def list_compact(codes, first, rows, offsets, terms, numbers, cells):
    """Do as `list_dense` for compact terms, by the codes of all rows from the group `first` on."""
    for place in range(len(rows)):
        row = rows[place]
        for i in range(len(terms)):
            cells[place, terms[i]] = numbers[offsets[i] + np.int64(codes[first + i, row])]
