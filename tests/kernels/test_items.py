"""Sets of items: ranks, and scores and sums over them, against loops over all sets and cells."""

from itertools import combinations, pairwise
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepbroad.kernels.items import (
    ItemIndex,
    advance,
    begin_choice,
    count_items,
    expand_items,
    list_items,
    prefix_key,
    reduce_items,
    scatter_items,
    score_items,
    sum_rows,
)
from deepbroad.model.items import Items
from deepbroad.model.terms import Terms
from tests import naive_items as naive

pytestmark = [
    pytest.mark.uncompiled,
    # Uncompiled, NumPy tells that the product of a hash wraps, as it is meant to.
    pytest.mark.filterwarnings("ignore:overflow encountered in scalar multiply:RuntimeWarning"),
]

few_examples = settings(max_examples=25)


def bare_index(n_items, depth):
    """Return an index of all sets, with the binomials and bases of the definition."""
    binomials = np.array([[comb(i, k) for i in range(n_items + 1)] for k in range(depth + 1)])
    bases = np.cumsum([0, *(comb(n_items, k) for k in range(depth + 1))])
    none = np.empty(0, np.int64)
    return ItemIndex(none, none, none, binomials, bases, none, none)


def choices(k, length):
    """Return the choices of k - 1 places that `advance` goes through."""
    places = np.full(max(k, 1), 77)
    begin_choice(places, k)
    found, more = [], True
    while more:
        found.append(tuple(places[: k - 1].tolist()))
        more = k > 1 and advance(places, k, length)
    return found


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize("length", [4, 5, 8])
def test_all_choices_of_places_with_room_for_one_below_come_once(k, length):
    expected = [c[::-1] for c in combinations(range(1, length), k - 1)]
    assert sorted(choices(k, length)) == sorted(expected)
    assert len(expected) == comb(length - 1, k - 1)


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_ranks_number_sets_by_size_and_then_in_colexicographic_order(depth):
    index, row = bare_index(7, depth), np.arange(7, dtype=np.int32)
    keys = {(): 0}
    for k in range(1, depth + 1):
        for places in choices(k, 7):
            prefix = prefix_key(row, np.array([*places, 0]), k, index)
            for lowest in range(7 if k == 1 else places[-1]):
                keys[lowest, *places[::-1]] = int(prefix + lowest)
    expected = naive.order_sets(naive.subsets_of(range(7), depth))
    assert sorted(keys, key=keys.get) == expected
    assert sorted(keys.values()) == list(range(len(expected)))


def test_places_mean_items_of_the_row():
    index = bare_index(9, 3)
    row = np.array([1, 4, 6, 8], np.int32)
    triples = naive.order_sets(combinations(range(9), 3))
    key = prefix_key(row, np.array([3, 1, 0]), 3, index) + row[0]
    assert key == index.bases[3] + triples.index((1, 4, 8))


def test_items_are_counted_and_listed_but_for_codes_at_their_limits():
    codes = np.array([[0, 1, 2, 3, 9], [9, 9, 9, 9, 9], [2, 0, 1, 1, 3]], np.uint8)
    none, limits = np.empty(0, np.int64), np.array([3, 5, 3])
    common, first = np.array([1, 0, 1]), np.array([0, 2, 6])
    index = ItemIndex(common, limits, first, none, none, none, none)
    lengths, missing = np.zeros(5, np.int64), np.zeros(5, bool)
    columns = np.array([0, 2])
    count_items(codes, columns, index, limits, lengths, missing)
    assert lengths.tolist() == [2, 1, 1, 0, 0]
    assert missing.tolist() == [False, False, False, True, True]
    items = np.full(4, -1, np.int32)
    list_items(codes, columns, index, limits, np.array([0, 2, 3, 4, 4]), items)
    assert items.tolist() == [0, 7, 6, 1]


class Drawn:
    """Items over some terms, rows of codes, and random numbers."""

    def __init__(self, items, codes, width, seed):
        self.items, self.codes, self.width = items, codes, width
        self.rng = np.random.default_rng(seed)
        self.layout = naive.lay_out(items, complete=items.is_complete)
        self.rows, _ = items.rows(codes)

    def draw(self, count):
        return self.rng.normal(size=(count, self.width))

    def expand(self, cells):
        items, terms = self.items, self.items.terms
        entries = np.zeros(items.n_entries * self.width)
        low = np.zeros(items.n_low * self.width)
        chosen, offsets = terms.members[items.chosen], terms.offsets[:-1][items.chosen]
        expand_items(
            chosen, offsets, terms.cardinalities, items.index, cells.ravel(), entries, low,
            self.buffer(), self.width,
        )  # fmt: skip
        assert not entries[: len(low)].any()
        entries[: len(low)] = low
        return entries.reshape(-1, self.width)

    def reduce(self, entries, cells):
        items, terms = self.items, self.items.terms
        chosen, offsets = terms.members[items.chosen], terms.offsets[:-1][items.chosen]
        reduce_items(
            chosen, offsets, items.index, entries.ravel(), cells.reshape(-1), self.buffer(),
            self.width,
        )  # fmt: skip

    def buffer(self):
        shapes = np.append(self.items.limits, 1)[self.items.terms.members[self.items.chosen]]
        return np.full(int(shapes.prod(axis=1).max()) * self.width, np.nan)

    def score(self, entries, first=0, last=None, start=0.0, cuts=()):
        last = self.codes.shape[1] if last is None else last
        values = np.full((last - first) * self.width, start)
        known = self.items.index, entries.ravel(), values, self.width
        score_items(*self.rows, first, last, self.bands(cuts), *known)
        return values.reshape(-1, self.width)

    def scatter(self, values, cuts=(), *, apart=False):
        entries = np.zeros(self.items.n_entries * self.width)
        n_rows = self.codes.shape[1]
        sum_rows(values.ravel(), n_rows, entries, self.width)
        bands = self.bands(cuts)
        for share in map(np.array, pairwise(bands)) if apart else [bands]:
            known = self.items.index, values.ravel(), entries, self.width
            scatter_items(*self.rows, n_rows, share, *known)
        return entries.reshape(-1, self.width)

    def bands(self, cuts):
        return np.array([0, *sorted(cuts), self.items.n_items])


@st.composite
def drawn(draw, may_have_unseen=True):
    """Draw items of all tuples of a depth, or of some terms of any depth and some left out."""
    a = draw(st.integers(1, 4))
    cardinalities = np.array(draw(st.lists(st.integers(1, 3), min_size=a, max_size=a)))
    if draw(st.booleans()):
        terms = Terms.of_order(draw(st.integers(1, a)), cardinalities)
        chosen = np.ones(len(terms), bool)
    else:
        columns = st.sets(st.integers(0, a - 1), min_size=1, max_size=4)
        tuples = draw(st.lists(columns, min_size=1, max_size=5))
        terms = Terms.of([tuple(t) for t in tuples], cardinalities)
        chosen = np.array(draw(st.lists(st.booleans(), min_size=len(terms), max_size=len(terms))))
        chosen[draw(st.integers(0, len(terms) - 1))] = True
    common = np.array([draw(st.integers(0, int(v) - 1)) for v in cardinalities])
    items = Items(common, terms, chosen, unseen=may_have_unseen and draw(st.booleans()))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    rows = draw(st.integers(1, 8))
    codes = np.stack([rng.integers(limit, size=rows) for limit in items.limits]).astype(np.uint8)
    return Drawn(items, codes, draw(st.integers(1, 3)), seed)


@few_examples
@given(drawn())
def test_entries_are_alternating_sums_of_cells(problem):
    cells = problem.draw(problem.items.terms.n_cells)
    expected = naive.expand(problem.items, cells, problem.layout)
    np.testing.assert_allclose(problem.expand(cells), expected, atol=1e-12)


@few_examples
@given(drawn(), st.data())
def test_scores_are_sums_over_all_sets_of_a_row(problem, data):
    entries = problem.draw(problem.items.n_entries)
    rows = naive.items_of_rows(problem.items, problem.codes)
    expected = naive.score(rows, problem.layout, entries, problem.items.depth)
    cuts = data.draw(st.lists(st.integers(0, problem.items.n_items), max_size=4))
    found = problem.score(entries, start=0.5, cuts=cuts)
    np.testing.assert_allclose(found, 0.5 + expected, atol=1e-12)
    # In any bands, so that predictions do not depend on the rows beside.
    np.testing.assert_array_equal(found, problem.score(entries, start=0.5))


@pytest.mark.parametrize("apart", [False, True])
@few_examples
@given(drawn(), st.data())
def test_scattered_rows_add_to_the_entries_of_all_their_sets(apart, problem, data):
    values = problem.draw(problem.codes.shape[1])
    rows = naive.items_of_rows(problem.items, problem.codes)
    expected = naive.scatter(rows, problem.layout, values, problem.items.depth)
    cuts = data.draw(st.lists(st.integers(0, problem.items.n_items), max_size=4))
    found = problem.scatter(values, cuts, apart=apart)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_array_equal(found, problem.scatter(values))


@few_examples
@given(drawn())
def test_rows_score_the_sum_of_their_cells(problem):
    cells = problem.draw(problem.items.terms.n_cells)
    expected = naive.score_cells(problem.items, cells, problem.codes)
    np.testing.assert_allclose(problem.score(problem.expand(cells)), expected, atol=1e-12)


@few_examples
@given(drawn(may_have_unseen=False))
def test_cells_get_the_sum_of_the_rows_that_have_their_values(problem):
    values = problem.draw(problem.codes.shape[1])
    cells = np.full((problem.items.terms.n_cells, problem.width), np.nan)
    problem.reduce(problem.scatter(values), cells)
    expected = naive.sum_cells(problem.items, values, problem.codes)
    of_chosen = problem.items.terms.per_cell(problem.items.chosen)
    np.testing.assert_allclose(cells[of_chosen], expected[of_chosen], atol=1e-12)
    assert np.isnan(cells[~of_chosen]).all()  # cells of other terms are left alone


@few_examples
@given(drawn(may_have_unseen=False))
def test_reducing_is_the_transpose_of_expanding(problem):
    x, y = problem.draw(problem.items.terms.n_cells), problem.draw(problem.items.n_entries)
    back = np.zeros_like(x)
    problem.reduce(y, back)
    assert (problem.expand(x) * y).sum() == pytest.approx((x * back).sum(), abs=1e-10)


@few_examples
@given(drawn())
def test_scattering_is_the_transpose_of_scoring(problem):
    x, y = problem.draw(problem.items.n_entries), problem.draw(problem.codes.shape[1])
    found = (problem.score(x) * y).sum()
    assert found == pytest.approx((x * problem.scatter(y)).sum(), abs=1e-10)


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
@pytest.mark.parametrize("hashed", [False, True])
@pytest.mark.parametrize("cuts", [(), (3, 5)])
def test_rows_of_many_items_score_the_sum_of_their_cells(depth, hashed, cuts):
    cardinalities = np.array([2, 3, 2, 2, 3, 2])
    terms = Terms.of_order(depth, cardinalities)
    chosen = np.ones(len(terms), bool)
    chosen[0] = not hashed
    codes = np.random.default_rng(depth).integers(cardinalities[:, None], size=(6, 5))
    codes[:, 0] = [0, 2, 1, 0, 1, 1]  # an item in every column
    items = Items(np.array([1, 0, 0, 1, 2, 0]), terms, chosen)
    problem = Drawn(items, codes.astype(np.uint8), 2, depth)
    assert items.is_complete != hashed
    cells = problem.draw(terms.n_cells)
    entries = problem.expand(cells)
    expected = naive.score_cells(items, cells, problem.codes)
    np.testing.assert_allclose(problem.score(entries, cuts=cuts), expected, atol=1e-12)
    values, back = problem.draw(5), np.zeros((terms.n_cells, 2))
    problem.reduce(problem.scatter(values, cuts), back)
    np.testing.assert_allclose(back, naive.sum_cells(items, values, problem.codes), atol=1e-12)


@pytest.mark.parametrize("cuts", [(), (2, 4)])
def test_a_range_of_rows_is_scored_into_the_beginning_of_the_values(cuts):
    terms = Terms.of_order(2, np.array([3, 3, 3]))
    codes = np.random.default_rng(0).integers(3, size=(3, 9)).astype(np.uint8)
    problem = Drawn(Items(np.zeros(3, int), terms, np.ones(3, bool)), codes, 2, 0)
    entries = problem.draw(problem.items.n_entries)
    found, whole = (problem.score(entries, *of, cuts=cuts) for of in ((4, 7), (0, 9)))
    np.testing.assert_array_equal(found, whole[4:7])


def test_each_range_of_items_adds_to_the_sets_whose_largest_item_is_in_it():
    terms = Terms.of_order(3, np.full(5, 2))
    codes = np.ones((5, 1), np.uint8)
    problem = Drawn(Items(np.zeros(5, int), terms, np.ones(10, bool)), codes, 1, 0)
    entries = np.zeros(problem.items.n_entries)
    bands = np.array([2, 4])
    scatter_items(*problem.rows, 1, bands, problem.items.index, np.ones(1), entries, 1)
    expected = {s for s in problem.layout if s and 2 <= s[-1] < 4}
    assert {s for s, entry in problem.layout.items() if entries[entry]} == expected
    assert set(entries) == {0.0, 1.0}


def test_single_precision_values_are_taken_and_given():
    terms = Terms.of_order(2, np.array([3, 2, 3]))
    codes = np.random.default_rng(1).integers([[3], [2], [3]], size=(3, 6)).astype(np.uint8)
    problem = Drawn(Items(np.zeros(3, int), terms, np.ones(3, bool)), codes, 2, 0)
    cells = problem.draw(terms.n_cells)
    entries = problem.expand(cells.astype(np.float32))
    values = np.zeros(12, np.float32)
    bands, index = problem.bands(()), problem.items.index
    score_items(*problem.rows, 0, 6, bands, index, entries.ravel(), values, 2)
    expected = naive.score_cells(problem.items, cells, codes)
    np.testing.assert_allclose(values.reshape(-1, 2), expected, atol=1e-5)
    weights = problem.draw(6).astype(np.float32)
    np.testing.assert_allclose(
        problem.scatter(weights), problem.scatter(weights.astype(float)), rtol=1e-12
    )
