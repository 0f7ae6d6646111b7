"""How rows are added up: in which precision, and what is rounded."""

import numpy as np
import pytest

from deepbroad.engine import scatter
from deepbroad.engine.planning import Planner
from deepbroad.engine.scatter import Whole, plan_sums
from deepbroad.model.terms import Terms
from tests.engine.problems import ONE_THREAD, draw_problem

SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


@pytest.fixture
def plan(monkeypatch):
    """Return a plan of six tables of some twenty entries each, where blocks and spans are small."""
    source = draw_problem(5, a=4, rows=300, largest=6).source()
    found = Planner(source, Terms.of_order(2, source.cardinalities)).single()
    per_table = 8 * found.n_entries // found.n_tables + 1
    monkeypatch.setattr(scatter, "BLOCK_ROWS", per_table)
    monkeypatch.setattr(scatter, "SPAN_ROWS", 4 * per_table)
    return found


def test_many_rows_are_added_up_in_double_where_tables_are_small_against_a_block(plan, monkeypatch):
    rows = scatter.BLOCK_ROWS
    assert plan_sums(plan, rows, 2, SINGLE, exact=False) == (SINGLE, "nothing")
    assert plan_sums(plan, rows + 1, 2, SINGLE, exact=False) == (DOUBLE, "nothing")
    monkeypatch.setattr(scatter, "BLOCK_ROWS", rows // 2)
    assert plan_sums(plan, rows + 1, 2, SINGLE, exact=False) == (SINGLE, "nothing")
    assert plan_sums(plan, rows + 1, 2, SINGLE, exact=True) == (DOUBLE, "nothing")
    monkeypatch.setattr(scatter, "EXACT_BYTES", 1)
    assert plan_sums(plan, rows + 1, 2, SINGLE, exact=True) == (SINGLE, "nothing")


def test_several_spans_are_rounded_or_their_rows_unless_tables_are_too_large(plan, monkeypatch):
    rows = 2 * scatter.SPAN_ROWS
    assert plan_sums(plan, rows - 1, 2, SINGLE, exact=False).rounded == "nothing"
    assert plan_sums(plan, rows, 2, SINGLE, exact=False).rounded == "spans"
    monkeypatch.setattr(scatter, "BLOCK_ROWS", 1)
    monkeypatch.setattr(scatter, "SPAN_ROWS", scatter.SPAN_ROWS // 8)
    assert plan_sums(plan, rows, 2, SINGLE, exact=False) == (DOUBLE, "rows")
    monkeypatch.setattr(scatter, "EXACT_BYTES", 1)
    assert plan_sums(plan, rows, 2, SINGLE, exact=True) == (SINGLE, "nothing")


@pytest.mark.parametrize("weighted", [False, True])
def test_the_whole_has_the_weight_of_all_rows(weighted):
    problem = draw_problem(1, rows=50, weighted=weighted)
    whole = Whole.of(problem.source(), ONE_THREAD)
    assert whole == (50, pytest.approx(problem.weights.sum() if weighted else 50))
