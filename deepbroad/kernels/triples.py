"""Triples of value, class and weight that stand for many rows of one numeric column.

| symbol | meaning | shape | dtype |
|---|---|---|---|
| `values` | ascending; never NaN | (n,) | float64 |
| `labels`, `weights` | class and weight of a triple | (n,) | int32, float64 |
| `mass` | weight of each distinct value | (distinct,) | float64 |
"""

import numpy as np

from deepbroad.kernels.jit import jit


@jit
def sum_pairs(values, labels, weights, n_classes):
    """Return sorted rows with one triple for each pair of value and class, by value, then class.

    Empty `weights` stands for weights of one.
    """
    n = values.shape[0]
    out_values = np.empty(n)
    out_labels = np.empty(n, dtype=np.int32)
    out_weights = np.empty(n)
    sums = np.zeros(n_classes)
    present = np.zeros(n_classes, dtype=np.bool_)
    touched = np.empty(n_classes, dtype=np.int32)
    weighted = weights.shape[0] > 0
    pairs = 0
    row = 0
    while row < n:
        value = values[row]
        count = 0
        while row < n and values[row] == value:
            c = labels[row]
            if not present[c]:
                present[c] = True
                touched[count] = c
                count += 1
            sums[c] += weights[row] if weighted else 1.0
            row += 1
        if count > 1:
            touched[:count].sort()
        for j in range(count):
            c = touched[j]
            out_values[pairs] = value
            out_labels[pairs] = c
            out_weights[pairs] = sums[c]
            pairs += 1
            sums[c] = 0.0
            present[c] = False
    return out_values[:pairs].copy(), out_labels[:pairs].copy(), out_weights[:pairs].copy()


@jit
def group_neighbours(mass, limit):
    """Group neighbouring values; return (median, error).

    A group takes the next value as long as it stays within `limit`; a heavier value is a group by
    itself. `median`, (distinct,) int64, is the place of the value that halves the weight of the
    group of each value. `error` is the most weight that a group has on one side of its median.
    """
    n = mass.shape[0]
    median = np.empty(n, dtype=np.int64)
    error = 0.0
    begin = 0
    while begin < n:
        total = mass[begin]
        end = begin + 1
        while end < n and total + mass[end] <= limit:
            total += mass[end]
            end += 1
        middle = begin
        below = 0.0
        while middle + 1 < end and below + mass[middle] < total / 2:
            below += mass[middle]
            middle += 1
        above = 0.0
        for i in range(middle + 1, end):
            above += mass[i]
        error = max(error, below, above)
        for i in range(begin, end):
            median[i] = middle
        begin = end
    return median, error
