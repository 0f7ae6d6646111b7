"""Cells of grown columns: every value stays with its joint value, whatever tables are like."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.model.groups import Group
from deepbroad.model.growth import (
    Growth,
    add_cells,
    add_keys,
    find_cells,
    grow_plan,
    move_cells,
    own_cells,
)
from deepbroad.model.plan import Plan
from deepbroad.model.terms import Terms


def naive_values(plan, values):
    """Return the values of own cells by term's columns and their codes."""
    found = {}
    for term in range(len(plan.terms)):
        columns = plan.terms.tuple(term)
        first = plan.terms.offsets[term]
        if plan.terms.is_compact[term]:
            group = plan.compact_groups[term]
            columns, cells = tuple(group.columns.tolist()), group.digits.T
        else:
            cells = np.ndindex(*(plan.terms.cardinalities[c] for c in columns))
        for i, codes in enumerate(cells):
            joint = frozenset(zip(columns, (int(code) for code in codes), strict=True))
            found[joint] = values[first + i]
    return found


def draw_partition(draw, a):
    columns = draw(st.permutations(range(a)))
    cut = draw(st.integers(1, a))
    return [tuple(columns[:cut]), *((c,) for c in columns[cut:])]


def draw_plan(draw, terms, rng):
    """Return a plan with some terms compact and some columns fused, or with items."""
    cardinalities = terms.cardinalities

    def group(columns, compact):
        columns = np.array(columns)
        full = Group(columns, cardinalities[columns], np.empty(0, np.int64))
        digits = np.indices(tuple(cardinalities[columns])).reshape(len(columns), -1)
        keys = np.sort(np.ravel_multi_index(tuple(digits), tuple(full.radices)))
        kept = keys[rng.random(len(keys)) < 0.7]
        return Group(columns, cardinalities[columns], kept, compact)

    is_compact = draw(
        st.lists(st.booleans(), min_size=len(terms), max_size=len(terms)).filter(
            lambda chosen: not all(chosen)
        )
    )
    compact = {t: group(terms.tuple(t), True) for t in range(len(terms)) if is_compact[t]}
    if draw(st.booleans()):
        return Plan.of(terms, (), compact, rng.integers(cardinalities))
    partition = draw_partition(draw, len(cardinalities))
    groups = tuple(
        Group.single(columns[0], int(cardinalities[columns[0]]))
        if len(columns) == 1
        else group(columns, False)
        for columns in partition
    )
    return Plan.of(terms, groups, compact)


@st.composite
def growths(draw):
    """Draw a plan, counts of its cells, the growth of its columns, and another plan for these."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    cardinalities = np.array(draw(st.lists(st.integers(1, 3), min_size=2, max_size=4)))
    more = np.array([draw(st.integers(0, 2)) for _ in cardinalities])
    maps = [rng.permutation(v + extra)[:v] for v, extra in zip(cardinalities, more, strict=True)]
    n = draw(st.integers(1, len(cardinalities)))
    terms = Terms.of_order(n, cardinalities)
    if draw(st.booleans()):
        tuples = [terms.tuple(t) for t in range(len(terms))]
        tuples += [t[:1] for t in tuples]
        terms = Terms.of(tuples, cardinalities)
    old = draw_plan(draw, terms, rng)
    other = draw_plan(draw, Terms(terms.members, cardinalities + more), rng)
    values = rng.integers(0, 3, (old.terms.n_cells, 2)).astype(float)
    values[old.terms.shared_cells] = 0.0
    return old, values, Growth(maps, cardinalities + more), other


def expect(old, values, growth):
    """Return the non-zero values of joint values, in the codes of grown columns."""
    return {
        frozenset((c, int(growth.maps[c][code])) for c, code in joint): value.tolist()
        for joint, value in naive_values(old, values).items()
        if value.any()
    }


def nonzero(plan, values):
    return {
        joint: value.tolist() for joint, value in naive_values(plan, values).items() if value.any()
    }


@given(growths())
def test_values_stay_with_their_joint_values(case):
    old, values, growth, _ = case
    new = grow_plan(old, growth)
    moved = move_cells(values, old, new, growth, np.arange(2), 2)
    assert nonzero(new, moved) == expect(old, values, growth)
    assert not moved[new.terms.shared_cells].any()


@given(growths())
def test_any_other_plan_of_the_tuples_takes_them_too(case):
    old, values, growth, other = case
    new = add_cells(other, old, own_cells(values, old), growth)
    moved = move_cells(values, old, new, growth, np.arange(2), 2)
    assert nonzero(new, moved) == expect(old, values, growth)


@given(growths())
def test_a_grown_plan_has_the_joint_values_and_the_tables_that_it_had(case):
    old, _, growth, _ = case
    new = grow_plan(old, growth)
    np.testing.assert_array_equal(new.terms.cardinalities, growth.cardinalities)
    np.testing.assert_array_equal(new.terms.is_compact, old.terms.is_compact)
    assert new.n_tables == old.n_tables
    for before, now in zip(old.groups, new.groups, strict=True):
        np.testing.assert_array_equal(before.columns, now.columns)
        assert (np.diff(now.keys) > 0).all()
        if not before.is_identity:
            joint = {
                tuple(int(growth.maps[c][v]) for c, v in zip(before.columns, digits, strict=True))
                for digits in before.digits.T
            }
            assert {tuple(digits) for digits in now.digits.T.tolist()} == joint


def test_classes_move_as_told_and_new_ones_have_nothing():
    plan = Plan.of(Terms.of_order(1, np.array([2])), (Group.single(0, 2),))
    growth = Growth([np.arange(2)], np.array([2]))
    moved = move_cells(np.array([[1, 2], [3, 4]]), plan, plan, growth, np.array([2, 0]), 3)
    assert moved.tolist() == [[2, 0, 1], [4, 0, 3]]


def test_nothing_moves_where_nothing_grows():
    plan = Plan.of(Terms.of_order(1, np.array([2])), (Group.single(0, 2),))
    growth = Growth([np.arange(2)], np.array([2]))
    values = np.ones((2, 2))
    assert grow_plan(plan, growth) is plan
    assert add_keys(plan, [np.array([0, 1])]) is plan
    assert move_cells(values, plan, plan, growth, np.arange(2), 2) is values
    assert find_cells(plan, plan, growth, np.array([1])).tolist() == [1]


def test_a_group_whose_keys_grow_past_64_bits_is_split_into_its_columns():
    cardinalities = np.array([1000, 1000, 1000, 1000, 1000, 1000])
    columns = np.arange(6)
    group = Group(columns, cardinalities, np.array([0, 5]))
    plan = Plan.of(Terms.of_order(1, cardinalities), (group,))
    grown = Growth([np.arange(1000)] * 6, cardinalities * 2)
    assert [g.columns.tolist() for g in grow_plan(plan, grown).groups] == [[c] for c in range(6)]
