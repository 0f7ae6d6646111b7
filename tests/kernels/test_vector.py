"""The vector addition over class lanes, against its plain twin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from deepbroad.kernels.vector import (
    WIDTHS,
    add_lanes,
    add_lanes_naive,
    add_scaled,
    add_scaled_naive,
    lane_count,
    lanes_for,
)

pytestmark = pytest.mark.uncompiled


@njit
def add(target, i, source, j, lanes):
    add_lanes(target, i, source, j, lanes)


@njit
def add_multiple(target, i, source, j, factor, lanes):
    add_scaled(target, i, source, j, factor, lanes)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", WIDTHS)
def test_a_multiple_of_a_vector_is_added(width, dtype):
    rng = np.random.default_rng(width)
    source = rng.normal(size=2 * width + 3).astype(dtype)
    target = rng.normal(size=2 * width + 3).astype(dtype)
    expected, naive = target.copy(), target.copy()
    factor = dtype(0.75)
    expected[2 : 2 + width] += factor * source[3 : 3 + width]
    add_scaled_naive(naive, 2, source, 3, factor, lanes_for(width))
    add_multiple(target, 2, source, 3, factor, lanes_for(width))
    np.testing.assert_allclose(target, expected, rtol=1e-6)
    np.testing.assert_allclose(naive, expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", WIDTHS)
def test_a_vector_is_added_at_any_position_and_nothing_beside_it(width, dtype):
    rng = np.random.default_rng(width)
    source = rng.normal(size=3 * width + 5).astype(dtype)
    for i, j in [(0, 0), (1, 2 * width + 3), (width + 3, 1)]:
        target = rng.normal(size=3 * width + 5).astype(dtype)
        expected = target.copy()
        expected[i : i + width] += source[j : j + width]
        naive = target.copy()
        add_lanes_naive(naive, i, source, j, lanes_for(width))
        add(target, i, source, j, lanes_for(width))
        np.testing.assert_array_equal(target, expected)
        np.testing.assert_array_equal(naive, expected)


@pytest.mark.parametrize("width", WIDTHS)
def test_single_precision_is_added_to_double_without_rounding(width):
    rng = np.random.default_rng(width)
    source = rng.normal(size=width + 3).astype(np.float32)
    target = rng.normal(size=width + 3)
    expected, naive = target.copy(), target.copy()
    expected[2 : 2 + width] += source[3:].astype(np.float64)
    add_lanes_naive(naive, 2, source, 3, lanes_for(width))
    add(target, 2, source, 3, lanes_for(width))
    np.testing.assert_array_equal(target, expected)
    np.testing.assert_array_equal(naive, expected)


def test_not_a_number_and_infinity_are_added_like_any_other():
    target = np.array([1.0, np.nan, np.inf, -np.inf], np.float32)
    add(target, 0, np.array([np.nan, 1.0, 1.0, 1.0], np.float32), 0, lanes_for(4))
    np.testing.assert_array_equal(target, np.array([np.nan, np.nan, np.inf, -np.inf]))


@pytest.mark.parametrize(
    ("n_scores", "width"),
    [(1, 1), (2, 2), (3, 4), (5, 8), (9, 12), (13, 16), (16, 16), (17, 24), (32, 32), (33, 40)],
)
def test_lanes_are_padded_to_a_width_that_vectors_have(n_scores, width):
    assert lane_count(n_scores) == width


@given(st.integers(1, 300))
def test_so_many_lanes_are_a_whole_number_of_vectors(n_scores):
    width = lane_count(n_scores)
    assert n_scores <= width < n_scores + 8
    vector = len(lanes_for(width))
    assert vector in WIDTHS
    assert width % vector == 0
    # One vector has them all, or the widest that divides them.
    assert vector == (width if width <= 16 else max(w for w in (8, 16) if width % w == 0))
