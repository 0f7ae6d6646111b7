"""Groups that make a pass cheaper, and the counts of entries behind that choice."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.model.planner import MAX_GROUP, plan_groups, symmetric_sums


def draw_codes(cardinalities, rows=2000, seed=0):
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(v, size=rows) for v in cardinalities]).astype(np.uint16)


def plan(codes, cardinalities, *, depth=2, rows=100_000, width=2):
    return plan_groups(codes, np.array(cardinalities), depth=depth, rows=rows, width=width)


@given(st.data())
def test_groups_are_a_partition_of_the_columns(data):
    cardinalities = data.draw(st.lists(st.integers(1, 30), min_size=1, max_size=8))
    depth = data.draw(st.integers(1, min(4, len(cardinalities))))
    rows = data.draw(st.sampled_from([1, 1000, 10**7]))
    groups = plan(draw_codes(cardinalities, 50), cardinalities, depth=depth, rows=rows)
    assert sorted(c for columns in groups for c in columns) == list(range(len(cardinalities)))


def test_columns_of_few_joint_values_are_joined_for_many_rows():
    cardinalities = [3] * 12
    assert len(plan(draw_codes(cardinalities), cardinalities, rows=10**6)) < 12


def test_exclusive_columns_need_one_look_up():
    rng = np.random.default_rng(0)
    which = rng.integers(20, size=2000)
    codes = np.vstack([which == c for c in range(20)]).astype(np.uint8)
    assert len(plan(codes, [2] * 20, depth=2, rows=10**5)) <= 2  # one table of pairs of groups


def test_columns_of_thousands_of_values_are_left_alone():
    cardinalities = [5000, 5000, 6000]
    assert len(plan(draw_codes(cardinalities, 30_000), cardinalities)) == 3
    assert min(cardinalities) > MAX_GROUP


def test_few_rows_do_not_pay_for_large_tables():
    cardinalities = [40] * 6
    assert len(plan(draw_codes(cardinalities, 30_000), cardinalities, depth=3, rows=10)) == 6


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_symmetric_sums_count_the_entries_of_all_sets_of_groups(depth):
    sizes = np.array([2.0, 3.0, 5.0, 7.0])
    powers = np.array([np.sum(sizes**k) for k in range(1, depth + 1)])
    expected = sum(np.prod(chosen) for chosen in combinations(sizes, depth))
    assert symmetric_sums(powers, depth)[depth] == pytest.approx(expected)
