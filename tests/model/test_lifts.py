"""Counts of all tuples of up to n + 1 columns: their lifts, their checks, who is whose child."""

from itertools import combinations

import numpy as np
import pytest

from deepbroad.model.groups import observe_groups, observe_tuples
from deepbroad.model.lifts import JointCounts, all_tuples, list_children
from deepbroad.model.plan import Plan
from deepbroad.model.terms import Terms
from tests import naive
from tests.engine.problems import draw_problem


def joint_counts(problem, depth, partition, m=1.0):
    """Return the counts of a training set over a plan of these groups."""
    terms = all_tuples(depth, problem.cardinalities)
    blocks = [block.codes for block in problem.source().blocks()]
    plan = Plan.of(terms, observe_groups(partition, problem.cardinalities, blocks))
    tables = {}
    for n in range(1, depth + 1):
        tables |= naive.count_tuples(
            problem.codes, problem.labels, problem.omega, n, *problem.shape
        )
    counts = naive.write_tables(plan.terms, tables)
    class_counts = naive.count_classes(problem.labels, problem.omega, problem.n_classes)
    return JointCounts(plan, class_counts, counts, m)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_lifts_are_log_theta_less_that_of_the_parts(order):
    problem = draw_problem(0, a=4, weighted=True)
    counts = joint_counts(problem, 3, [(3, 1), (0,), (2,)])
    thetas = {
        n: naive.log_thetas(problem.codes, problem.labels, problem.omega, n, *problem.shape, 1.0)
        for n in (1, order)
    }
    found = naive.read_tables(counts.plan_of(order).terms, counts.lifts(order))
    for columns, table in thetas[order].items():
        for cell in np.ndindex(*table.shape[:-1]):
            parts = sum(thetas[1][(c,)][v] for c, v in zip(columns, cell, strict=True))
            np.testing.assert_allclose(found[columns][cell], table[cell] - parts, atol=1e-12)


def test_parents_are_enough_by_their_weight_and_up_to_one_by_any():
    problem = draw_problem(0, a=3, weighted=True)
    counts = joint_counts(problem, 2, [(0,), (1,), (2,)])
    weights = counts.counts[counts.cells_of(2)].sum(axis=1)
    np.testing.assert_array_equal(counts.enough(2, 4.5), weights >= 4.5)
    np.testing.assert_array_equal(counts.enough(2, 1), weights > 0)
    np.testing.assert_array_equal(counts.enough(2, 0.1), weights > 0)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_children_are_the_tuples_that_hold_their_parents(n):
    problem = draw_problem(1, a=5)
    cardinalities = problem.cardinalities
    groups = observe_groups([(c,) for c in (3, 0, 4, 2, 1)], cardinalities, [problem.codes])
    plans = []
    for order in (n, n + 1):
        terms = Terms.of_order(order, cardinalities)
        # Compact terms have their tables after all others.
        own = {t: terms.tuple(t) for t in (0, 2)}
        found = observe_tuples(list(own.values()), cardinalities, problem.source().blocks(), 1)
        plans.append(Plan.of(terms, groups, dict(zip(own, found, strict=True))))
    parents, joints = plans
    listed = list_children(parents, joints)
    sets = dict(zip(parents.table_of, combinations(range(5), n), strict=True))
    tuples = dict(zip(joints.table_of, combinations(range(5), n + 1), strict=True))
    for table, columns in tuples.items():
        assert tuple(listed.members[table]) == columns
        compact = joints.compact_groups.get(list(joints.table_of).index(table))
        shared = -1 if compact is None else joints.index.offsets[table] + len(compact.keys)
        assert listed.shared[table] == shared
    for table, columns in sets.items():
        held = {tuples[child] for child in listed.children[table]}
        assert held == {t for t in tuples.values() if set(columns) < set(t)}


def test_the_widest_parent_set_has_no_children():
    problem = draw_problem(1, a=3)
    plan = problem.plan(3)
    assert list_children(plan, None).children.shape == (1, 0)


def test_all_tuples_are_listed_by_order_and_then_by_column():
    terms = all_tuples(3, np.array([2, 3, 4, 2]))
    expected = [t for n in (1, 2, 3) for t in combinations(range(4), n)]
    assert [terms.tuple(t) for t in range(len(terms))] == expected


def test_counts_that_no_training_set_has_are_refused():
    problem = draw_problem(0, a=3)
    good = joint_counts(problem, 2, [(0,), (2, 1)])
    good.check(2)
    fields = good.__getstate__()
    for wrong in (-1.0, np.inf, np.nan):
        for name in ("counts", "class_counts"):
            changed = fields[name].copy()
            changed.flat[0] = wrong
            with pytest.raises(ValueError, match="finite and not negative"):
                JointCounts(**{**fields, name: changed}).check(2)
    with pytest.raises(ValueError, match="not all tuples of up to 3"):
        good.check(3)
    with pytest.raises(ValueError, match="not all tuples of up to 1"):
        good.check(1)
    with pytest.raises(ValueError, match="smoothing=0 takes the logarithm of 0"):
        JointCounts(**{**fields, "counts": good.counts * 0, "smoothing": 0.0}).check(2)
