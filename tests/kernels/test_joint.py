"""Joint keys of code columns, against ravelled indices."""

import numpy as np
import pytest

from deepbroad.kernels.joint import count_distinct, join_keys, look_up_keys

pytestmark = pytest.mark.uncompiled


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_keys_write_codes_as_digits(dtype):
    rng = np.random.default_rng(0)
    radices = np.array([4, 2, 7])
    codes = np.stack([rng.integers(r, size=50) for r in (9, 4, 2, 7)]).astype(dtype)
    keys = np.full(50, -1)
    join_keys(codes, np.array([1, 2, 3]), radices, keys)
    np.testing.assert_array_equal(keys, np.ravel_multi_index(codes[1:].astype(int), radices))


def test_keys_follow_the_order_of_the_columns_asked_for():
    codes = np.array([[1, 0], [2, 3]], np.uint8)
    keys = np.empty(2, np.int64)
    join_keys(codes, np.array([1, 0]), np.array([4, 2]), keys)
    assert keys.tolist() == [2 * 2 + 1, 3 * 2 + 0]


def test_keys_beyond_32_bits_do_not_wrap():
    codes = np.full((2, 1), 60_000, np.uint16)
    keys = np.empty(1, np.int64)
    join_keys(codes, np.array([0, 1]), np.array([65_536, 65_536]), keys)
    assert keys[0] == 60_000 * 65_536 + 60_000


def test_distinct_pairs_are_counted_once():
    rng = np.random.default_rng(1)
    left, right = (
        rng.integers(6, size=40).astype(np.uint8),
        rng.integers(5, size=40).astype(np.uint8),
    )
    expected = len(set(zip(left.tolist(), right.tolist(), strict=True)))
    seen = np.zeros(30, np.uint8)
    assert count_distinct(left, right, 5, seen) == expected == seen.sum()


def test_keys_are_looked_up_and_missing_ones_told():
    table = np.array([-1, 5, -1, 0], np.int32)
    joint = np.empty(4, np.uint8)
    missing = np.array([True, False, False, False])
    look_up_keys(np.array([3, 0, 1, 2]), table, joint, missing)
    assert joint.tolist() == [0, 0, 5, 0]
    assert missing.tolist() == [True, True, False, True]
