"""The vector work of L-BFGS: pairs of steps and gradient changes, their products, the direction.

With κ the scaling (u = κ·z; empty means 1) a search over z sees the gradient κ·g. Vectors are given
in u; pairs are kept in z, as s/κ and κ·y:

    pairs  (m, 2, n)  steps and gradient changes, float32 or float64
    order  (k,)       the slots of `pairs` in use, oldest first
    gram   (2m+1,)²   inner products; slot i has rows 2i (step) and 2i+1 (change), κ·g the last

Products and sums are float64 whatever the pairs are. Every kernel over 0..n works on one range, so
that ranges can go to threads and their sums be added in a fixed order.
"""

import numpy as np

from deepbroad.kernels.jit import inlined, jit

# Numbers of each vector that are worked on at a time: their float64 copies stay in a core's cache.
BLOCK = 2048


@inlined
def dot(left, right):
    """Return the inner product of two vectors in float64."""
    total = 0.0
    for i in range(len(left)):
        total += np.float64(left[i]) * np.float64(right[i])
    return total


@jit
def advance(point, direction, step, target):
    """Write point + step·direction into `target`, which may be `point`."""
    for i in range(len(point)):
        target[i] = point[i] + step * np.float64(direction[i])


@jit
def form_pair(moves, changes, scaling, step, direction, gradient, fresh):
    """Write step·direction/κ into `moves` and κ·(fresh - gradient) into `changes`."""
    if len(scaling):
        for i in range(len(gradient)):
            moves[i] = step * np.float64(direction[i]) / np.float64(scaling[i])
            changes[i] = (fresh[i] - gradient[i]) * np.float64(scaling[i])
    else:
        for i in range(len(gradient)):
            moves[i] = step * np.float64(direction[i])
            changes[i] = fresh[i] - gradient[i]


@inlined
def widen(values, wide):
    """Copy numbers into a float64 block."""
    for i in range(len(values)):
        wide[i] = values[i]


@inlined
def widen_scaled(values, scaling, wide):
    """Copy numbers times κ into a float64 block."""
    if len(scaling):
        for i in range(len(values)):
            wide[i] = values[i] * np.float64(scaling[i])
    else:
        widen(values, wide)


@inlined
def largest_of(values):
    """Return the largest absolute value, 0 of none."""
    largest = 0.0
    for i in range(len(values)):
        value = abs(values[i])
        largest = value if value > largest else largest
    return largest


@inlined
def multiply_thrice(row, gradient, moves, changes):
    """Return the products of one stored row with three float64 blocks, reading it once."""
    by_gradient, by_moves, by_changes = 0.0, 0.0, 0.0
    for i in range(len(row)):
        value = np.float64(row[i])
        by_gradient += value * gradient[i]
        by_moves += value * moves[i]
        by_changes += value * changes[i]
    return by_gradient, by_moves, by_changes


@jit
def multiply_pairs(start, stop, pairs, order, is_new, gradient, scaling, products):
    """Multiply every pair in use with κ·g and, if the last is new, with that pair, over a range.

    `products` (3, 2m+2) takes the products with κ·g, the new step and the new change, columns as in
    the Gram matrix; the last column takes the largest |κ·g| in its first row.
    """
    last = products.shape[1] - 1
    products[:] = 0.0
    blocks = np.zeros((3, BLOCK), np.float64)
    for low in range(start, stop, BLOCK):
        high = min(stop, low + BLOCK)
        length = high - low
        g, moves, changes = blocks[0, :length], blocks[1, :length], blocks[2, :length]
        widen_scaled(gradient[low:high], scaling[low:high], g)
        products[0, last - 1] += dot(g, g)
        products[0, last] = max(products[0, last], largest_of(g))
        if is_new:
            widen(pairs[order[-1], 0, low:high], moves)
            widen(pairs[order[-1], 1, low:high], changes)
        for slot in order:
            for part in range(2):
                row, column = pairs[slot, part, low:high], 2 * slot + part
                if is_new:
                    with_g, with_move, with_change = multiply_thrice(row, g, moves, changes)
                    products[0, column] += with_g
                    products[1, column] += with_move
                    products[2, column] += with_change
                else:
                    products[0, column] += dot(row, g)


@jit
def weigh_pairs(gram, order):
    """Return c (2m+1,) such that -H·κg = Σ c·(pairs and κg), H being the inverse Hessian of L-BFGS.

    The two loops of Nocedal, run on inner products instead of vectors (Chen, Wang and Zhou, 2014).
    """
    last = len(gram) - 1
    weights = np.zeros(last + 1, np.float64)
    weights[last] = 1.0
    held = len(order)
    along = np.empty(held, np.float64)
    for k in range(held - 1, -1, -1):
        move, change = 2 * order[k], 2 * order[k] + 1
        along[k] = dot(gram[move], weights) / gram[move, change]
        weights[change] -= along[k]
    if held:
        move, change = 2 * order[-1], 2 * order[-1] + 1
        weights *= gram[move, change] / gram[change, change]
    for k in range(held):
        move, change = 2 * order[k], 2 * order[k] + 1
        weights[move] += along[k] - dot(gram[change], weights) / gram[move, change]
    return -weights


@jit
def combine_pairs(start, stop, pairs, order, weights, gradient, scaling, direction):
    """Write κ·Σ c·(pairs and κg) into direction[start:stop]; return its product with g."""
    slope = 0.0
    block = np.empty(BLOCK, np.float64)
    for low in range(start, stop, BLOCK):
        high = min(stop, low + BLOCK)
        total = block[: high - low]
        widen_scaled(gradient[low:high], scaling[low:high], total)
        total *= weights[-1]
        for slot in order:
            moves, changes = pairs[slot, 0, low:high], pairs[slot, 1, low:high]
            with_move, with_change = weights[2 * slot], weights[2 * slot + 1]
            for i in range(high - low):
                total[i] += with_move * np.float64(moves[i]) + with_change * np.float64(changes[i])
        into = direction[low:high]
        if len(scaling):
            scale = scaling[low:high]
            for i in range(high - low):
                into[i] = total[i] * np.float64(scale[i])
        else:
            for i in range(high - low):
                into[i] = total[i]
        slope += dot(into, gradient[low:high])
    return slope
