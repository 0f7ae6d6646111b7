"""Averaged dependence estimators against brute force, and what never changes them."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.engine import averaging
from deepbroad.engine.averaging import AveragedScorer
from deepbroad.engine.passes import count_cells
from deepbroad.engine.planning import Planner, group_source
from deepbroad.engine.scoring import CHUNK
from deepbroad.kernels.threads import Threads
from deepbroad.model.groups import observe_groups, observe_tuples
from deepbroad.model.lifts import all_tuples
from deepbroad.model.plan import Plan
from deepbroad.model.scores import ScoreTables
from tests import naive
from tests.engine.problems import draw_problem, problems

ONE_THREAD = Threads(1)


def plan_of(problem, n, *, joined=False, compact=()):
    """Return the plan of all tuples of up to n + 1 columns; `compact` numbers some of them."""
    a = len(problem.codes)
    terms = all_tuples(min(n + 1, a), problem.cardinalities)
    partition = [(2, 0), (1, *range(3, a))] if joined and a > 2 else [(c,) for c in range(a)]
    blocks = [block.codes for block in problem.source().blocks()]
    tuples = [terms.tuple(t) for t in compact]
    own = observe_tuples(tuples, problem.cardinalities, problem.source().blocks(), 1)
    groups = observe_groups(partition, problem.cardinalities, blocks)
    return Plan.of(terms, groups, dict(zip(compact, own, strict=True)))


def scorer_of(problem, n, plan=None, *, m=1.0, min_count=1):
    plan = plan_of(problem, n) if plan is None else plan
    source = group_source(problem.source(), plan)
    class_counts, counts = count_cells(source, plan, ONE_THREAD)
    counts[plan.terms.shared_cells] = 0
    tables = ScoreTables(plan, class_counts, counts, None)
    return AveragedScorer(tables, n, smoothing=m, min_count=min_count)


def rows_with_unseen(problem, rows=25, seed=0):
    """Return rows of which many have values that training never saw, and one nothing else."""
    rng = np.random.default_rng(seed)
    drawn = np.stack([rng.integers(v + 1, size=rows) for v in problem.cardinalities])
    drawn[:, 0] = problem.cardinalities
    return drawn.astype(problem.codes.dtype)


def assert_same_scores(scorer, problem, n, rows, *, m=1.0, min_count=1, atol=1e-9):
    expected = naive.ande_rows(problem, n, rows, m=m, min_count=min_count)
    found = scorer.scores(rows)
    np.testing.assert_allclose(found, expected[:, 1:] - expected[:, :1], atol=atol)
    np.testing.assert_allclose(
        scorer.probabilities(rows), naive.probabilities(expected), atol=min(atol, 1e-6)
    )


@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_scores_are_those_of_brute_force(n, weighted, joined):
    problem = draw_problem(n, a=5, rows=30, weighted=weighted)
    rows = np.hstack([problem.codes, rows_with_unseen(problem)])
    scorer = scorer_of(problem, n, plan_of(problem, n, joined=joined))
    assert_same_scores(scorer, problem, n, rows)


@given(problem=problems(max_rows=25), n=st.integers(0, 4), min_count=st.sampled_from([0.5, 1, 2.5]))
def test_scores_are_those_of_brute_force_on_any_data(problem, n, min_count):
    n = min(n, len(problem.codes))
    scorer = scorer_of(problem, n, m=0.7, min_count=min_count)
    rows = rows_with_unseen(problem, 6)
    assert_same_scores(scorer, problem, n, rows, m=0.7, min_count=min_count)


@pytest.mark.parametrize("n_classes", [2, 9, 18])
def test_any_number_of_classes_fills_the_lanes(n_classes):
    problem = draw_problem(1, rows=60, n_classes=n_classes)
    assert_same_scores(scorer_of(problem, 1), problem, 1, rows_with_unseen(problem))


@pytest.mark.parametrize("min_count", [3, 6, 1000])
def test_rare_parents_are_left_out_and_fewer_parents_answer(min_count):
    problem = draw_problem(3, a=4, rows=20, largest=4)
    rows = np.hstack([problem.codes, rows_with_unseen(problem)])
    scorer = scorer_of(problem, 2, min_count=min_count)
    assert_same_scores(scorer, problem, 2, rows, min_count=min_count)
    plain = scorer_of(problem, 2).scores(rows)
    assert np.abs(scorer.scores(rows) - plain).max() > 1e-3


def test_where_no_parents_are_left_naive_bayes_answers():
    problem = draw_problem(3, rows=40)
    rows = rows_with_unseen(problem)
    expected = scorer_of(problem, 0).scores(rows)
    np.testing.assert_allclose(scorer_of(problem, 2, min_count=41).scores(rows), expected)


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("which", ["deepest", "pairs", "one in two"])
def test_compact_tables_give_the_same(n, which):
    problem = draw_problem(5, a=4, rows=15, largest=4)
    terms = all_tuples(n + 1, problem.cardinalities)
    of = {
        "deepest": np.flatnonzero(terms.orders == n + 1),
        "pairs": np.flatnonzero(terms.orders == 2),
        "one in two": np.flatnonzero(terms.orders > 1)[::2],
    }[which].tolist()
    rows = np.hstack([problem.codes, rows_with_unseen(problem, 40)])
    scorer = scorer_of(problem, n, plan_of(problem, n, joined=True, compact=of))
    assert_same_scores(scorer, problem, n, rows)


def test_plans_with_items_give_the_same():
    problem = draw_problem(6, a=8, rows=50)
    problem.codes[np.random.default_rng(0).random(problem.codes.shape) < 0.9] = 0
    terms = all_tuples(2, problem.cardinalities)
    plan = Planner(problem.source(), terms).items()
    assert plan is not None
    assert_same_scores(scorer_of(problem, 1, plan), problem, 1, rows_with_unseen(problem))


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("n_classes", [3, 18])
def test_single_precision_is_close(n, n_classes, monkeypatch):
    monkeypatch.setattr(averaging, "PRECISE", 0)
    problem = draw_problem(2, a=6, rows=80, n_classes=n_classes)
    scorer = scorer_of(problem, n)
    assert_same_scores(scorer, problem, n, rows_with_unseen(problem), atol=2e-5)
    assert scorer._level(n).tables.entries.dtype == np.float32


def test_rows_score_the_same_bits_in_any_company_and_by_any_threads():
    problem = draw_problem(0, rows=40)
    scorer = scorer_of(problem, 2, min_count=3)
    rows = rows_with_unseen(problem, 2 * CHUNK + 100)
    whole = scorer.scores(rows, 3)
    np.testing.assert_array_equal(scorer.scores(rows, 1), whole)
    for chosen in (slice(0, 1), slice(CHUNK - 1, CHUNK + 1), slice(7, 50)):
        part = scorer.scores(np.ascontiguousarray(rows[:, chosen]), 1)
        np.testing.assert_array_equal(part, whole[chosen])


def test_no_rows_have_no_scores():
    problem = draw_problem(0)
    scorer = scorer_of(problem, 1)
    assert scorer.scores(problem.codes[:, :0]).shape == (0, 2)
    assert scorer.probabilities(problem.codes[:, :0]).shape == (0, 3)


def test_a_pickle_holds_counts_alone_and_gives_the_same_bits():
    problem = draw_problem(0)
    scorer = scorer_of(problem, 2)
    before = len(pickle.dumps(scorer))
    expected = scorer.scores(problem.codes)
    assert len(pickle.dumps(scorer)) == before
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(scorer)).scores(problem.codes), expected
    )
