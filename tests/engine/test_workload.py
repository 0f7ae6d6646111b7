"""The work of an evaluation, counted from its plan, and the time it is told to take."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from deepbroad.engine import workload
from deepbroad.engine.planning import Planner
from deepbroad.engine.workload import SAMPLE_TERMS, Workload, count_reached
from deepbroad.model.cost import TYPICAL
from deepbroad.model.groups import Group, observe_tuples
from deepbroad.model.plan import Plan
from deepbroad.model.terms import Terms
from tests.engine.problems import draw_problem


def draw_work(rows=500, n=2, *, a=6, solved=True):
    problem = draw_problem(0, a=a, rows=rows)
    source = problem.source()
    plan = Planner(source, Terms.of_order(n, problem.cardinalities)).cheapest()
    return Workload.of(source, plan, solved=solved), plan


def count_tuples(codes, n):
    """Return how many different tuples of n columns rows show, by brute force."""
    return sum(
        len(set(zip(*codes[list(chosen)].tolist(), strict=True)))
        for chosen in combinations(range(len(codes)), n)
    )


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("rows", [5, 300])
def test_reached_cells_are_counted_where_all_rows_and_terms_are_seen(n, rows):
    problem = draw_problem(1, a=6, rows=rows)
    terms = Terms.of_order(n, problem.cardinalities)
    assert len(terms) <= SAMPLE_TERMS
    assert count_reached(problem.source(), terms) == count_tuples(problem.codes, n)


def test_reached_cells_are_near_the_truth_where_only_some_terms_are_seen(monkeypatch):
    monkeypatch.setattr(workload, "SAMPLE_TERMS", 64)
    problem = draw_problem(2, a=14, rows=200)
    terms = Terms.of_order(3, problem.cardinalities)
    assert len(terms) > 64
    truth = count_tuples(problem.codes, 3)
    assert count_reached(problem.source(), terms) == pytest.approx(truth, rel=0.15)


def test_work_is_that_of_the_plan():
    work, plan = draw_work()
    assert (work.rows, work.tables) == (500, plan.n_tables)
    assert 0.5 * plan.n_entries < work.entries < plan.n_entries  # values drawn evenly, but drawn
    assert work.steps == len(plan.program.steps)
    assert work.streamed >= work.runs >= work.steps
    assert draw_work(solved=False)[0].parameters == 0 < work.parameters


def test_entries_that_are_never_looked_up_count_for_nothing_and_rare_ones_for_little():
    problem = draw_problem(0, a=2, rows=1000)
    codes, cardinalities = np.zeros((2, 1000), np.uint8), np.array([8, 8])
    codes[0] = np.arange(1000) % 8
    groups = tuple(Group.single(column, 8) for column in range(2))
    plan = Plan.of(Terms.of_order(2, cardinalities), groups)

    def frequent(codes):
        source = replace(problem, codes=codes, cardinalities=cardinalities).source()
        return Workload.of(source, plan, solved=True).entries

    assert frequent(codes) == pytest.approx(8)
    codes[1, :10] = 1 + np.arange(10) % 7
    assert 8 < frequent(codes) < 9
    codes[1] = np.arange(1000) // 8 % 8
    assert frequent(codes) == pytest.approx(64, rel=0.01)


def compact_entries(codes, cardinality):
    """Return the frequent entries of a plan with one compact table of a column."""
    cardinalities = np.array([cardinality])
    problem = replace(draw_problem(0, a=1, rows=codes.shape[1]), codes=codes)
    source = replace(problem, cardinalities=cardinalities).source()
    terms = Terms.of_order(1, cardinalities)
    own = observe_tuples([(0,)], cardinalities, source.blocks(), 1)[0]
    return Workload.of(source, Plan.of(terms, (), {0: own}), solved=True).entries


def test_rare_codes_of_compact_tables_count_for_little():
    codes = np.repeat(np.arange(8), 500)[None].astype(np.uint16)
    assert compact_entries(codes, 300) == pytest.approx(8)
    codes[0, :200] = 8 + np.arange(200)  # two hundred codes of a row each
    assert 8 < compact_entries(codes, 300) < 20


def test_compact_tables_whose_codes_a_sample_cannot_show_count_as_they_are():
    codes = np.arange(3000)[None].astype(np.uint16)
    assert compact_entries(codes, 3000) == 3002


def test_a_plan_of_items_counts_the_sets_of_rows():
    codes = (np.random.default_rng(0).random((40, 300)) < 0.02).astype(np.uint8)
    problem = replace(draw_problem(0, a=40, rows=300), codes=codes, cardinalities=np.full(40, 2))
    source = problem.source()
    plan = Plan.of(Terms.of_order(2, np.full(40, 2)), (), {}, np.zeros(40, np.int64))
    lengths = codes.sum(axis=0).astype(float)
    expected = np.mean(1 + lengths + lengths * (lengths - 1) / 2)
    assert Workload.of(source, plan, solved=True).sets == pytest.approx(expected)


@pytest.mark.parametrize(
    "more",
    ["rows", "n_scores", "tables", "entries", "streamed", "cleared", "runs", "steps", "sets",
     "parameters"],
)  # fmt: skip
def test_more_work_takes_longer(more):
    work = replace(draw_work(rows=5000)[0], entries=10**6, sets=3.0)
    twice = replace(work, **{more: 2 * getattr(work, more)})
    assert twice.seconds(TYPICAL, 1) > work.seconds(TYPICAL, 1)


def test_threads_share_large_work_and_leave_small_work_alone():
    small = replace(draw_work(rows=5)[0], runs=0.0)
    assert small.seconds(TYPICAL, 8) == small.seconds(TYPICAL, 1)
    large = replace(small, rows=10**7)
    alone, shared = large.seconds(TYPICAL, 1), large.seconds(TYPICAL, 8)
    assert alone / 8 < shared < alone / 6  # threads are handed their blocks


def test_the_fixed_costs_are_there_even_for_few_rows():
    assert draw_work(rows=3)[0].seconds(TYPICAL, 1) >= TYPICAL.evaluation * 1e-9
