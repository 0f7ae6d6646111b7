"""Identical rows, against counters of tuples."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.kernels.rows import FREE, hash_rows, number_rows, same_rows

pytestmark = [
    pytest.mark.uncompiled,
    # Uncompiled, NumPy tells that the product of a hash wraps, as it is meant to.
    pytest.mark.filterwarnings("ignore:overflow encountered in scalar multiply:RuntimeWarning"),
]


def hash_all(codes, labels):
    hashes = np.full(len(labels), 12_345, np.uint64)
    hash_rows(codes, labels, hashes)
    return hashes


def number_all(hashes):
    """Return the number of each row and the first row of each number, in the fewest slots."""
    rows = len(hashes)
    slots = np.full(1 << max(1, (2 * rows - 1).bit_length()), FREE, np.int32)
    numbers, first = np.full(rows, -7, np.int32), np.full(rows, -7, np.int32)
    count = number_rows(hashes, slots, numbers, first)
    assert (slots != FREE).sum() == count
    return numbers, first[:count]


def tuples_of(codes, labels):
    return [(*row, label) for *row, label in zip(*codes.tolist(), labels.tolist(), strict=True)]


@st.composite
def tables(draw, dtype=np.uint8):
    """Draw a table of few values, so that rows repeat, and its labels."""
    columns, rows = draw(st.integers(1, 4)), draw(st.integers(1, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    codes = rng.integers(draw(st.integers(1, 4)), size=(columns, rows)).astype(dtype)
    return codes, rng.integers(draw(st.integers(1, 3)), size=rows).astype(np.uint8)


@given(tables())
def test_rows_have_one_number_exactly_if_they_are_the_same(table):
    codes, labels = table
    rows = tuples_of(codes, labels)
    numbers, first = number_all(hash_all(codes, labels))
    assert len(first) == len(set(rows))
    assert Counter(rows[first[number]] for number in numbers) == Counter(rows)
    assert [rows[first[number]] for number in numbers] == rows
    assert same_rows(codes, labels, numbers, first)


@given(tables())
def test_numbers_ascend_as_different_rows_come(table):
    codes, labels = table
    rows = tuples_of(codes, labels)
    numbers, first = number_all(hash_all(codes, labels))
    assert first.tolist() == sorted(rows.index(row) for row in set(rows))
    assert list(dict.fromkeys(numbers.tolist())) == list(range(len(first)))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
def test_the_hash_is_that_of_the_codes_whatever_their_size(dtype):
    rng = np.random.default_rng(0)
    codes, labels = rng.integers(200, size=(3, 30)), rng.integers(4, size=30)
    np.testing.assert_array_equal(
        hash_all(codes.astype(dtype), labels.astype(dtype)),
        hash_all(codes.astype(np.int64), labels),
    )


def test_labels_columns_and_their_order_change_the_hash():
    codes = np.array([[1, 1, 2, 1, 0], [2, 2, 1, 3, 0]], np.uint8)
    labels = np.array([0, 1, 0, 0, 0], np.uint8)
    assert len(set(hash_all(codes, labels).tolist())) == 5


def test_many_rows_of_small_codes_do_not_collide():
    grid = np.indices((6, 6, 6, 6)).reshape(4, -1).astype(np.uint8)
    assert len(set(hash_all(grid, grid[0] % 2).tolist())) == 6**4


def test_hashes_that_share_a_slot_are_told_apart():
    # The same low bits, so that all begin at the last slot and wrap around.
    hashes = np.array([2**32 * i + 15 for i in (1, 2, 1, 3, 2, 4, 1)], np.uint64)
    numbers, first = number_all(hashes)
    assert numbers.tolist() == [0, 1, 0, 2, 1, 3, 0]
    assert first.tolist() == [0, 1, 3, 5]


def test_hashes_beyond_63_bits_are_numbered_too():
    top = 2**64 - 1
    numbers, first = number_all(np.array([top, top - 16, top, 2**63], np.uint64))
    assert numbers.tolist() == [0, 1, 0, 2]
    assert first.tolist() == [0, 1, 3]


@given(tables())
def test_rows_of_one_hash_are_the_same_only_if_they_are(table):
    codes, labels = table
    # Every row has the hash of every other.
    numbers, first = number_all(np.full(len(labels), 42, np.uint64))
    assert first.tolist() == [0]
    assert not numbers.any()
    assert same_rows(codes, labels, numbers, first) == (len(set(tuples_of(codes, labels))) == 1)


@pytest.mark.parametrize("column", [0, 1, 2, None])
@pytest.mark.parametrize("row", [1, 4])
def test_one_different_code_or_label_is_seen(column, row):
    codes, labels = np.ones((3, 5), np.uint8), np.ones(5, np.uint8)
    numbers, first = np.zeros(5, np.int32), np.zeros(1, np.int32)
    assert same_rows(codes, labels, numbers, first)
    if column is None:
        labels[row] = 0
    else:
        codes[column, row] = 0
    assert not same_rows(codes, labels, numbers, first)
