"""Newton's method by duals in single and in double precision."""

import numpy as np
import pytest

from deepbroad.kernels.newton import fit_rows, solve_rows
from tests.kernels.test_newton import CASES, draw, draw_system, explicit_matrices, naive_fit

pytestmark = pytest.mark.uncompiled

# What is left of the probabilities to differ from those of the explicit model.
TYPES = [(np.float32, 1e-3), (np.float64, 1e-6)]


@pytest.mark.parametrize(("n_classes", "seed"), CASES)
@pytest.mark.parametrize(("dtype", "error"), TYPES)
def test_a_fit_is_as_precise_as_its_numbers(n_classes, seed, dtype, error):
    problem = draw(n_classes, seed=seed)
    kernel = ((problem.fitted * problem.inverse) @ problem.design.T).astype(dtype)
    duals = np.zeros((problem.m, problem.rows), dtype)
    scores, shares = np.empty((2, problem.m, len(problem.design)), dtype)
    loss = fit_rows(
        kernel, problem.labels, problem.weights.astype(dtype), problem.offset.astype(dtype),
        duals, scores, shares, 1e-14, 100, np.zeros(1, np.int64),
    )  # fmt: skip
    expected, logs = naive_fit(problem)
    assert loss == pytest.approx(expected, rel=1e-2 * error)
    np.testing.assert_allclose(shares.T, np.exp(logs[:, 1:]), atol=error)


@pytest.mark.parametrize(("dtype", "error"), [(np.float32, 1e-3), (np.float64, 1e-8)])
def test_a_system_is_solved_as_precisely_as_its_numbers(dtype, error):
    problem, shares, right = draw_system(3)
    spread, curvature = explicit_matrices(problem, shares)
    found, image = np.empty((2, *right.shape), dtype)
    solve_rows(
        problem.kernel.astype(dtype), shares.astype(dtype), problem.weights.astype(dtype),
        right.astype(dtype), found, image, 0.01 * error, 400,
    )  # fmt: skip
    expected = np.linalg.solve(np.eye(right.size) + curvature @ spread, right.ravel())
    np.testing.assert_allclose(image.ravel(), spread @ expected, atol=error)
