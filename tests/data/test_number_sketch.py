"""A sketch finds the cuts of a whole column while it is exact, and keeps its bound beyond."""

import pickle
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepbroad.data.cuts import cuts_and_distinct
from deepbroad.data.number_sketch import _LEAST_VALUES, NumberSketch
from deepbroad.data.pyramid import nested_cuts
from tests.data.test_cuts import LAW, N_CLASSES, columns

SIZES = st.lists(st.integers(0, 12), min_size=1, max_size=5)
EXTREMES = st.sampled_from([np.nan, -np.inf, np.inf, 0.0, -0.0, 1.0, 2.0, 5e-324])


def sketch_of(parts, capacity=1000):
    """The sketch of each part."""
    sketches = []
    for x, y, w in parts:
        sketches.append(NumberSketch(capacity))
        sketches[-1].add(x, y, w)
    return sketches


def split(column, sizes):
    """The rows of a column in consecutive parts; the last takes the rest."""
    places = np.cumsum(sizes)
    return list(zip(*(np.split(array, places) for array in column), strict=True))


def merge_all(sketches, random):
    """All sketches merged, by a tree that chance makes."""
    while len(sketches) > 1:
        first, second = random.sample(range(len(sketches)), 2)
        sketches[first].merge(sketches[second])
        del sketches[second]
    return sketches[0]


def error_of(sketch, values, labels, weights):
    """The most that a weight of rows <= x is off, over all x and over classes and all of them."""
    kept = ~np.isnan(values) & (weights > 0)
    values, labels, weights = values[kept], labels[kept], weights[kept]
    triples = sketch.triples()
    worst = 0.0
    for c in [None, *range(labels.max() + 1)]:
        rows = np.ones(len(values), bool) if c is None else labels == c
        pairs = np.ones(len(triples.values), bool) if c is None else triples.labels == c
        x = np.unique(np.concatenate([values, triples.values]))
        true = cumulative(x, values[rows], weights[rows])
        found = cumulative(x, triples.values[pairs], triples.weights[pairs])
        worst = max(worst, np.abs(true - found).max())
    return worst


def cumulative(x, values, weights):
    """The weight of values <= each x."""
    order = np.argsort(values)
    sums = np.concatenate([[0.0], np.cumsum(weights[order])])
    return sums[np.searchsorted(values[order], x, side="right")]


@pytest.mark.parametrize("values", [None, EXTREMES])
@LAW
@given(data=st.data(), sizes=SIZES, random=st.randoms(use_true_random=False))
def test_cuts_of_parts_are_those_of_the_whole_column(values, data, sizes, random):
    column = data.draw(columns(values))
    x, y, w = column
    sketch = merge_all(sketch_of(split(column, sizes)), random)
    sketch = pickle.loads(pickle.dumps(sketch))
    assert sketch.is_exact
    assert sketch.error == 0
    factors = np.array([1.0, 2.0, 0.5])
    for weights, by_class in ((w, None), (w * factors[y], factors)):
        for keeps_two in (False, True):
            cuts, distinct = cuts_and_distinct(x, y, N_CLASSES, weights, keeps_two=keeps_two)
            found = sketch.cuts(N_CLASSES, by_class, keeps_two=keeps_two)
            assert [part.tolist() for part in found] == ([cuts.tolist()] if distinct else [])
        found = sketch.cuts(N_CLASSES, by_class, levels=3)
        expected = nested_cuts(x, weights, levels=3) if distinct else []
        assert [part.tolist() for part in found] == [part.tolist() for part in expected]


@LAW
@given(columns(), st.permutations(range(N_CLASSES)))
def test_renamed_classes_are_those_of_renamed_rows(column, names):
    x, y, w = column
    codes = np.array(names)
    (sketch,) = sketch_of([(x, y, w)])
    sketch = sketch.relabelled(codes)
    (renamed,) = sketch_of([(x, codes[y], w)])
    assert [c.tolist() for c in sketch.cuts(N_CLASSES)] == [
        c.tolist() for c in renamed.cuts(N_CLASSES)
    ]


ORDERS = {
    "random": lambda x, random: random.permutation(x),
    "ascending": lambda x, random: np.sort(x),
    "descending": lambda x, random: np.sort(x)[::-1],
    "inwards": lambda x, random: x[np.argsort(-np.abs(x - np.median(x)))],
    "outwards": lambda x, random: x[np.argsort(np.abs(x - np.median(x)))],
}
SHAPES = {
    "uniform": lambda n, random: random.uniform(size=n),
    "heavy values": lambda n, random: np.where(
        random.uniform(size=n) < 0.3, 0.0, random.standard_cauchy(n)
    ),
    "narrowing": lambda n, random: random.choice([-1.0, 1.0], n) * 0.99 ** np.arange(n),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=12)
@given(
    seed=st.integers(0, 99),
    n_classes=st.integers(1, 3),
    weighted=st.booleans(),
    batch=st.sampled_from([7, 100, 450]),
    is_tree=st.booleans(),
)
def test_weights_below_any_value_are_off_by_the_bound_at_most(
    order, shape, seed, n_classes, weighted, batch, is_tree
):
    random = np.random.default_rng(seed)
    capacity = _LEAST_VALUES * n_classes
    n = 900
    x = ORDERS[order](SHAPES[shape](n, random), random)
    y = random.integers(0, n_classes, n)
    w = random.exponential(size=n) if weighted else np.ones(n)
    parts = split((x, y, w), [batch] * (n // batch))
    sketches = sketch_of(parts, capacity)
    if is_tree:
        sketch = merge_all(sketches, Random(seed))
    else:
        sketch = NumberSketch(capacity)
        for part in parts:
            sketch.add(*part)
    assert not sketch.is_exact
    assert error_of(sketch, x, y, w) <= sketch.error * (1 + 1e-9)
    depth = 1 + np.log2(n / capacity)
    assert sketch.depth <= depth
    assert sketch.error <= 3.2 * depth * n_classes * w.sum() / capacity
    assert sketch.nbytes <= 20 * capacity * (3 + depth) / 2
    assert sketch.triples().weights.sum() == pytest.approx(w.sum())


def test_a_heavy_value_stays_exact():
    random = np.random.default_rng(0)
    x = np.where(random.uniform(size=2000) < 0.2, 0.0, random.standard_normal(2000))
    sketch = NumberSketch(100)
    for part in np.split(x, 20):
        sketch.add(part, np.zeros(len(part), int))
    triples = sketch.triples()
    assert not sketch.is_exact
    assert triples.weights[triples.values == 0] >= (x == 0).sum()
    assert triples.weights[triples.values == 0] <= (x == 0).sum() + sketch.error


def test_two_values_are_never_merged_however_many_classes():
    sketch = NumberSketch(4)
    x, y = np.repeat([0.0, 1.0], 50), np.tile(np.arange(50), 2)
    sketch.add(x, y)
    assert sketch.is_exact
    assert sketch.cuts(50, keeps_two=True)[0].tolist() == [0.5]


def test_nothing_has_no_cuts():
    sketch = NumberSketch(4)
    sketch.add(np.array([np.nan]), np.array([0]))
    assert sketch.cuts(2) == sketch.cuts(2, levels=3) == []
    assert len(sketch.triples().values) == 0
