"""Mini-batches: every row once per pass, sums as of the whole, whoever counts."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.data.source import ArraySource, RowItems
from deepbroad.engine import batches
from deepbroad.engine.batches import BatchObjective, BatchPass, take_items
from deepbroad.kernels.threads import Threads
from deepbroad.model.family import Family
from deepbroad.model.objective import Objective
from deepbroad.solvers import LBFGS, SGD
from tests.engine.problems import draw_problem, problems
from tests.parted import Parts

DBL = Family(generative=True, strength=0.3, target=1.0)


@pytest.fixture
def small_batches(monkeypatch):
    """Many batches and held-out rows on tables of a hundred rows."""
    monkeypatch.setattr(batches, "LEAST_ROWS", 10)
    monkeypatch.setattr(batches, "FEWEST_ROWS", 50)
    monkeypatch.setattr(batches, "HELD_SHARE", 5)


def batched(training, family=DBL, source=None, seed=0):
    design = training.design(family)
    known = training.pass_design(family, design)
    source = training.source if source is None else source
    run_pass = BatchPass(source, known, seed, training.threads)
    return BatchObjective(design, run_pass, float(training.class_counts.sum()), training.threads)


def whole(training, family=DBL):
    design = training.design(family)
    run_pass = training.loss_pass(family, design)
    return Objective(design, run_pass, float(training.class_counts.sum()))


@given(problems(), st.integers(0, 5))
def test_batches_and_held_out_rows_sum_to_the_whole(problem, seed):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "LEAST_ROWS", 3)
        patch.setattr(batches, "FEWEST_ROWS", 12)
        patch.setattr(batches, "HELD_SHARE", 4)
        training = problem.training(2)
        ours = batched(training, seed=seed)
        value, gradient = whole(training)(ours.start * 1.1)
        found, slopes = ours(ours.start * 1.1)
    np.testing.assert_allclose(found, value, rtol=1e-10)
    np.testing.assert_allclose(slopes, gradient, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("cycle", [0, 3])
def test_the_mean_of_a_pass_is_of_all_rows_that_are_not_held_out(small_batches, cycle):
    """Twice the rows, half of them held out by luck, would show in the scale."""
    training = draw_problem(0, rows=103, weighted=True).training(2)
    ours = batched(training)
    u = ours.start * 0.9
    held, weight = ours.held_loss(u), ours._run(u, 0, batches.HELD).weight
    total = float(training.class_counts.sum())
    assert 0 < weight < total / 2
    losses = [ours.batch(u, cycle, number)[0] for number in range(ours.n_batches)]
    pull = ours.pull
    penalty = 0.5 * float((pull.strength * (u - pull.target) ** 2).sum())
    data = whole(training)(u)[0] - penalty
    np.testing.assert_allclose(
        np.mean(losses) * (total - weight) + held * weight, data * total, rtol=1e-6
    )


def rows_of(ours, cycle):
    held = ours._batches._parts._thing
    return [held._batch(cycle, number) for number in range(ours.n_batches)]


def test_passes_deal_out_all_tiles_anew(small_batches):
    problem = draw_problem(0, rows=200)
    ours = batched(replace(problem, weights=np.arange(1.0, 201.0)).training(2))
    dealt = [[rows.weights.tolist() for rows in rows_of(ours, cycle)] for cycle in (0, 1)]
    assert len(dealt[0]) == 20
    assert dealt[0] != dealt[1]
    first, second = (sorted(np.concatenate(part).tolist()) for part in dealt)
    assert first == second
    assert len(set(first)) == 160


def test_sorted_rows_are_mixed(small_batches):
    problem = draw_problem(0, rows=400, n_classes=2)
    training = problem.rows(np.argsort(problem.labels, kind="stable")).training(2)
    for rows in rows_of(batched(training), 0):
        assert set(rows.labels.tolist()) == {0, 1}


def test_items_go_with_their_rows():
    items = RowItems(np.array([0, 2, 2, 5]), np.array([4, 7, 1, 2, 3]))
    taken = take_items(items, np.array([2, 0, 1]))
    assert taken.starts.tolist() == [0, 3, 5, 5]
    assert taken.items.tolist() == [1, 2, 3, 4, 7]


def solve(training, solver):
    objective = batched(training) if isinstance(solver, SGD) else whole(training)
    return solver.minimise(objective, objective.start, curvature=objective.curvature)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_optimum_is_that_of_lbfgs(monkeypatch, weighted):
    monkeypatch.setattr(batches, "LEAST_ROWS", 20)
    training = draw_problem(1, rows=120, weighted=weighted).training(2)
    exact = solve(training, LBFGS(tol=1e-12))
    found = solve(training, SGD(max_iter=400, tol=1e-7))
    assert exact.loss - 1e-9 <= found.loss <= exact.loss * (1 + 5e-3)


def test_threads_change_no_bit(small_batches):
    found = []
    for count in (1, 2):
        with Threads(count) as threads:
            training = draw_problem(2, rows=300, a=6).training(2, threads=threads, dtype=np.float32)
            ours = batched(training)
            solution = SGD(max_iter=3).minimise(
                ours, ours.start, curvature=ours.curvature, threads=threads
            )
            found.append(solution)
    assert np.array_equal(found[0].u, found[1].u)
    assert found[0].loss_curve == found[1].loss_curve


def test_parts_give_the_sums_of_the_whole(small_batches):
    training = draw_problem(3, rows=150).training(2)
    source = Parts.of(training.source, [40, 41, 90])
    ours, theirs = batched(training, source=source), whole(training)
    value, gradient = theirs(ours.start * 1.1)
    found, slopes = ours(ours.start * 1.1)
    np.testing.assert_allclose(found, value, rtol=1e-10)
    np.testing.assert_allclose(slopes, gradient, rtol=1e-8, atol=1e-12)


def test_the_number_of_batches_follows_from_counts_alone():
    training = draw_problem(0, rows=64).training(2)
    known = training.pass_design(DBL, training.design(DBL))
    counts = []
    for rows in (100, 10_240, 100_000, 40_000_000):
        codes = np.broadcast_to(np.zeros((4, 1), np.uint8), (4, rows))
        labels = np.broadcast_to(np.zeros(1, np.uint8), rows)
        counts.append(batches.choose_batches(ArraySource(codes, labels, 3, np.ones(4)), known))
    # No fewer than 256 rows in a batch, then 48 batches; then by the work on rows.
    assert counts[:3] == [1, 40, 48]
    assert counts[3] > 480
