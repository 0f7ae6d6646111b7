"""Joint keys of code columns, against ravelled indices."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.kernels.joint import count_distinct, count_joint, join_keys, look_up_keys

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
    seen = np.zeros(4, np.uint8)  # a bit for each of 30 pairs
    assert count_distinct(left, right, 5, seen) == expected == np.unpackbits(seen).sum()


def test_keys_are_looked_up_and_missing_ones_told():
    table = np.array([-1, 5, -1, 0], np.int32)
    joint = np.empty(4, np.uint8)
    missing = np.array([True, False, False, False])
    look_up_keys(np.array([3, 0, 1, 2]), table, joint, missing)
    assert joint.tolist() == [0, 0, 5, 0]
    assert missing.tolist() == [True, True, False, True]


TERMS = [(0, 1, 2), (3,), (2, 0), (1, 3), (0, 1, 3)]


def count_naively(codes, columns):
    """Return how many joint values rows show, and how many of them once and twice."""
    times = Counter(zip(*codes[list(columns)].tolist(), strict=True))
    by_times = Counter(times.values())
    return len(times), by_times[1], by_times[2]


def padded(terms):
    depth = max(len(term) for term in terms)
    return np.array([[*term, *[-1] * (depth - len(term))] for term in terms])


@given(st.data())
def test_joint_values_are_counted_by_how_often_rows_show_them(data):
    sizes = np.array(data.draw(st.lists(st.integers(1, 5), min_size=4, max_size=4)))
    rows = data.draw(st.integers(0, 40))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    codes = rng.integers(sizes[:, None], size=(4, rows)).astype(np.uint8)
    times = np.zeros(5**3, np.uint8)
    counts = np.full((3, len(TERMS)), -1)
    count_joint(codes, padded(TERMS), sizes, 0, len(TERMS), times, *counts)
    assert counts.T.tolist() == [list(count_naively(codes, term)) for term in TERMS]
    assert not times.any()  # ready for other terms


def test_only_the_terms_asked_for_are_counted():
    codes = np.random.default_rng(0).integers(3, size=(4, 20)).astype(np.uint8)
    counts, times = np.full((3, len(TERMS)), -1), np.zeros(27, np.uint8)
    count_joint(codes, padded(TERMS), np.full(4, 3), 1, 3, times, *counts)
    assert counts[:, 1].tolist() == list(count_naively(codes, TERMS[1]))
    assert counts[:, 2].tolist() == list(count_naively(codes, TERMS[2]))
    assert (counts[:, [0, 3, 4]] == -1).all()


def test_joint_values_shown_hundreds_of_times_do_not_wrap_around():
    codes, counts = np.zeros((1, 700), np.uint8), np.zeros((3, 1), np.int64)
    codes[0, 600] = 1
    count_joint(codes, np.array([[0]]), np.array([2]), 0, 1, np.zeros(2, np.uint8), *counts)
    assert counts.ravel().tolist() == [2, 1, 0]
