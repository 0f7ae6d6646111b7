"""Fits by dual ascent are those by L-BFGS, whatever the plan; and where there is none."""

from dataclasses import replace
from math import inf
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.special import softmax

from deepbroad.engine import dual as dual_module
from deepbroad.engine.cell_list import BLOCK_BYTES
from deepbroad.engine.dual import DualPlan, RowDual, plan_dual
from deepbroad.engine.passes import score_source
from deepbroad.kernels.vector import lane_count
from deepbroad.model.family import Family
from deepbroad.model.loss import LOSSES
from deepbroad.model.objective import Objective
from deepbroad.solvers import LBFGS, DualFirst
from tests.engine.hierarchies import draw_nested, plans, single_plan, train
from tests.engine.problems import ONE_THREAD

EXACT = LBFGS(max_iter=5000, tol=1e-10)
LEVELS = (2, 1)


@pytest.fixture(autouse=True)
def enough_sweeps(monkeypatch):
    """Have ascents take their sweeps, as those of many rows do: few rows begin where they end."""
    monkeypatch.setattr(dual_module, "USUAL_ITERATIONS", 1e9)
    monkeypatch.setattr(dual_module, "MOST_SWEEPS", 2000)
    monkeypatch.setattr(dual_module, "FEW_ROWS", 0)


def make_family(levelled, strengths, *, target=0.0, generative=True):
    family = Family(generative, 0.0, target=target, by_score=True, backs_off=True)
    per_term = np.asarray(strengths)[levelled.terms.orders - 1]
    return family.shared_out(levelled.shares, per_term)


def probabilities(tables, training):
    rows = np.ones(training.source.n_rows, bool)
    scores = score_source(training.source, tables, rows, training.threads)
    return softmax(np.column_stack([np.zeros(len(scores)), scores]), axis=1)


def assert_same_model(training, family, gap=1e-7):
    by_dual, solution = training.discriminative(family, DualFirst(EXACT, gap=gap, pairs=10**6))
    exact, other = training.discriminative(family, EXACT)
    assert solution.loss == pytest.approx(other.loss, abs=2 * gap)
    np.testing.assert_allclose(
        probabilities(by_dual, training), probabilities(exact, training), atol=2e-3
    )


@given(st.data())
@settings(max_examples=20)
def test_the_model_is_that_of_lbfgs(data):
    seed, n_classes = data.draw(st.integers(0, 99)), data.draw(st.integers(2, 5))
    problem = draw_nested(seed, n_classes=n_classes, weighted=data.draw(st.booleans()))
    levelled = problem.levelled(LEVELS)
    plan = data.draw(plans(problem, levelled.terms))
    family = make_family(
        levelled, (1.0, 5.0), target=data.draw(st.sampled_from([0.0, 1.0])),
        generative=data.draw(st.booleans()),
    )  # fmt: skip
    training = train(problem, plan)
    design = training.design(family)
    assert (training.dual(family, design, inf) is None) == (plan.items is not None)
    with patch.object(dual_module, "FEW_ROWS", data.draw(st.sampled_from([0, 2048]))):
        assert_same_model(training, family)


@given(st.data())
@settings(max_examples=20)
def test_without_a_kept_list_the_model_is_the_same(data):
    problem = draw_nested(data.draw(st.integers(0, 99)), weighted=data.draw(st.booleans()))
    levelled = problem.levelled(LEVELS)
    training = train(problem, data.draw(plans(problem, levelled.terms)))
    family = make_family(levelled, (1.0, 5.0))
    if training.plan.items is not None:
        return
    design, found = training.design(family), []
    for keeps in (True, False):
        way = DualPlan(2000, keeps)
        dual = RowDual(training.source, training.plan, training.reached, design, way, ONE_THREAD)
        status = dual.ascend(family.strength, 1e-6).status
        if keeps:
            # In few rows gaps go up and down, so that some ascents are given up by chance.
            assume(status == "converged")
        assert status == "converged"
        found.append(dual.point())
    objective = training.discriminative(family, EXACT)[1].loss
    run = Objective(design, training.loss_pass(family, design), dual._total, training.threads)
    assert [run(u)[0] for u in found] == pytest.approx([objective] * 2, abs=2e-6)


def case(**changes):
    """Return a training set, and a family whose objective has a dual."""
    problem = draw_nested(1)
    levelled = problem.levelled(LEVELS)
    training = train(problem, single_plan(problem, levelled.terms), **changes)
    return training, make_family(levelled, (1.0, 5.0))


def has_dual(training, family, room=inf):
    return training.dual(family, training.design(family), room) is not None


def bare_room(training):
    """Return the bytes of a dual without its list of cells: beliefs, numbers and the anchor."""
    source, terms = training.source, training.plan.terms
    anchored = 2 * 4.0 * lane_count(source.n_classes - 1) * len(training.counts)
    return 8.0 * source.n_rows * source.n_classes + 4.0 * terms.n_cells + anchored


def test_with_little_room_the_list_of_cells_is_not_kept(monkeypatch):
    training, _ = case()
    source, plan = training.source, training.plan
    monkeypatch.setattr(dual_module, "BLOCK_BYTES", 1000)
    bare = bare_room(training)
    least, whole = bare + 1000, bare + 4.0 * source.n_rows * len(plan.terms)
    ways = [
        plan_dual(source, plan, training.counts.size, np.dtype(np.float32), room)
        for room in (whole, whole - 1, least, least - 1)
    ]
    assert [way and way.keeps_cells for way in ways] == [True, False, False, None]


def test_a_list_smaller_than_a_block_takes_no_more_room_than_it_is_long():
    training, _ = case()
    source, plan = training.source, training.plan
    listed = 4.0 * source.n_rows * len(plan.terms)
    assert listed < BLOCK_BYTES
    room = bare_room(training) + listed
    way = plan_dual(source, plan, training.counts.size, np.dtype(np.float32), room)
    assert way is not None
    assert way.keeps_cells


def test_there_is_none_where_strengths_are_of_parameters_or_cells_are_missing():
    training, family = case()
    assert has_dual(training, family)
    assert not has_dual(training, replace(family, by_score=False))
    assert not has_dual(training, family, room=100.0)
    assert not has_dual(*case(min_count=2))


def test_where_sweeps_take_too_long_there_is_none(monkeypatch):
    monkeypatch.setattr(dual_module, "USUAL_ITERATIONS", 1e-9)
    assert not has_dual(*case())


def test_strengths_far_weaker_than_some_that_were_given_up_with_are_not_tried():
    training, family = case()
    dual = training.dual(family, training.design(family), inf)
    soft = 1e-3 * family.strength
    assert dual.ascend(soft, 1e-8, most=4)[::2] == (3, "slow")
    assert dual.ascend(0.5 * soft, 1e-8, most=4)[::2] == (3, "slow")
    assert dual.ascend(0.2 * soft, 1e-8)[::2] == (0, "slow")
    assert dual.ascend(0.0 * soft, 1.0)[::2] == (0, "slow")
    assert dual.ascend(family.strength, 1e-5).status == "converged"


def test_a_fit_that_is_given_up_goes_on_by_the_other_solver(monkeypatch):
    training, family = case()
    expected = training.discriminative(family, EXACT)[1]
    monkeypatch.setattr(dual_module, "LEAST_SWEEPS", 1)
    monkeypatch.setattr(dual_module, "MOST_SWEEPS", 5)
    found = training.discriminative(family, DualFirst(EXACT, gap=1e-8, pairs=10**6))[1]
    assert found.loss == pytest.approx(expected.loss, abs=1e-8)
    # It starts where the ascent was, which is lower than where a fit starts.
    assert found.loss_curve[0] < expected.loss_curve[0]


def test_a_fit_for_which_the_ascent_is_not_begun_is_that_of_the_other_solver():
    training, family = case()
    expected = training.discriminative(family, EXACT)[1]
    found = training.discriminative(family, DualFirst(EXACT, gap=0.0, pairs=10**6))[1]
    assert found.loss_curve == expected.loss_curve


@pytest.mark.parametrize("name", ["mse", "squared_hinge"])
def test_other_losses_have_the_other_solver(name):
    training, family = case()
    solver = LBFGS(max_iter=5)
    expected = training.discriminative(family, solver, loss=LOSSES[name])[1]
    first = DualFirst(solver, gap=1e-3, pairs=10**6)
    assert training.discriminative(family, first, loss=LOSSES[name])[1].loss == expected.loss


def test_a_callback_sees_the_objective_and_stops_the_fit():
    training, family = case()
    seen = []

    def callback(progress):
        seen.append((progress.iteration, progress.loss))
        return progress.iteration == 3

    solver = DualFirst(LBFGS(), gap=1e-8, pairs=10**6)
    _, solution = training.discriminative(family, solver, callbacks=[callback])
    assert (solution.status, solution.n_iter) == ("stopped", 3)
    assert solution.evaluation_curve == solution.loss_curve[1:]
    assert [loss for _, loss in seen] == solution.loss_curve
    assert [iteration for iteration, _ in seen] == [0, 1, 2, 3]
    assert solution.loss_curve[-1] < solution.loss_curve[0]


def test_a_state_of_another_problem_is_refused():
    training, family = case()
    design = training.design(family)
    own = training.dual(family, design, inf)
    state = own.state(own.point(), [], [], 0.0)
    problem = draw_nested(1, rows=49)
    other = train(problem, single_plan(problem, problem.levelled(LEVELS).terms))
    with pytest.raises(ValueError, match="its scores are of shape"):
        other.dual(family, other.design(family), inf).resume(state)
    assert isinstance(own, RowDual)


def test_a_state_with_a_best_point_of_another_length_is_refused():
    training, family = case()
    dual = training.dual(family, training.design(family), inf)
    state = dual.state(np.zeros(3), [], [], 0.0)
    with pytest.raises(ValueError, match="its best point has 3 numbers, not"):
        dual.resume(state)


# Few rows, which begin at the solution by Newton's method.


def begin_with(monkeypatch, few, *, strengths=(1.0, 5.0), target=0.0, weighted=True, seed=1):
    """Return a dual, what its first ascent tells, and its family, where so many rows are few."""
    monkeypatch.setattr(dual_module, "FEW_ROWS", few)
    problem = draw_nested(seed, weighted=weighted)
    levelled = problem.levelled(LEVELS)
    training = train(problem, single_plan(problem, levelled.terms))
    family = make_family(levelled, strengths, target=target)
    dual = training.dual(family, training.design(family), inf)
    return training, family, dual


@pytest.mark.parametrize("strengths", [(0.05, 0.2), (1.0, 5.0), (200.0, 1000.0)])
def test_few_rows_begin_at_the_solution(strengths, monkeypatch):
    training, family, dual = begin_with(monkeypatch, 2048, strengths=strengths)
    ascent = dual.ascend(family.strength, 1e-5)
    assert ascent.sweeps <= 2
    assert ascent.status == "converged"
    exact = training.discriminative(family, EXACT)[1]
    design = training.design(family)
    run = Objective(design, training.loss_pass(family, design), dual._total, training.threads)
    assert run(dual.point())[0] == pytest.approx(exact.loss, abs=1e-5)
    # Beliefs and scores belong together: sweeps go on from there and change next to nothing.
    before = dual.point()
    assert dual.sweep(0, 0) < 1e-5
    np.testing.assert_allclose(dual.point(), before, atol=2e-2)


def test_one_row_more_than_few_takes_sweeps(monkeypatch):
    _, family, dual = begin_with(monkeypatch, 2048)
    distinct = len(dual.state(dual.point(), [], [], 0.0).beliefs)
    for few, sweeps in ((distinct, False), (distinct - 1, True)):
        _, family, dual = begin_with(monkeypatch, few)
        assert (dual.ascend(family.strength, 1e-5).sweeps > 1) == sweeps


def test_scores_that_are_pulled_elsewhere_than_to_nothing_take_sweeps(monkeypatch):
    training, family, dual = begin_with(monkeypatch, 2048, target=1.0)
    assert dual.ascend(family.strength, 1e-5).sweeps > 1
    assert_same_model(training, family)


def test_other_strengths_have_a_solution_of_their_own(monkeypatch):
    training, family, dual = begin_with(monkeypatch, 2048)
    for factor in (30.0, 0.1, 1.0):
        assert dual.ascend(factor * family.strength, 1e-5).status == "converged"
        alone = training.dual(family, training.design(family), inf)
        alone.ascend(factor * family.strength, 1e-5)
        np.testing.assert_allclose(dual.point(), alone.point(), atol=2e-2)


def test_a_gap_smaller_than_that_of_the_beginning_takes_sweeps(monkeypatch):
    monkeypatch.setattr(dual_module, "NEWTON_STEPS", 1)
    training, family, dual = begin_with(monkeypatch, 2048, strengths=(0.3, 1.0))
    ascent = dual.ascend(family.strength, 1e-6)
    assert ascent.status == "converged"
    assert ascent.sweeps > 1
    assert_same_model(training, family)


@pytest.mark.parametrize("unit", [1e-6, 1e-2, 1.0, 1e3, 1e6])
def test_few_rows_begin_at_the_solution_in_any_unit_of_weights(unit, monkeypatch):
    monkeypatch.setattr(dual_module, "FEW_ROWS", 2048)
    problem = replace(draw_nested(1), weights=np.full(50, unit))
    levelled = problem.levelled(LEVELS)
    training = train(problem, single_plan(problem, levelled.terms))
    family = make_family(levelled, (unit, 5.0 * unit))
    dual = training.dual(family, training.design(family), inf)
    assert dual.ascend(family.strength, 1e-6).sweeps <= 1


def test_rows_of_weight_0_have_no_part_in_the_beginning(monkeypatch):
    monkeypatch.setattr(dual_module, "FEW_ROWS", 2048)
    problem, points = draw_nested(1), []
    weights = (np.arange(50) < 40).astype(float)
    for kept in (replace(problem, weights=weights), problem.rows(np.arange(40))):
        levelled = kept.levelled(LEVELS)
        training = train(kept, single_plan(kept, levelled.terms))
        family = make_family(levelled, (1.0, 5.0))
        tables, _ = training.discriminative(family, DualFirst(EXACT, gap=1e-6, pairs=10**6))
        whole = train(problem, single_plan(problem, levelled.terms))
        points.append(probabilities(tables, whole))
    np.testing.assert_allclose(*points, atol=1e-4)
