"""Scoring and scattering through fused tables, against loops over ravelled indices."""

import numpy as np
import pytest

from deepbroad.kernels.lookup import TILE, TableIndex, find_entries, scatter_rows, score_rows
from deepbroad.kernels.vector import lanes_for
from tests import naive

pytestmark = pytest.mark.uncompiled

SIZES = np.array([3, 2, 5])
TABLES = ([0], [1, 2], [0, 1, 2])
N_ENTRIES = 3 + 10 + 30


def table_index():
    members = np.zeros((len(TABLES), 3), np.int64)
    strides = np.zeros((len(TABLES), 3), np.int64)
    for t, groups in enumerate(TABLES):
        members[t, : len(groups)] = groups
        strides[t, : len(groups)] = [
            int(np.prod(SIZES[groups[k + 1 :]])) for k in range(len(groups))
        ]
    return TableIndex(members, strides, np.array([0, 3, 13]))


def draw_codes(rng, rows, dtype=np.uint8):
    return np.stack([rng.integers(size, size=rows) for size in SIZES]).astype(dtype)


def tolerance(dtype):
    return {"rtol": 1e-5, "atol": 1e-5} if dtype == np.float32 else {"rtol": 1e-12, "atol": 1e-12}


@pytest.mark.parametrize("rows", [1, TILE, 2 * TILE + 7])
def test_entries_are_found_where_the_ravelled_index_says(rows):
    codes = draw_codes(np.random.default_rng(rows), rows + 3)
    index = table_index()
    found = np.empty(rows, np.int32)
    for t, groups in enumerate(TABLES):
        find_entries(codes, 3, rows + 3, index, t, found)
        expected = np.ravel_multi_index(tuple(codes[groups, 3:].astype(int)), SIZES[groups])
        np.testing.assert_array_equal(found, index.offsets[t] + expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("width", "rows"),
    [(1, 2 * TILE + 7), (2, 5), (4, 9), (8, 9), (12, 9), (16, 600), (32, 9), (64, 5)],
)
def test_scores_are_the_base_plus_one_entry_per_table(width, rows, dtype):
    rng = np.random.default_rng(width)
    codes = draw_codes(rng, rows)
    tables = rng.normal(size=(N_ENTRIES, width)).astype(dtype)
    base = rng.normal(size=width).astype(dtype)
    values = np.full(rows * width, np.nan, dtype)
    score_rows(codes, 0, rows, table_index(), base, tables.ravel(), values, lanes_for(width))
    expected = naive.add_entries(codes, TABLES, [0, 3, 13], SIZES, base, tables.astype(float))
    np.testing.assert_allclose(values.reshape(rows, width), expected, **tolerance(dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("width", "rows"),
    [(1, 2 * TILE + 7), (2, 5), (4, 9), (8, 9), (12, 9), (16, 600), (32, 9), (64, 5)],
)
def test_scattered_rows_add_to_one_entry_per_table(width, rows, dtype):
    rng = np.random.default_rng(width)
    codes = draw_codes(rng, rows)
    values = rng.normal(size=(rows, width)).astype(dtype)
    entries = np.ones(N_ENTRIES * width, dtype)
    scatter_rows(
        codes, 0, rows, 0, 3, table_index(), values.ravel(), entries, lanes_for(width), width
    )
    expected = 1 + naive.sum_entries(
        codes, TABLES, [0, 3, 13], SIZES, values.astype(float), N_ENTRIES
    )
    np.testing.assert_allclose(entries.reshape(-1, width), expected, **tolerance(dtype))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
def test_codes_of_any_size_find_the_same_entries(dtype):
    rng = np.random.default_rng(0)
    codes = draw_codes(rng, 20)
    tables = rng.normal(size=N_ENTRIES * 2)
    results = []
    for kind in (np.uint8, dtype):
        values = np.empty(40)
        arguments = (table_index(), np.zeros(2), tables, values, lanes_for(2))
        score_rows(codes.astype(kind), 0, 20, *arguments)
        results.append(values)
    np.testing.assert_array_equal(*results)


def test_a_range_of_rows_is_scored_into_the_beginning_of_the_values():
    rng = np.random.default_rng(1)
    codes = draw_codes(rng, 50)
    tables, base = rng.normal(size=N_ENTRIES * 2), np.zeros(2)
    whole, part = np.empty(100), np.full(24, np.nan)
    score_rows(codes, 0, 50, table_index(), base, tables, whole, lanes_for(2))
    score_rows(codes, 20, 32, table_index(), base, tables, part, lanes_for(2))
    np.testing.assert_array_equal(part, whole[40:64])


def test_only_the_tables_asked_for_are_scattered_into():
    rng = np.random.default_rng(2)
    codes, values = draw_codes(rng, 30), rng.normal(size=60)
    whole, part = np.zeros(N_ENTRIES * 2), np.zeros(N_ENTRIES * 2)
    scatter_rows(codes, 0, 30, 0, 3, table_index(), values, whole, lanes_for(2), 2)
    scatter_rows(codes, 0, 30, 1, 2, table_index(), values, part, lanes_for(2), 2)
    inside = slice(3 * 2, 13 * 2)
    np.testing.assert_array_equal(part[inside], whole[inside])
    assert not np.delete(part, np.r_[inside]).any()


def test_scattering_is_the_transpose_of_scoring():
    rng = np.random.default_rng(3)
    rows, width = TILE + 40, 4
    codes = draw_codes(rng, rows)
    x, y = rng.normal(size=N_ENTRIES * width), rng.normal(size=rows * width)
    scored, scattered = np.empty(rows * width), np.zeros(N_ENTRIES * width)
    lanes = lanes_for(width)
    score_rows(codes, 0, rows, table_index(), np.zeros(width), x, scored, lanes)
    scatter_rows(codes, 0, rows, 0, 3, table_index(), y, scattered, lanes, width)
    assert scored @ y == pytest.approx(x @ scattered, rel=1e-12)


def test_a_not_a_number_reaches_the_rows_that_read_it_and_no_others():
    codes = np.array([[0, 1, 2], [0, 0, 0], [0, 0, 0]], np.uint8)
    tables = np.zeros(N_ENTRIES * 2)
    tables[2:4] = [np.nan, np.inf]  # entry 1 of the table over group 0
    values = np.empty(6)
    score_rows(codes, 0, 3, table_index(), np.zeros(2), tables, values, lanes_for(2))
    np.testing.assert_array_equal(values, [0, 0, np.nan, np.inf, 0, 0])
