"""Compact tables are the dense model: only tuples that rows show have cells of their own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deepbroad
from deepbroad import DBLClassifier, LRClassifier
from deepbroad.engine import compaction
from deepbroad.engine.compaction import must_be_compact
from deepbroad.engine.planning import Planner, group_source
from deepbroad.engine.scoring import Scorer
from deepbroad.engine.training import Training
from deepbroad.kernels.threads import Threads
from deepbroad.model.family import Family
from deepbroad.model.groups import observe_groups, observe_tuples
from deepbroad.model.plan import Plan
from deepbroad.model.terms import Terms
from deepbroad.solvers import LBFGS
from tests.engine.problems import draw_problem, partitions, problems

FAMILIES = {
    "AnJE": None,
    "LR": Family(generative=False, strength=0.5),
    "DBL to zero": Family(generative=True, strength=0.1),
    "DBL to AnJE": Family(generative=True, strength=0.1, target=1.0),
}


def train(problem, plan, min_count=1):
    source = group_source(problem.source(), plan)
    return Training(
        source, plan, smoothing=1.0, dtype=np.dtype(float), threads=Threads(1), min_count=min_count
    )


def fit(training, family):
    if family is None:
        return training.generative()
    return training.discriminative(family, LBFGS(max_iter=6, tol=0))[0]


def mixed_plan(problem, n, partition, is_compact, min_count=1):
    """Return a plan with some compact terms, the others fused over a partition of the columns."""
    terms = Terms.of_order(n, problem.cardinalities)
    chosen = np.flatnonzero(is_compact).tolist()
    own = observe_tuples(
        [terms.tuple(t) for t in chosen],
        problem.cardinalities,
        problem.source().blocks(),
        min_count,
    )
    used = set(terms.members[~np.array(is_compact)].ravel().tolist())
    kept = [tuple(c for c in columns if c in used) for columns in partition]
    kept = [columns for columns in kept if columns]
    groups = observe_groups(kept, problem.cardinalities, [problem.codes])
    return Plan.of(terms, groups, dict(zip(chosen, own, strict=True)))


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
@given(problem=problems(), data=st.data())
def test_any_mixture_of_tables_gives_the_scores_of_dense_ones(family, problem, data):
    a = len(problem.codes)
    n = data.draw(st.integers(1, min(5, a)))
    partition = data.draw(partitions(a))
    n_terms = len(Terms.of_order(n, problem.cardinalities))
    is_compact = data.draw(st.lists(st.booleans(), min_size=n_terms, max_size=n_terms))
    mixed = fit(train(problem, mixed_plan(problem, n, partition, is_compact)), family)
    dense = fit(train(problem, problem.plan(n)), family)
    # Every possible row, never-seen values included.
    grid = np.indices(problem.cardinalities + 1).reshape(a, -1).astype(np.uint8)
    rescale = family is None
    np.testing.assert_allclose(
        Scorer(mixed, rescale=rescale).probabilities(grid, 1),
        Scorer(dense, rescale=rescale).probabilities(grid, 1),
        atol=1e-5,
    )


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
@pytest.mark.parametrize("weighted", [False, True])
def test_rare_tuples_are_frozen_alike_in_dense_and_compact_tables(family, weighted):
    problem = draw_problem(3, a=4, rows=50, weighted=weighted, largest=8)
    dense = fit(train(problem, problem.plan(2), min_count=4), family)
    plan = mixed_plan(problem, 2, [(0, 1), (2,), (3,)], [True, False, True, False, True, True], 4)
    compact = fit(train(problem, plan, min_count=4), family)
    assert plan.terms.n_cells < problem.plan(2).terms.n_cells
    np.testing.assert_allclose(
        Scorer(compact).probabilities(problem.codes, 1),
        Scorer(dense).probabilities(problem.codes, 1),
        atol=1e-9,
    )


def test_terms_of_many_joint_values_become_compact():
    terms = Terms.of_order(2, np.array([3000, 2000, 4, 5]))
    assert must_be_compact(terms, 1000).tolist() == [True, True, True, True, True, False]


def test_a_plan_mixes_fused_and_compact_tables(monkeypatch):
    monkeypatch.setattr(compaction, "SMALL_TABLE", 8)
    problem = draw_problem(1, a=5, rows=5, largest=6)
    plan = Planner(problem.source(), Terms.of_order(2, problem.cardinalities)).fused()
    assert 0 < plan.terms.is_compact.sum() < len(plan.terms)
    assert plan.n_tables < len(plan.terms)
    assert plan.terms.n_cells < plan.terms.spaces.sum()


@pytest.fixture
def wide():
    """Two columns of thousands of values, whose pair decides the class by parity, and noise."""
    rng = np.random.default_rng(0)
    left = rng.integers(3000, size=4000)
    right = (left * 7 + rng.integers(2, size=4000)) % 3000
    X = np.stack([left.astype(str), right.astype(str), rng.choice(["u", "v"], 4000)], axis=1)
    return X.astype(object), (left + right) % 2


def test_columns_of_thousands_of_values_need_no_dense_tables(wide):
    X, y = wide
    model = DBLClassifier(n=2, alpha=1.0).fit(X, y)
    assert model.estimate(X, y).cells < 20_000
    assert model.score(X, y) > 0.99
    assert model.predict_proba([["never", X[0, 1], "u"], [X[0, 0], X[1, 1], None]]).shape == (2, 2)


def test_stored_cells_of_compact_tables_have_names(wide):
    X, y = wide
    model = LRClassifier(n=2).fit(X, y)
    cells = model.tables_["x0", "x1"].to_arrow()
    assert cells.num_rows == len({(a, b) for a, b, _ in X})
    assert (cells["x0"][0].as_py(), cells["x1"][0].as_py()) in {(a, b) for a, b, _ in X}
    assert model.tables_["x1", "x0"].scores.shape == (*cells_shape(X), 2)


def cells_shape(X):
    return len(set(X[:, 1])), len(set(X[:, 0]))


def test_compact_models_survive_files_and_warm_starts(wide, tmp_path):
    X, y = wide
    model = DBLClassifier(n=2, alpha=1.0, warm_start=True).fit(X, y)
    deepbroad.save(model, tmp_path / "m.dbl")
    loaded = deepbroad.load(tmp_path / "m.dbl")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    loss = model.loss_
    assert model.fit(X, y).loss_curve_[0] == pytest.approx(loss, rel=1e-4)
