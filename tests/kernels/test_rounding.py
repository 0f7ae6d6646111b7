"""Sums of multiples of a quantum, which no order of their terms changes."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from deepbroad.kernels.rounding import SPARE_BITS, move_rounded, quantum_of, round_numbers, round_to

pytestmark = pytest.mark.uncompiled

numbers = arrays.arrays(np.float64, st.integers(1, 50), elements=st.floats(-1e6, 1e6))


@given(numbers, st.integers(0, 2**32 - 1), st.sampled_from([np.float32, np.float64]))
def test_the_order_of_terms_changes_no_bit(terms, seed, dtype):
    terms = terms.astype(dtype)
    largest = float(np.abs(terms.astype(np.float64)).sum())
    sums = []
    for order in (range(len(terms)), np.random.default_rng(seed).permutation(len(terms))):
        total = np.zeros(1)
        for i in order:
            move_rounded(0, 1, terms[i : i + 1].copy(), total, quantum_of(largest))
        sums.append(total[0])
    assert sums[0] == sums[1]
    exact = float(sum(Fraction(float(term)) for term in terms))
    assert abs(sums[0] - exact) <= len(terms) * quantum_of(largest)


@pytest.mark.parametrize("largest", [0.0, 1e-9, 1.0, 3.0, 2.0**20, 1e15])
def test_a_quantum_is_a_small_power_of_two(largest):
    quantum = quantum_of(largest)
    assert np.frexp(quantum)[0] == 0.5
    # Sums of so much keep all their bits.
    assert largest * 2**SPARE_BITS <= quantum * 2**53
    if largest:
        assert quantum <= largest * 2.0 ** (SPARE_BITS - 52)


def test_numbers_are_moved_within_a_range_and_cleared():
    source, target = np.arange(6.0) + 0.3, np.ones(6)
    move_rounded(1, 4, source, target, 0.5)
    np.testing.assert_array_equal(source, [0.3, 0, 0, 0, 4.3, 5.3])
    np.testing.assert_array_equal(target, [1, 2.5, 3.5, 4.5, 1, 1])
    np.testing.assert_array_equal(round_to(0.5, np.array([0.2, 0.3, -0.8])), [0, 0.5, -1])


@given(numbers, st.sampled_from([np.float32, np.float64]))
def test_numbers_are_rounded_where_they_are(terms, dtype):
    terms = terms.astype(dtype)
    found = terms.copy()
    round_numbers(0, len(found), found, 2.0**-10)
    np.testing.assert_array_equal(found, round_to(2.0**-10, terms.astype(np.float64)))


def test_what_is_no_number_stays_visible():
    target = np.zeros(2)
    move_rounded(0, 2, np.array([np.nan, np.inf]), target, 2.0**-40)
    np.testing.assert_array_equal(target, [np.nan, np.inf])
