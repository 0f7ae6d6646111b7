"""Counts of parents, against a loop over the rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.data.source import ArraySource
from deepbroad.engine.passes import count_cells
from deepbroad.engine.planning import Planner, group_source
from deepbroad.kernels.threads import Threads
from deepbroad.model.conditionals import parent_counts
from deepbroad.model.structure import children_of, structure_terms
from tests import naive
from tests.engine.problems import problems

PARENTS = [(2,), (0, 2), ()]


@given(problems())
def test_dense_cells_have_the_counts_of_their_parents(problem):
    a = len(problem.codes)
    parents = [tuple(range(max(0, i - 2), i)) for i in range(a)]
    terms = structure_terms(parents, problem.cardinalities)
    plan = Planner(problem.source(), terms, compact=False).single()
    children = children_of(plan.terms)
    class_counts, counts = count_cells(group_source(problem.source(), plan), plan, Threads(1))
    found = naive.read_tables(plan.terms, parent_counts(plan, counts, class_counts, children))
    tables = naive.read_tables(plan.terms, counts)
    for child, given_ in enumerate(parents):
        columns = tuple(sorted((child, *given_)))
        axis = columns.index(child)
        expected = tables[columns].sum(axis=axis, keepdims=True)
        np.testing.assert_allclose(found[columns], np.broadcast_to(expected, found[columns].shape))


@pytest.mark.parametrize("seed", range(3))
def test_compact_cells_have_the_counts_of_their_parents(seed):
    rng = np.random.default_rng(seed)
    cardinalities = np.array([9, 30, 40])
    codes = np.stack([rng.integers(v, size=300) for v in cardinalities]).astype(np.uint8)
    source = ArraySource(codes, rng.integers(2, size=300), 2, cardinalities)
    terms = structure_terms(PARENTS, cardinalities)
    plan = Planner(source, terms, min_count=2).single()
    term = int(np.flatnonzero(plan.terms.is_compact)[0])
    assert sorted(plan.terms.tuple(term)) == [0, 1, 2]
    class_counts, counts = count_cells(group_source(source, plan), plan, Threads(1))
    counts[plan.terms.shared_cells] = 0.0
    children = children_of(plan.terms)
    found = parent_counts(plan, counts, class_counts, children)
    group, low = plan.compact_groups[term], plan.terms.offsets[term]
    assert 0 < len(group.keys) < 300
    values = dict(zip(group.columns.tolist(), group.digits, strict=True))
    for cell in range(len(group.keys)):
        same = (values[0] == values[0][cell]) & (values[2] == values[2][cell])
        expected = counts[low : low + len(same)][same].sum(axis=0)
        np.testing.assert_allclose(found[low + cell], expected)
    assert not found[low + len(group.keys)].any()


@given(problems(), st.floats(0.1, 5))
def test_probabilities_of_a_childs_values_sum_to_one(problem, m):
    a = len(problem.codes)
    parents = [tuple(range(max(0, i - 2), i)) for i in range(a)]
    _, tables = naive.structure_tables(
        problem.codes, problem.labels, problem.omega, parents, *problem.shape, m
    )
    for child, given_ in enumerate(parents):
        columns = tuple(sorted((child, *given_)))
        np.testing.assert_allclose(np.exp(tables[columns]).sum(axis=columns.index(child)), 1)
