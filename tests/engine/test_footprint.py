"""The bytes of a fit, told beforehand, against what Python counts while it runs."""

import gc
import tracemalloc
from itertools import combinations
from math import prod

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from deepbroad import AnJEClassifier, DBLClassifier, LRClassifier
from deepbroad.engine import planning
from deepbroad.engine.footprint import Footprint, count_cells
from deepbroad.engine.planning import Planner
from deepbroad.engine.workload import count_reached
from deepbroad.model.plan import Plan
from deepbroad.model.terms import Terms
from tests.engine.problems import draw_problem, draw_routes, problems


def stop_early(progress):
    """Stop once the solver has allocated all that it will."""
    return progress.iteration >= 3


def fused_table(rows=3000, a=20, values=30, n_classes=3):
    rng = np.random.default_rng(0)
    X = rng.integers(values, size=(rows, a))
    y = (X[:, 0] + X[:, 1] + rng.integers(3, size=rows)) % n_classes
    return pd.DataFrame(X.astype(str)).astype("category"), y


def sparse_table():
    rng = np.random.default_rng(0)
    X = scipy.sparse.random(1500, 350, 0.01, format="csr", random_state=rng, data_rvs=np.ones)
    return X, (np.asarray(X[:, :100].sum(axis=1)).ravel() > 1).astype(int)


DISCRIMINATIVE = {"callbacks": [stop_early], "n_jobs": 1}
FITS = {
    "DBL": (DBLClassifier(n=2, alpha=1.0, **DISCRIMINATIVE), fused_table),
    "LR, 10 classes": (
        LRClassifier(n=2, **DISCRIMINATIVE),
        lambda: fused_table(a=15, n_classes=10),
    ),
    "AnJE": (AnJEClassifier(n=2, n_jobs=1), fused_table),
    "triples": (
        DBLClassifier(n=3, alpha=1.0, **DISCRIMINATIVE),
        lambda: fused_table(a=12, values=10),
    ),
    "many rows": (
        DBLClassifier(n=2, alpha=1.0, **DISCRIMINATIVE),
        lambda: fused_table(rows=120_000, a=9, values=8),
    ),
    "compact": (
        DBLClassifier(n=2, alpha=1.0, **DISCRIMINATIVE),
        lambda: fused_table(a=6, values=900),
    ),
    "items": (DBLClassifier(n=2, alpha=1.0, **DISCRIMINATIVE), sparse_table),
}


@pytest.mark.parametrize("name", FITS)
@pytest.mark.parametrize("few", [planning.FEW_LOOKUPS, 0])
def test_the_estimate_is_near_the_peak_of_the_fit(name, few, monkeypatch):
    """Whether plans are searched for or not."""
    monkeypatch.setattr(planning, "FEW_LOOKUPS", few)
    model, make = FITS[name]
    X, y = make()
    model.fit(X, y)  # compiles, which takes memory of its own
    plan = model._scorer.model.plan
    assert plan.terms.is_compact.any() == (name == "compact")
    assert (plan.items is not None) == (name == "items")
    del plan
    check_estimate(model, X, y)


def check_estimate(model, X, y):
    """Compare what a fit is estimated to take with what it takes."""
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        model.fit(X, y)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert peak > 5e6
    assert peak / 1.5 < model.estimate(X, y).bytes < peak * 1.5


def test_room_to_build_tables_in_is_counted(monkeypatch):
    codes, y = draw_routes(towns=8, routes=12)
    X = pd.DataFrame(codes.T.astype(str)).astype("category")
    model = DBLClassifier(n=3, alpha=1.0, **DISCRIMINATIVE)
    monkeypatch.setattr(planning, "FEW_LOOKUPS", 0)
    monkeypatch.setattr(planning, "MOST_SINGLE", 0)
    usual = model.estimate(X, y).bytes
    monkeypatch.setattr(planning, "SMALL_ROOM", 1 << 40)
    assert model.estimate(X, y).bytes > 2 * usual
    check_estimate(model, X, y)


def footprint(problem, plan):
    source = problem.source()
    return Footprint.of(source, plan, count_reached(source, plan.terms))


@given(st.lists(st.integers(1, 9), min_size=1, max_size=7), st.data())
def test_cells_of_all_tuples_are_counted_without_listing_them(cardinalities, data):
    n = data.draw(st.integers(1, len(cardinalities)))
    expected = sum(prod(chosen) for chosen in combinations(cardinalities, n))
    assert count_cells(np.array(cardinalities), n) == expected


@given(problems(), st.data())
def test_no_plan_takes_less_than_the_cells_that_rows_reach(problem, data):
    # So that a fit is given up before it is planned only where no plan could help.
    n = data.draw(st.integers(1, len(problem.codes)))
    history = data.draw(st.sampled_from([0, 5, 20]))
    source, terms = problem.source(), Terms.of_order(n, problem.cardinalities)
    bare = Footprint.bare(source, terms, count_reached(source, terms)).total(history)
    planner = Planner(source, terms)
    for plan in (planner.cheapest(), planner.single(), planner.fused()):
        assert bare <= footprint(problem, plan).total(history)


def test_a_longer_history_takes_a_pair_of_vectors_more():
    problem = draw_problem(0, a=8, rows=3000, largest=8)
    size = footprint(problem, problem.plan(2))
    parameters = size.reached * problem.n_classes
    assert parameters * 8 * 2 * 10 > 100_000
    assert size.total(40) - size.total(30) == pytest.approx(2 * 10 * 8 * parameters)


def test_long_vectors_are_remembered_in_single_precision():
    problem = draw_problem(0, a=8, rows=3000, largest=8)
    source, plan = problem.source(), problem.plan(2)
    large = Footprint.of(source, plan, 10**8)
    per_pair = (large.total(40) - large.total(30)) / 10
    assert per_pair == pytest.approx(2 * 4 * 10**8 * problem.n_classes)


def test_items_of_rows_are_counted():
    problem = draw_problem(0, a=6, rows=500, largest=4)
    terms = Terms.of_order(2, problem.cardinalities)
    common = np.array([1, 0, 1, 0, 1, 0])
    plan = Plan.of(terms, (), {}, common)
    expected = (problem.codes != common[:, None]).sum(axis=0).mean()
    held = Footprint.of(problem.source(), plan, 0).held
    # Labels and weights, where each row's items begin, and the items.
    assert held == pytest.approx(500 * (10 + 8 + 4 * expected))


def test_the_guess_from_cardinalities_counts_no_more_cells_than_rows_can_reach():
    cardinalities = np.full(10, 50)
    few = Footprint.unlisted(cardinalities, 3, rows=100, n_classes=2)
    assert few.reached == 100 * 120
    assert few.cells == 100 * 120 + 120
    many = Footprint.unlisted(cardinalities, 3, rows=10**9, n_classes=2)
    assert many.reached == many.cells == 50**3 * 120
