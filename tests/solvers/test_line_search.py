"""The step that a line search returns lowers F enough and flattens its slope."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from deepbroad.solvers.line_search import (
    DECREASE,
    FLATTENING,
    LONGEST,
    LineSearch,
    Trial,
    cubic_step,
    quadratic_step,
    secant_step,
)


def search(value, step, trials=60):
    """Return the last verdict, step, loss and slope, and all steps tried."""
    loss, slope = value(0.0)
    line, steps = LineSearch(loss, slope, step), []
    for _ in range(trials):
        steps.append(line.step)
        loss, slope = value(line.step)
        verdict = line.judge(loss, slope)
        if verdict is not None:
            break
    return verdict, loss, slope, steps


def satisfies(value, step):
    """Tell whether both conditions hold."""
    begin, steepness = value(0.0)
    loss, slope = value(step)
    enough = loss <= begin + DECREASE * step * steepness
    return enough and abs(slope) <= -FLATTENING * steepness


@given(minimum=st.floats(1e-3, 1e3), power=st.sampled_from([2, 4, 6]), first=st.floats(1e-3, 1e3))
def test_a_bowl_is_searched_to_a_step_that_satisfies_both_conditions(minimum, power, first):
    def value(step):
        away = step / minimum - 1
        return away**power, power * away ** (power - 1) / minimum

    verdict, _, _, steps = search(value, first)
    assert verdict == "found"
    assert satisfies(value, steps[-1])


@given(
    waves=st.lists(
        st.tuples(st.floats(-2, 2), st.floats(0.1, 5), st.floats(0, 6)), min_size=1, max_size=4
    ),
    first=st.floats(0.01, 20),
)
def test_wherever_a_search_ends_both_conditions_hold_or_the_bracket_is_narrow(waves, first):
    def value(step):
        loss, slope = 0.05 * (step - 5) ** 2, 0.1 * (step - 5)
        for height, pace, phase in waves:
            loss += height * math.sin(pace * step + phase)
            slope += height * pace * math.cos(pace * step + phase)
        return loss, slope

    assume(value(0.0)[1] < -1e-3)
    verdict, loss, _, steps = search(value, first)
    assert verdict is not None
    if verdict == "found":
        assert satisfies(value, steps[-1])
    else:
        tried = sorted({0.0, *steps})
        assert min(np.diff(tried)) <= 0.1 * tried[-1]
        assert loss <= value(0.0)[0]


@pytest.mark.parametrize("beyond", [math.nan, math.inf, -math.inf])
@given(wall=st.floats(0.01, 100), first=st.floats(0.01, 100))
def test_no_step_is_tried_beyond_one_where_the_loss_is_not_finite(beyond, wall, first):
    def value(step):  # the minimum is at nine tenths of the wall
        if step >= wall:
            return beyond, 1.0
        return -math.log(1 - step / wall) - 10 * step / wall, (1 / (1 - step / wall) - 10) / wall

    verdict, _, _, steps = search(value, first)
    assert verdict == "found"
    assert satisfies(value, steps[-1])
    outside = [step for step in steps if step >= wall]
    assert all(later < earlier for earlier, later in pairwise(outside))


def test_a_line_that_falls_for_ever_is_given_up_at_the_longest_step():
    verdict, _, _, steps = search(lambda step: (-step, -1.0), 1.0)
    assert verdict == "exhausted"
    assert steps[-1] == LONGEST


def test_a_line_whose_slope_lies_is_given_up():
    verdict, loss, _, _ = search(lambda step: (step, -1.0), 1.0)
    assert verdict in ("exhausted", None)
    assert loss >= 0


def test_a_cubic_is_minimised_exactly():
    def trial(step):  # (s - 1)² (s + 2): minimum at 1
        return Trial(step, (step - 1) ** 2 * (step + 2), 3 * step**2 - 3)

    assert cubic_step(trial(0.3), trial(2.0)) == pytest.approx(1, rel=1e-12)
    assert cubic_step(trial(2.0), trial(0.3)) == pytest.approx(1, rel=1e-12)
    assert cubic_step(trial(0.6), trial(0.2), beyond=9.0) == pytest.approx(1, rel=1e-12)
    assert cubic_step(trial(2.0), trial(3.0), beyond=9.0) == pytest.approx(1, rel=1e-12)
    assert cubic_step(trial(0.2), trial(3.0), beyond=9.0) == 9.0


def test_a_parabola_is_minimised_exactly():
    def trial(step):
        return Trial(step, 3 * (step - 0.7) ** 2, 6 * (step - 0.7))

    assert quadratic_step(trial(0.0), trial(2.0)) == pytest.approx(0.7)
    assert secant_step(trial(0.0), trial(0.3)) == pytest.approx(0.7)
