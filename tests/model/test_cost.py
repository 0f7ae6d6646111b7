"""What work costs by the model: monotone, without cliffs, and true at the places measured."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.model.cost import (
    ENTRY_BYTES,
    PARAMETERS,
    SCORES,
    TABLE_BYTES,
    TYPICAL,
)

widths = st.sampled_from([1, 2, 4, 8, 16, 32])


@given(widths, st.sampled_from([4, 8]), st.integers(1, 1000))
def test_a_look_up_never_gets_cheaper_as_tables_grow(width, item, tables):
    costs = TYPICAL.lookup(np.logspace(0, 9, 100), width, tables=tables, item=item)
    assert (np.diff(costs) >= -1e-9).all()
    assert (costs > 0).all()


def test_a_look_up_in_large_tables_is_the_measured_one():
    for lookups, entry in zip(TYPICAL.lookups, ENTRY_BYTES, strict=True):
        # One table of so many lines that a tile of rows reads each at most once.
        found = TYPICAL.lookup(TABLE_BYTES[-1] / entry, entry // 4)
        assert found == pytest.approx(lookups[-1], rel=0.01)


def test_rows_come_back_to_the_lines_of_small_tables():
    entries = TABLE_BYTES[-1] / 4
    many = [float(TYPICAL.lookup(entries, 1, tables=tables)) for tables in (1, 10**4, 10**6)]
    assert many[0] > many[1] > many[2]
    assert many[2] == pytest.approx(TYPICAL.lookups[0][0], rel=0.1)


@given(st.floats(1e2, 1e9), widths)
def test_a_little_more_table_costs_a_little_more(entries, width):
    less, more = TYPICAL.lookup(np.array([entries, 1.01 * entries]), width, tables=7)
    assert more < 1.05 * less


def test_twice_the_numbers_cost_twice():
    assert TYPICAL.lookup(1e9, 128) == pytest.approx(2 * TYPICAL.lookup(1e9, 64))
    assert TYPICAL.softmax(64) == pytest.approx(2 * TYPICAL.softmax(32))
    assert TYPICAL.softmax(16) == pytest.approx(2 * TYPICAL.softmax(8))
    one = TYPICAL.build(1000, 4, cells=10, runs=100, steps=3)
    assert TYPICAL.build(2000, 4, cells=20, runs=200, steps=6) == pytest.approx(2 * one)


def test_twice_the_numbers_of_a_near_table_cost_less_than_twice():
    assert 1.5 < TYPICAL.lookup(10, 128) / TYPICAL.lookup(10, 64) < 2.0


def test_double_precision_has_costs_of_its_own():
    assert TYPICAL.softmax(5, item=8) > TYPICAL.softmax(5)
    assert TYPICAL.lookup(100, 4, item=8) == TYPICAL.lookup(100, 8, item=4)


def test_measured_places_are_returned_as_measured():
    assert [TYPICAL.softmax(n) for n in SCORES] == pytest.approx(TYPICAL.softmaxes)
    each = [TYPICAL.vectors(n) / n for n in PARAMETERS]
    assert each == pytest.approx(TYPICAL.parameters)


def test_more_parameters_need_more_time():
    costs = [TYPICAL.vectors(n) for n in np.logspace(0, 9, 100)]
    assert (np.diff(costs) > 0).all()
    assert TYPICAL.vectors(0) == 0
