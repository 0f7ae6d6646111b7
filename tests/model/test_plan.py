"""One fused table per set of groups, and every term in exactly one of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.model.groups import observe_groups
from deepbroad.model.plan import Plan, cover_terms
from deepbroad.model.terms import NONE, Terms
from tests.engine.problems import partitions


def make_plan(terms, partition):
    codes = np.zeros((len(terms.cardinalities), 1), np.uint8)
    return Plan.of(terms, observe_groups(partition, terms.cardinalities, [codes]))


def groups_of(plan, columns):
    return {g for g, group in enumerate(plan.groups) if set(columns) & set(group.columns.tolist())}


def test_one_group_per_column_gives_one_table_per_tuple():
    terms = Terms.of_order(2, np.array([2, 3, 4]))
    plan = make_plan(terms, [(0,), (1,), (2,)])
    assert plan.n_tables == len(terms) == 3
    assert plan.n_entries == terms.n_cells
    assert plan.supports.tolist() == [[0, 1], [0, 2], [1, 2]]


def test_tuples_inside_the_same_groups_share_a_table():
    plan = make_plan(Terms.of_order(2, np.full(6, 2)), [(0, 1), (2, 3), (4, 5)])
    assert plan.n_tables == 3  # 15 pairs of columns in 3 pairs of groups


def test_a_tuple_inside_fewer_groups_joins_a_table_that_has_them_all():
    terms = Terms.of([(0,), (1, 2), (0, 1, 2), (3,)], np.full(4, 2))
    plan = make_plan(terms, [(0,), (1,), (2,), (3,)])
    assert plan.n_tables == 2
    assert plan.table_of.tolist() == [0, 0, 1, 0] or plan.table_of.tolist() == [0, 1, 0, 0]


@given(st.data())
def test_every_term_lies_inside_the_groups_of_its_table(data):
    a = data.draw(st.integers(1, 6))
    tuples = data.draw(
        st.lists(st.sets(st.integers(0, a - 1), min_size=1, max_size=4), min_size=1, max_size=12)
    )
    terms = Terms.of([tuple(t) for t in tuples], np.full(a, 2))
    plan = make_plan(terms, data.draw(partitions(a)))
    supports = [set(support.tolist()) - {NONE} for support in plan.supports]
    for t in range(len(plan.terms)):
        assert groups_of(plan, plan.terms.tuple(t)) <= supports[plan.table_of[t]]
    for i, support in enumerate(supports):
        assert not any(support <= other for j, other in enumerate(supports) if i != j)


def test_strides_and_offsets_lay_tables_out_in_row_major_order():
    plan = make_plan(Terms.of_order(2, np.array([2, 3, 4])), [(0,), (1,), (2,)])
    assert plan.table_sizes.tolist() == [6, 8, 12]
    assert plan.index.offsets.tolist() == [0, 6, 14]
    assert plan.index.strides.tolist() == [[3, 1], [4, 1], [4, 1]]


def test_more_entries_than_32_bits_can_number_are_refused():
    terms = Terms.of_order(2, np.full(2, 60_000))
    plan = make_plan(terms, [(0,), (1,)])
    with pytest.raises(OverflowError, match="lower n"):
        plan.program  # noqa: B018 (the property raises)


def test_repeated_groups_count_once():
    supports, table_of = cover_terms(np.array([[0, 0, 1], [0, 1, 1], [2, 2, NONE]]))
    assert supports.tolist() == [[0, 1], [2, NONE]]
    assert table_of.tolist() == [0, 0, 1]
