"""mdl_cuts against its naive twin, and the laws that it keeps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepbroad.data.cuts import mdl_cuts, midpoints
from tests.naive_cuts import naive_cuts

# Every draw is seeded; kernels compile within the first example, so there is no deadline.
LAW = settings(deadline=None, derandomize=True)
N_CLASSES = 3
WEIGHTS = st.sampled_from([0.0, 0.25, 0.5, 1.0, 1.0, 2.0, 3.5, 10.0])
FINITE = st.floats(-1e6, 1e6, allow_subnormal=False)


@st.composite
def columns(draw, values=None, max_size=30):
    """Rows whose class mostly follows the value, so that there is something to cut."""
    size = draw(st.integers(1, max_size))
    values = draw(st.sampled_from([st.integers(0, 6), FINITE])) if values is None else values
    x = np.array(draw(st.lists(values, min_size=size, max_size=size)), dtype=float)
    noise = draw(st.lists(st.integers(0, 9), min_size=size, max_size=size))
    rank = np.argsort(np.argsort(x)) * N_CLASSES // size
    y = np.where(np.array(noise) < N_CLASSES, np.array(noise) % N_CLASSES, rank)
    w = np.array(draw(st.lists(WEIGHTS, min_size=size, max_size=size)))
    return x, y, w * draw(st.sampled_from([1, 1, 5]))


def cuts(x, y, w=None):
    return mdl_cuts(x, y, N_CLASSES, w)


@LAW
@given(columns())
def test_cuts_are_those_of_the_naive_recursion(column):
    x, y, _ = column
    assert cuts(x, y).tolist() == naive_cuts(x, y)


@LAW
@given(columns())
def test_weighted_cuts_are_those_of_the_naive_recursion(column):
    x, y, w = column
    assert cuts(x, y, w).tolist() == naive_cuts(x, y, w)


@LAW
@given(columns(values=st.sampled_from([np.nan, -np.inf, np.inf, 0.0, -0.0, 1.0, 2.0, 5e-324])))
def test_missing_values_are_left_out_and_infinities_are_not(column):
    x, y, w = column
    assert cuts(x, y, w).tolist() == naive_cuts(x, y, w)
    kept = ~np.isnan(x)
    assert cuts(x, y, w).tolist() == cuts(x[kept], y[kept], w[kept]).tolist()


@LAW
@given(columns())
def test_a_repeated_row_equals_weight_two(column):
    x, y, w = column
    w = np.round(w)
    times = w.astype(int)
    assert cuts(np.repeat(x, times), np.repeat(y, times)).tolist() == cuts(x, y, w).tolist()


@LAW
@given(columns())
def test_rows_of_weight_zero_are_as_if_absent(column):
    x, y, w = column
    assert cuts(x, y, w).tolist() == cuts(x[w > 0], y[w > 0], w[w > 0]).tolist()


@LAW
@given(columns(), st.integers(0, 2**32 - 1))
def test_the_order_of_rows_does_not_matter(column, seed):
    x, y, w = column
    order = np.random.default_rng(seed).permutation(len(x))
    assert cuts(x[order], y[order], w[order]).tolist() == cuts(x, y, w).tolist()


@LAW
@given(columns(), st.permutations(range(N_CLASSES)))
def test_the_names_of_classes_do_not_matter(column, names):
    x, y, _ = column
    assert cuts(x, np.array(names)[y]).tolist() == cuts(x, y).tolist()


@LAW
@given(columns(values=st.integers(-20, 20)))
def test_a_monotone_transform_keeps_the_partition(column):
    x, y, w = column
    x, y, w = x[w > 0], y[w > 0], w[w > 0]
    stretched = np.exp(x / 7)
    bins = np.searchsorted(cuts(x, y, w), x, side="right")
    np.testing.assert_array_equal(
        bins, np.searchsorted(cuts(stretched, y, w), stretched, side="right")
    )


@settings(LAW, max_examples=10)
@given(st.integers(0, 2**32 - 1))
def test_many_rows_are_cut_as_the_naive_recursion_cuts_them(seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 40, 400).astype(float)
    y = np.where(rng.random(400) < 0.8, (x // 9).astype(int) % N_CLASSES, rng.integers(0, 3, 400))
    w = rng.gamma(1.0, size=400)
    assert len(cuts(x, y)) > 1
    assert cuts(x, y).tolist() == naive_cuts(x, y)
    assert cuts(x, y, w).tolist() == naive_cuts(x, y, w)


def test_whole_numbers_of_a_small_range_are_cut_as_if_they_were_sorted():
    rng = np.random.default_rng(0)
    x = rng.integers(-20, 20, 500).astype(float)
    y = (np.abs(x) // 7).astype(int) % N_CLASSES
    for w in (None, rng.integers(0, 4, 500).astype(float)):
        # Halved, the values are not whole, and so are sorted.
        assert (cuts(x, y, w) / 2).tolist() == cuts(x / 2, y, w).tolist()
        assert len(cuts(x, y, w)) > 2


def test_noise_is_not_cut():
    rng = np.random.default_rng(0)
    assert len(mdl_cuts(rng.normal(size=2000), rng.integers(0, 4, 2000), 4)) == 0


def test_one_class_is_not_cut_even_by_weights_below_two():
    assert len(cuts(np.arange(3.0), np.zeros(3, int), np.array([0.5, 0.5, 0.6]))) == 0


def test_labels_may_be_of_any_integer_type():
    x, y = np.arange(20.0), np.repeat([0, 1], 10)
    for dtype in (np.uint8, np.int16, np.int64, bool):
        assert mdl_cuts(x, y.astype(dtype), 2).tolist() == [9.5]


@pytest.mark.parametrize(
    ("below", "above"),
    [
        (1.0, np.nextafter(1.0, 2.0)),
        (np.finfo(float).max / 2, np.finfo(float).max),
        (-np.finfo(float).max, np.finfo(float).max),
        (0.0, 5e-324),
        (5e-324, 1e-323),
        (-np.inf, 3.0),
        (3.0, np.inf),
        (-np.inf, np.inf),
        (0.0, 1.0),
    ],
)
def test_a_cut_separates_its_neighbours(below, above):
    [cut] = midpoints(np.array([below]), np.array([above]))
    assert below < cut <= above
    assert np.searchsorted([cut], [below, above], side="right").tolist() == [0, 1]
