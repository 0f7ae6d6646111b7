"""The branch-free exponential, against NumPy's in double precision."""

import numba
import numpy as np
import pytest

from deepbroad.kernels.exponential import (
    choose_exponentials,
    exponentials,
    exponentials32,
    exponentials64,
)

pytestmark = pytest.mark.uncompiled


def powers_like(x):
    return np.empty(len(x), np.int32)


def test_single_precision_is_right_to_a_few_units_in_the_last_place():
    x = np.concatenate([np.linspace(-80, 0, 5003), -np.logspace(-9, 1, 400)]).astype(np.float32)
    expected = np.exp(x.astype(np.float64))
    exponentials32(x, len(x), powers_like(x))
    # Compiled, sums may be reordered, which costs some digits of the reduction by ln 2.
    assert np.abs(x / expected - 1).max() < (1.5e-7 if numba.config.DISABLE_JIT else 4e-7)


def test_zero_gives_exactly_one():
    x = np.zeros(3, np.float32)
    exponentials32(x, 3, powers_like(x))
    assert (x == 1).all()


def test_very_negative_numbers_give_a_tiny_normal_number():
    x = np.array([-80, -81, -1e4, -3e38, -np.inf], np.float32)
    exponentials32(x, len(x), powers_like(x))
    np.testing.assert_allclose(x, np.exp(-80.0), rtol=4e-7)
    assert (x > np.finfo(np.float32).tiny).all()


def test_only_the_first_numbers_are_replaced():
    for dtype, function in [(np.float32, exponentials32), (np.float64, exponentials64)]:
        x = np.full(5, -1, dtype)
        function(x, 3, powers_like(x))
        np.testing.assert_allclose(x, [np.exp(-1)] * 3 + [-1] * 2, rtol=1e-6)


def test_double_precision_is_numpys_to_rounding():
    x = np.linspace(-700, 0, 501)
    expected = np.exp(x)
    exponentials64(x, len(x), powers_like(x))
    np.testing.assert_allclose(x, expected, rtol=1e-14)


def test_the_plain_function_serves_both_precisions():
    for dtype in (np.float32, np.float64):
        x = np.array([-2, -1, 0], dtype)
        exponentials(x, 2, powers_like(x))
        np.testing.assert_allclose(x, [np.exp(-2), np.exp(-1), 0], rtol=1e-6)


@pytest.mark.parametrize(("dtype", "expected"), [("float32", 1.8e-35), ("float64", 0.0)])
def test_the_compiler_takes_the_function_of_the_precision(dtype, expected):
    array = numba.types.Array(numba.from_dtype(np.dtype(dtype)), 1, "C")
    call = choose_exponentials(array, numba.types.int64, numba.types.int32[::1])
    x = np.array([-1e5], dtype)
    call(x, 1, powers_like(x))
    np.testing.assert_allclose(x, expected, rtol=0.02)  # single precision stops at exp(-80)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="Python's int() refuses NaN, LLVM's does not")
def test_not_a_number_stays_so():
    x = np.array([-1, np.nan, -2], np.float32)
    exponentials32(x, 3, powers_like(x))
    np.testing.assert_array_equal(np.isnan(x), [False, True, False])
