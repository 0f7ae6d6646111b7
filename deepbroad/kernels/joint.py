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
    """Write each row's key: its codes in `columns` as digits of a number, int64."""
    for r in range(keys.shape[0]):
        keys[r] = 0
    for k in range(columns.shape[0]):
        column = codes[columns[k]]
        for r in range(keys.shape[0]):
            keys[r] = keys[r] * radices[k] + np.int64(column[r])


@jit
def look_up_keys(keys, table, absent, joint):
    """Write table[key] of each row, `absent` where it is negative; tell which rows had none."""
    missing = np.zeros(keys.shape[0], np.bool_)
    for r in range(keys.shape[0]):
        code = table[keys[r]]
        missing[r] = code < 0
        joint[r] = absent if code < 0 else code
    return missing
