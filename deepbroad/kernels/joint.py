"""Join code columns into one code: keys in mixed radix, and the joint values that rows show."""

import numpy as np

from deepbroad.kernels.jit import jit


@jit
def count_distinct(left, right, n_right, seen):
    """Count the different pairs of codes; `seen` has a zero byte per possible pair."""
    count = 0
    for r in range(left.shape[0]):
        pair = np.int64(left[r]) * n_right + np.int64(right[r])
        if seen[pair] == 0:
            seen[pair] = 1
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
