"""Which rows share cells: the kernel matrix K of few rows, and products with it.

K has Σ_t 1/λ_t over the tables t in which rows r and r' share a cell. The scores that follow from
row duals are K times these, so that a fit of any number of tables takes as long as one of n
features where there are n rows.

=========  ====================================================  ===================  =======
symbol     meaning                                               shape                dtype
=========  ====================================================  ===================  =======
cells      the cell of each row in each table, numbered anew     (tables, rows)       int16
inverse    1/λ of each table                                     (tables,)            floating
kernel     K, symmetric                                          (rows, rows)         floating
=========  ====================================================  ===================  =======
"""

import numpy as np

from deepbroad.kernels.jit import inlined, jit

# Rows whose part of K lies in the fastest cache while tables pass by.
BAND = 16


@jit
def number_cells(codes, members, cardinalities, space, first, last, cells, counts):
    """Number the cells that rows have in tables first..last, and count them.

    `members` (tables, depth) has the columns of each table, filled up with -1; `space` is at least
    the number of joint values of any of these tables.
    """
    n_rows = codes.shape[1]
    seen = np.full(space, -1, np.int16)
    joint = np.empty(n_rows, np.int64)
    for table in range(first, last):
        joint[:] = 0
        for k in range(members.shape[1]):
            column = members[table, k]
            if column >= 0:
                size, own = cardinalities[column], codes[column]
                for r in range(n_rows):
                    joint[r] = joint[r] * size + own[r]
        count = 0
        for r in range(n_rows):
            if seen[joint[r]] < 0:
                seen[joint[r]] = count
                count += 1
            cells[table, r] = seen[joint[r]]
        for r in range(n_rows):
            seen[joint[r]] = -1
        counts[table] = count


@jit
def compare_rows(cells, tables, inverse, first, last, kernel):
    """Add what some tables give to rows first..last of the lower half of K."""
    whole, zero = len(tables) // 4 * 4, np.zeros(1, inverse.dtype)[0]
    for low in range(first, last, BAND):
        high = min(low + BAND, last)
        for q in range(0, whole, 4):
            # Four tables at a time: K is loaded and stored a quarter as often.
            a, b, c, d = tables[q], tables[q + 1], tables[q + 2], tables[q + 3]
            row_a, row_b, row_c, row_d = cells[a], cells[b], cells[c], cells[d]
            v_a, v_b, v_c, v_d = inverse[a], inverse[b], inverse[c], inverse[d]
            for i in range(low, high):
                into = kernel[i]
                x_a, x_b, x_c, x_d = row_a[i], row_b[i], row_c[i], row_d[i]
                for j in range(i + 1):
                    into[j] += (
                        (v_a if row_a[j] == x_a else zero)
                        + (v_b if row_b[j] == x_b else zero)
                        + (v_c if row_c[j] == x_c else zero)
                        + (v_d if row_d[j] == x_d else zero)
                    )
        for q in range(whole, len(tables)):
            value, row = inverse[tables[q]], cells[tables[q]]
            for i in range(low, high):
                into, own = kernel[i], row[i]
                for j in range(i + 1):
                    into[j] += value if row[j] == own else zero


@jit
def mirror(kernel):
    """Copy the lower half of K to the upper one."""
    for low in range(0, len(kernel), BAND):
        for i in range(low, len(kernel)):
            for j in range(low, min(low + BAND, i)):
                kernel[j, i] = kernel[i, j]


@jit
def blend_kernels(kernel, factor, other, times, constant, order, first, last, blended):
    """Write factor·K + times·K' + constant for some rows by all; rows first..last of the blend.

    The rows of the blend are the first in `order`, its columns are all in `order`.
    """
    for i in range(first, last):
        row, own, into = kernel[order[i]], other[order[i]], blended[i]
        for j in range(len(order)):
            into[j] = factor * row[order[j]] + times * own[order[j]] + constant


@inlined
def multiply_kernel(kernel, vectors, out):
    """Write the products of vectors (m, rows) with as many columns of K as `out` has."""
    out[:] = 0.0
    n_rows, n_columns = vectors.shape[1], out.shape[1]
    whole = n_rows // 4 * 4
    for q in range(0, whole, 4):
        # Four rows at a time: what is added to is loaded and stored a quarter as often.
        row_i, row_j, row_k, row_h = kernel[q], kernel[q + 1], kernel[q + 2], kernel[q + 3]
        for c in range(len(vectors)):
            into, x = out[c], vectors[c]
            x_i, x_j, x_k, x_h = x[q], x[q + 1], x[q + 2], x[q + 3]
            for r in range(n_columns):
                into[r] += x_i * row_i[r] + x_j * row_j[r] + x_k * row_k[r] + x_h * row_h[r]
    for q in range(whole, n_rows):
        row = kernel[q]
        for c in range(len(vectors)):
            into, x = out[c], vectors[c, q]
            for r in range(n_columns):
                into[r] += x * row[r]


@jit
def sum_tables(cells, counts, values, weights, inverse, first, last, found):
    """Write sums over the cells of tables first..last, (tables, folds, 4).

    `values` (rows, folds, 5, C - 1) has for each row in each fold a probe's solution x + Σ_c x_c,
    the probe e, the duals a + Σ_c a_c, the duals a, and the curvature ω p (1 - p); `inverse` is of
    shape (tables, folds). With their sums over a cell in capitals, the four are Σ X·E / λ (the
    effective parameters), Σ H / (H + λ (1 - 1/C)) (by the diagonal alone), Σ A·A' / λ² (squared
    scores β) and Σ ω β².
    """
    n_rows, n_folds, _, m = values.shape
    sums = np.empty((n_rows, n_folds, 5, m), np.float32)
    total = np.empty(n_rows, np.float32)
    centred = np.float32(1.0 - 1.0 / (m + 1.0))
    for table in range(first, last):
        count, row = counts[table], cells[table]
        sums[:count], total[:count] = 0.0, 0.0
        flat, taken = sums.reshape(n_rows, -1), values.reshape(n_rows, -1)
        for r in range(n_rows):
            into, own = flat[row[r]], taken[r]
            total[row[r]] += weights[r]
            for q in range(len(own)):
                into[q] += own[q]
        for k in range(n_folds):
            effective, diagonal, squares, variance = 0.0, 0.0, 0.0, 0.0
            value = inverse[table, k]
            for x in range(count):
                square = 0.0
                for c in range(m):
                    effective += sums[x, k, 0, c] * sums[x, k, 1, c]
                    square += sums[x, k, 2, c] * sums[x, k, 3, c]
                    curved = value * sums[x, k, 4, c]
                    diagonal += curved / (curved + centred)
                squares += square
                variance += total[x] * square
            found[table, k, 0] = value * effective
            found[table, k, 1] = diagonal
            found[table, k, 2] = value * value * squares
            found[table, k, 3] = value * value * variance
