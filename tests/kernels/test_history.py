"""The vector work of L-BFGS against plain NumPy, over whole vectors and over ranges of them."""

import numpy as np
import pytest

from deepbroad.kernels import history
from deepbroad.kernels.history import (
    advance,
    combine_pairs,
    dot,
    form_pair,
    largest_of,
    multiply_pairs,
    weigh_pairs,
)

pytestmark = pytest.mark.uncompiled

M, N = 4, 37
ORDER = np.array([2, 0, 3])


@pytest.fixture(params=[np.float64, np.float32])
def dtype(request):
    return request.param


@pytest.fixture(params=[True, False], ids=["scaled", "plain"])
def scaling(request, dtype):
    rng = np.random.default_rng(5)
    return rng.uniform(0.1, 9, size=N).astype(dtype) if request.param else np.empty(0, dtype)


@pytest.fixture
def pairs(dtype):
    rng = np.random.default_rng(0)
    pairs = rng.normal(size=(M, 2, N)).astype(dtype)
    pairs[1] = np.nan  # a slot that is not in use
    return pairs


def gradient_of(scaling):
    gradient = np.random.default_rng(1).normal(size=N)
    return gradient, gradient * scaling.astype(np.float64) if len(scaling) else gradient


def naive_gram(pairs, scaled):
    """Return all inner products, 0 for slots out of use."""
    rows = np.zeros((2 * M + 1, N))
    for slot in ORDER:
        rows[2 * slot : 2 * slot + 2] = pairs[slot]
    rows[-1] = scaled
    return rows @ rows.T, rows


def naive_direction(pairs, scaled):
    """Return -H·g by the two loops over vectors."""
    kept = [pairs[slot].astype(np.float64) for slot in ORDER]
    q, along = scaled.copy(), []
    for s, y in reversed(kept):
        along.append((s @ q) / (s @ y))
        q -= along[-1] * y
    s, y = kept[-1]
    q *= (s @ y) / (y @ y)
    for (s, y), a in zip(kept, reversed(along), strict=True):
        q += (a - (y @ q) / (s @ y)) * s
    return -q


def test_products_of_single_numbers_are_summed_in_double():
    left = np.full(100, 1 + 2**-20, np.float32)
    assert dot(left, left) == pytest.approx(100 * (1 + 2**-20) ** 2, rel=1e-14)


def test_a_point_advances_into_another_vector_or_itself(dtype):
    rng = np.random.default_rng(0)
    point, direction = rng.normal(size=N), rng.normal(size=N).astype(dtype)
    target = np.empty(N)
    advance(point, direction, 0.3, target)
    np.testing.assert_allclose(target, point + 0.3 * direction.astype(np.float64), rtol=1e-14)
    advance(point, direction, 0.3, point)
    np.testing.assert_array_equal(point, target)


def test_a_pair_is_kept_in_the_coordinates_of_the_search(scaling, dtype):
    rng = np.random.default_rng(0)
    gradient, fresh = rng.normal(size=(2, N))
    direction = rng.normal(size=N).astype(dtype)
    moves, changes = np.empty((2, N), dtype)
    form_pair(moves, changes, scaling, 0.7, direction, gradient, fresh)
    kappa = scaling.astype(np.float64) if len(scaling) else 1.0
    rounding = np.finfo(dtype).eps
    np.testing.assert_allclose(moves, 0.7 * direction.astype(float) / kappa, rtol=2 * rounding)
    np.testing.assert_allclose(changes, (fresh - gradient) * kappa, rtol=2 * rounding)


@pytest.mark.parametrize("values", [[], [-3.0], [1.0, -2.0, 0.5]])
def test_the_largest_is_absolute(values):
    assert largest_of(np.array(values)) == max(map(abs, values), default=0.0)


@pytest.mark.parametrize("block", [5, 64])
@pytest.mark.parametrize("is_new", [True, False])
def test_products_are_those_of_explicit_rows(pairs, scaling, is_new, block, monkeypatch):
    monkeypatch.setattr(history, "BLOCK", block)  # seen by the uncompiled kernel alone
    gradient, scaled = gradient_of(scaling)
    gram, _ = naive_gram(pairs, scaled)
    products = np.full((3, 2 * M + 2), np.nan)
    multiply_pairs(0, N, pairs, ORDER, is_new, gradient, scaling, products)
    np.testing.assert_allclose(products[0, :-1], gram[-1], rtol=1e-12, atol=1e-12)
    assert products[0, -1] == pytest.approx(np.abs(scaled).max(), rel=1e-14)
    expected = gram[2 * ORDER[-1] : 2 * ORDER[-1] + 2, :-1] if is_new else 0.0
    np.testing.assert_allclose(products[1:, :-2], expected + np.zeros((2, 2 * M)), atol=1e-12)


def test_ranges_add_up(pairs, scaling):
    gradient, _ = gradient_of(scaling)
    parts = np.empty((3, 3, 2 * M + 2))
    for part, (start, stop) in zip(parts, [(0, N), (0, 11), (11, N)], strict=True):
        multiply_pairs(start, stop, pairs, ORDER, True, gradient, scaling, part)
    np.testing.assert_allclose(
        parts[0, :, :-1], parts[1, :, :-1] + parts[2, :, :-1], rtol=1e-12, atol=1e-12
    )


def test_weights_give_the_direction_of_the_two_loops(pairs, scaling):
    _, scaled = gradient_of(scaling)
    gram, rows = naive_gram(pairs, scaled)
    weights = weigh_pairs(gram, ORDER)
    expected = naive_direction(pairs, scaled)
    np.testing.assert_allclose(weights @ rows, expected, rtol=1e-9, atol=1e-9 * abs(expected).max())


def test_without_pairs_the_direction_is_down_the_gradient():
    gram = np.zeros((2 * M + 1, 2 * M + 1))
    gram[-1, -1] = 3.0
    assert weigh_pairs(gram, ORDER[:0]).tolist() == [0.0] * 2 * M + [-1.0]


@pytest.mark.parametrize("block", [5, 64])
def test_pairs_are_combined_over_a_range_alone(pairs, scaling, dtype, block, monkeypatch):
    monkeypatch.setattr(history, "BLOCK", block)
    gradient, scaled = gradient_of(scaling)
    _, rows = naive_gram(pairs, scaled)
    weights = np.random.default_rng(2).normal(size=2 * M + 1)
    weights[2:4] = 0.0
    direction = np.full(N, 7, dtype)
    slope = combine_pairs(3, 30, pairs, ORDER, weights, gradient, scaling, direction)
    expected = (weights @ rows) * (scaling.astype(np.float64) if len(scaling) else 1.0)
    tolerance = 4 * np.finfo(dtype).eps * np.abs(expected).max()
    np.testing.assert_allclose(direction[3:30], expected[3:30], atol=tolerance, rtol=0)
    assert (direction[:3] == 7).all()
    assert (direction[30:] == 7).all()
    assert slope == pytest.approx(direction[3:30].astype(np.float64) @ gradient[3:30], rel=1e-9)
