"""Items are the dense model: rows are scored by the sets of values that are not common."""

import pickle

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import deepbroad
from deepbroad import DBLClassifier
from deepbroad.data import source as source_module
from deepbroad.engine import items, passes, planning, scatter
from deepbroad.engine.planning import Planner
from deepbroad.engine.scoring import Scorer
from deepbroad.engine.training import Training
from deepbroad.kernels.threads import Threads
from deepbroad.model.groups import observe_tuples
from deepbroad.model.plan import Plan
from deepbroad.model.terms import Terms
from tests.engine.problems import draw_problem, problems
from tests.engine.test_compact import FAMILIES, fit, train


def item_plan(problem, n, common, is_compact=()):
    """Return a plan of items for all tuples but the compact ones."""
    terms = Terms.of_order(n, problem.cardinalities)
    chosen = np.flatnonzero(is_compact).tolist()
    tuples = [terms.tuple(t) for t in chosen]
    own = observe_tuples(tuples, problem.cardinalities, problem.source().blocks(), 1)
    return Plan.of(terms, (), dict(zip(chosen, own, strict=True)), common)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
@given(problem=problems(), data=st.data())
def test_any_common_values_give_the_scores_of_dense_tables(family, problem, data):
    a = len(problem.codes)
    n = data.draw(st.integers(1, min(5, a)))
    common = [data.draw(st.integers(0, int(v) - 1)) for v in problem.cardinalities]
    n_terms = len(Terms.of_order(n, problem.cardinalities))
    is_compact = data.draw(st.lists(st.booleans(), min_size=n_terms, max_size=n_terms))
    is_compact[0] = False  # without a term for items there are none
    by_items = fit(train(problem, item_plan(problem, n, common, is_compact)), family)
    dense = fit(train(problem, problem.plan(n)), family)
    # Every possible row, never-seen values included.
    grid = np.indices(problem.cardinalities + 1).reshape(a, -1).astype(np.uint8)
    rescale = family is None
    np.testing.assert_allclose(
        Scorer(by_items, rescale=rescale).probabilities(grid, 1),
        Scorer(dense, rescale=rescale).probabilities(grid, 1),
        atol=1e-8,
    )


@given(problem=problems(), data=st.data())
def test_counts_are_those_of_dense_tables_to_the_bit(problem, data):
    n = data.draw(st.integers(1, min(5, len(problem.codes))))
    common = [data.draw(st.integers(0, int(v) - 1)) for v in problem.cardinalities]
    by_items = train(problem, item_plan(problem, n, common)).counts
    # The weights of problems are halves: their sums and differences are exact.
    np.testing.assert_array_equal(by_items, train(problem, problem.plan(n)).counts)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_bands_change_no_bit(family, monkeypatch):
    problem = draw_problem(2, a=7, rows=400, largest=3, weighted=True)
    problem.codes[:, :150] = 0  # a block without items
    monkeypatch.setattr(source_module, "BLOCK_ROWS", 100)
    monkeypatch.setattr(passes, "BLOCK_ROWS", 100)
    monkeypatch.setattr(scatter, "BLOCK_ROWS", 100)
    plan = item_plan(problem, 3, np.zeros(7, int))
    expected = fit(train(problem, plan), family)
    monkeypatch.setattr(items, "BAND_BYTES", 100)
    monkeypatch.setattr(items, "BAND_LOOKUPS", 0.1)
    rows = planning.group_source(problem.source(), plan).items
    assert len(items.choose_bands(plan.items, rows, 1)) > 4
    np.testing.assert_array_equal(fit(train(problem, plan), family).scores, expected.scores)


def test_bands_are_as_many_as_entries_need_and_look_ups_pay(monkeypatch):
    problem = draw_problem(2, a=7, rows=400, largest=3)
    plan = item_plan(problem, 3, np.zeros(7, int))
    rows = planning.group_source(problem.source(), plan).items
    whole = [0, plan.items.n_items]
    assert items.choose_bands(plan.items, rows, 1).tolist() == whole
    monkeypatch.setattr(items, "BAND_BYTES", 8 * plan.items.n_entries)
    monkeypatch.setattr(items, "BAND_LOOKUPS", 1.0)
    assert items.choose_bands(plan.items, rows, 1).tolist() == whole
    bands = items.choose_bands(plan.items, rows, 2)
    assert len(bands) == 3
    below = plan.items.index.binomials[1:].sum(axis=0)
    # The first band with half of the entries ends at an item.
    assert below[bands[1] - 1] < below[-1] / 2 <= below[bands[1]]
    monkeypatch.setattr(items, "BAND_LOOKUPS", 1e9)
    assert items.choose_bands(plan.items, rows, 2).tolist() == whole


@pytest.mark.parametrize("near", [items.BAND_BYTES, 100])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_number_of_threads_changes_no_bit(dtype, near, monkeypatch):
    monkeypatch.setattr(items, "BAND_BYTES", near)
    problem = draw_problem(4, a=12, rows=300, largest=4, weighted=True)
    plan = item_plan(problem, 3, np.zeros(12, int))
    scores = []
    for count in (1, 2, 3):
        with Threads(count) as threads:
            source = planning.group_source(problem.source(), plan)
            training = Training(source, plan, smoothing=1.0, dtype=np.dtype(dtype), threads=threads)
            scores.append(fit(training, FAMILIES["DBL to zero"]).scores)
    np.testing.assert_array_equal(scores[0], scores[1])
    np.testing.assert_array_equal(scores[0], scores[2])


def draw_sparse(rng, rows, a, ones):
    problem = draw_problem(0, a=a, rows=rows, largest=2)
    codes = (rng.random((a, rows)) < ones).astype(np.uint8)
    codes[:, :2] = [[0, 1]] * a  # both values of every column are seen
    return type(problem)(codes, problem.labels, np.full(a, 2), problem.n_classes)


def test_a_plan_takes_items_where_rows_are_mostly_common():
    rng = np.random.default_rng(0)
    terms = Terms.of_order(2, np.full(120, 2))
    sparse = Planner(draw_sparse(rng, 20_000, 120, 0.005).source(), terms).cheapest()
    assert sparse.items is not None
    assert sparse.n_tables == 0
    assert not sparse.items.common.any()
    assert Planner(draw_sparse(rng, 20_000, 120, 0.5).source(), terms).cheapest().items is None
    few_rows = draw_sparse(rng, 600, 120, 0.005).source()
    assert Planner(few_rows, terms).cheapest().items is None, "entries take longer than rows there"


def test_chosen_terms_have_entries_for_their_own_sets_alone():
    problem = draw_sparse(np.random.default_rng(0), 50, 20, 0.1)
    terms = Terms.of([(0, 1), (2, 5), (1, 7)], problem.cardinalities)
    plan = Plan.of(terms, (), {}, np.zeros(20, int))
    assert plan.items.n_entries == 1 + 5 + 3  # nothing, single columns, pairs
    dense = Plan.of(terms, problem.plan(1).groups)
    for family in FAMILIES.values():
        np.testing.assert_allclose(
            Scorer(fit(train(problem, plan), family)).probabilities(problem.codes, 1),
            Scorer(fit(train(problem, dense), family)).probabilities(problem.codes, 1),
            atol=1e-9,
        )


def test_models_with_items_survive_files_and_pickles(tmp_path, monkeypatch):
    monkeypatch.setattr(Planner, "cheapest", Planner.items)
    rng = np.random.default_rng(0)
    X = scipy.sparse.random(400, 60, 0.02, format="csr", random_state=rng, data_rvs=np.ones)
    y = (np.asarray(X[:, :10].sum(axis=1)).ravel() > 0).astype(int)
    model = DBLClassifier(n=2, alpha=1.0).fit(X, y)
    assert model._scorer.model.plan.items is not None
    expected = model.predict_proba(X)
    deepbroad.save(model, tmp_path / "m.dbl")
    np.testing.assert_array_equal(deepbroad.load(tmp_path / "m.dbl").predict_proba(X), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), expected)
    loss = model.loss_
    assert model.set_params(warm_start=True).fit(X, y).loss_curve_[0] == pytest.approx(loss)
