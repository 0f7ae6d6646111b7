"""Joined columns against a loop over rows."""

import pickle

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.model.indicators import Joining

# Columns 0 and 5, 6 (one attribute) are kept; 4, 1, 2 are a category, 3, 7, 8 another.
JOINING = Joining(
    (np.array([4, 1, 2]), np.array([3, 7, 8])),
    (np.array([1, 0, 1]), np.array([1, 1, 1])),
    (True, False),
    np.array([3, 2, 2, 2, 2, 4, 8, 2, 2]),
    np.array([0, 1, 2, 3, 4, 5, 5, 6, 7]),
)


def test_kept_columns_come_first_and_attributes_are_renumbered():
    np.testing.assert_array_equal(JOINING.kept, [0, 5, 6])
    np.testing.assert_array_equal(JOINING.joined_cardinalities, [3, 4, 8, 4, 3])
    np.testing.assert_array_equal(JOINING.joined_attributes, [0, 1, 1, 2, 3])
    assert JOINING.n_attributes == 4
    assert [JOINING.category_of(column) for column in range(5)] == [None, None, None, 0, 1]
    assert [JOINING.given_columns(column).tolist() for column in range(5)] == [
        [0], [5], [6], [4, 1, 2], [3, 7, 8]
    ]  # fmt: skip
    assert JOINING.joined_names("abcdefgh") == [["e", "b", "c"], ["d", "g", "h"]]


def test_a_joining_survives_pickling():
    assert JOINING.kept is not None
    again = pickle.loads(pickle.dumps(JOINING))
    np.testing.assert_array_equal(again.joined_cardinalities, JOINING.joined_cardinalities)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=20))
def test_a_code_says_which_member_is_on(values):
    rows = len(values)
    codes = np.random.default_rng(0).integers(0, 3, (9, rows)).astype(np.uint8)
    for r, value in enumerate(values):
        for own, on, k in zip(JOINING.members, JOINING.on, value, strict=True):
            for place, column in enumerate(own):
                codes[column, r] = on[place] if place == k else 1 - on[place]
    joined = np.empty((5, rows), np.uint8)
    JOINING.join_codes(codes, joined)
    np.testing.assert_array_equal(joined[:3], codes[[0, 5, 6]])
    np.testing.assert_array_equal(joined[3:].T, values)


def test_rows_that_are_as_if_absent_get_some_code():
    codes = np.full((9, 3), 2, np.uint8)  # no member on, but values never seen
    codes[:, 1] = 1  # two on
    codes[:, 2] = 0  # none on, in a category where one always is
    joined = np.empty((5, 3), np.uint8)
    JOINING.join_codes(codes, joined)
    assert (joined <= JOINING.joined_cardinalities[:, None]).all()
