"""What a fit will need, and the error when that is too much."""

import numpy as np
import pytest

from deepbroad.data.source import ArraySource
from deepbroad.engine.estimate import estimate_fit, estimate_unlisted, refuse
from deepbroad.engine.planning import Planner
from deepbroad.model.terms import Terms
from tests.engine.problems import draw_problem


def estimate(n=2, rows=500, *, history=10, n_threads=1, a=6):
    problem = draw_problem(0, a=a, rows=rows)
    plan = Planner(problem.source(), Terms.of_order(n, problem.cardinalities)).fused()
    found = estimate_fit(problem.source(), plan, history=history, n_threads=n_threads)
    return problem, plan, found


def test_sizes_are_those_of_the_plan():
    problem, plan, found = estimate()
    assert found.rows == 500
    assert found.terms == found.lookups == 15
    pairs = [(i, j) for i in range(6) for j in range(i + 1, 6)]
    assert found.cells == sum(problem.cardinalities[i] * problem.cardinalities[j] for i, j in pairs)
    assert found.fused_lookups == plan.n_tables < 15


def test_more_of_anything_needs_more():
    base = estimate()[2]
    assert estimate(rows=5000)[2].bytes > base.bytes
    assert estimate(rows=5000)[2].seconds_per_pass > base.seconds_per_pass
    assert estimate(n=3)[2].bytes > base.bytes
    assert estimate(history=30)[2].bytes > base.bytes
    assert estimate(history=0)[2].bytes < base.bytes
    large, shared = estimate(rows=50_000)[2], estimate(rows=50_000, n_threads=2)[2]
    assert large.seconds_per_pass / 2 < shared.seconds_per_pass < large.seconds_per_pass


@pytest.mark.parametrize("history", [0, 10])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_quick_estimate_from_cardinalities_is_near_that_of_an_unfused_plan(n, history):
    problem, _, _ = estimate(n)
    plan = Planner(problem.source(), Terms.of_order(n, problem.cardinalities)).single()
    full = estimate_fit(problem.source(), plan, history=history, n_threads=1).bytes
    quick = estimate_unlisted(problem.source(), n, history=history, n_threads=1)
    assert full / 2 < quick.bytes < full * 2
    assert quick.terms == len(plan.terms)
    assert quick.cells == plan.terms.n_cells


def test_the_quick_estimate_lists_no_tuples():
    # 10**15 tuples: this would not return if it did.
    source = ArraySource(np.zeros((1000, 10), np.uint8), np.arange(10) % 2, 2, np.full(1000, 10))
    assert estimate_unlisted(source, 6, history=10, n_threads=1).bytes > 1e17


def test_an_estimate_reads_as_a_sentence():
    found = estimate()[2]
    text = str(found)
    parts = "500 rows", "look-ups per row fused into", "of memory", "ms per pass"
    for part in (f"15 terms up to n={found.depth} with", *parts):
        assert part in text


def test_a_refusal_says_which_depth_would_fit():
    error = refuse(5e9, 10**9, {1: 1e6, 2: 2e8, 3: 4e9})
    assert isinstance(error, MemoryError)
    text = "needs about 5.0 GB and memory_limit allows 1.0 GB. n=2 would need about 200 MB"
    assert text in str(error)


def test_a_refusal_without_a_fitting_depth_says_what_else_to_do():
    message = str(refuse(5e9, 10, {1: 1e6}))
    assert "fewer or coarser columns" in message
    assert "`terms`" in message
    assert "raise memory_limit" in message
