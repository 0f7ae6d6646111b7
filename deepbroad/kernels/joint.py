"""Join code columns into one code: keys in mixed radix, and the joint values that rows show."""

import numpy as np

from deepbroad.kernels.jit import jit


@jit
def count_distinct(left, right, n_right, seen):
    """Count the different pairs of codes; `seen`, of bytes, has a zero bit per possible pair."""
    count = 0
    for r in range(left.shape[0]):
        pair = np.int64(left[r]) * n_right + np.int64(right[r])
        byte, bit = pair >> 3, np.uint8(1 << (pair & 7))
        if seen[byte] & bit == 0:
            seen[byte] |= bit
            count += 1
    return count


@jit
def join_keys(codes, columns, radices, keys):
    """Write each row's key: its codes in `columns` as digits of a number.

    Keys are int64, or int32 where they fit, which vectorises twice as wide.
    """
    for k in range(columns.shape[0]):
        column = codes[columns[k]]
        radix = keys.dtype.type(radices[k])
        if k == 0:
            for r in range(keys.shape[0]):
                keys[r] = column[r]
        else:
            for r in range(keys.shape[0]):
                keys[r] = keys[r] * radix + column[r]


@jit
def look_up_keys(keys, table, joint, missing):
    """Write table[key] of each row into `joint`, 0 where it is negative, and mark such rows."""
    for r in range(keys.shape[0]):
        code = table[keys[r]]
        missing[r] |= code < 0
        joint[r] = max(code, 0)


@jit
def count_joint(codes, terms, sizes, first, last, times, distinct, single, double):
    """Count the joint values that rows show of the terms first..last.

    `distinct` gets how many there are, `single` and `double` how many of them once and twice.
    `times` has a zero byte for every joint value of the largest term.
    """
    keys = np.empty(codes.shape[1], np.int64)
    for t in range(first, last):
        keys[:] = 0
        for k in range(terms.shape[1]):
            if terms[t, k] >= 0:
                column, size = codes[terms[t, k]], sizes[terms[t, k]]
                for r in range(keys.shape[0]):
                    keys[r] = keys[r] * size + column[r]
        distinct[t] = single[t] = double[t] = 0
        for r in range(keys.shape[0]):
            seen = times[keys[r]]
            if seen < 3:
                times[keys[r]] = seen + 1
                if seen == 0:
                    distinct[t] += 1
                    single[t] += 1
                elif seen == 1:
                    single[t] -= 1
                    double[t] += 1
                else:
                    double[t] -= 1
        for r in range(keys.shape[0]):
            times[keys[r]] = 0
