"""Sums over contingency tables, against dictionaries; hashed equal to tabled."""

from itertools import combinations

import numpy as np
import pytest

from deepbroad.kernels.information import new_workspace, number_keys, sum_tuples
from deepbroad.model.sample import Sample, observe
from tests import naive_information as naive

pytestmark = [
    pytest.mark.uncompiled,
    # Uncompiled, NumPy tells that the product of a hash wraps, as it is meant to.
    pytest.mark.filterwarnings("ignore:overflow encountered in scalar multiply:RuntimeWarning"),
]

CARDINALITIES = np.array([2, 3, 1, 5])


def draw_sample(n_classes=3, rows=40, weights=None, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(v, size=rows) for v in CARDINALITIES]).astype(np.uint8)
    labels = rng.integers(n_classes, size=rows).astype(np.uint8)
    return Sample(codes, labels, weights, n_classes)


def some_weights(kind, rows=40):
    rng = np.random.default_rng(9)
    return {
        "none": None,
        "integer": rng.integers(1, 4, size=rows).astype(float),
        "fractional": rng.random(rows) + 0.1,
    }[kind]


def sums_of(sample, members, n_cells=None):
    observations = observe(sample, CARDINALITIES)
    workspace = new_workspace(observations, n_cells)
    totals, squares = np.zeros((2, len(members)))
    shown = np.zeros(len(members), int)
    sum_tuples(observations, members, workspace, totals, shown, squares)
    assert not workspace.table.any()
    return totals, shown, squares


def naive_sums(sample, members):
    rows = []
    for t in members.tolist():
        cells, joint, labels = naive.contingency(sample, t, CARDINALITIES)
        total = sum(n * np.log(n) for n in cells.values())
        total -= sum(n * np.log(n) for n in joint.values())
        squares = sum(n**2 / (joint[x] * labels[y]) for (x, y), n in cells.items())
        rows.append((total, len(joint), squares))
    return tuple(np.array(rows).T)


@pytest.mark.parametrize("n_cells", [None, 0, 20], ids=["tables", "hashes", "both"])
@pytest.mark.parametrize("weights", ["none", "integer", "fractional"])
@pytest.mark.parametrize(("n", "n_classes"), [(1, 2), (2, 1), (2, 2), (3, 3), (4, 2)])
def test_sums_are_those_of_the_definition(n, n_classes, weights, n_cells):
    sample = draw_sample(n_classes, weights=some_weights(weights))
    members = np.array(list(combinations(range(4), n)))
    computed = sums_of(sample, members, n_cells)
    for ours, expected in zip(computed, naive_sums(sample, members), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n_cells", [None, 0])
def test_tuples_may_come_in_any_order(n_cells):
    sample = draw_sample()
    members = np.array([[3, 0], [0, 1], [3, 1], [0, 1], [1, 3]])
    computed = sums_of(sample, members, n_cells)
    np.testing.assert_allclose(computed, naive_sums(sample, members), rtol=1e-12, atol=1e-12)


def test_squares_are_left_out_where_there_is_no_room_for_them():
    observations = observe(draw_sample(), CARDINALITIES)
    members = np.array([[0, 1], [1, 3]])
    for n_cells in (None, 0):
        totals, shown = np.zeros(2), np.zeros(2, int)
        workspace = new_workspace(observations, n_cells)
        sum_tuples(observations, members, workspace, totals, shown, np.zeros(0))
        np.testing.assert_allclose(totals, sums_of(draw_sample(), members)[0])


@pytest.mark.parametrize("step", [1, 4096, 123_457])
def test_keys_are_numbered_as_they_appear(step):
    keys = np.random.default_rng(3).integers(30, size=50) * step
    numbers = np.empty(50, np.int64)
    count = number_keys(keys, np.empty(128, np.int64), np.empty(128, np.int32), numbers)
    expected = {key: i for i, key in enumerate(dict.fromkeys(keys.tolist()))}
    assert count == len(expected)
    assert numbers.tolist() == [expected[key] for key in keys.tolist()]


def test_keys_fill_slots_to_the_end_and_start_again():
    keys = np.arange(60) * 7
    numbers = np.empty(60, np.int64)
    assert number_keys(keys, np.empty(64, np.int64), np.empty(64, np.int32), numbers) == 60
    assert numbers.tolist() == list(range(60))
