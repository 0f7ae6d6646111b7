"""The objective F, against loops over explicit tuples and against finite differences."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import check_grad

from tests import naive
from tests.engine.problems import draw_problem, objective_of


def random_objective(problem, training, seed=0):
    """Return an objective with arbitrary arrays, the cells it reaches and those arrays."""
    rng = np.random.default_rng(seed)
    n_cells, n_classes = training.plan.terms.n_cells, problem.n_classes
    design = {
        "scale": rng.normal(size=(n_cells, n_classes)),
        "start": rng.normal(size=(n_cells, n_classes)),
        "target": rng.normal(size=(n_cells, n_classes)),
        "strength": rng.uniform(0, 2, size=(n_cells, n_classes)),
        "class_scale": rng.normal(size=n_classes),
        "class_start": rng.normal(size=n_classes),
    }
    return *objective_of(training, **design), design


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_value_and_gradient_are_those_of_the_explicit_tuples(n, weighted, n_classes):
    problem = draw_problem(n, rows=25, n_classes=n_classes, weighted=weighted)
    training = problem.training(n, [(0, 2), (3, 1)])
    objective, reached, design = random_objective(problem, training)
    u = np.random.default_rng(1).normal(size=len(objective.start))
    value, gradient = objective(u)

    terms = training.plan.terms
    class_u, cell_u = objective.split(u)
    full = np.zeros((terms.n_cells, n_classes))
    full[reached] = cell_u
    is_reached = np.zeros(full.shape, bool)
    is_reached[reached] = True
    explicit = {
        name: naive.read_tables(terms, design[name]) for name in ("scale", "target", "strength")
    }
    explicit |= {
        "reached": naive.read_tables(terms, is_reached),
        "class_scale": design["class_scale"],
    }
    expected, class_gradient, gradients = naive.objective(
        class_u, naive.read_tables(terms, full), explicit,
        problem.codes, problem.labels, problem.omega, problem.cardinalities,
    )  # fmt: skip
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(objective.split(gradient)[0], class_gradient, atol=1e-12)
    cells = naive.write_tables(terms, gradients)
    np.testing.assert_allclose(objective.split(gradient)[1], cells[reached], atol=1e-12)
    assert not cells[~is_reached.any(axis=1)].any(), "a cell that no row reaches has no gradient"


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_gradient_agrees_with_finite_differences(n):
    problem = draw_problem(5 + n, rows=30, weighted=True)
    objective, _, _ = random_objective(problem, problem.training(n, [(0, 1), (2, 3)]))
    u = np.random.default_rng(2).normal(size=len(objective.start))
    difference = check_grad(lambda x: objective(x)[0], lambda x: objective(x)[1], u, epsilon=1e-6)
    assert difference < 1e-5


def test_the_start_is_the_designs_and_splitting_undoes_joining():
    problem = draw_problem(0)
    training = problem.training(2)
    objective, reached, design = random_objective(problem, training)
    classes, cells = objective.split(objective.start)
    np.testing.assert_array_equal(classes, design["class_start"])
    np.testing.assert_array_equal(cells, design["start"][reached])
    np.testing.assert_array_equal(objective.join(classes, cells), objective.start)


def test_the_lower_start_is_the_target_where_that_is_lower():
    problem = draw_problem(0)
    objective, reached, design = random_objective(problem, problem.training(2))
    target = objective.join(design["class_start"], design["target"][reached])
    for strength, expected in ((0.0, None), (1e9, target)):
        changed = replace(objective.design, strength=strength)
        other = type(objective)(changed, objective._run_pass, objective._total_weight)
        losses = [other(point)[0] for point in (other.start, target)]
        assert other(other.lower_start)[0] == min(losses)
        if expected is not None:
            np.testing.assert_array_equal(other.lower_start, expected)


def test_a_point_has_the_scores_that_it_was_made_of():
    problem = draw_problem(0)
    objective, reached, design = random_objective(problem, problem.training(2))
    rng = np.random.default_rng(3)
    class_scores, scores = rng.normal(size=problem.n_classes), rng.normal(size=(len(reached), 3))
    classes, cells = objective.split(objective.point_of(class_scores, scores))
    np.testing.assert_allclose(classes * design["class_scale"], class_scores)
    np.testing.assert_allclose(cells * design["scale"][reached], scores)


def test_numbers_stand_for_whole_arrays():
    problem = draw_problem(0)
    training = problem.training(2)
    ones = np.ones((training.plan.terms.n_cells, problem.n_classes))
    arrays, _ = objective_of(
        training, scale=ones, start=0 * ones, target=0.5 * ones, strength=2 * ones,
        class_scale=np.ones(3), class_start=np.zeros(3),
    )  # fmt: skip
    numbers = type(arrays)(
        type(arrays.design)(**{**vars(arrays.design), "target": 0.5, "strength": 2.0}),
        arrays._run_pass,
        arrays._total_weight,
    )
    u = np.random.default_rng(0).normal(size=len(arrays.start))
    assert numbers(u)[0] == arrays(u)[0]
    np.testing.assert_array_equal(numbers(u)[1], arrays(u)[1])
