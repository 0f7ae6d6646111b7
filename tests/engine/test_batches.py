"""Mini-batches: every row once per pass, sums as of the whole, whoever counts."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.data.source import ArraySource, RowItems
from deepbroad.engine import batches
from deepbroad.engine.batches import BatchObjective, BatchPass, Dealing, take_items
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


def dealt(training, source=None, seed=0):
    """Return how the rows of a training set are dealt out."""
    source = training.source if source is None else source
    n_parameters = len(training.reached) * source.n_classes
    return Dealing.of(source, training.plan, training.dtype, n_parameters, seed)


def batched(training, family=DBL, source=None, seed=0, dealing=None):
    """Return F in batches under the design of all rows, the held-out ones included."""
    design = training.design(family)
    known = training.pass_design(family, design)
    source = training.source if source is None else source
    dealing = dealt(training, source, seed) if dealing is None else dealing
    run_pass = BatchPass(source, known, dealing, training.threads)
    return BatchObjective(design, run_pass, float(training.class_counts.sum()), training.threads)


def all_sums(ours, u, cycle=0):
    """Return the loss and the gradient by cell of all batches and the held-out rows."""
    numbers = range(batches.HELD if ours._batches.holds_out else 0, ours.n_batches)
    found = [ours._run(u, cycle, number) for number in numbers]
    weight, loss = (sum(values) for values in zip(*((w, f.loss) for w, f in found), strict=True))
    cells = np.zeros(ours.design.scale.shape)
    for number in numbers:
        ours._run(u, cycle, number)
        cells += ours.split(ours._sums)[1]
    return weight, loss, cells


def assert_sums_of_the_whole(ours, training, cycle):
    u = ours.start * 1.1
    weight, loss, cells = all_sums(ours, u, cycle)
    design = ours.design
    classes, parameters = ours.split(u)
    expected = np.empty(design.scale.shape)
    value, _ = training.loss_pass(DBL, design)(classes * design.class_scale, parameters, expected)
    np.testing.assert_allclose(weight, training.class_counts.sum())
    np.testing.assert_allclose(loss, value, rtol=1e-10)
    np.testing.assert_allclose(cells, expected, rtol=1e-8, atol=1e-11)


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
        assert_sums_of_the_whole(batched(training, seed=seed), training, cycle=seed)


def without_held(problem, seed=0):
    """Return the training set of a problem, its dealing, and the rows that are not held out."""
    training = problem.training(2)
    dealing, rest = training.hold_out(DBL, seed)
    tiles = dealing.tiles(len(problem.labels))
    kept = np.concatenate([np.arange(*tiles.bounds[i : i + 2]) for i in tiles.dealt])
    return dealing, rest, np.sort(kept)


@pytest.mark.parametrize("weighted", [False, True])
def test_nothing_of_a_fit_knows_the_held_out_rows(small_batches, weighted):
    """Log θ of a rare joint value would tell the class of its rows."""
    problem = draw_problem(4, rows=101, weighted=weighted)
    _, rest, kept = without_held(problem)
    assert len(kept) < 90
    expected = problem.rows(kept).training(2)
    np.testing.assert_allclose(rest.counts, expected.counts, atol=1e-6)
    np.testing.assert_allclose(rest.class_counts, expected.class_counts)
    changed = problem.labels.copy()
    held = np.setdiff1d(np.arange(101), kept)
    changed[held] = (changed[held] + 1) % 3
    other = replace(problem, labels=changed)
    first, second = (p.training(2).discriminative(DBL, SGD(max_iter=1)) for p in (problem, other))
    assert first[1].evaluation_curve == second[1].evaluation_curve
    assert first[1].loss_curve != second[1].loss_curve


def test_a_pass_is_a_mean_of_the_rows_that_are_not_held_out(small_batches):
    problem = draw_problem(0, rows=103, weighted=True)
    dealing, rest, kept = without_held(problem)
    ours, theirs = batched(rest, dealing=dealing), whole(problem.rows(kept).training(2))
    u = ours.start * 0.9
    losses, gradients = zip(
        *((loss, g.copy()) for loss, g in (ours.batch(u, 3, i) for i in range(ours.n_batches))),
        strict=True,
    )
    pull = ours.pull
    penalty = 0.5 * float((pull.strength * (u - pull.target) ** 2).sum())
    value, gradient = theirs(u)
    np.testing.assert_allclose(np.mean(losses) + penalty, value, rtol=1e-6)
    slopes = np.mean(gradients, axis=0) + pull.strength * (u - pull.target)
    np.testing.assert_allclose(slopes, gradient, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(ours(u)[0], value, rtol=1e-6)


def test_no_rows_are_held_out_where_counts_are_not_smoothed(small_batches):
    training = draw_problem(0, rows=200, a=2, largest=2).training(1, smoothing=0.0)
    dealing, rest = training.hold_out(DBL, 0)
    assert dealing.held_share == 0
    assert rest is training


def rows_of(ours, cycle):
    part = ours._batches._parts._thing
    return [part.batch(cycle, number) for number in range(ours.n_batches)]


def test_passes_deal_out_all_tiles_anew(small_batches):
    problem = draw_problem(0, rows=200)
    ours = batched(replace(problem, weights=np.arange(1.0, 201.0)).training(2))
    passes = [[rows.weights.tolist() for rows in rows_of(ours, cycle)] for cycle in (0, 1)]
    assert len(passes[0]) == 20
    assert passes[0] != passes[1]
    first, second = (sorted(np.concatenate(part).tolist()) for part in passes)
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
    assert_sums_of_the_whole(batched(training, source=source), training, cycle=1)


def test_the_number_of_batches_follows_from_counts_alone():
    training = draw_problem(0, rows=64).training(2)
    counts = []
    for rows in (100, 10_240, 20_000, 30_000, 100_000, 40_000_000):
        codes = np.broadcast_to(np.zeros((4, 1), np.uint8), (4, rows))
        labels = np.broadcast_to(np.zeros(1, np.uint8), rows)
        source = ArraySource(codes, labels, 3, np.ones(4))
        counts.append(dealt(training, source).n_batches)
    # No fewer than 256 rows in a batch, then 48 batches, then more, by the work on rows, up to 96;
    # then again by that work, which counts for less.
    assert counts[:3] == [1, 40, 48]
    assert 30_000 // 512 < counts[3] < counts[4] == 96
    assert counts[5] > 480


def test_steps_keep_some_of_the_scale_of_scores():
    training = draw_problem(0, rows=60).training(2)
    ours, theirs = batched(training), whole(training)
    design = ours.design
    scale = np.abs(np.concatenate([design.class_scale, design.scale.ravel()]))
    np.testing.assert_allclose(ours.curvature, theirs.curvature * np.sqrt(scale), rtol=1e-6)


def test_a_scale_of_0_leaves_the_curvature_finite():
    problem = draw_problem(0, rows=60)
    codes = problem.codes.copy()
    codes[0] = 0
    training = replace(problem, codes=codes).training(1)
    assert np.isfinite(batched(training).curvature).all()
