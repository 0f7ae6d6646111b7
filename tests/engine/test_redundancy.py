"""Pairs that tell no more than their parts, against the rank of the additive model."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from deepbroad.data.source import ArraySource
from deepbroad.engine import redundancy
from deepbroad.engine.redundancy import find_redundant, list_lean

RNG = np.random.default_rng(0)


def source_of(codes, attributes=None, cardinalities=None):
    codes = np.asarray(codes, np.uint8)
    if cardinalities is None:
        cardinalities = codes.max(axis=1).astype(int) + 1
    labels = np.arange(codes.shape[1]) % 2
    return ArraySource(codes, labels, 2, np.asarray(cardinalities), None, attributes=attributes)


def is_sum_of_parts(first, second):
    """Tell by linear algebra whether every score of joint values is one of single values added."""
    seen = np.unique(np.stack([first, second]), axis=1)
    design = np.hstack([np.eye(first.max() + 1)[seen[0]], np.eye(second.max() + 1)[seen[1]]])
    return np.linalg.matrix_rank(design) == seen.shape[1]


@given(
    first=arrays(np.uint8, 12, elements=st.integers(0, 4)),
    second=arrays(np.uint8, 12, elements=st.integers(0, 4)),
    rows=st.integers(1, 12),
)
def test_redundant_pairs_are_those_of_full_additive_rank(first, second, rows):
    first, second = first[:rows], second[:rows]
    found = find_redundant(source_of([first, second]))
    several = first.max() > 0 and second.max() > 0
    assert found[0, 1] == found[1, 0] == (several and is_sum_of_parts(first, second))
    assert not found.diagonal().any()


def test_indicators_of_one_category_are_redundant_with_each_other_only():
    category, other = RNG.integers(5, size=400), RNG.integers(2, size=400)
    found = find_redundant(source_of([*(category == k for k in range(5)), other]))
    assert found[:5, :5].sum() == 20
    assert not found[5].any()


def test_what_follows_from_another_attribute_is_redundant_with_it():
    town = RNG.integers(20, size=2000)
    found = find_redundant(source_of([town, town // 4, RNG.integers(3, size=2000)]))
    np.testing.assert_array_equal(np.argwhere(found), [[0, 1], [1, 0]])


def test_numbers_of_several_resolutions_and_constants_are_redundant_with_nothing():
    code = RNG.integers(8, size=300)
    codes = [code // 4, code, code // 4, np.zeros(300)]
    found = find_redundant(source_of(codes, attributes=np.array([0, 0, 1, 2])))
    assert not found.any()


def test_a_value_that_no_row_of_weight_has_is_no_value():
    codes = [[0, 1, 2, 2], [0, 1, 0, 1]]
    assert find_redundant(source_of(codes, cardinalities=[2, 2]))[0, 1]
    assert find_redundant(source_of([[0, 1, 2, 3], [0, 0, 1, 3]], cardinalities=[3, 3]))[0, 1]


def test_looking_ends_where_pairs_are_too_many(monkeypatch):
    monkeypatch.setattr(redundancy, "MAX_PAIRS", 1)
    town = RNG.integers(5, size=200)
    found = find_redundant(source_of([town, town, town]))
    np.testing.assert_array_equal(np.argwhere(found), [[0, 1], [1, 0]])


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_lean_tuples_are_those_without_a_redundant_pair(order):
    redundant = RNG.random((7, 7)) < 0.2
    redundant = redundant & ~np.eye(7, dtype=bool)
    redundant |= redundant.T
    expected = [
        members
        for members in combinations(range(7), order)
        if not any(redundant[pair] for pair in combinations(members, 2))
    ]
    assert [tuple(t) for t in list_lean(redundant, order).tolist()] == expected
