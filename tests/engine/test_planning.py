"""From a source of code columns to a plan and group codes."""

import numpy as np
import pytest

from deepbroad.data.source import ArraySource
from deepbroad.engine import planning, workload
from deepbroad.engine.passes import CHEAP_PASS, count_cells, pass_dtype
from deepbroad.engine.planning import SMALL_ROOM, Planner, group_source
from deepbroad.engine.sampling import sample_codes
from deepbroad.kernels.threads import Threads
from deepbroad.model.terms import Terms
from tests import naive
from tests.engine.problems import Problem, draw_problem, draw_routes


def many_columns(rows=3000):
    return draw_problem(0, a=8, rows=rows)


def test_fusion_makes_fewer_look_ups_and_the_same_counts():
    problem = many_columns()
    source = problem.source()
    terms = Terms.of_order(2, problem.cardinalities)
    planner = Planner(source, terms)
    fused, single = planner.fused(), planner.single()
    assert fused.n_tables < single.n_tables == len(terms) == 28
    expected = count_by_term(source, single)
    for columns, table in count_by_term(source, fused).items():
        np.testing.assert_array_equal(table, expected[columns])


def test_columns_are_not_joined_where_building_tables_takes_more_room_than_they_have(monkeypatch):
    codes, labels = draw_routes()
    source = ArraySource(codes, labels, 2, codes.max(axis=1).astype(int) + 1)
    planner = Planner(source, Terms.of_order(3, source.cardinalities), compact=False)
    plan = planner.fused()
    assert plan.program.scratch <= max(plan.n_entries, SMALL_ROOM)
    monkeypatch.setattr(planning, "SMALL_ROOM", 1 << 40)
    before = planner.fused()
    assert before.program.scratch > 100 * before.n_entries
    assert workload.count_building(before)[1] > 10 * workload.count_building(plan)[1]


def test_plans_of_smaller_groups_count_the_same(monkeypatch):
    codes, labels = draw_routes(towns=8, routes=12)
    source = ArraySource(codes, labels, 2, codes.max(axis=1).astype(int) + 1)
    planner = Planner(source, Terms.of_order(3, source.cardinalities), compact=False)
    smaller = planner.fused()
    monkeypatch.setattr(planning, "SMALL_ROOM", 1 << 40)
    larger = planner.fused()
    assert smaller.n_tables > larger.n_tables
    expected = count_by_term(source, larger)
    for columns, table in count_by_term(source, smaller).items():
        np.testing.assert_array_equal(table, expected[columns])


def draw_attributes(rows=500):
    """Return the source and the terms of two numbers at two resolutions, and of a category."""
    rng = np.random.default_rng(0)
    fine = rng.integers(0, 4, (2, rows))
    codes = np.array([fine[0] // 2, fine[0], fine[1] // 2, fine[1], rng.integers(0, 3, rows)])
    cardinalities = np.array([2, 4, 2, 4, 3])
    labels = rng.integers(0, 2, rows)
    source = ArraySource(
        codes.astype(np.uint8), labels, 2, cardinalities, attributes=np.array([0, 0, 1, 1, 2])
    )
    tuples = [(c,) for c in range(5)] + [(0, 2), (1, 3), (0, 4), (1, 4), (2, 4), (3, 4)]
    return source, Terms.of(tuples, cardinalities)


def columns_of(plan):
    return sorted(tuple(int(c) for c in group.columns) for group in plan.groups)


def test_one_look_up_serves_the_tables_of_the_same_attributes():
    source, terms = draw_attributes()
    planner = Planner(source, terms, compact=False)
    plan, single = planner.by_attribute(), planner.single()
    assert columns_of(plan) == [(0, 1), (2, 3), (4,)]
    # Pairs of attributes, in whose tables those of each alone are summed up.
    assert plan.n_tables == 3 < single.n_tables
    expected = count_by_term(source, single)
    for columns, table in count_by_term(source, plan).items():
        np.testing.assert_array_equal(table, expected[columns])


def test_columns_that_only_shallow_tuples_have_stay_apart_from_deeper_ones():
    source, _ = draw_attributes()
    terms = Terms.of([(0,), (1,), (2,), (3,), (0, 2)], source.cardinalities)
    plan = Planner(source, terms, compact=False).by_attribute()
    assert columns_of(plan) == [(0,), (1,), (2,), (3,)]


def test_no_plan_is_searched_for_where_a_pass_has_few_look_ups(monkeypatch):
    searched = []

    def note(*arguments, **options):
        searched.append(arguments)
        return plan_groups(*arguments, **options)

    plan_groups = planning.plan_groups
    monkeypatch.setattr(planning, "plan_groups", note)
    source, terms = draw_attributes()
    planner = Planner(source, terms, compact=False)
    plain = planner.by_attribute()
    for few, is_searched in ((500 * plain.n_tables, False), (500 * plain.n_tables - 1, True)):
        monkeypatch.setattr(planning, "FEW_LOOKUPS", few)
        searched.clear()
        plan = planner.tabled()
        assert bool(searched) == is_searched
        if not is_searched:
            assert columns_of(plan) == columns_of(plain)
            assert columns_of(planner.cheapest()) == columns_of(plain)


@pytest.mark.parametrize("few", [planning.FEW_LOOKUPS, 0])
def test_the_cheapest_plan_counts_the_same_whether_it_is_searched_for_or_not(few, monkeypatch):
    monkeypatch.setattr(planning, "FEW_LOOKUPS", few)
    source, terms = draw_attributes()
    planner = Planner(source, terms, compact=False)
    expected = count_by_term(source, planner.single())
    for plan in (planner.tabled(), planner.cheapest()):
        for columns, table in count_by_term(source, plan).items():
            np.testing.assert_array_equal(table, expected[columns])


def count_by_term(source, plan):
    _, cells = count_cells(group_source(source, plan), plan, Threads(1))
    return naive.read_tables(plan.terms, cells)


def test_columns_with_few_of_their_tuples_are_joined_where_that_is_faster():
    category = np.random.default_rng(0).integers(20, size=4000)
    indicators = np.stack([category == k for k in range(20)]).astype(np.uint8)
    codes = np.concatenate([indicators, draw_problem(0, a=3, rows=4000).codes[:3] % 3])
    cardinalities = np.array([2] * 20 + [3] * 3)
    labels = draw_problem(0, a=3, rows=4000).labels
    source = Problem(codes, labels, cardinalities, int(labels.max()) + 1).source()
    terms = Terms.of([(a, b) for a in range(20) for b in range(20, 23)], cardinalities)
    planner = Planner(source, terms)
    fused, single = planner.fused(), planner.single()
    assert fused.n_tables < 0.25 * single.n_tables
    expected = count_by_term(source, single)
    for columns, table in count_by_term(source, fused).items():
        np.testing.assert_array_equal(table, expected[columns])


def test_chosen_terms_leave_other_columns_out():
    problem = many_columns()
    terms = Terms.of([(1, 5), (0, 5)], problem.cardinalities)
    plan = Planner(problem.source(), terms).cheapest()
    assert sorted(int(c) for group in plan.groups for c in group.columns) == [0, 1, 5]
    assert 1 <= plan.n_tables <= 2


def test_a_sample_has_no_never_seen_values_and_about_the_rows_asked_for():
    problem = many_columns()
    codes = problem.codes.copy()
    codes[0, ::2] = problem.cardinalities[0]  # as rows of weight 0 may have
    source = Problem(codes, problem.labels, *problem.shape).source()
    sample = sample_codes(source, 100)
    assert (sample < problem.cardinalities[:, None]).all()
    assert sample_codes(problem.source(), 100).shape == (8, 100)


def test_rows_of_weight_zero_may_have_values_that_no_other_row_has():
    problem = many_columns(rows=50)
    codes, weights = problem.codes.copy(), np.ones(50)
    codes[:, 7], weights[7] = problem.cardinalities, 0.0
    source = Problem(codes, problem.labels, *problem.shape, weights).source()
    plan = Planner(source, Terms.of_order(2, problem.cardinalities)).cheapest()
    class_counts, cells = count_cells(group_source(source, plan), plan, Threads(1))
    assert class_counts.sum() == 49
    kept = weights > 0
    expected = naive.count_tuples(
        problem.codes[:, kept], problem.labels[kept], weights[kept], 2, *problem.shape
    )
    for columns, table in naive.read_tables(plan.terms, cells).items():
        np.testing.assert_array_equal(table, expected[columns])


def test_columns_all_of_whose_rows_have_weight_zero_values_can_be_planned():
    # Every row of the sample holds a never-seen value somewhere: nothing to estimate from.
    codes = np.array([[2, 0], [0, 2]], np.uint8)
    source = Problem(codes, np.array([0, 1], np.uint8), np.array([2, 2]), 2).source()
    plan = Planner(source, Terms.of_order(2, np.array([2, 2]))).cheapest()
    assert plan.n_tables == 1


@pytest.mark.parametrize(("rows", "dtype"), [(100, np.float64), (CHEAP_PASS, np.float32)])
def test_small_passes_are_double_and_large_ones_single_precision(rows, dtype):
    plan = many_columns(rows=50).plan(2)
    assert pass_dtype(plan, rows) == dtype
