"""Cells that score by their counts: counts of other rows, the objective, and what is folded in."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepbroad.engine import evidence
from deepbroad.engine.evidence import (
    EvidenceObjective,
    fit_evidence,
    has_evidence,
    leave_out,
    one_hot,
)
from deepbroad.engine.planning import Planner, group_part
from deepbroad.engine.scoring import Scorer
from deepbroad.engine.training import Training
from deepbroad.model.evidence import Evidence, class_shares
from deepbroad.model.family import Family
from deepbroad.model.terms import Terms
from deepbroad.solvers import LBFGS
from tests.engine.problems import ONE_THREAD, Problem

FAMILY = Family(generative=True, strength=0.0, by_score=True, backs_off=True)
TUPLES = [(0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)]


def draw_problem(seed, rows=300, n_classes=2, values=(30, 12, 4)):
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(count, size=rows) for count in values]).astype(np.uint8)
    labels = (codes[0] + codes[1] + rng.integers(2, size=rows)) % n_classes
    return Problem(codes, labels, np.array(values), n_classes)


def train(problem, plan=None):
    source = problem.source()
    if plan is None:
        plan = Planner(source, Terms.of(TUPLES, problem.cardinalities), small=20).cheapest()
    grouped = group_part(source, plan, ONE_THREAD)
    return Training(grouped, plan, smoothing=1.0, dtype=np.dtype(float), threads=ONE_THREAD)


@given(seed=st.integers(0, 99), rows=st.integers(1, 60), n_classes=st.integers(2, 4))
@settings(max_examples=20)
def test_rows_see_the_counts_of_other_folds(seed, rows, n_classes):
    rng = np.random.default_rng(seed)
    cells = np.column_stack([rng.integers(5, size=rows), 5 + rng.integers(9, size=rows)])
    labels = rng.integers(n_classes, size=rows)
    fold = np.random.default_rng(seed).permutation(rows) % evidence.FOLDS
    for term, found in enumerate(leave_out(cells, labels, n_classes, seed)):
        for r in range(rows):
            others = (cells[:, term] == cells[r, term]) & (fold != fold[r])
            expected = np.bincount(labels[others], minlength=n_classes)
            np.testing.assert_array_equal(found[r], expected)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_gradient_is_that_of_finite_differences(n_classes):
    rng = np.random.default_rng(0)
    cells = np.column_stack([rng.integers(4, size=40), 4 + rng.integers(9, size=40)])
    labels = rng.integers(n_classes, size=40)
    shares = class_shares(np.bincount(labels, minlength=n_classes))
    objective = EvidenceObjective(cells, labels, shares, 4, 0)
    # What is computed with is in single precision.
    objective._lifts = objective._lifts.astype(np.float64)
    u = objective.start + rng.normal(scale=0.3, size=len(objective.start)).astype(np.float32)
    _, gradient = objective(u)
    for k in range(len(u)):
        step = np.zeros(len(u))
        step[k] = 2.0**-7
        slope = (objective(u + step)[0] - objective(u - step)[0]) / 2.0**-6
        assert gradient[k] == pytest.approx(slope, abs=2e-3 * max(1.0, abs(slope)))


def test_only_cells_of_their_own_are_one_hot():
    cells = np.array([[0, 3], [2, 4]])
    np.testing.assert_array_equal(one_hot(cells, 3).toarray(), [[1, 0, 0], [0, 0, 1]])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_folding_in_equals_scoring_rows_by_the_counts_of_their_cells(n_classes, monkeypatch):
    problem, others = (draw_problem(seed, n_classes=n_classes) for seed in (0, 1))
    training = train(problem)
    assert training.plan.terms.is_compact.any()
    kept = []
    monkeypatch.setattr(
        evidence, "Evidence", lambda *parts: kept.append(Evidence(*parts)) or kept[0]
    )
    tables, _ = fit_evidence(training, FAMILY, seed=0)
    own = {
        term: tables.table(tables.plan.terms.tuple(term))
        - kept[0].scores(term, count_values(problem, tables.plan.terms.tuple(term)))
        for term in range(3)
    }
    found = Scorer(tables).scores(others.codes, n_jobs=1)
    expected = np.tile(tables.class_scores, (300, 1))
    for term, columns in enumerate(map(tables.plan.terms.tuple, range(len(TUPLES)))):
        same = others.codes[list(columns)][:, :, None] == problem.codes[list(columns)][:, None]
        seen = same.all(axis=0).astype(int)
        counts = np.stack([seen @ (problem.labels == c) for c in range(n_classes)], axis=1)
        expected += kept[0].scores(term, counts)
        if term in own:
            expected += own[term][others.codes[columns[0]]]
    np.testing.assert_allclose(found, expected[:, 1:] - expected[:, :1], atol=1e-5)


def count_values(problem, columns):
    """Return how many rows of each class have each value of a column."""
    (column,) = columns
    counts = np.zeros((problem.cardinalities[column], problem.n_classes))
    np.add.at(counts, (problem.codes[column], problem.labels), 1.0)
    return counts


def test_unseen_joint_values_score_nothing():
    training = train(draw_problem(0))
    tables, _ = fit_evidence(training, FAMILY, seed=0)
    unreached = ~training.counts.any(axis=1)
    assert unreached.any()
    assert not tables.scores[unreached].any()


def test_the_loss_falls():
    training = train(draw_problem(0))
    tables, solution = fit_evidence(training, FAMILY, seed=0, solver=LBFGS(tol=1e-9))
    assert solution.loss < solution.loss_curve[0]
    assert np.all(np.diff(solution.loss_curve) <= 0)
    assert tables.scale is not None


def test_merged_rows_are_as_many_as_they_weigh():
    once = draw_problem(0, rows=80)
    twice = once.rows(np.repeat(np.arange(80), 2))
    merged = replace(once, weights=np.full(80, 2.0))
    first, second = (fit_evidence(train(p), FAMILY, seed=0)[0] for p in (twice, merged))
    np.testing.assert_allclose(first.scores, second.scores, atol=1e-4)


def test_other_folds_are_another_fit_and_the_same_the_same():
    training = train(draw_problem(0))
    one, again, other = (fit_evidence(training, FAMILY, seed=seed)[0] for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.scores, again.scores)
    assert not np.array_equal(one.scores, other.scores)


def test_items_have_no_cells_of_single_rows():
    problem = draw_problem(0)
    training = train(problem)
    assert has_evidence(training)
    training.plan = replace(training.plan, items=object())
    assert not has_evidence(training)
