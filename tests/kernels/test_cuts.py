"""The kernels behind discretisation, block by block and against their obvious twins."""

import math

import numpy as np
import pytest

from deepbroad.kernels.cuts import (
    best_split,
    count_cuts,
    log2_of_3_to_k_less_2,
    merge_rows,
    split_blocks,
    x_log_x,
)

pytestmark = pytest.mark.uncompiled


def merge(values, labels, weights=(), n_classes=3):
    return merge_rows(
        np.array(values, dtype=float),
        np.array(labels, dtype=np.int32),
        np.array(weights, dtype=float),
        n_classes,
    )


def test_rows_of_one_value_are_one_block_with_an_entry_per_class():
    low, high, first, kind, weight, distinct = merge([1, 1, 1, 2], [2, 0, 2, 1])
    assert low.tolist() == high.tolist() == [1, 2]
    assert first.tolist() == [0, 2, 3]
    assert kind.tolist() == [0, 2, 1]
    assert weight.tolist() == [1, 2, 1]
    assert distinct == 2


def test_a_run_of_one_class_is_one_block_from_its_least_to_its_greatest_value():
    low, high, first, kind, weight, distinct = merge([1, 2, 3, 4], [0, 0, 0, 1])
    assert low.tolist() == [1, 4]
    assert high.tolist() == [3, 4]
    assert first.tolist() == [0, 1, 2]
    assert kind.tolist() == [0, 1]
    assert weight.tolist() == [3, 1]
    assert distinct == 4


def test_a_mixed_value_ends_a_run():
    low, high, *_ = merge([1, 2, 2, 3], [0, 0, 1, 1])
    assert low.tolist() == high.tolist() == [1, 2, 3]


def test_weights_are_summed_per_class():
    *_, weight, _ = merge([1, 1, 2], [0, 0, 0], [0.5, 0.25, 2.0])
    assert weight.tolist() == [2.75]


def test_no_rows_make_no_blocks_and_no_cuts():
    low, _, first, kind, weight, distinct = merge([], [])
    assert len(low) == distinct == 0
    assert split_blocks(first, kind, weight, 3).tolist() == []


def test_a_clear_boundary_is_cut_once():
    _, _, first, kind, weight, _ = merge(range(20), [0] * 10 + [1] * 10)
    assert split_blocks(first, kind, weight, 3).tolist() == [False, True]


def test_nested_boundaries_are_all_found():
    labels = np.repeat([0, 1, 2, 0, 1], 40)
    _, _, first, kind, weight, _ = merge(range(200), labels)
    assert split_blocks(first, kind, weight, 3).tolist() == [False, True, True, True, True]


def test_a_weight_of_one_or_less_is_never_split():
    _, _, first, kind, weight, _ = merge([1, 2], [0, 1], [0.5, 0.5])
    assert best_split(first, kind, weight, 3) == 0


def test_weight_lost_to_rounding_ends_the_search():
    _, _, first, kind, weight, _ = merge([1, 2], [0, 1], [1e20, 1e-20])
    assert best_split(first, kind, weight, 3) == 0


def test_x_log_x_is_zero_at_zero():
    assert x_log_x(0.0) == 0.0
    assert x_log_x(8.0) == 24.0


@pytest.mark.parametrize("k", [1, 2, 10, 33, 34, 50, 2000])
def test_the_cost_of_classes_is_right_where_powers_of_three_overflow(k):
    assert log2_of_3_to_k_less_2(k) == pytest.approx(math.log2(3**k - 2), abs=1e-12)


@pytest.mark.parametrize("n_cuts", [0, 1, 2, 3, 7, 8, 100])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_bins_are_those_of_searchsorted(n_cuts, dtype):
    rng = np.random.default_rng(n_cuts)
    cuts = np.unique(rng.normal(size=n_cuts))
    values = np.concatenate([rng.normal(size=600), cuts, [np.inf, -np.inf, np.nan]])
    out = np.empty(len(values), dtype=dtype)
    count_cuts(values, cuts, 200, out)
    expected = np.where(np.isnan(values), 200, np.searchsorted(cuts, values, side="right"))
    np.testing.assert_array_equal(out, expected)
