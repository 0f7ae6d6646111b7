"""Dual ascent in the space of rows against its definitions, and against a fit by SciPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import log_softmax

from deepbroad.kernels.gram import (
    TILE_COLUMNS,
    TILE_ROWS,
    GramPoint,
    GramRows,
    add_matches,
    ascend_gram,
    gather_gram,
    join_grams,
    measure_anchor,
    measure_effects,
    mirror_gram,
    number_cells,
    sum_losses,
)

pytestmark = pytest.mark.uncompiled

ROWS, HELD, TERMS, VALUES = 30, 6, 4, 5


def naive_gram(cells, values):
    """Return Σ of the values of the terms in which rows have the same cell."""
    same = cells[:, :, None] == cells[:, None, :]
    return np.einsum("t,trs->rs", values.astype(float), same)


@given(st.data())
@settings(max_examples=15)
def test_matches_are_those_of_every_pair_of_rows(data):
    rows = data.draw(st.sampled_from([1, TILE_ROWS - 1, TILE_ROWS, 2 * TILE_ROWS + 3]))
    terms = data.draw(st.integers(1, 4))
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    cells = random.integers(0, 3, (terms, rows)).astype(np.uint16)
    dtype = data.draw(st.sampled_from([np.uint16, np.float32]))
    values = random.integers(0, 4, terms).astype(dtype)
    gram = np.zeros((rows, rows), dtype)
    half = TILE_ROWS if rows > TILE_ROWS else rows
    for first, last in ((0, half), (half, rows)):
        add_matches(cells, values, first, last, gram)
    mirror_gram(gram)
    np.testing.assert_array_equal(gram, naive_gram(cells, values))


def test_rows_of_several_tiles_of_columns_match_too():
    rows = TILE_COLUMNS + TILE_ROWS + 1
    cells = (np.arange(rows) % 7).astype(np.uint16)[None]
    gram = np.zeros((rows, rows), np.float32)
    add_matches(cells, np.ones(1, np.float32), 0, rows, gram)
    mirror_gram(gram)
    np.testing.assert_array_equal(gram, naive_gram(cells, np.ones(1)))


def test_matrices_of_kinds_are_joined_by_their_values():
    random = np.random.default_rng(0)
    parts = random.integers(0, 9, (3, 5, 5)).astype(np.uint16)
    values, gram = np.array([0.5, 2.0, 3.0], np.float32), np.full((5, 5), 7.0, np.float32)
    join_grams(parts, values, 0, 2, gram)
    join_grams(parts, values, 2, 5, gram)
    np.testing.assert_allclose(gram, np.einsum("k,krs->rs", values, parts))


def test_cells_are_numbered_within_terms_by_first_appearance():
    listed = np.array([[4, 9], [2, 9], [4, 7], [0, 9]], np.int32)
    numbers, counts = np.full(10, -1, np.int32), np.zeros(2, np.int64)
    cells = np.empty((2, 4), np.uint16)
    # Rows come in blocks, in any order.
    for rows in ([0, 1], [3, 2]):
        number_cells(listed[rows], np.array(rows), numbers, counts, cells)
    assert cells.tolist() == [[0, 1, 0, 2], [0, 0, 1, 0]]
    assert counts.tolist() == [3, 2]


class Problem:
    """Rows of a few terms, of which the last few do not train, and the objective by NumPy."""

    def __init__(self, n_classes, *, strength=1.0, seed=0):
        random = np.random.default_rng(seed)
        n = ROWS + HELD
        self.n_classes = n_classes
        self.cells = random.integers(0, VALUES, (TERMS, n)).astype(np.uint16)
        self.labels = random.integers(0, n_classes, n)
        self.labels[:n_classes] = np.arange(n_classes)
        self.weights = random.integers(1, 4, n).astype(float)
        self.strength = strength * random.uniform(0.5, 2.0, TERMS)
        self.gram = naive_gram(self.cells, 1.0 / self.strength).astype(np.float32)
        labels, weights = self.labels[:ROWS], self.weights[:ROWS]
        self.train = GramRows(
            np.arange(ROWS),
            labels,
            weights,
            np.array([random.permutation(ROWS) for _ in range(3)]),
            np.bincount(labels, weights, n_classes),
        )
        self.point = GramPoint(
            *(np.zeros((n_classes - 1, n + ROWS), np.float32) for _ in range(3)),
            np.zeros(n_classes),
            np.eye(n_classes)[labels],
            np.zeros(ROWS),
            np.full(1, 0.5),
        )

    def scores(self, flat):
        """Return the scores of all rows, (n, C)."""
        table = flat[self.n_classes :].reshape(TERMS, VALUES, self.n_classes)
        return flat[: self.n_classes] + sum(table[term, self.cells[term]] for term in range(TERMS))

    def loss(self, flat):
        """Return F over the training rows, and its gradient."""
        log_p = log_softmax(self.scores(flat)[:ROWS], axis=1)
        hot = np.eye(self.n_classes)[self.train.labels]
        table = flat[self.n_classes :].reshape(TERMS, VALUES, self.n_classes)
        residuals = self.train.weights[:, None] * (np.exp(log_p) - hot)
        gradient = self.strength[:, None, None] * table
        for term in range(TERMS):
            np.add.at(gradient[term], self.cells[term, :ROWS], residuals)
        value = -(self.train.weights[:, None] * hot * log_p).sum()
        value += 0.5 * (self.strength[:, None, None] * table**2).sum()
        return value, np.concatenate([residuals.sum(axis=0), gradient.ravel()])

    def exact(self):
        size = self.n_classes * (1 + TERMS * VALUES)
        return minimize(self.loss, np.zeros(size), jac=True, tol=1e-12, method="L-BFGS-B").x

    def ascend(self, tol=1e-7, most=500):
        gather_gram(self.gram, self.train, self.point)
        return ascend_gram(self.gram, self.train, self.point, 1.0, tol, most)

    def log_probabilities(self):
        """Return those of all rows at the point."""
        own = self.point.scores[:, : ROWS + HELD].T
        return log_softmax(
            self.point.class_scores + np.column_stack([np.zeros(len(own)), own]), axis=1
        )


@pytest.mark.parametrize("strength", [0.3, 30.0])
@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_an_ascent_comes_to_scipys_solution_for_all_rows(n_classes, strength):
    problem = Problem(n_classes, strength=strength)
    sweeps, gap = problem.ascend()
    assert gap <= 1e-7
    assert 1 < sweeps < 500
    expected = log_softmax(problem.scores(problem.exact()), axis=1)
    np.testing.assert_allclose(problem.log_probabilities(), expected, atol=5e-3)


def test_scores_stay_what_the_matrix_makes_of_the_coefficients():
    problem = Problem(3)
    problem.ascend()
    scores, n = problem.point.scores, ROWS + HELD
    np.testing.assert_allclose(scores[:, :n], scores[:, n:] @ problem.gram[:ROWS], atol=1e-4)


def test_scores_follow_from_beliefs():
    problem = Problem(3)
    random = np.random.default_rng(1)
    problem.point.beliefs[:] = random.dirichlet(np.ones(3), ROWS)
    gather_gram(problem.gram, problem.train, problem.point)
    own = np.eye(3)[problem.train.labels] - problem.point.beliefs
    coefficients = (problem.train.weights[:, None] * (own[:, 1:] - own[:, :1])).T
    expected = np.column_stack([coefficients @ problem.gram[:ROWS], coefficients])
    for found in problem.point[:3]:
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_an_ascent_that_will_not_end_is_given_up():
    problem = Problem(3, strength=1e-4)
    sweeps, gap = problem.ascend(tol=1e-30, most=200)
    assert 50 <= sweeps <= 200
    assert gap > 1e-30


def test_the_distance_of_the_anchor_is_the_penalty_between_cells():
    problem = Problem(4, strength=0.5)
    random = np.random.default_rng(2)
    n = ROWS + HELD
    apart = random.normal(size=(3, ROWS))
    problem.point.scores[:, n:] = apart
    problem.point.scores[:, :n] = apart @ problem.gram[:ROWS]
    cells = np.zeros((TERMS, VALUES, 4))
    for term in range(TERMS):
        np.add.at(cells[term, :, 1:], problem.cells[term, :ROWS], apart.T)
    cells /= problem.strength[:, None, None]
    cells -= cells.mean(axis=2, keepdims=True)
    expected = (problem.strength[:, None, None] * cells**2).sum()
    found = measure_anchor(problem.train, problem.point, n)
    assert found == pytest.approx(expected, rel=1e-4)


def test_losses_of_rows_are_summed_by_weight():
    problem = Problem(3)
    problem.ascend()
    rows = np.array([1, ROWS, ROWS + HELD - 1])
    log_p = problem.log_probabilities()[rows, problem.labels[rows]]
    found = sum_losses(rows, problem.labels, problem.weights, problem.point)
    assert found == pytest.approx(-problem.weights[rows] @ log_p, rel=1e-5)


def test_effects_of_terms_are_mean_squares_of_the_scores_of_reached_cells():
    problem = Problem(3)
    random = np.random.default_rng(3)
    coefficients = random.normal(size=(2, ROWS)).astype(np.float32)
    inverse = (1.0 / problem.strength).astype(np.float32)
    room, found = np.zeros((ROWS + HELD, 2)), np.empty(TERMS)
    measure_effects(problem.cells, inverse, problem.train.rows, coefficients, room, found)
    assert not room.any()
    for term in range(TERMS):
        own = problem.cells[term, :ROWS]
        scores = np.array([
            [0.0, *(coefficients[:, own == cell].sum(axis=1) * inverse[term])]
            for cell in np.unique(own)
        ])  # fmt: skip
        scores -= scores.mean(axis=1, keepdims=True)
        assert found[term] == pytest.approx((scores**2).sum() / len(scores) / 2, rel=1e-4)
