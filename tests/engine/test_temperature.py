"""Held-out rows and the temperature of their scores, against brute force; and whole fits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.engine import merging, temperature
from deepbroad.engine.merging import merge_rows
from deepbroad.engine.passes import score_source
from deepbroad.engine.planning import group_source
from deepbroad.engine.scoring import Scorer
from deepbroad.engine.temperature import (
    FOLDS,
    LARGEST,
    SMALLEST,
    count_repeats,
    find_unit,
    fit_log_odds,
    fit_temperature,
    hold_out,
)
from deepbroad.engine.training import Training
from deepbroad.kernels.threads import Threads
from deepbroad.model.family import Family
from deepbroad.model.loss import LOG_LOSS, MSE, SQUARED_HINGE
from deepbroad.solvers import LBFGS
from tests import naive
from tests.engine.problems import ONE_THREAD, Problem, draw_problem, problems

DBL = Family(generative=True, strength=1.0)
LR = Family(generative=False, strength=1.0)
SOLVER = LBFGS(max_iter=300)


def log_loss(scores, labels, weights=None):
    weights = np.ones(len(labels)) if weights is None else weights
    full = np.hstack([np.zeros((len(scores), 1)), scores])
    return naive.softmax_loss(full, labels, weights)[0] / weights.sum()


# The temperature alone.


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("factor", [0.2, 1.0, 7.0])
def test_the_temperature_undoes_a_factor(n_classes, factor):
    rng = np.random.default_rng(n_classes)
    scores = rng.normal(scale=1.5, size=(4000, n_classes - 1))
    noisy = np.hstack([np.zeros((4000, 1)), scores]) + rng.gumbel(size=(4000, n_classes))
    found = fit_temperature(factor * scores, noisy.argmax(axis=1), np.ones(4000), chance=0.0)
    assert found == pytest.approx(1 / factor, rel=0.1)


def test_no_temperature_of_a_grid_has_a_lower_loss():
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=(60, 2)), rng.integers(3, size=60)
    labels[:40] = np.hstack([np.zeros((40, 1)), scores[:40]]).argmax(axis=1)
    weights = rng.uniform(0.1, 3, 60)
    found = fit_temperature(scores, labels, weights, chance=0.0)
    least = log_loss(found * scores, labels, weights)
    for other in np.geomspace(0.01, 100, 200):
        assert least <= log_loss(other * scores, labels, weights) + 1e-9


def test_scores_that_are_never_wrong_have_a_temperature_all_the_same():
    scores = np.array([[2.0], [-2.0], [1.0], [-1.0]])
    labels = np.array([1, 0, 1, 0])
    found = fit_temperature(scores, labels, np.ones(4), chance=1 / 5)
    assert 1 < found < 10
    assert fit_temperature(scores, labels, np.ones(4), chance=1 / 50) > found
    wrong = fit_temperature(scores, 1 - labels, np.ones(4), chance=1 / 5)
    assert wrong == pytest.approx(SMALLEST, rel=0.1)
    assert found < LARGEST


# What is held out.


@given(problems())
def test_every_row_is_held_out_once_but_for_the_only_one_of_its_class(problem):
    source = problem.source()
    held = sum((fold.weights for fold in hold_out(source)), np.zeros(source.n_rows))
    count = count_repeats(source)
    rows = np.bincount(source.labels, count, minlength=source.n_classes)[source.labels]
    np.testing.assert_allclose(held, np.where(rows > 1, problem.omega, 0.0), rtol=1e-12)
    for fold in hold_out(source):
        rest = problem.omega - fold.weights
        assert (rest >= 0).all()
        assert fold.n_rows > 0
        # Every class that there is stays in the rest.
        there = np.bincount(source.labels, problem.omega, minlength=source.n_classes) > 0
        left = np.bincount(source.labels, rest, minlength=source.n_classes) > 0
        np.testing.assert_array_equal(left, there)


@given(problems(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(problem, random):
    # Identical rows of different weights are the one thing that hashes do not tell apart.
    problem = problem.rows(np.arange(len(problem.labels)), np.ones(len(problem.labels)))
    order = list(range(len(problem.labels)))
    random.shuffle(order)
    cells = [np.ravel_multi_index(problem.codes, problem.cardinalities) * 10 + problem.labels]
    cells.append(cells[0][order])
    both = [hold_out(p.source()) for p in (problem, problem.rows(np.array(order)))]
    assert len(both[0]) == len(both[1])
    for folds in zip(*both, strict=True):
        sums = [np.bincount(c, fold.weights) for c, fold in zip(cells, folds, strict=True)]
        np.testing.assert_array_equal(*sums)


def test_a_fifth_of_many_rows_is_held_out_by_class():
    problem = draw_problem(0, rows=3001, n_classes=3)
    [fold] = hold_out(problem.source())
    assert fold.n_rows == fold.weights.sum()
    for c in range(3):
        rows = np.count_nonzero(problem.labels == c)
        assert fold.weights[problem.labels == c].sum() == -(-rows // FOLDS)


@pytest.mark.parametrize("factor", [1.0, 0.37])
def test_merged_rows_are_held_out_as_often_as_the_single_ones(factor):
    problem = draw_problem(1, a=3, rows=500, n_classes=2, largest=2)
    problem = problem.rows(np.arange(500), factor ** (1 + problem.labels))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merging, "MIN_ROWS", 1)
        merged = merge_rows(problem.source())
    assert merged.n_rows < 20
    np.testing.assert_array_equal(
        np.bincount(merged.labels, count_repeats(merged)), np.bincount(problem.labels)
    )
    cell = np.ravel_multi_index(problem.codes, problem.cardinalities) * 2 + problem.labels
    merged_cell = np.ravel_multi_index(merged.codes, problem.cardinalities) * 2 + merged.labels
    for fold, other in zip(hold_out(problem.source()), hold_out(merged), strict=True):
        assert fold.n_rows == other.n_rows
        sums = np.bincount(cell, fold.weights, minlength=100)
        np.testing.assert_allclose(np.bincount(merged_cell, other.weights, minlength=100), sums)


def test_what_merged_rows_weigh_once_is_found_again():
    assert find_unit(np.array([9.0, 6.0, 30.0])) == 3
    assert find_unit(0.37 * np.array([43, 29, 7, 1])) == pytest.approx(0.37)
    assert find_unit(np.array([2.5, 2.5])) == 2.5
    assert find_unit(np.random.default_rng(0).uniform(size=50)) == 0
    assert find_unit(np.empty(0)) == 0


@pytest.mark.parametrize("n_given", [40, 50], ids=["not merged", "merged"])
def test_weights_that_are_no_multiples_are_of_one_row_each(n_given):
    problem = draw_problem(2, rows=40)
    weights = np.random.default_rng(0).uniform(0.1, 2, 40)
    weights[::8] = 0.0
    source = problem.rows(np.arange(40), weights).source()
    source.n_given = n_given
    np.testing.assert_array_equal(count_repeats(source), weights > 0)
    for fold in hold_out(source):
        assert np.isin(fold.weights / np.where(weights > 0, weights, 1), [0, 1]).all()


# Scores of rows of a training set.


def test_scores_of_coded_rows_are_the_scorers(monkeypatch):
    problem = draw_problem(3, rows=70, n_classes=4)
    training = problem.training(2, [(0, 3), (1, 2)])
    model, _ = training.discriminative(DBL, LBFGS(max_iter=5))
    chosen = np.arange(70) % 3 == 1
    found = score_source(training.source, model, chosen, ONE_THREAD)
    monkeypatch.setattr("deepbroad.data.source.BLOCK_ROWS", 16)
    again = score_source(training.source, model, chosen, ONE_THREAD)
    np.testing.assert_array_equal(found, again)
    np.testing.assert_allclose(found, Scorer(model).scores(problem.codes, 1)[chosen], atol=1e-12)


# Whole fits.


@pytest.mark.parametrize("loss", [LOG_LOSS, MSE], ids=["log loss", "mse"])
def test_log_odds_are_left_as_they_are(loss):
    training = draw_problem(4).training(2)
    fit = fit_log_odds(training, DBL, SOLVER, loss)
    tables, solution = training.discriminative(DBL, SOLVER, loss=loss)
    assert fit.temperature == 1
    np.testing.assert_array_equal(fit.tables.scores, tables.scores)
    assert fit.solution.loss == solution.loss


@pytest.mark.parametrize("rows", [400, 4000], ids=["in turn", "one fold"])
@pytest.mark.parametrize("family", [DBL, LR], ids=["DBL", "LR"])
def test_the_temperature_improves_the_log_loss_of_fresh_rows(family, rows):
    problem = draw_problem(5, a=5, rows=rows + 4000, n_classes=3)
    fresh = problem.rows(np.arange(rows, rows + 4000))
    training = problem.rows(np.arange(rows)).training(2, [(0, 1), (2, 3), (4,)])
    fit = fit_log_odds(training, family, SOLVER, SQUARED_HINGE)
    raw, _ = training.discriminative(family, SOLVER, loss=SQUARED_HINGE)
    losses = [
        log_loss(Scorer(model).scores(fresh.codes, 1), fresh.labels) for model in (raw, fit.tables)
    ]
    assert losses[1] < losses[0] - 0.01


def test_all_scores_are_multiplied_by_the_temperature():
    problem = draw_problem(11, rows=200)
    training = problem.training(2, [(0, 1), (2, 3)])
    solver = LBFGS(max_iter=5000, tol=1e-11)
    fit = fit_log_odds(training, LR, solver, SQUARED_HINGE)
    raw, solution = training.discriminative(LR, solver, loss=SQUARED_HINGE)
    assert fit.solution.loss == pytest.approx(solution.loss, rel=1e-6)
    found, expected = (Scorer(model).scores(problem.codes, 1) for model in (fit.tables, raw))
    np.testing.assert_allclose(found, fit.temperature * expected, atol=0.01)
    assert abs(fit.temperature - 1) > 0.1


def test_the_temperature_does_not_depend_on_threads():
    problem = draw_problem(6, rows=3000, n_classes=3)
    found = []
    for count in (1, 2):
        with Threads(count) as threads:
            training = problem.training(2, [(0, 1), (2,), (3,)], dtype=np.float32, threads=threads)
            fit = fit_log_odds(training, DBL, LBFGS(max_iter=5), SQUARED_HINGE)
            found.append((fit.temperature, fit.tables.scores.tobytes()))
    assert found[0] == found[1]


def test_merging_changes_neither_temperature_nor_scores():
    problem = draw_problem(7, a=3, rows=600, n_classes=3)
    found = []
    for source in (merge_rows(problem.source()), problem.source()):
        assert (source.n_rows < 600) == (not found)
        plan = problem.plan(2)
        training = Training(
            group_source(source, plan), plan,
            smoothing=1.0, dtype=np.dtype(np.float64), threads=ONE_THREAD,
        )  # fmt: skip
        found.append(fit_log_odds(training, LR, LBFGS(max_iter=3000, tol=1e-10), SQUARED_HINGE))
    assert found[0].temperature == pytest.approx(found[1].temperature, rel=1e-3)
    np.testing.assert_allclose(found[0].tables.scores, found[1].tables.scores, atol=1e-2)


def test_a_fit_stopped_among_the_held_out_ones_returns_theirs():
    training = draw_problem(8, rows=100).training(2)
    seen = []

    def stop(progress):
        seen.append(progress.iteration)
        return progress.iteration == 4

    fit = fit_log_odds(training, DBL, SOLVER, SQUARED_HINGE, callbacks=[stop])
    assert seen == [0, 1, 2, 3, 4]
    assert fit.solution.status == "stopped"
    assert np.isfinite(fit.tables.scores).all()


def test_a_class_of_one_row_and_rows_of_one_class_each_are_fitted():
    codes = np.array([[0, 1, 0, 1], [0, 0, 1, 1]], np.uint8)
    lonely = Problem(codes, np.array([0, 1, 2, 3], np.uint8), np.array([2, 2]), 4)
    fit = fit_log_odds(lonely.training(1), DBL, SOLVER, SQUARED_HINGE)
    assert fit.temperature == 1
    one = Problem(codes, np.array([0, 0, 0, 1], np.uint8), np.array([2, 2]), 2)
    fit = fit_log_odds(one.training(1), DBL, SOLVER, SQUARED_HINGE)
    assert SMALLEST < fit.temperature < LARGEST


def test_without_smoothing_the_training_rows_own_scores_serve(monkeypatch):
    grid = np.array([[i, j, y] for i in range(2) for j in range(2) for y in range(2)]).T
    grid = np.hstack([grid, grid[:, :3]]).astype(np.uint8)
    problem = Problem(np.ascontiguousarray(grid[:2]), grid[2].copy(), np.array([2, 2]), 2)
    training = problem.training(2, smoothing=0.0)
    monkeypatch.setattr(temperature, "hold_out", lambda source: pytest.fail("rows held out"))
    fit = fit_log_odds(training, DBL, SOLVER, SQUARED_HINGE)
    raw, _ = training.discriminative(DBL, SOLVER, loss=SQUARED_HINGE)
    scores = Scorer(raw).scores(problem.codes, 1)
    expected = fit_temperature(scores, problem.labels, np.ones(11), chance=1 / 12)
    assert fit.temperature == pytest.approx(expected, rel=1e-6)
