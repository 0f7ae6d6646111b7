"""Steps of a stochastic solver against their formulas in NumPy."""

import numpy as np
import pytest

from deepbroad.kernels.steps import Pull, probe_gradient, square_change, square_gradient, take_step

pytestmark = pytest.mark.uncompiled

N = 11


def draw(dtype):
    random = np.random.default_rng(0)
    u, gradient, changed, mean = random.normal(size=(4, N))
    momentum, origin, target = random.normal(size=(3, N)).astype(dtype)
    scaling, strength = random.uniform(0.5, 2.0, size=(2, N)).astype(dtype)
    return u, gradient, changed, mean, momentum, origin, scaling, Pull(strength, target)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_step_is_that_of_the_formula(dtype):
    u, gradient, _, mean, momentum, origin, scaling, pull = draw(dtype)
    m = 0.9 * momentum + 0.1 * scaling * gradient
    stiff = 0.3 * scaling**2.0 * pull.strength
    point = (u - 0.3 * scaling * m + stiff * pull.target) / (1 + stiff)
    root = (origin + stiff * pull.target) / (1 + stiff)
    expected = mean + 0.2 * (point - mean)
    # In two ranges, as threads have them.
    distance = 0.0
    for first, last in ((0, 4), (4, N)):
        distance += take_step(
            first, last, u, momentum, gradient, pull, scaling, origin, mean, (0.9, 0.3, 0.2)
        )
    close = {"rtol": 1e-5 if dtype == np.float32 else 1e-12, "atol": 1e-6}
    np.testing.assert_allclose(u, point, **close)
    np.testing.assert_allclose(momentum, m, **close)
    np.testing.assert_allclose(origin, root, **close)
    np.testing.assert_allclose(mean, expected, **close)
    np.testing.assert_allclose(distance, (((point - root) / scaling) ** 2).sum(), rtol=1e-5)


def test_a_penalty_without_a_gradient_leads_to_its_target():
    u, _, _, mean, momentum, origin, scaling, pull = draw(np.float64)
    momentum[:] = 0.0
    origin[:] = u
    strong = Pull(1e9 * pull.strength, pull.target)
    distance = take_step(
        0, N, u, momentum, np.zeros(N), strong, scaling, origin, mean, (0.9, 0.3, 0.2)
    )
    np.testing.assert_allclose(u, pull.target, atol=1e-6)
    assert distance < 1e-20  # what rounding leaves


def test_squares_and_the_probe_are_of_scaled_gradients():
    u, gradient, changed, _, _, _, scaling, _ = draw(np.float64)
    trial = np.empty(N)
    probe_gradient(0, N, u, gradient, scaling, 0.3, trial)
    np.testing.assert_allclose(trial, u - 0.3 * scaling**2 * gradient)
    squares = square_gradient(0, 5, gradient, scaling) + square_gradient(5, N, gradient, scaling)
    np.testing.assert_allclose(squares, ((scaling * gradient) ** 2).sum())
    change = square_change(0, N, gradient, changed, scaling)
    np.testing.assert_allclose(change, ((scaling * (changed - gradient)) ** 2).sum())
