"""Which tuples have cells, and where."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.model.terms import NONE, Terms, list_tuples, stack_tuples

CARDINALITIES = np.array([2, 3, 1, 4])


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_all_tuples_of_an_order_are_there_once(n):
    terms = Terms.of_order(n, CARDINALITIES)
    assert [terms.tuple(t) for t in range(len(terms))] == list(combinations(range(4), n))
    assert len(terms) == comb(4, n)
    assert (terms.orders == n).all()


def test_cells_of_tuples_follow_one_another():
    terms = Terms.of_order(2, CARDINALITIES)
    sizes = [2 * 3, 2 * 1, 2 * 4, 3 * 1, 3 * 4, 1 * 4]
    assert terms.sizes.tolist() == sizes
    assert terms.offsets.tolist() == [0, *np.cumsum(sizes)]
    assert terms.n_cells == sum(sizes)


def test_given_tuples_are_sorted_and_kept_once():
    terms = Terms.of([(3, 0), (1,), (0, 3), (0, 1, 2)], CARDINALITIES)
    assert [terms.tuple(t) for t in range(len(terms))] == [(1,), (0, 3), (0, 1, 2)]
    assert terms.members.tolist() == [[1, NONE, NONE], [0, 3, NONE], [0, 1, 2]]
    assert terms.orders.tolist() == [1, 2, 3]
    assert terms.sizes.tolist() == [3, 8, 6]


def test_columns_can_be_put_in_another_order_inside_their_tuples():
    terms = Terms.of([(1,), (0, 3), (0, 1, 2)], CARDINALITIES).ordered_by(np.array([3, 2, 1, 0]))
    assert [terms.tuple(t) for t in range(len(terms))] == [(1,), (3, 0), (2, 1, 0)]
    assert terms.sizes.tolist() == [3, 8, 6]


def test_a_value_per_term_is_repeated_for_its_cells():
    terms = Terms.of([(0,), (1,)], CARDINALITIES)
    assert terms.per_cell(np.array([7, 8])).tolist() == [7, 7, 8, 8, 8]


def test_more_joint_values_than_integers_are_refused():
    terms = Terms.of_order(4, np.full(4, 1 << 16))
    with pytest.raises(OverflowError, match="lower n"):
        terms.sizes  # noqa: B018 (the property raises)


@given(st.data())
def test_tuples_are_listed_in_lexicographic_order(data):
    a = data.draw(st.integers(1, 9))
    n = data.draw(st.integers(1, a))
    found = list_tuples(a, n)
    assert found.shape == (comb(a, n), n)
    assert [tuple(row) for row in found.tolist()] == list(combinations(range(a), n))


def some_terms(stored=None):
    terms = Terms.of([(2,), (0, 1), (0, 3), (0, 1, 3)], CARDINALITIES)
    return Terms(terms.members, CARDINALITIES, stored)


STORED = np.array([NONE, 2, NONE, 5])


@pytest.mark.parametrize("stored", [None, STORED], ids=["dense", "compact"])
def test_spaces_of_a_slice_of_cells_are_those_of_their_terms(stored):
    terms = some_terms(stored)
    expected = terms.per_cell(terms.spaces)
    assert set(expected.tolist()) == {1, 6, 8, 24}
    for low in range(terms.n_cells):
        for high in range(low, terms.n_cells + 1):
            found = terms.spaces_of(slice(low, high))
            np.testing.assert_array_equal(found, expected[low:high])


@given(st.data())
def test_spaces_of_listed_cells_are_those_of_their_terms(data):
    terms = some_terms(data.draw(st.sampled_from([None, STORED])))
    cells = sorted(data.draw(st.sets(st.integers(0, terms.n_cells - 1))))
    dtype = data.draw(st.sampled_from([np.int32, np.int64]))
    expected = terms.per_cell(terms.spaces)[cells]
    np.testing.assert_array_equal(terms.spaces_of(np.array(cells, dtype)), expected)


def test_orders_without_a_tuple_take_no_room():
    parts = [np.array([[0], [2]]), np.array([[0, 2]]), np.empty((0, 3), np.int64)]
    assert stack_tuples(parts).tolist() == [[0, NONE], [2, NONE], [0, 2]]
