"""Newton's method for multinomial logistic models of few rows, by their duals.

A cell's scores are β = (1/λ) Σ a over its rows, with a dual for each row and class. The duals of
all classes add up to 0, so that those of all classes but the first are enough: the scores relative
to the first class are f = offset + K (a + Σ_c a_c). The solution has a = ω (1[y] - p), and a Newton
step solves

    (I + W K') x = ω (1[y] - p) - a,    W u = ω (p u - p Σ p u),    K' x = K (x + Σ_c x_c)

by conjugate gradients in the inner product x·K'z, in which the matrix is symmetric.

=========  ====================================================  ==================
symbol     meaning                                               shape
=========  ====================================================  ==================
kernel     K, which has the prior variance of class terms too    (rows, rows + held)
weights    ω                                                     (rows,)
offset     scores of classes that cost nothing                   (C - 1,)
duals      a                                                     (C - 1, rows)
scores     f                                                     (C - 1, rows + held)
shares     p                                                     (C - 1, rows + held)
=========  ====================================================  ==================

Rows that are held out come after the others: their scores are wanted, and are no part of the fit.
All numbers are of one type: of single precision where models are compared, of double where one is
kept.
"""

import numpy as np

from deepbroad.kernels.jit import inlined, jit
from deepbroad.kernels.similarity import multiply_kernel

# Steps are halved so often until the objective falls.
HALVINGS = 12


@inlined
def apply_kernel(kernel, vectors, mixed, out):
    """Write K' times vectors, for as many rows as `out` has; `mixed` is room."""
    for r in range(vectors.shape[1]):
        whole = vectors[0, r]
        for c in range(1, len(vectors)):
            whole += vectors[c, r]
        for c in range(len(vectors)):
            mixed[c, r] = vectors[c, r] + whole
    multiply_kernel(kernel, mixed, out)


@inlined
def lose_row(scores, r, label):
    """Return the log loss of a row."""
    largest = 0.0
    for c in range(len(scores)):
        largest = max(largest, np.float64(scores[c, r]))
    total = np.exp(-largest)
    for c in range(len(scores)):
        total += np.exp(np.float64(scores[c, r]) - largest)
    own = np.float64(scores[label - 1, r]) if label > 0 else 0.0
    return np.log(total) + largest - own


@inlined
def share_out(scores, r, shares):
    """Write the probabilities of a row."""
    largest = max(scores[0, r], 0 * scores[0, r])
    for c in range(1, len(scores)):
        largest = max(largest, scores[c, r])
    total = np.exp(-largest)
    for c in range(len(scores)):
        shares[c, r] = np.exp(scores[c, r] - largest)
    for c in range(len(scores)):
        total += shares[c, r]
    for c in range(len(scores)):
        shares[c, r] /= total


@inlined
def measure(scores, duals, offset, weights, labels):
    """Return the objective, which is the loss of rows and half of a·K'a, and that loss."""
    loss, penalty = 0.0, 0.0
    for r in range(len(weights)):
        loss += weights[r] * lose_row(scores, r, labels[r])
        for c in range(len(scores)):
            penalty += 0.5 * np.float64(duals[c, r]) * np.float64(scores[c, r] - offset[c])
    return loss + penalty, loss


@inlined
def curve(shares, weights, r, vectors, out):
    """Write W times the vectors of a row, added to what is there."""
    mean = shares[0, r] * vectors[0, r]
    for c in range(1, len(shares)):
        mean += shares[c, r] * vectors[c, r]
    for c in range(len(shares)):
        out[c, r] += weights[r] * shares[c, r] * (vectors[c, r] - mean)


@inlined
def solve_rows(kernel, shares, weights, right, found, image, tol, most):
    """Write the x with (I + W K') x = right, and K'x; return the number of products.

    `right` is used up. Steps end where the residual has fallen by `tol`.
    """
    m, n_rows = right.shape
    mixed, residual_image = np.empty_like(right), np.empty_like(right)
    product, factors = np.empty_like(right), np.empty(2, right.dtype)
    found[:], image[:] = 0.0, 0.0
    apply_kernel(kernel, right, mixed, residual_image)
    direction, direction_image = right.copy(), residual_image.copy()
    size = dot(right, residual_image)
    enough = size * tol * tol
    for step in range(most):
        if not size > enough:
            return step + 1
        product[:] = direction
        for r in range(n_rows):
            curve(shares, weights, r, direction_image, product)
        factors[0] = size / dot(product, direction_image)
        length = factors[0]
        for c in range(m):
            for r in range(n_rows):
                found[c, r] += length * direction[c, r]
                image[c, r] += length * direction_image[c, r]
                right[c, r] -= length * product[c, r]
        apply_kernel(kernel, right, mixed, residual_image)
        before, size = size, dot(right, residual_image)
        factors[1] = size / before
        ratio = factors[1]
        for c in range(m):
            for r in range(n_rows):
                direction[c, r] = right[c, r] + ratio * direction[c, r]
                direction_image[c, r] = residual_image[c, r] + ratio * direction_image[c, r]
    return most + 1


@inlined
def dot(first, second):
    """Return the inner product of two vectors in double precision."""
    total = 0.0
    for c in range(len(first)):
        for r in range(first.shape[1]):
            total += np.float64(first[c, r]) * np.float64(second[c, r])
    return total


@jit
def fit_rows(kernel, labels, weights, offset, duals, scores, shares, tol, most, products):
    """Minimise the objective from the given duals; return it, write scores and shares of all rows.

    The fit ends with a step that promises less than `tol` of the loss of rows. `products` counts.
    """
    m, n_rows = duals.shape
    mixed, right, tried_duals = np.empty_like(duals), np.empty_like(duals), np.empty_like(duals)
    found, image, tried = np.empty_like(duals), np.empty_like(duals), np.empty_like(duals)
    own, lengths = np.empty_like(duals), np.ones(HALVINGS, duals.dtype)
    for halving in range(1, HALVINGS):
        lengths[halving] = 0.5 * lengths[halving - 1]
    apply_kernel(kernel, duals, mixed, own)
    products[0] += 1
    for c in range(m):
        for r in range(n_rows):
            own[c, r] += offset[c]
    objective, loss = measure(own, duals, offset, weights, labels)
    for _ in range(most):
        for r in range(n_rows):
            share_out(own, r, shares)
            for c in range(m):
                right[c, r] = -weights[r] * shares[c, r] - duals[c, r]
            if labels[r] > 0:
                right[labels[r] - 1, r] += weights[r]
        tried[:] = right
        products[0] += solve_rows(kernel, shares, weights, tried, found, image, 0.1, 60)
        promised = dot(right, image)
        if not promised > 0.0:
            break
        better = False
        for length in lengths:
            for c in range(m):
                for r in range(n_rows):
                    tried[c, r] = own[c, r] + length * image[c, r]
                    tried_duals[c, r] = duals[c, r] + length * found[c, r]
            now, tried_loss = measure(tried, tried_duals, offset, weights, labels)
            if now < objective:
                better = True
                break
        if not better:
            break
        own[:], duals[:] = tried, tried_duals
        objective, loss = now, tried_loss
        if promised <= tol * loss:
            break
    apply_kernel(kernel, duals, mixed, scores)
    products[0] += 1
    for r in range(scores.shape[1]):
        for c in range(m):
            scores[c, r] += offset[c]
        share_out(scores, r, shares)
    return objective
