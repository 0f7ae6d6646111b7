from math import inf

import pytest

from deepbroad.estimators.forecast import WINDOW, remaining_iterations


def decay(rate, length):
    return [1 + rate**k for k in range(length)]


def test_nothing_is_said_of_a_few_iterations():
    assert remaining_iterations(decay(0.9, 2 * WINDOW), 1e-5, 500) == inf


@pytest.mark.parametrize("rate", [0.5, 0.8, 0.95])
def test_a_steady_decay_is_followed_to_its_end(rate):
    losses, tol = decay(rate, 400), 1e-6
    seen = losses[: 2 * WINDOW + 1]
    decreases = [(a - b) / WINDOW for a, b in zip(losses, losses[WINDOW:], strict=False)]
    end = WINDOW + next(i for i, d in enumerate(decreases) if d <= tol * losses[i + WINDOW])
    expected = end - (len(seen) - 1)
    assert remaining_iterations(seen, tol, 500) == pytest.approx(expected, abs=2, rel=0.05)


def test_no_more_is_said_than_is_allowed():
    assert remaining_iterations(decay(0.99, 40), 1e-9, 7) == 7
    assert remaining_iterations([1 - 0.01 * k for k in range(40)], 1e-9, 30) == 30
    assert remaining_iterations(decay(0.9, 40), 0.0, 12) == 12


def test_a_fit_that_no_longer_gains_is_at_its_end():
    assert remaining_iterations([1.0] * 40, 1e-5, 500) == 0
