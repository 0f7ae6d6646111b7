"""Fits by each loss: slopes, oracles from outside, and the laws that all of them keep."""

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize
from sklearn.svm import LinearSVC

from deepbroad.engine.scoring import Scorer
from deepbroad.kernels.hinge import ROUNDING
from deepbroad.kernels.threads import Threads
from deepbroad.model.family import Family
from deepbroad.model.loss import LOG_LOSS, LOSSES, MSE, SQUARED_HINGE
from deepbroad.solvers import LBFGS
from tests import naive, naive_losses
from tests.engine.problems import draw_problem, objective_of

EXACT = LBFGS(max_iter=5000, tol=1e-11)
LR = Family(generative=False, strength=0.5)
DBL = Family(generative=True, strength=0.5)
TO_ANJE = Family(generative=True, strength=0.5, target=1.0)

every_loss = pytest.mark.parametrize("loss", LOSSES.values(), ids=lambda loss: loss.name)
both_families = pytest.mark.parametrize("family", [LR, DBL], ids=["LR", "DBL"])
with_and_without_weights = pytest.mark.parametrize("weighted", [False, True])


def objective_by(training, loss, *, seed=0):
    """Return an objective whose scale, start, target and strength are all random."""
    rng = np.random.default_rng(seed)
    shape = (training.plan.terms.n_cells, training.source.n_classes)
    objective, _ = objective_of(
        training, scale=rng.normal(size=shape), start=rng.normal(size=shape),
        target=rng.normal(size=shape), strength=rng.uniform(0, 1, shape),
        class_scale=rng.normal(size=shape[1]), class_start=rng.normal(size=shape[1]), loss=loss,
    )  # fmt: skip
    return objective


def fitted_scores(model, problem, codes=None):
    scores = Scorer(model).scores(problem.codes if codes is None else codes, 1).astype(float)
    return np.hstack([np.zeros((len(scores), 1)), scores])


@with_and_without_weights
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@every_loss
def test_the_gradient_of_the_objective_is_its_slope(loss, n_classes, weighted):
    problem = draw_problem(1, a=3, rows=30, n_classes=n_classes, weighted=weighted)
    objective = objective_by(problem.training(2, [(0, 2), (1,)]), loss)
    for seed in range(3):
        moved = np.random.default_rng(seed).normal(scale=0.3, size=len(objective.start))
        u = objective.start + moved
        size = np.linalg.norm(objective(u)[1])
        error = check_grad(
            lambda u: objective(u)[0], lambda u: objective(u)[1].copy(), u, epsilon=1e-7
        )
        assert error < 1e-4 * max(size, 1.0)


@every_loss
def test_single_precision_agrees_with_double(loss):
    problem = draw_problem(2, rows=200, n_classes=4, weighted=True)
    values, gradients = [], []
    for dtype in (np.float64, np.float32):
        objective = objective_by(problem.training(2, [(0, 3), (1, 2)], dtype=dtype), loss)
        value, gradient = objective(objective.start)
        values.append(value)
        gradients.append(gradient.copy())
    assert values[1] == pytest.approx(values[0], rel=1e-5)
    np.testing.assert_allclose(gradients[1], gradients[0], atol=1e-4)


@every_loss
def test_threads_change_no_bit(loss):
    problem = draw_problem(3, rows=5000, a=4, n_classes=3, weighted=True)
    found = []
    for count in (1, 2, 3):
        with Threads(count) as threads:
            training = problem.training(2, [(0, 3), (1,), (2,)], dtype=np.float32, threads=threads)
            model, solution = training.discriminative(DBL, LBFGS(max_iter=4), loss=loss)
            found.append((model.scores.tobytes(), model.class_scores.tobytes(), solution.loss))
    assert found[0] == found[1] == found[2]


@both_families
@every_loss
def test_a_repeated_row_is_one_of_twice_the_weight(loss, family):
    problem = draw_problem(4, rows=40)
    repeated = problem.rows(np.concatenate([np.arange(40), np.arange(0, 40, 3)]))
    weights = np.ones(40)
    weights[::3] = 2.0
    weighted = problem.rows(np.arange(40), weights)
    models = [
        p.training(2, [(0, 1), (2, 3)]).discriminative(family, LBFGS(max_iter=6, tol=0), loss=loss)
        for p in (repeated, weighted)
    ]
    assert models[0][1].loss == pytest.approx(models[1][1].loss, rel=1e-9)
    np.testing.assert_allclose(models[0][0].scores, models[1][0].scores, rtol=1e-6, atol=1e-8)


@both_families
@every_loss
def test_the_objective_never_rises(loss, family):
    problem = draw_problem(5, rows=60, n_classes=4)
    _, solution = problem.training(2).discriminative(family, LBFGS(max_iter=80), loss=loss)
    assert (np.diff(solution.loss_curve) <= 0).all()
    assert solution.loss < solution.loss_curve[0]


# The squared hinge.


def fit_hinge(features, labels, weights, n_classes, alpha, rounding):
    """Return F and the scores (N, C) of LR by the squared hinge, as SciPy's quadratic programme.

    With free margins z of the rivals, the loss is the least z'M⁻¹z with z_c ≥ 1 + s_c - s_y and
    M = (1 - μ) 11' + μ I; with μ = 0 one z serves all rivals, and the loss is z².
    """
    n_rows, n_features = features.shape
    design = np.hstack([np.ones((n_rows, 1)), features])
    size, n_rivals = (n_features + 1) * n_classes, n_classes - 1
    n_free = n_rivals if rounding else 1
    matrix = np.ones((1, 1))
    if rounding:
        matrix = (1 - rounding) * np.ones((n_rivals, n_rivals)) + rounding * np.eye(n_rivals)
    inverse = np.linalg.inv(matrix)
    rows = []
    for r, y in enumerate(labels):
        for place, c in enumerate([c for c in range(n_classes) if c != y]):
            beta, free = np.zeros((n_features + 1, n_classes)), np.zeros((n_rows, n_free))
            beta[:, y] += design[r]
            beta[:, c] -= design[r]
            free[r, place if rounding else 0] = 1
            rows.append(np.concatenate([beta.ravel(), free.ravel()]))
    constraints = np.array(rows)

    def value_and_gradient(flat):
        beta, free = flat[:size].reshape(-1, n_classes), flat[size:].reshape(n_rows, n_free)
        bent = free @ inverse
        value = weights @ (bent * free).sum(axis=1) + 0.5 * alpha * (beta[1:] ** 2).sum()
        slope = alpha * beta
        slope[0] = 0
        both = [slope.ravel(), (2 * weights[:, None] * bent).ravel()]
        return value / weights.sum(), np.concatenate(both) / weights.sum()

    found = minimize(
        value_and_gradient,
        np.concatenate([np.zeros(size), np.ones(n_rows * n_free)]),
        jac=True,
        method="SLSQP",
        constraints={
            "type": "ineq",
            "fun": lambda v: constraints @ v - 1,
            "jac": lambda v: constraints,
        },
        options={"maxiter": 500, "ftol": 1e-13},
    )
    return found.fun, design @ found.x[:size].reshape(-1, n_classes)


@with_and_without_weights
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_the_squared_hinge_is_scipys_quadratic_programme(n_classes, weighted):
    problem = draw_problem(6, a=3, rows=30, n_classes=n_classes, weighted=weighted)
    features = naive.one_hot_tuples(problem.codes, 1, problem.cardinalities)
    given = features, problem.labels, problem.omega, n_classes, 0.5
    expected, scores = fit_hinge(*given, rounding=ROUNDING)
    model, solution = problem.training(1).discriminative(LR, EXACT, loss=SQUARED_HINGE)
    assert solution.loss == pytest.approx(expected, rel=1e-5)
    found = fitted_scores(model, problem)
    np.testing.assert_allclose(found, scores - scores[:, :1], atol=5e-3)
    # And nearly that of Crammer and Singer's loss itself.
    unrounded, _ = fit_hinge(*given, rounding=0.0)
    assert unrounded * (1 - 1e-6) <= solution.loss <= unrounded / (1 - ROUNDING)


@pytest.mark.parametrize("n", [1, 2])
@with_and_without_weights
def test_the_squared_hinge_of_two_classes_is_linear_svc(n, weighted):
    problem = draw_problem(7, rows=60, n_classes=2, weighted=weighted)
    features = naive.one_hot_tuples(problem.codes, n, problem.cardinalities)
    # Ours has a vector for each class; their intercept is penalised, but hardly at this scale.
    oracle = LinearSVC(C=2 / 0.5, dual=False, tol=1e-10, max_iter=10_000, intercept_scaling=1e3)
    oracle.fit(features, problem.labels, sample_weight=problem.weights)
    model, _ = problem.training(n).discriminative(LR, EXACT, loss=SQUARED_HINGE)
    found = fitted_scores(model, problem)[:, 1]
    np.testing.assert_allclose(found, oracle.decision_function(features), atol=2e-3)


def test_the_squared_hinge_takes_steps_from_scores_that_all_tie():
    problem = draw_problem(0, a=3, rows=50, n_classes=5)
    _, solution = problem.training(1).discriminative(LR, LBFGS(), loss=SQUARED_HINGE)
    assert solution.loss_curve[0] == pytest.approx(1 / (1 - ROUNDING + ROUNDING / 4))
    assert solution.loss < 0.93 * solution.loss_curve[0]


@pytest.mark.parametrize("target", [0.0, 1.0])
def test_the_squared_hinge_starts_from_the_target(target):
    problem = draw_problem(12, rows=40)
    training = problem.training(2)
    family = Family(generative=True, strength=0.5, target=target)
    model, solution = training.discriminative(family, LBFGS(max_iter=0), loss=SQUARED_HINGE)
    expected = target * training.generative().scores
    reached = training.counts.any(axis=1)
    np.testing.assert_allclose(model.scores[reached], expected[reached], atol=1e-12)
    loss, _ = naive_losses.hinge_loss(
        fitted_scores(model, problem), problem.labels, problem.omega, rounding=ROUNDING
    )
    assert solution.loss == pytest.approx(loss / 40)  # and no penalty


# The squared error.


@pytest.mark.parametrize("family", [LR, DBL, TO_ANJE], ids=["LR", "DBL", "to AnJE"])
def test_the_squared_error_starts_from_the_log_loss_and_ends_in_a_valley(family):
    problem = draw_problem(8, rows=60, weighted=True)
    training = problem.training(2, [(0, 3), (1, 2)])
    before, _ = training.discriminative(family, EXACT)
    norms = []
    _, solution = training.discriminative(
        family, EXACT, loss=MSE, callbacks=[lambda p: norms.append(p.gradient_norm)]
    )
    assert solution.status == "converged"
    assert norms[-1] < 1e-4 * max(norms)
    # From the other's solution again it begins where the first began.
    _, again = training.discriminative(family, LBFGS(max_iter=0), loss=MSE, warm=before)
    assert solution.loss_curve[0] == pytest.approx(again.loss, rel=1e-9)
    assert solution.loss < solution.loss_curve[0]


def test_scipy_finds_no_lower_squared_error_nearby():
    problem = draw_problem(9, rows=50, n_classes=3)
    training = problem.training(1)
    terms, n_classes = training.plan.terms, 3
    ones = np.ones((terms.n_cells, n_classes))
    objective, reached = objective_of(
        training, scale=ones, start=0 * ones, target=0 * ones, strength=0.5 * ones,
        class_scale=np.ones(3), class_start=np.zeros(3), loss=MSE,
    )  # fmt: skip
    model, solution = training.discriminative(LR, EXACT, loss=MSE)
    ours = objective.join(model.class_scores, model.scores[reached])
    assert objective(ours)[0] == pytest.approx(solution.loss, rel=1e-9)
    found = minimize(
        lambda u: (objective(u)[0], objective(u)[1].copy()), ours, jac=True,
        method="L-BFGS-B", options={"ftol": 0.0, "gtol": 1e-9},
    )  # fmt: skip
    assert found.fun == pytest.approx(solution.loss, rel=1e-6)


def test_a_fit_that_is_stopped_on_its_way_keeps_what_it_has():
    problem = draw_problem(10)
    training = problem.training(2)

    def stop(progress):
        return progress.iteration == 3

    model, solution = training.discriminative(DBL, EXACT, loss=MSE, callbacks=[stop])
    log_loss, _ = training.discriminative(DBL, EXACT, loss=LOG_LOSS, callbacks=[stop])
    assert solution.status == "stopped"
    np.testing.assert_array_equal(model.scores, log_loss.scores)
    squared, _ = naive_losses.brier_loss(
        fitted_scores(model, problem), problem.labels, problem.omega
    )
    assert 0 < squared / problem.omega.sum() < solution.loss  # with the penalty
    assert solution.loss_curve == [solution.loss]
