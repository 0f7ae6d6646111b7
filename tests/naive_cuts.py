"""The slow, obvious twin of `mdl_cuts`: recursion as in the paper, every midpoint a candidate."""

import math
from collections import defaultdict
from itertools import pairwise

TIE = 1e-12


def naive_cuts(values, labels, weights=None):
    """Return the sorted cut points of one column, all in Python floats."""
    weights = [1.0] * len(values) if weights is None else weights
    rows = [
        (float(x), int(y), float(w))
        for x, y, w in zip(values, labels, weights, strict=True)
        if not math.isnan(x) and w > 0
    ]
    return sorted(_cut(rows))


def _cut(rows):
    total = sum(w for _, _, w in rows)
    distinct = sorted({x for x, _, _ in rows})
    best_gain, best = 0.0, None
    for below, above in pairwise(distinct):
        left = [row for row in rows if row[0] <= below]
        right = [row for row in rows if row[0] >= above]
        n_left, n_right = sum(w for *_, w in left), sum(w for *_, w in right)
        after = (n_left * entropy(left) + n_right * entropy(right)) / total
        gain = entropy(rows) - after
        if gain > best_gain + TIE:
            best_gain, best = gain, (below, above, left, right)
    if best is None or total <= 1:
        return []
    below, above, left, right = best
    k, k1, k2 = n_kinds(rows), n_kinds(left), n_kinds(right)
    delta = math.log2(3**k - 2) - (k * entropy(rows) - k1 * entropy(left) - k2 * entropy(right))
    if best_gain <= (math.log2(total - 1) + delta) / total:
        return []
    return [*_cut(left), midpoint(below, above), *_cut(right)]


def midpoint(below, above):
    """Return the middle of two values if it separates them, else the upper one."""
    middle = below / 2 + above / 2
    return middle if below < middle <= above else above


def entropy(rows):
    """Return the class entropy of rows, in bits."""
    weight = defaultdict(float)
    for _, y, w in rows:
        weight[y] += w
    total = sum(weight.values())
    return -sum(w / total * math.log2(w / total) for w in weight.values())


def n_kinds(rows):
    """Return how many classes rows have."""
    return len({y for _, y, _ in rows})
