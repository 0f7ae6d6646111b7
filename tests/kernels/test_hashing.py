"""The exact index of keys, against dictionaries."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.kernels.hashing import (
    EMPTY,
    collect_distinct,
    find_key,
    find_keys,
    first_slot,
    insert_keys,
)

pytestmark = [
    pytest.mark.uncompiled,
    # Uncompiled, NumPy tells that the product of a hash wraps, as it is meant to.
    pytest.mark.filterwarnings("ignore:overflow encountered in scalar multiply:RuntimeWarning"),
]

ABSENT = 99
KEYS = st.one_of(st.integers(0, 40), st.integers(0, 2**62))


def free_slots(n_keys):
    """Return as few free slots as the index may have: a power of two, half of them for keys."""
    return np.full(1 << max(1, (2 * n_keys - 1).bit_length()), EMPTY, np.int64)


def build_index(keys):
    slots = free_slots(len(keys))
    numbers = np.full(len(slots), 7_777, np.int32)
    insert_keys(np.array(keys, np.int64), slots, numbers)
    return slots, numbers


def colliding_keys(count, size, at):
    """Return the first keys whose search begins at one slot of so many."""
    slots, found, key = np.empty(size, np.int64), [], 0
    while len(found) < count:
        if first_slot(np.int64(key), slots) == at:
            found.append(key)
        key += 1
    return found


@given(st.lists(KEYS, min_size=1, max_size=40, unique=True), st.lists(KEYS, max_size=20))
def test_keys_are_found_under_their_numbers_and_no_others(keys, others):
    slots, numbers = build_index(keys)
    expected = {key: number for number, key in enumerate(keys)}
    asked = np.array([*reversed(keys), *others], np.int64)
    found = np.full(len(asked), 12_345)
    find_keys(asked, slots, numbers, ABSENT, found)
    assert found.tolist() == [expected.get(key, ABSENT) for key in asked.tolist()]
    assert [int(find_key(key, slots, numbers)) for key in asked] == [
        expected.get(key, -1) for key in asked.tolist()
    ]


@given(st.lists(KEYS, min_size=1, max_size=40, unique=True))
def test_every_key_has_one_slot(keys):
    slots, _ = build_index(keys)
    assert sorted(slots[slots != EMPTY].tolist()) == sorted(keys)


@pytest.mark.parametrize("at", [0, 5, 15])
def test_keys_that_share_their_first_slot_are_told_apart(at):
    # From the last slot on, the search wraps around.
    *keys, absent = colliding_keys(9, 16, at)
    slots, numbers = build_index(keys)
    assert len(slots) == 16
    found = np.empty(9, np.int64)
    find_keys(np.array([*keys, absent]), slots, numbers, ABSENT, found)
    assert found.tolist() == [*range(8), ABSENT]
    assert sorted((np.flatnonzero(slots != EMPTY) - at) % 16) == list(range(8))


def test_the_search_begins_inside_the_slots_and_spreads():
    slots = free_slots(512)
    begins = [int(first_slot(np.int64(key), slots)) for key in range(512)]
    assert all(0 <= slot < len(slots) for slot in begins)
    assert len(set(begins)) > 256


def test_an_empty_index_holds_nothing():
    slots, numbers = build_index([])
    found = np.zeros(2, np.int64)
    find_keys(np.array([0, 2**62]), slots, numbers, -5, found)
    assert found.tolist() == [-5, -5]


@given(st.lists(st.tuples(KEYS, st.sampled_from([0.0, 0.5, 1.0, 3.0])), max_size=40))
def test_weights_of_the_same_key_are_summed(rows):
    expected = defaultdict(float)
    for key, weight in rows:
        expected[key] += weight
    slots = free_slots(len(rows))
    counts = np.zeros(len(slots))
    keys, weights = [key for key, _ in rows], [weight for _, weight in rows]
    distinct = collect_distinct(np.array(keys, np.int64), slots, counts, np.array(weights))
    assert distinct == len(expected)
    taken = slots != EMPTY
    found = dict(zip(slots[taken].tolist(), counts[taken].tolist(), strict=True))
    assert found == expected
    assert not counts[~taken].any()


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_weights_of_keys_that_share_their_first_slot_are_kept_apart(dtype):
    keys = colliding_keys(8, 32, 30)
    slots, counts = free_slots(16), np.zeros(32)
    rows = np.array([*keys, *keys[::-1]], dtype)
    weights = 2.0 ** np.arange(16)
    assert collect_distinct(rows, slots, counts, weights) == 8
    found = dict(zip(slots.tolist(), counts.tolist(), strict=True))
    assert [found[key] for key in keys] == (weights[:8] + weights[:7:-1]).tolist()


def test_blocks_of_rows_are_collected_one_after_the_other():
    slots, counts = free_slots(8), np.zeros(16)
    assert collect_distinct(np.array([5, 9, 5]), slots, counts, np.ones(3)) == 2
    assert collect_distinct(np.array([9, 2**62]), slots, counts, np.full(2, 0.5)) == 1
    taken = slots != EMPTY
    found = dict(zip(slots[taken].tolist(), counts[taken].tolist(), strict=True))
    assert found == {5: 2.0, 9: 1.5, 2**62: 0.5}
