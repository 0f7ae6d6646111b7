"""K of few rows, products with it and sums over cells, against comparisons of all pairs of rows."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.kernels.similarity import (
    BAND,
    blend_kernels,
    compare_rows,
    mirror,
    multiply_kernel,
    number_cells,
    sum_tables,
)
from deepbroad.kernels.threads import split_range

pytestmark = pytest.mark.uncompiled

# Sums in single precision, in another order than the twins'.
CLOSE = {"rtol": 1e-4, "atol": 1e-4}


def draw_tables(seed, rows, n_tables, columns=4, depth=3, dtype=np.uint8):
    """Return codes, cardinalities, and the members of tables of up to `depth` columns."""
    rng = np.random.default_rng(seed)
    cardinalities = rng.integers(1, 5, columns)
    codes = np.stack([rng.integers(size, size=rows) for size in cardinalities]).astype(dtype)
    members = np.full((n_tables, depth), -1)
    for own in members:
        chosen = rng.permutation(columns)[: rng.integers(1, depth + 1)]
        own[: len(chosen)] = chosen
    return codes, cardinalities, members


def number_all(codes, cardinalities, members, parts=1):
    """Return the cells of rows in each table and their counts."""
    cells = np.full((len(members), codes.shape[1]), -7, np.int16)
    counts = np.full(len(members), -7, np.int64)
    space = int(cardinalities.max()) ** members.shape[1]
    for low, high in split_range(len(members), parts):
        number_cells(codes, members, cardinalities, space, low, high, cells, counts)
    return cells, counts


def draw_cells(seed, rows, n_tables):
    """Return cells in which rows meet, their counts and 1/λ of each table."""
    cells, counts = number_all(*draw_tables(seed, rows, n_tables))
    return cells, counts, np.random.default_rng(seed).uniform(0.01, 3.0, n_tables).astype("f4")


def compare_all(cells, tables, inverse, bounds):
    """Return K, its rows in ranges between bounds."""
    kernel = np.zeros((cells.shape[1], cells.shape[1]), np.float32)
    for low, high in pairwise(bounds):
        compare_rows(cells, tables, inverse, low, high, kernel)
    mirror(kernel)
    return kernel


def tuples_of(codes, own):
    """Return the joint value of each row in a table."""
    return [tuple(int(codes[c, r]) for c in own if c >= 0) for r in range(codes.shape[1])]


def naive_kernel(joint_values, inverse):
    """Return Σ_t (1/λ_t) [rows r and r' have the same joint value in t]."""
    rows = len(joint_values[0])
    kernel = np.zeros((rows, rows))
    for values, each in zip(joint_values, inverse, strict=True):
        for i in range(rows):
            for j in range(rows):
                kernel[i, j] += float(each) * (values[i] == values[j])
    return kernel


problems = st.tuples(st.integers(0, 1000), st.integers(1, 2 * BAND + 5), st.integers(1, 9))


@given(problems, st.sampled_from([np.uint8, np.uint16, np.uint32]))
def test_cells_are_numbered_as_their_rows_come(problem, dtype):
    seed, rows, n_tables = problem
    codes, cardinalities, members = draw_tables(seed, rows, n_tables, dtype=dtype)
    cells, counts = number_all(codes, cardinalities, members)
    for own, found, count in zip(members, cells, counts, strict=True):
        values = tuples_of(codes, own)
        numbers = {value: i for i, value in enumerate(dict.fromkeys(values))}
        assert found.tolist() == [numbers[value] for value in values]
        assert count == len(numbers)


@pytest.mark.parametrize("parts", [2, 3, 7])
def test_tables_numbered_in_ranges_have_the_same_cells(parts):
    drawn = draw_tables(0, 30, 7)
    for found, expected in zip(number_all(*drawn, parts=parts), number_all(*drawn), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_tables_out_of_the_range_keep_what_they_have():
    codes, cardinalities, members = draw_tables(1, 10, 5)
    cells, counts = np.full((5, 10), -7, np.int16), np.full(5, -7)
    number_cells(codes, members, cardinalities, 125, 1, 3, cells, counts)
    assert (cells[[0, 3, 4]] == -7).all()
    assert (counts[[0, 3, 4]] == -7).all()
    assert (cells[1:3] >= 0).all()


@given(problems)
def test_rows_are_as_similar_as_the_cells_that_they_share(problem):
    seed, rows, n_tables = problem
    codes, _, members = draw_tables(seed, rows, n_tables)
    cells, _, inverse = draw_cells(seed, rows, n_tables)
    kernel = compare_all(cells, np.arange(n_tables), inverse, [0, rows])
    np.testing.assert_array_equal(kernel, kernel.T)
    expected = naive_kernel([tuples_of(codes, own) for own in members], inverse)
    np.testing.assert_allclose(kernel, expected, rtol=1e-5)


@given(st.integers(0, 1000), st.integers(1, 100), st.lists(st.integers(0, 100), max_size=4))
def test_rows_compared_in_ranges_change_no_bit(seed, rows, cuts):
    n_tables = 7
    cells, _, inverse = draw_cells(seed, rows, n_tables)
    tables = np.arange(n_tables)
    bounds = [0, *sorted(min(cut, rows) for cut in cuts), rows]
    np.testing.assert_array_equal(
        compare_all(cells, tables, inverse, bounds), compare_all(cells, tables, inverse, [0, rows])
    )


@pytest.mark.parametrize("chosen", [[], [3], [5, 0, 2], [1, 2, 4, 6], [0, 1, 2, 3, 5, 6]])
def test_only_the_tables_asked_for_are_compared(chosen):
    cells, _, inverse = draw_cells(2, 20, 7)
    found = compare_all(cells, np.array(chosen, np.int64), inverse, [0, 20])
    inverse[[t for t in range(7) if t not in chosen]] = 0.0
    np.testing.assert_allclose(found, naive_kernel(cells, inverse), rtol=1e-5)


def test_comparisons_are_added_to_the_lower_half_of_some_rows():
    cells, _, inverse = draw_cells(3, 25, 5)
    kernel = np.ones((25, 25), np.float32)
    compare_rows(cells, np.arange(5), inverse, 4, 20, kernel)
    expected, lower = np.ones((25, 25)), np.tril(np.ones((25, 25), bool))
    lower[:4], lower[20:] = False, False
    expected[lower] += naive_kernel(cells, inverse)[lower]
    np.testing.assert_allclose(kernel, expected, rtol=1e-5)


@pytest.mark.parametrize("rows", [1, 2, BAND, BAND + 1, 3 * BAND - 1])
def test_the_upper_half_becomes_the_mirror_of_the_lower(rows):
    kernel = np.random.default_rng(4).normal(size=(rows, rows)).astype(np.float32)
    lower = np.tril(kernel)
    mirror(kernel)
    np.testing.assert_array_equal(kernel, lower + np.tril(lower, -1).T)


def draw_kernels(rows, dtype=np.float32):
    """Return two symmetric kernels and an order of their rows."""
    rng = np.random.default_rng(rows)
    kernels = rng.uniform(0.0, 3.0, (2, rows, rows)).astype(dtype)
    return (*(kernels + kernels.transpose(0, 2, 1)), rng.permutation(rows))


def blend_all(kernels, factor, times, constant, bounds, dtype=np.float32):
    """Return the blend of as many rows as the last bound says."""
    kernel, other, order = kernels
    blended = np.full((bounds[-1], len(order)), np.nan, dtype)
    for low, high in pairwise(bounds):
        blend_kernels(
            kernel, dtype(factor), other, dtype(times), dtype(constant), order, low, high, blended
        )
    return blended


def naive_blend(kernels, factor, times, constant, rows):
    kernel, other, order = kernels
    found = np.empty((rows, len(order)))
    for i in range(rows):
        for j, column in enumerate(order):
            row = order[i]
            found[i, j] = factor * kernel[row, column] + times * other[row, column] + constant
    return found


@given(
    st.integers(1, 40),
    st.data(),
    st.tuples(*[st.sampled_from([0.0, 0.25, 1.0, 1e3])] * 2),
    st.sampled_from([0.0, 10.0]),
)
def test_kernels_are_blended_for_the_first_rows_of_an_order_by_all(rows, data, factors, constant):
    kernels, count = draw_kernels(rows), data.draw(st.integers(1, rows))
    found = blend_all(kernels, *factors, constant, [0, count])
    expected = naive_blend(kernels, *factors, constant, count)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("bounds", [[0, 1, 30], [0, 7, 7, 19, 30]])
def test_kernels_blended_in_ranges_change_no_bit(bounds):
    kernels = draw_kernels(37)
    np.testing.assert_array_equal(
        blend_all(kernels, 0.3, 1.7, 10.0, bounds), blend_all(kernels, 0.3, 1.7, 10.0, [0, 30])
    )


def test_rows_of_a_blend_out_of_the_range_keep_what_they_have():
    kernel, other, order = draw_kernels(9)
    blended = np.full((6, 9), -7.0, np.float32)
    one = np.float32(1.0)
    blend_kernels(kernel, one, other, one, one, order, 2, 4, blended)
    assert (blended[[0, 1, 4, 5]] == -7.0).all()
    assert (blended[2:4] >= 1.0).all()


def test_blends_in_double_precision_keep_it():
    kernels = draw_kernels(12, np.float64)
    found = blend_all(kernels, 0.3, 1.7, 1e-9, [0, 8], np.float64)
    np.testing.assert_allclose(found, naive_blend(kernels, 0.3, 1.7, 1e-9, 8), rtol=1e-14)


@pytest.mark.parametrize(
    ("rows", "columns", "wanted", "m"),
    [(1, 1, 1, 1), (3, 7, 7, 2), (19, 19, 19, 1), (18, 30, 30, 4), (18, 30, 18, 3), (4, 9, 2, 1)],
)
def test_products_have_as_many_columns_as_there_is_room_for(rows, columns, wanted, m):
    rng = np.random.default_rng(5)
    kernel = rng.normal(size=(rows, columns)).astype(np.float32)
    vectors = rng.normal(size=(m, rows)).astype(np.float32)
    out = np.full((m, wanted), np.nan, np.float32)
    multiply_kernel(kernel, vectors, out)
    expected = vectors.astype(float) @ kernel[:, :wanted].astype(float)
    np.testing.assert_allclose(out, expected, **CLOSE)


def test_comparisons_and_products_in_double_precision_keep_it():
    cells, _, inverse = draw_cells(6, 21, 7)
    inverse = inverse + np.random.default_rng(6).uniform(0, 1e-9, 7)
    kernel = np.full((21, 21), 1e6)
    compare_rows(cells, np.arange(7), inverse, 0, 21, kernel)
    mirror(kernel)
    expected = 1e6 + naive_kernel(cells, inverse)
    np.testing.assert_allclose(kernel, expected, rtol=1e-14)
    vectors, out = np.random.default_rng(6).normal(size=(2, 21)), np.empty((2, 21))
    multiply_kernel(kernel, vectors, out)
    np.testing.assert_allclose(out, vectors @ expected, rtol=1e-12, atol=1e-7)


def test_products_with_no_row_are_0():
    out = np.full((2, 3), np.nan, np.float32)
    multiply_kernel(np.ones((0, 3), "f4"), np.ones((2, 0), "f4"), out)
    assert not out.any()


# Sums over cells.


def draw_sums(seed, rows, n_tables, n_folds, n_classes):
    """Return what `sum_tables` takes; a quarter of the tables have no strength in a fold."""
    rng = np.random.default_rng(seed)
    cells, counts, _ = draw_cells(seed, rows, n_tables)
    values = rng.normal(size=(rows, n_folds, 5, n_classes - 1)).astype(np.float32)
    values[:, :, 4] = np.abs(values[:, :, 4])
    weights = rng.integers(0, 4, rows).astype(np.float32)
    inverse = rng.uniform(0.01, 3.0, (n_tables, n_folds)).astype(np.float32)
    inverse[rng.random(inverse.shape) < 0.25] = 0.0
    return cells, counts, values, weights, inverse


def sum_all(drawn, bounds):
    found = np.full((*drawn[4].shape, 4), np.nan)
    for low, high in pairwise(bounds):
        sum_tables(*drawn, low, high, found)
    return found


def naive_sums(cells, values, weights, inverse, n_classes):
    """Return the four sums, one cell after the other; a table of no strength λ = ∞ has none."""
    n_tables, n_folds = inverse.shape
    found = np.zeros((n_tables, n_folds, 4))
    for t, k in zip(*np.nonzero(inverse), strict=True):
        strength = 1.0 / float(inverse[t, k])
        for cell in set(cells[t].tolist()):
            inside = cells[t] == cell
            x, e, mixed, duals, h = values[inside, k].astype(float).sum(axis=0)
            beta_squared = mixed @ duals / strength**2
            found[t, k] += [
                x @ e / strength,
                (h / (h + strength * (1 - 1 / n_classes))).sum(),
                beta_squared,
                weights[inside].sum() * beta_squared,
            ]
    return found


@given(problems, st.integers(1, 3), st.integers(2, 4))
def test_sums_over_cells_are_those_of_their_definition(problem, n_folds, n_classes):
    drawn = draw_sums(*problem, n_folds, n_classes)
    cells, *rest = drawn[:1] + drawn[2:]
    expected = naive_sums(cells, *rest, n_classes)
    np.testing.assert_allclose(sum_all(drawn, [0, len(cells)]), expected, rtol=1e-3, atol=1e-3)


@given(problems, st.lists(st.integers(0, 9), max_size=3))
def test_tables_summed_in_ranges_change_no_bit(problem, cuts):
    drawn = draw_sums(*problem, n_folds=2, n_classes=3)
    n_tables = len(drawn[0])
    bounds = [0, *sorted(min(cut, n_tables) for cut in cuts), n_tables]
    np.testing.assert_array_equal(sum_all(drawn, bounds), sum_all(drawn, [0, n_tables]))


def test_squares_of_scores_are_those_of_all_classes():
    """With Σ_c a_c added to a, A·A' is Σ A² over all classes, whose duals add up to 0."""
    cells, counts, values, weights, inverse = draw_sums(7, 20, 4, 1, 4)
    inverse[:] = 0.5
    duals = values[:, :, 3]
    values[:, :, 2] = duals + duals.sum(axis=-1, keepdims=True)
    found = sum_all((cells, counts, values, weights, inverse), [0, 4])
    every = np.hstack([-duals[:, 0].sum(axis=1, keepdims=True), duals[:, 0]])
    expected = [
        sum(((0.5 * every[row == cell].sum(axis=0)) ** 2).sum() for cell in set(row.tolist()))
        for row in cells
    ]
    np.testing.assert_allclose(found[:, 0, 2], expected, rtol=1e-4)
