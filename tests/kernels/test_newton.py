"""Newton's method by duals, against explicit one-hot models and explicit matrices in NumPy."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from deepbroad.kernels.newton import (
    apply_kernel,
    curve,
    dot,
    fit_rows,
    lose_row,
    measure,
    share_out,
    solve_rows,
)

pytestmark = pytest.mark.uncompiled

CLASS_VARIANCE = 100.0
SIZES = (3, 4, 12)
PRECISE, STEPS = 1e-9, 60


class Problem(NamedTuple):
    """Rows of two features and their pair; `design` has a column for each cell, then all rows.

    Rows of the design beyond the labels are only scored.
    """

    design: np.ndarray
    inverse: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    offset: np.ndarray

    @property
    def m(self):
        return len(self.offset)

    @property
    def kernel(self):
        """K between the rows of the fit and all rows."""
        whole = (self.design * self.inverse) @ self.design.T
        return whole[: self.rows].astype(np.float32)

    @property
    def rows(self):
        return len(self.labels)

    @property
    def fitted(self):
        """The design of the rows of the fit."""
        return self.design[: self.rows]


class Fit(NamedTuple):
    loss: float
    duals: np.ndarray
    scores: np.ndarray
    shares: np.ndarray
    products: int


def draw(n_classes, rows=30, seed=0, inverse=(2.0, 1.0, 0.5), held=0.25, separable=False):
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, 3, rows), rng.integers(0, 4, rows)])
    joint = [codes[0], codes[1], 4 * codes[0] + codes[1]]
    design = np.hstack([np.eye(size)[own] for size, own in zip(SIZES, joint, strict=True)])
    design = np.hstack([design, np.ones((rows, 1))])
    labels = codes.sum(axis=0) + (0 if separable else rng.integers(0, 2, rows))
    trained = rows - int(held * rows)
    return Problem(
        design,
        np.append(np.repeat(inverse, SIZES), CLASS_VARIANCE),
        labels[:trained] % n_classes,
        rng.integers(1, 4, trained).astype(np.float32),
        rng.normal(size=n_classes - 1).astype(np.float32),
    )


def fit(problem, tol=PRECISE, most=STEPS, duals=None):
    """Return the fit from given duals, or from none."""
    shape = (problem.m, problem.rows)
    duals = np.zeros(shape, np.float32) if duals is None else duals.copy()
    scores, shares = np.full((2, problem.m, len(problem.design)), np.nan, np.float32)
    products = np.zeros(1, np.int64)
    loss = fit_rows(
        problem.kernel, problem.labels, problem.weights, problem.offset, duals, scores, shares,
        tol, most, products,
    )  # fmt: skip
    return Fit(loss, duals, scores, shares, int(products[0]))


def alone(problem):
    """Return the problem without the rows that are only scored."""
    return problem._replace(design=problem.fitted)


def expected_duals(problem, shares):
    """Return ω (1[y] - p) of the rows of the fit."""
    hits = problem.labels == np.arange(1, problem.m + 1)[:, None]
    return problem.weights * (hits - shares[:, : problem.rows])


def full_log_shares(scores):
    """Return the log probabilities of all classes, (rows, C)."""
    full = np.column_stack([np.zeros(scores.shape[1]), scores.T.astype(float)])
    return full - np.logaddexp.reduce(full, axis=1, keepdims=True)


def spread_duals(problem, duals):
    """Return the scores of all rows that follow from duals, in double precision."""
    duals = duals.astype(float)
    return (duals + duals.sum(axis=0)) @ problem.kernel.astype(float) + problem.offset[:, None]


def dual_objective(problem, duals):
    """Return the loss of rows plus half of a·K'a, and that loss, in double precision."""
    scores = spread_duals(problem, duals)[:, : problem.rows]
    loss = -(problem.weights @ full_log_shares(scores)[np.arange(problem.rows), problem.labels])
    penalty = 0.5 * (duals.astype(float) * (scores - problem.offset[:, None])).sum()
    return loss + penalty, loss


def naive_fit(problem):
    """Return the objective and log probabilities of all rows, (n, C), of the one-hot model.

    Each cell and the constant have a score for every class, with a Gaussian prior.
    """
    n_classes, rows = problem.m + 1, np.arange(problem.rows)
    strength = 1.0 / problem.inverse[:, None]
    base, weights = np.append(0.0, problem.offset), problem.weights.astype(float)

    def objective(u):
        beta = u.reshape(-1, n_classes)
        scores = base + problem.design @ beta
        logs = scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
        residuals = weights[:, None] * (np.exp(logs[rows]) - np.eye(n_classes)[problem.labels])
        loss = -(weights @ logs[rows, problem.labels]) + 0.5 * (strength * beta**2).sum()
        return loss, (problem.fitted.T @ residuals + strength * beta).ravel(), logs

    start = np.zeros(problem.design.shape[1] * n_classes)
    found = minimize(lambda u: objective(u)[:2], start, jac=True, method="BFGS",
                     options={"gtol": 1e-7, "maxiter": 5000})  # fmt: skip
    loss, gradient, logs = objective(found.x)
    assert np.abs(gradient).max() < 1e-4
    return loss, logs


CASES = [(2, 0), (3, 1), (4, 2)]
drawn = st.builds(
    draw,
    st.integers(2, 4),
    st.integers(1, 25),
    st.integers(0, 1000),
    st.tuples(*[st.sampled_from([1e-6, 0.1, 1.0, 30.0])] * 3),
    st.sampled_from([0.0, 0.3]),
)


@pytest.mark.parametrize(("n_classes", "seed"), CASES)
def test_the_solution_is_that_of_the_explicit_one_hot_model(n_classes, seed):
    problem = draw(n_classes, seed=seed)
    found, (loss, logs) = fit(problem), naive_fit(problem)
    assert found.loss == pytest.approx(loss, rel=1e-5)
    np.testing.assert_allclose(full_log_shares(found.scores), logs, atol=2e-3)
    np.testing.assert_allclose(found.shares.T, np.exp(logs[:, 1:]), atol=1e-3)


@given(drawn)
def test_the_duals_of_the_solution_are_weighted_residuals_as_far_as_k_tells(problem):
    """What cells cannot see of the duals is free, and what strong penalties leave is nearly so."""
    found = fit(problem)
    rest = (found.duals - expected_duals(problem, found.shares)) @ problem.fitted
    np.testing.assert_allclose(rest * np.sqrt(problem.inverse), 0.0, atol=1e-2)


@pytest.mark.parametrize(("n_classes", "seed"), CASES)
def test_the_duals_of_a_cell_add_up_to_its_weighted_residuals(n_classes, seed):
    problem = draw(n_classes, seed=seed)
    found = fit(problem)
    rest = (found.duals - expected_duals(problem, found.shares)) @ problem.fitted
    np.testing.assert_allclose(rest, 0.0, atol=1e-3)


@given(drawn)
def test_the_objective_never_rises_with_more_steps(problem):
    losses = [fit(problem, most=most).loss for most in range(8)]
    assert (np.diff(losses) <= 0).all()


@given(drawn, st.integers(0, 4))
def test_the_objective_scores_and_shares_are_those_of_the_duals(problem, most):
    found = fit(problem, most=most)
    expected, _ = dual_objective(problem, found.duals)
    assert found.loss == pytest.approx(expected, rel=1e-4, abs=1e-4)
    scores = spread_duals(problem, found.duals)
    np.testing.assert_allclose(found.scores, scores, rtol=1e-3, atol=1e-3)
    shares = np.exp(full_log_shares(found.scores))[:, 1:].T
    np.testing.assert_allclose(found.shares, shares, rtol=1e-4, atol=1e-6)


def test_no_step_leaves_the_duals_and_finds_their_scores():
    problem = draw(3)
    whole = fit(problem)
    again = fit(problem, most=0, duals=whole.duals)
    np.testing.assert_array_equal(again.duals, whole.duals)
    np.testing.assert_array_equal(again.scores, whole.scores)
    np.testing.assert_array_equal(again.shares, whole.shares)
    # One product for the rows of the fit before any step, and one for all rows after the last.
    assert again.products == 2


def test_a_fit_from_its_own_solution_ends_with_the_first_step():
    problem = draw(3)
    whole = fit(problem, tol=1e-6)
    again = fit(problem, tol=1e-3, duals=whole.duals)
    np.testing.assert_array_equal(again.duals, fit(problem, most=1, duals=whole.duals).duals)
    assert again.loss <= fit(problem, most=0, duals=whole.duals).loss
    assert again.products < whole.products


def promise(problem, duals):
    """Return by how much a step from duals promises that the objective falls, twice."""
    logs = full_log_shares(spread_duals(problem, duals)[:, : problem.rows])
    shares = np.ascontiguousarray(np.exp(logs)[:, 1:].T, np.float32)
    right = (expected_duals(problem, shares) - duals).astype(np.float32)
    return dot(right, solve(problem, shares, right, tol=0.1, most=60)[1])


@given(drawn, st.sampled_from([0.3, 2e-2, 1e-3]))
def test_the_last_step_is_the_first_that_promises_a_small_share_of_the_loss(problem, tol):
    """Of the loss of rows, not of the objective; and that step is taken."""
    found, duals, steps = fit(problem, tol=tol), [], 0
    while not duals or not np.array_equal(duals[-1], found.duals):
        duals.append(fit(problem, most=steps).duals)
        steps += 1
        assert steps <= STEPS
    ratios = [
        promise(problem, before) / dual_objective(problem, after)[1]
        for before, after in pairwise(duals)
    ]
    assert ratios[-1] <= 1.01 * tol
    assert all(ratio > 0.99 * tol for ratio in ratios[:-1])


@given(drawn, st.sampled_from([0.1, 2e-2, 1e-3]))
def test_what_is_left_after_the_last_step_is_less_than_it_promised(problem, tol):
    found = fit(problem, tol=tol)
    _, loss = dual_objective(problem, found.duals)
    assert found.loss - fit(problem).loss <= tol * loss + 1e-5 * found.loss


def test_a_looser_tolerance_takes_fewer_products():
    problem = draw(3, rows=40)
    loose, tight = fit(problem, tol=0.1), fit(problem, tol=1e-6)
    assert loose.products < tight.products
    assert tight.loss < loose.loss < fit(problem, most=0).loss


def test_rows_that_are_only_scored_change_no_bit_of_the_fit():
    problem = draw(3)
    assert problem.rows < len(problem.design)
    found, expected = fit(problem), fit(alone(problem))
    assert found.loss == expected.loss
    assert found.products == expected.products
    np.testing.assert_array_equal(found.duals, expected.duals)
    np.testing.assert_allclose(found.scores[:, : problem.rows], expected.scores, atol=1e-4)


def test_a_row_that_is_only_scored_has_the_scores_of_a_row_of_the_same_cells():
    problem = alone(draw(3))
    order = np.random.default_rng(1).permutation(problem.rows)[:9]
    found = fit(problem._replace(design=np.vstack([problem.design, problem.design[order]])))
    np.testing.assert_allclose(
        found.scores[:, problem.rows :], found.scores[:, order], rtol=1e-5, atol=1e-5
    )


def test_a_row_of_weight_0_is_as_one_that_is_only_scored():
    problem = draw(3)
    held = len(problem.design) - problem.rows
    found = fit(
        problem._replace(
            labels=np.append(problem.labels, np.ones(held, int)),
            weights=np.append(problem.weights, np.zeros(held, np.float32)),
        )
    )
    expected = fit(problem)
    assert found.loss == pytest.approx(expected.loss, rel=1e-6)
    np.testing.assert_allclose(found.scores, expected.scores, atol=1e-3)
    assert not found.duals[:, problem.rows :].any()


def test_a_row_of_weight_2_equals_the_row_twice():
    problem = draw(3, rows=20, held=0.0)
    weights = np.full(20, 2.0, np.float32)
    twice = problem._replace(
        design=np.tile(problem.design, (2, 1)),
        labels=np.tile(problem.labels, 2),
        weights=np.ones(40, np.float32),
    )
    once = fit(problem._replace(weights=weights))
    found = fit(twice)
    assert found.loss == pytest.approx(once.loss, rel=1e-5)
    np.testing.assert_allclose(found.scores, np.tile(once.scores, 2), atol=2e-3)


def test_renaming_the_classes_renames_the_shares():
    problem = draw(3)
    # The former class 1 is the new 0, 2 the new 1, and 0 the new 2.
    base = np.append(0.0, problem.offset)[[1, 2, 0]]
    renamed = problem._replace(
        labels=(problem.labels + 2) % 3, offset=(base[1:] - base[0]).astype(np.float32)
    )
    expected, found = full_log_shares(fit(problem).scores), full_log_shares(fit(renamed).scores)
    np.testing.assert_allclose(found, expected[:, [1, 2, 0]], atol=2e-3)


@pytest.mark.parametrize("inverse", [1e3, 1e5])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_separable_rows_with_next_to_no_penalty_still_converge(n_classes, inverse):
    problem = draw(n_classes, inverse=(1.0, 1.0, inverse), held=0.0, separable=True)
    found = fit(problem, tol=1e-6)
    assert np.isfinite(found.scores).all()
    expected = expected_duals(problem, found.shares)
    np.testing.assert_allclose(found.duals, expected, atol=1e-3)
    assert (full_log_shares(found.scores).argmax(axis=1) == problem.labels).all()


def test_a_start_far_from_the_solution_comes_back_by_shorter_steps():
    problem = draw(3, inverse=(30.0, 30.0, 30.0))
    rng = np.random.default_rng(3)
    far = rng.normal(scale=5.0, size=(problem.m, problem.rows)).astype(np.float32)
    found, expected = fit(problem, duals=far), fit(problem)
    assert found.loss == pytest.approx(expected.loss, rel=1e-4)
    np.testing.assert_allclose(found.shares, expected.shares, atol=5e-3)


@pytest.mark.parametrize("label", [0, 1, 2])
def test_rows_of_a_single_class_are_fitted_too(label):
    problem = draw(3)
    found = fit(problem._replace(labels=np.full_like(problem.labels, label)))
    assert np.isfinite(found.scores).all()
    assert (full_log_shares(found.scores).argmax(axis=1) == label).all()


# Linear systems.


def draw_system(n_classes, rows=25, seed=0):
    """Return a problem, shares of the rows of its fit, and a right side."""
    problem, rng = draw(n_classes, rows, seed), np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(n_classes), problem.rows)[:, 1:].T.astype(np.float32)
    right = rng.normal(size=(n_classes - 1, problem.rows))
    return problem, np.ascontiguousarray(shares), right.astype(np.float32)


def explicit_matrices(problem, shares):
    """Return K' and W over classes, then the rows of the fit."""
    m, rows = shares.shape
    spread = np.kron(np.eye(m) + 1.0, problem.kernel[:, :rows].astype(float))
    curvature = np.zeros((m, rows, m, rows))
    for r, weight in enumerate(problem.weights):
        p = shares[:, r].astype(float)
        curvature[:, r, :, r] = weight * (np.diag(p) - np.outer(p, p))
    return spread, curvature.reshape(m * rows, m * rows)


def solve(problem, shares, right, tol=1e-5, most=200):
    found, image = np.full_like(right, np.nan), np.full_like(right, np.nan)
    count = solve_rows(problem.kernel, shares, problem.weights, right.copy(), found, image,
                       tol, most)  # fmt: skip
    return found, image, count


@pytest.mark.parametrize(("n_classes", "seed"), CASES)
def test_systems_are_solved_as_by_their_matrix(n_classes, seed):
    problem, shares, right = draw_system(n_classes, seed=seed)
    found, image, count = solve(problem, shares, right)
    spread, curvature = explicit_matrices(problem, shares)
    expected = np.linalg.solve(np.eye(right.size) + curvature @ spread, right.ravel())
    np.testing.assert_allclose(image.ravel(), spread @ expected, atol=1e-3)
    # Of the solution itself only its sums over cells matter: K cannot see the rest.
    sums = expected.reshape(right.shape) @ problem.fitted
    np.testing.assert_allclose(found @ problem.fitted, sums, atol=1e-3)
    assert 1 < count < 200


@pytest.mark.parametrize("tol", [0.3, 0.1, 0.01, 0.001])
def test_steps_end_where_the_residual_has_fallen_by_the_tolerance(tol):
    problem, shares, right = draw_system(3)
    spread, curvature = explicit_matrices(problem, shares)

    def fall(most):
        found, _, count = solve(problem, shares, right, tol=tol, most=most)
        rest = right.ravel() - found.ravel() - curvature @ spread @ found.ravel()
        return np.sqrt((rest @ spread @ rest) / (right.ravel() @ spread @ right.ravel())), count

    reached, count = fall(200)
    assert reached < 1.01 * tol
    assert fall(count - 2)[0] > 0.99 * tol


def test_the_image_is_k_times_the_solution_wherever_it_ends():
    problem, shares, right = draw_system(3)
    spread, _ = explicit_matrices(problem, shares)
    for most in range(6):
        found, image, count = solve(problem, shares, right, most=most)
        assert count == most + 1
        np.testing.assert_allclose(image.ravel(), spread @ found.ravel(), atol=1e-2)


def test_nothing_on_the_right_is_solved_by_nothing():
    problem, shares, right = draw_system(3)
    found, image, count = solve(problem, shares, 0.0 * right)
    assert count == 1
    assert not found.any()
    assert not image.any()


# Parts of a step, each called by itself.


@given(st.integers(1, 4), st.floats(0.0, 200.0), st.integers(0, 100))
def test_shares_and_losses_of_a_row_are_those_of_the_softmax(m, scale, seed):
    scores = np.random.default_rng(seed).normal(scale=scale, size=(m, 2)).astype(np.float32)
    shares = np.full_like(scores, np.nan)
    share_out(scores, 1, shares)
    logs = full_log_shares(scores)[1]
    np.testing.assert_allclose(shares[:, 1], np.exp(logs[1:]), rtol=1e-4, atol=1e-30)
    assert np.isnan(shares[:, 0]).all()
    for label in range(m + 1):
        assert lose_row(scores, 1, label) == pytest.approx(-logs[label], rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_products_and_curvature_are_those_of_the_explicit_matrices(n_classes):
    problem, shares, right = draw_system(n_classes)
    spread, curvature = explicit_matrices(problem, shares)
    room, product = np.full_like(right, np.nan), np.full_like(right, np.nan)
    apply_kernel(problem.kernel, right, room, product)
    np.testing.assert_allclose(product.ravel(), spread @ right.ravel(), rtol=1e-4, atol=1e-2)
    added = np.ones_like(right)
    for r in range(right.shape[1]):
        curve(shares, problem.weights, r, right, added)
    np.testing.assert_allclose(added.ravel(), 1.0 + curvature @ right.ravel(), atol=1e-5)


@pytest.mark.parametrize("columns", [1, 19, 25])
def test_products_have_as_many_rows_as_there_is_room_for(columns):
    problem, _, duals = draw_system(3)
    out = np.full((problem.m, columns), np.nan, np.float32)
    apply_kernel(problem.kernel, duals, np.empty_like(duals), out)
    expected = spread_duals(problem, duals)[:, :columns] - problem.offset[:, None]
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-2)


def test_the_objective_is_the_loss_of_the_rows_of_the_fit_and_what_duals_cost():
    problem, _, duals = draw_system(3)
    scores = spread_duals(problem, duals).astype(np.float32)
    scores[:, problem.rows :] = np.nan
    found = measure(scores, duals, problem.offset, problem.weights, problem.labels)
    assert found == pytest.approx(dual_objective(problem, duals), rel=1e-4)


def test_inner_products_are_in_double_precision():
    first, second = np.array([[1e8, 1.0], [1.0, -1e8]], np.float32), np.ones((2, 2), np.float32)
    assert dot(first, second) == 2.0
