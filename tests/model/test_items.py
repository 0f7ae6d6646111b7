"""Which values are items, which sets of them have entries, and the items of rows."""

import pickle
from itertools import combinations, pairwise
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.kernels.hashing import EMPTY
from deepbroad.model.items import Items, count_sets
from deepbroad.model.terms import Terms
from tests import naive_items as naive

CARDINALITIES = np.array([3, 1, 2, 4])
COMMON = np.array([1, 0, 0, 3])


def all_pairs(**options):
    terms = Terms.of_order(2, CARDINALITIES)
    return Items(COMMON, terms, np.ones(len(terms), bool), **options)


def some_terms(chosen=(True, True, False, True), **options):
    terms = Terms.of([(0,), (0, 2), (1, 3), (0, 1, 2)], CARDINALITIES)
    return Items(COMMON, terms, np.array(chosen), **options)


@st.composite
def items_of_terms(draw):
    """Draw some of some terms over a few columns."""
    a = draw(st.integers(1, 4))
    cardinalities = np.array(draw(st.lists(st.integers(1, 4), min_size=a, max_size=a)))
    tuples = draw(st.sets(st.frozensets(st.integers(0, a - 1), min_size=1), min_size=1, max_size=6))
    terms = Terms.of([tuple(t) for t in tuples], cardinalities)
    chosen = np.array(draw(st.lists(st.booleans(), min_size=len(terms), max_size=len(terms))))
    chosen[draw(st.integers(0, len(terms) - 1))] = True
    common = np.array([draw(st.integers(0, int(v) - 1)) for v in cardinalities])
    return Items(common, terms, chosen, unseen=draw(st.booleans()))


def test_every_value_but_the_common_one_is_an_item():
    items = all_pairs()
    assert items.n_items == 2 + 0 + 1 + 3 == len(naive.list_items(CARDINALITIES, COMMON, False))
    assert items.index.first.tolist() == [0, 2, 2, 3]
    assert items.limits.tolist() == CARDINALITIES.tolist()


def test_never_seen_values_are_items_where_asked_for():
    items = all_pairs().with_unseen()
    assert items.n_items == 3 + 1 + 2 + 4 == len(naive.list_items(CARDINALITIES, COMMON, True))
    assert items.index.first.tolist() == [0, 3, 4, 6]
    assert items.limits.tolist() == (CARDINALITIES + 1).tolist()
    assert items.unseen
    assert items.terms.n_cells == all_pairs().terms.n_cells


@given(items_of_terms())
def test_binomials_and_bases_are_those_of_the_definition(items):
    index, depth = items.index, items.depth
    expected = [[comb(i, k) for i in range(items.n_items + 1)] for k in range(depth + 1)]
    assert index.binomials.tolist() == expected
    sizes = [comb(items.n_items, k) for k in range(depth + 1)]
    assert np.diff(index.bases).tolist() == sizes
    assert index.bases[0] == 0


@given(items_of_terms())
def test_entries_are_the_sets_that_some_chosen_term_holds_smaller_ones_first(items):
    tuples = [term for _, term in naive.chosen_terms(items)]
    deepest = [term for term in tuples if len(term) == items.depth]
    complete = deepest == list(combinations(range(len(items.common)), items.depth))
    layout = naive.lay_out(items, complete=complete)
    assert items.is_complete == complete == (len(items.index.slots) == 0)
    assert items.n_entries == len(layout)
    assert items.n_low == sum(len(s) < items.depth for s in layout)
    if complete:
        return
    ranks = {
        s: entry
        for entry, s in enumerate(
            naive.order_sets(naive.subsets_of(range(items.n_items), items.depth))
        )
    }
    taken = items.index.slots != EMPTY
    keys, numbers = items.index.slots[taken].tolist(), items.index.numbers[taken].tolist()
    assert dict(zip(keys, numbers, strict=True)) == {ranks[s]: e for s, e in layout.items()}


def test_items_of_all_tuples_need_no_hash_index():
    assert all_pairs().is_complete
    assert all_pairs().n_entries == 1 + 6 + comb(6, 2)
    assert all_pairs().n_low == 1 + 6


def test_items_of_some_terms_have_a_hash_index():
    terms = Terms.of_order(2, CARDINALITIES)
    chosen = np.ones(len(terms), bool)
    chosen[3] = False
    assert not Items(COMMON, terms, chosen).is_complete
    # As many terms as there are pairs, but not all of them pairs.
    mixed = Terms.of([(0,), (1,), (0, 1)], np.full(3, 2))
    items = Items(np.zeros(3, int), mixed, np.ones(3, bool))
    assert not items.is_complete
    assert items.n_entries == 1 + 2 + 1


def test_depth_and_columns_are_those_of_the_chosen_terms():
    assert some_terms().depth == 3
    assert some_terms().columns.tolist() == [0, 1, 2]
    assert some_terms((True, False, False, False)).depth == 1
    assert some_terms((True, False, False, False)).columns.tolist() == [0]
    assert all_pairs().columns.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("unseen", [False, True])
@pytest.mark.parametrize("make", [all_pairs, some_terms])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_rows_list_their_items_and_tell_values_that_are_none(make, unseen, dtype):
    items = make(unseen=unseen)
    rng = np.random.default_rng(0)
    # Two codes more than the values of training: never seen, and beyond all limits.
    codes = rng.integers(CARDINALITIES[:, None] + 2, size=(4, 60)).astype(dtype)
    found, missing = items.rows(codes)
    listed = [found.items[low:high].tolist() for low, high in pairwise(found.starts)]
    assert listed == naive.items_of_rows(items, codes)
    assert all(row == sorted(row) for row in listed)
    used = items.columns
    expected = (codes[used] >= (CARDINALITIES + unseen)[used][:, None]).any(axis=0)
    np.testing.assert_array_equal(missing, expected)
    assert missing.any()


def test_rows_of_common_values_alone_have_no_items():
    found, missing = all_pairs().rows(np.tile(COMMON[:, None], 3).astype(np.uint8))
    assert found.starts.tolist() == [0, 0, 0, 0]
    assert len(found.items) == 0
    assert not missing.any()


def test_no_rows_have_no_items():
    found, missing = all_pairs().rows(np.empty((4, 0), np.uint8))
    assert (found.starts.tolist(), len(found.items), len(missing)) == ([0], 0, 0)


def test_more_sets_than_keys_are_refused():
    terms = Terms.of_order(4, np.array([150_000, 2, 2, 2]))
    items = Items(np.zeros(4, int), terms, np.ones(1, bool))
    with pytest.raises(OverflowError, match="lower n"):
        items.index  # noqa: B018 (the property raises)


def test_pickles_hold_the_fields_alone():
    items = some_terms(unseen=True)
    size = len(pickle.dumps(items))
    expected = items.n_entries
    assert len(pickle.dumps(items)) == size
    again = pickle.loads(pickle.dumps(items))
    assert again.unseen
    assert again.n_entries == expected
    assert again.index.slots.tolist() == items.index.slots.tolist()


@given(st.lists(st.integers(0, 12), min_size=1, max_size=6), st.integers(0, 5))
def test_sets_of_rows_are_counted(lengths, depth):
    expected = [sum(comb(length, k) for k in range(depth + 1)) for length in lengths]
    np.testing.assert_allclose(count_sets(np.array(lengths), depth), expected, rtol=1e-12)
