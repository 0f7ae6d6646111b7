"""Steps of dual ascent against their definitions, and against a fit by SciPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp, softmax

from deepbroad.kernels.dual import (
    count_needed,
    gather_scores,
    hold_classes,
    list_compact,
    list_dense,
    measure_classes,
    measure_rows,
    refine_belief,
    solve_belief,
    sweep_rows,
)
from deepbroad.kernels.vector import lane_count, lanes_for

pytestmark = pytest.mark.uncompiled

ROWS, TERMS, VALUES = 30, 4, 5


@st.composite
def steps(draw):
    """Return scores that pull, q, and a belief to start from."""
    seed = draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    q = 10.0 ** draw(st.floats(-3, 4))
    before = random.dirichlet(np.full(draw(st.integers(2, 9)), 10.0 ** draw(st.floats(-1, 1))))
    before = np.maximum(before, 1e-30)
    scores = np.log(before) + random.normal(size=len(before)) * 10.0 ** draw(st.floats(-3, 0.5))
    return scores + q * before, q, before


@given(steps())
def test_a_belief_is_the_softmax_of_the_scores_that_it_leads_to(step):
    pulled, q, _ = step
    belief = np.empty(len(pulled))
    partition = solve_belief(pulled, q, 0.0, belief)
    assert belief.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(belief, softmax(pulled - q * belief), atol=2e-4 / (1 + 1 / q))
    assert partition == pytest.approx(logsumexp(pulled - q * belief), abs=1e-3 * (1 + q))


@given(steps())
def test_a_belief_that_is_refined_is_the_same(step):
    pulled, q, before = step
    expected, belief = np.empty(len(pulled)), np.empty(len(pulled))
    solve_belief(pulled, q, 0.0, expected)
    if refine_belief(pulled, q, np.log(before), belief):
        np.testing.assert_allclose(belief, expected, atol=1e-4)


def test_a_belief_far_away_is_not_taken_for_one_that_is_there():
    # From next to 0 a belief grows by a factor a step: small steps of a small number.
    belief = np.empty(2)
    logs = np.log([1.0, 1e-30])
    if refine_belief(np.array([0.0, 3.0]), 1.0, logs, belief):
        np.testing.assert_allclose(belief, softmax([0.0, 3.0] - belief), atol=1e-4)


class Problem:
    """Rows of a few terms, and the objective by NumPy."""

    def __init__(self, n_classes, *, strength, seed=0):
        random = np.random.default_rng(seed)
        values = random.integers(0, VALUES, (ROWS, TERMS))
        self.cells = (values + VALUES * np.arange(TERMS)).astype(np.int32)
        self.labels = random.integers(0, n_classes, ROWS)
        self.weights = random.integers(1, 4, ROWS).astype(float)
        self.strength = strength * random.uniform(0.5, 2.0, TERMS)
        self.one_hot = np.eye(n_classes)[self.labels]
        self.width = lane_count(n_classes - 1)
        self.n_classes, self.rows = n_classes, np.arange(ROWS)

    def loss(self, flat):
        """Return F, class terms held at 0 as by a strength of their own, and its gradient."""
        scores = flat.reshape(-1, self.n_classes)
        log_p = log_softmax(scores[self.cells].sum(axis=1), axis=1)
        strength = np.repeat(self.strength, VALUES)[:, None]
        gradient = strength * scores
        residuals = self.weights[:, None] * (np.exp(log_p) - self.one_hot)
        for term in range(TERMS):
            np.add.at(gradient, self.cells[:, term], residuals)
        value = -(self.weights[:, None] * self.one_hot * log_p).sum()
        return value + 0.5 * (strength * scores**2).sum(), gradient.ravel()

    def ascend(self, sweeps):
        """Return the scores of the classes, relative to the first, and the gap of each sweep."""
        scores = np.zeros(TERMS * VALUES * self.width, np.float32)
        beliefs, partitions = self.one_hot.copy(), np.zeros(ROWS)
        inverse = (1.0 / self.strength).astype(np.float32)
        lanes = lanes_for(self.width)
        gaps = []
        for cycle in range(sweeps):
            order = np.random.default_rng(cycle).permutation(ROWS)
            gaps.append(
                sweep_rows(
                    order, self.rows, self.cells, self.weights, inverse, 0.0,
                    np.zeros(self.n_classes), scores, beliefs, partitions, lanes, self.width,
                )
            )  # fmt: skip
        again = np.zeros_like(scores)
        gather_scores(
            self.rows, self.cells, self.labels, self.weights, inverse, beliefs, again, lanes,
            self.width,
        )  # fmt: skip
        np.testing.assert_allclose(scores, again, atol=1e-5)
        self.measured = measure_rows(
            self.rows, self.cells, self.weights, np.zeros(self.n_classes), scores, beliefs, lanes,
            self.width,
        )  # fmt: skip
        return scores.reshape(-1, self.width)[:, : self.n_classes - 1], gaps


@pytest.mark.parametrize("strength", [0.3, 30.0])
@pytest.mark.parametrize("n_classes", [2, 3, 6, 19])
def test_sweeps_come_to_scipys_solution(n_classes, strength):
    problem = Problem(n_classes, strength=strength)
    size = TERMS * VALUES * n_classes
    exact = minimize(problem.loss, np.zeros(size), jac=True, tol=1e-12, method="L-BFGS-B")
    expected = exact.x.reshape(-1, n_classes)
    found, gaps = problem.ascend(200)
    np.testing.assert_allclose(found, expected[:, 1:] - expected[:, :1], atol=2e-3)
    assert gaps[-1] < 1e-4 < gaps[0]


@pytest.mark.parametrize("strength", [0.1, 5.0])
def test_the_gap_that_is_measured_bounds_what_is_left(strength):
    problem = Problem(3, strength=strength)
    exact = minimize(problem.loss, np.zeros(TERMS * VALUES * 3), jac=True, tol=1e-12).fun
    for sweeps in (1, 2, 4, 16):
        relative, _ = problem.ascend(sweeps)
        scores = np.column_stack([np.zeros(len(relative)), relative])
        scores -= scores.mean(axis=1, keepdims=True)
        assert -1e-4 <= problem.loss(scores.ravel())[0] - exact <= problem.measured + 1e-4


def test_cells_of_rows_are_those_of_their_values():
    random = np.random.default_rng(1)
    codes = random.integers(0, 3, (4, 7)).astype(np.int32)
    # Columns 0 and 2, then column 3 alone; cells are numbered backwards.
    members, strides = np.array([[0, 2], [3, 0]]), np.array([[3, 1], [1, 0]])
    numbers = np.arange(9 + 3 + 2, dtype=np.int32)[::-1].copy()
    cells = np.zeros((7, 3), np.int32)
    dense, compact = np.array([0, 2]), np.array([1])
    list_dense(codes, members, strides, np.array([0, 11]), dense, numbers, cells)
    joint = random.integers(0, 2, (3, 7)).astype(np.uint8)
    list_compact(joint, 2, np.arange(7), np.array([9]), compact, numbers, cells)
    np.testing.assert_array_equal(cells[:, 0], numbers[3 * codes[0] + codes[2]])
    np.testing.assert_array_equal(cells[:, 1], numbers[9 + joint[2]])
    np.testing.assert_array_equal(cells[:, 2], numbers[11 + codes[3]])


def test_sweeps_are_foreseen_by_the_rate_at_which_the_gap_closes():
    gaps = 0.5 ** np.arange(12.0)
    assert count_needed(gaps, gaps[-1] / 8) == pytest.approx(3.0)
    assert count_needed(gaps[:1], 1e-9) == 1.0
    assert count_needed(np.ones(12), 1e-9) == np.inf


def test_class_terms_are_held_back_less_and_less_but_never_below_a_cell():
    held = [hold_classes(100.0, cycle, 2.0) for cycle in range(200)]
    assert (np.diff(held) <= 0).all()
    assert held[-1] == 0.5


def test_classes_miss_the_weight_that_rows_do_not_believe():
    beliefs, residuals = np.array([[0.75, 0.25], [0.5, 0.5]]), np.empty(2)
    missed = measure_classes(np.array([3.0, 1.0]), np.array([2.0, 2.0]), beliefs, residuals)
    np.testing.assert_allclose(residuals, [0.5, -0.5])
    assert missed > 0.0
