"""Structures: learned as their authors say, and read back from terms alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.model.dependence import Dependence
from deepbroad.model.structure import (
    children_of,
    dependence_order,
    dependence_tree,
    parents_of,
    structure_terms,
)
from deepbroad.model.terms import Terms


@st.composite
def dependences(draw, ties=False, most=7):
    """Draw information of some columns, without ties unless told."""
    a = draw(st.integers(1, most))
    n_pairs = a * (a - 1) // 2
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    values = rng.integers(3, size=a + n_pairs) if ties else rng.permutation(a + n_pairs)
    conditional = np.zeros((a, a))
    conditional[np.triu_indices(a, 1)] = values[a:]
    return Dependence(values[:a] / 8, (conditional + conditional.T) / 8)


@given(dependences(), st.integers(0, 5))
def test_parents_of_kdb_are_earlier_and_the_best_of_those(dependence, k):
    parents = dependence_order(dependence, k)
    for child, given_ in enumerate(parents):
        earlier = np.flatnonzero(dependence.relevance > dependence.relevance[child])
        assert len(given_) == min(k, len(earlier))
        assert set(given_) <= set(earlier.tolist())
        others = set(earlier.tolist()) - set(given_)
        told = dependence.conditional[child]
        assert all(told[i] > told[j] for i in given_ for j in others)


@given(dependences(ties=True, most=5))
def test_the_tree_has_the_largest_sum_of_all_trees(dependence):
    a = len(dependence.relevance)
    parents = dependence_tree(dependence)
    assert sum(len(given_) for given_ in parents) == a - 1
    found = sum(dependence.conditional[child, p] for child, (p,) in edges(parents))
    assert found == pytest.approx(largest_sum(dependence.conditional))
    assert parents[int(dependence.relevance.argmax())] == ()


def edges(parents):
    return [(child, given_) for child, given_ in enumerate(parents) if given_]


def largest_sum(conditional):
    """Return the largest sum of a spanning tree, trying every tree by its Prüfer sequence."""
    a = len(conditional)
    if a <= 2:
        return conditional.max()
    best = -np.inf
    for sequence in np.ndindex(*[a] * (a - 2)):
        degrees = np.bincount(sequence, minlength=a) + 1
        total = 0.0
        for node in sequence:
            leaf = int(np.flatnonzero(degrees == 1)[0])
            total += conditional[leaf, node]
            degrees[[leaf, node]] -= 1
        i, j = np.flatnonzero(degrees == 1)
        best = max(best, total + conditional[i, j])
    return best


@given(dependences(), st.integers(0, 3), st.randoms(use_true_random=False))
def test_permuting_columns_permutes_structures(dependence, k, random):
    order = list(range(len(dependence.relevance)))
    random.shuffle(order)
    permuted = Dependence(dependence.relevance[order], dependence.conditional[np.ix_(order, order)])
    for learn in (lambda d: dependence_order(d, k), dependence_tree):
        expected, found = learn(dependence), learn(permuted)
        for place, column in enumerate(order):
            assert {order[p] for p in found[place]} == set(expected[column])


def test_ties_go_to_the_first_columns():
    alike = Dependence(np.ones(4), np.ones((4, 4)) - np.eye(4))
    assert dependence_order(alike, 1) == [(), (0,), (0,), (0,)]
    assert dependence_order(alike, 2) == [(), (0,), (0, 1), (0, 1)]
    assert dependence_tree(alike) == [(), (0,), (0,), (0,)]


def test_rounding_errors_break_no_ties():
    noisy = Dependence(np.array([1.0, 1.0 + 1e-13, 1.0]), np.zeros((3, 3)))
    noisy.conditional[2, 1] = noisy.conditional[1, 2] = 1e-14
    assert dependence_order(noisy, 1) == [(), (0,), (0,)]
    assert dependence_tree(noisy) == [(), (0,), (0,)]


@given(dependences(ties=True), st.integers(0, 5))
def test_a_structure_is_known_by_its_terms(dependence, k):
    cardinalities = np.full(len(dependence.relevance), 2)
    for parents in (dependence_order(dependence, k), dependence_tree(dependence)):
        terms = structure_terms(parents, cardinalities)
        assert parents_of(terms) == [tuple(sorted(given_)) for given_ in parents]
        for term, child in enumerate(children_of(terms)):
            assert set(terms.tuple(term)) == {child, *parents[child]}


@pytest.mark.parametrize(
    "tuples",
    [
        [(0, 1), (1, 2), (0, 2)],  # a circle
        [(0,), (1,)],  # a column without a term
        [(0,), (1,), (2,), (0, 1)],  # a column with two
        [(0,), (0, 1), (0, 1, 2), (0, 2)],
        [(0, 1, 2)],
    ],
)
def test_other_terms_are_no_structure(tuples):
    with pytest.raises(ValueError, match="not those of columns and their parents"):
        children_of(Terms.of(tuples, np.full(3, 2)))
