"""Chunks depend on the length alone, whoever works on them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.solvers.chunks import Chunks
from tests.solvers.problems import Pool


@given(st.integers(0, 100), st.integers(1, 20))
def test_chunks_cover_every_number_once(length, size):
    covered = [i for low, high in Chunks(length, size=size).ranges for i in range(low, high)]
    assert covered == list(range(length))


@pytest.mark.parametrize("count", [1, 2, 3, 50])
def test_results_come_in_order_whatever_the_threads(count):
    alone = Chunks(95, size=10).each(lambda low, high: (low, high))
    shared = Chunks(95, Pool(count), size=10).each(lambda low, high: (low, high))
    assert shared == alone == [(i, min(i + 10, 95)) for i in range(0, 95, 10)]


def test_one_chunk_is_left_to_the_calling_thread():
    pool = Pool(4)
    assert Chunks(10, pool, size=10).each(lambda low, high: high) == [10]
    assert pool.tasks == 0


def test_an_error_in_a_thread_is_raised():
    def broken(low, high):
        raise ZeroDivisionError(f"in {low}")

    with pytest.raises(ZeroDivisionError, match="in"):
        Chunks(95, Pool(2), size=10).each(broken)
