"""Indicators of one category: found as a loop over rows does, and joined wherever rows lie."""

from itertools import product
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.data.source import ArraySource
from deepbroad.engine import indicators
from deepbroad.engine.indicators import find_indicators, join_part, unfold_tables
from deepbroad.engine.planning import Planner
from deepbroad.engine.scoring import Scorer
from deepbroad.kernels.threads import Threads
from deepbroad.model.scores import ScoreTables
from deepbroad.model.terms import Terms
from tests.parted import Parts

ONE = Threads(1)


def source_of(codes, weights=None, attributes=None, cardinalities=None):
    codes = np.asarray(codes, np.uint8)
    if cardinalities is None:
        cardinalities = codes.max(axis=1).astype(int) + 1
    labels = np.arange(codes.shape[1]) % 2
    return ArraySource(codes, labels, 2, cardinalities, weights, attributes=attributes)


def one_hot(category, values):
    return [category == k for k in values]


def draw(rows=4000, seed=0):
    return np.random.default_rng(seed).integers(5, size=rows)


def find_naively(codes, weights):
    """Return members, codes where on and whether none is ever on, row by row."""
    rows = [r for r in range(codes.shape[1]) if weights[r] > 0]
    on, counts = [], []
    for column in codes:
        ones = sum(int(column[r] == 1) for r in rows)
        on.append(1 if ones <= len(rows) - ones else 0)
        counts.append(min(ones, len(rows) - ones))
    groups = []
    for i in sorted(range(len(codes)), key=lambda i: (-counts[i], i)):
        for group in groups:
            is_alone = all(
                codes[i, r] != on[i] or all(codes[j, r] != on[j] for j in group) for r in rows
            )
            covered = min(sum(counts[j] for j in group) / len(rows), 1 - 1 / (2 * len(rows)))
            if is_alone and counts[i] * -log(1 - covered) >= 20:
                group.append(i)
                break
        else:
            groups.append([i])
    found = sorted(sorted(group) for group in groups if len(group) >= 3)
    return [
        (group, [on[i] for i in group], sum(counts[i] for i in group) < len(rows))
        for group in found
    ]


@given(st.integers(0, 10_000))
def test_indicators_are_those_that_a_loop_over_rows_finds(seed):
    rng = np.random.default_rng(seed)
    first, second = rng.choice(6, 200, p=rng.dirichlet(np.ones(6))), rng.integers(5, size=200)
    columns = [*one_hot(first, range(rng.integers(3, 7))), *one_hot(second, range(4))]
    columns += [rng.random(200) < share for share in (0.02, 0.3, 0.5)]
    codes = np.array(columns)[rng.permutation(len(columns))].astype(np.uint8)
    codes ^= rng.integers(2, size=(len(codes), 1), dtype=np.uint8)
    weights = rng.integers(3, size=200).astype(float)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(indicators, "CERTAIN_ROWS", 10)
        patch.setattr("deepbroad.data.source.BLOCK_ROWS", 70)
        cardinalities = np.full(len(codes), 2)
        found = find_indicators(source_of(codes, weights, cardinalities=cardinalities), ONE)
    expected = find_naively(codes, weights)
    if found is None:
        assert not expected
        return
    got = zip(found.members, found.on, found.has_none, strict=True)
    assert [(m.tolist(), on.tolist(), none) for m, on, none in got] == expected


@pytest.mark.parametrize("values", [5, 4])
def test_a_category_is_found_with_and_without_its_first_value(values):
    found = find_indicators(source_of(one_hot(draw(), range(values))), ONE)
    assert [own.tolist() for own in found.members] == [list(range(values))]
    assert found.has_none == (values == 4,)


def test_the_rarer_value_is_on():
    category = draw()
    columns = [*one_hot(category, range(4)), category != 4]
    found = find_indicators(source_of(columns), ONE)
    np.testing.assert_array_equal(found.on[0], [1, 1, 1, 1, 0])
    assert found.has_none == (False,)


def test_rare_columns_that_chance_keeps_apart_are_not_joined():
    rng = np.random.default_rng(0)
    columns = np.zeros((12, 4000), bool)
    columns[np.arange(12).repeat(5), rng.permutation(4000)[:60]] = True
    assert find_indicators(source_of(columns), ONE) is None


def test_two_columns_are_no_category():
    assert find_indicators(source_of([*one_hot(draw(), range(2)), draw(seed=1)]), ONE) is None


def test_a_single_row_with_two_on_parts_them():
    columns = np.array(one_hot(draw(), range(3)))
    assert find_indicators(source_of(columns), ONE) is not None
    columns[:, 0] = True
    assert find_indicators(source_of(columns), ONE) is None
    weights = np.r_[0.0, np.ones(3999)]
    assert find_indicators(source_of(columns, weights), ONE) is not None


def test_numbers_of_several_resolutions_and_few_rows_and_many_columns_are_left(monkeypatch):
    columns = one_hot(draw(), range(5))
    assert find_indicators(source_of(columns, attributes=[0, 0, 1, 1, 2]), ONE) is None
    few = np.array(columns)[:, : indicators.CERTAIN_ROWS]
    assert find_indicators(source_of(few), ONE) is None
    for limit, value in (("MAX_INDICATORS", 4), ("MAX_WORK", 39_999)):
        with monkeypatch.context() as patch:
            patch.setattr(indicators, limit, value)
            assert find_indicators(source_of(columns), ONE) is None


def mixed_source(rows=6000, seed=0):
    """Return two categories, one without its last value, a number of two levels and a column."""
    rng = np.random.default_rng(seed)
    first, second = rng.integers(5, size=rows), rng.integers(4, size=rows)
    number = rng.integers(8, size=rows)
    columns = [
        rng.integers(3, size=rows), *one_hot(first, range(5)), number // 4, number,
        *one_hot(second, range(3)),
    ]  # fmt: skip
    weights = rng.integers(3, size=rows).astype(float)
    return source_of(columns, weights, attributes=[0, 1, 2, 3, 4, 5, 6, 6, 7, 8, 9])


def test_parts_are_joined_as_one():
    whole = mixed_source()
    parts = Parts.of(whole, [500, 501, 3000])
    found, again = find_indicators(whole, ONE), find_indicators(parts, ONE)
    for a, b in zip(found.members + found.on, again.members + again.on, strict=True):
        np.testing.assert_array_equal(a, b)
    assert found.has_none == again.has_none == (False, True)
    joined = whole.convert(join_part, found, threads=ONE)
    split = parts.convert(join_part, again, threads=ONE)
    codes = np.concatenate([part.codes for part in split.parts], axis=1)
    np.testing.assert_array_equal(joined.codes, codes)
    np.testing.assert_array_equal(joined.attributes, [0, 1, 1, 2, 3])
    np.testing.assert_array_equal(joined.cardinalities, [3, 2, 8, 5, 4])
    np.testing.assert_array_equal(joined.weights, whole.weights)
    np.testing.assert_array_equal(joined.labels, whole.labels)


def test_codes_of_many_members_take_more_bytes():
    category = np.maximum(np.arange(23_000) % 575 - 275, 0)  # one value of 48 %, rare ones
    source = source_of(one_hot(category, range(300)))
    found = find_indicators(source, ONE)
    joined = join_part(source, found, ONE)
    assert joined.codes.dtype == np.uint16
    np.testing.assert_array_equal(joined.codes[0], category)


class Elsewhere:
    """A store that remembers what it gave."""

    def empty(self, shape, dtype):
        self.given = np.empty(shape, dtype)
        return self.given


def test_joined_rows_lie_where_the_given_ones_do():
    source = mixed_source()
    source.store = Elsewhere()
    joined = join_part(source, find_indicators(source, ONE), ONE)
    assert joined.codes is source.store.given
    assert joined.store is source.store


@pytest.mark.parametrize("bounds", [[], [500, 3000]])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_a_model_scores_rows_as_before_it_was_unfolded(share, bounds, monkeypatch):
    source = mixed_source()
    joining = find_indicators(source, ONE)
    joined = join_part(source, joining, ONE)
    # Number and column by themselves and with categories, and both categories together.
    tuples = [(0,), (2,), (3,), (4,), (0, 3), (2, 3), (3, 4), (0, 2), (2, 3, 4), (0, 1, 3)]
    terms = Terms.of(tuples, joined.cardinalities)
    rng = np.random.default_rng(1)

    def choose(terms, *_):
        return (terms.orders > 1) & (rng.random(len(terms)) < share)

    for module in ("planning", "indicators"):
        monkeypatch.setattr(f"deepbroad.engine.{module}.choose_compact", choose)
    plan = Planner(joined, terms).cheapest()
    scores = rng.normal(size=(plan.terms.n_cells, 3))
    scores[plan.terms.shared_cells] = 0
    tables = ScoreTables(plan, rng.normal(size=3), scores, None)
    unfolded = unfold_tables(tables, joining, Parts.of(source, bounds), ONE)
    assert unfolded.plan.terms.is_compact.any() == (share > 0)
    rows = source.codes[:, source.weights > 0]
    every = np.array(list(product(range(3), range(8), range(5), range(4)))).T
    given_ = np.empty((11, every.shape[1]), np.uint8)
    given_[0], given_[6], given_[7] = every[0], every[1] // 4, every[1]
    given_[1:6] = one_hot(every[2], range(5))
    given_[8:] = one_hot(every[3], range(3))
    for codes in (rows, given_):
        into = np.empty((5, codes.shape[1]), np.uint8)
        joining.join_codes(codes, into)
        expected, found = Scorer(tables).scores(into), Scorer(unfolded).scores(codes)
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_rows_of_many_indicators_are_scored_by_their_items():
    category = np.maximum(np.arange(23_000) % 575 - 275, 0)
    source = source_of([np.arange(23_000) % 7, *one_hot(category, range(300))])
    joining = find_indicators(source, ONE)
    joined = join_part(source, joining, ONE)
    plan = Planner(joined, Terms.of([(0,), (1,), (0, 1)], joined.cardinalities)).cheapest()
    rng = np.random.default_rng(0)
    tables = ScoreTables(plan, rng.normal(size=2), rng.normal(size=(plan.terms.n_cells, 2)), None)
    unfolded = unfold_tables(tables, joining, source, ONE)
    assert unfolded.plan.items is not None
    expected = Scorer(tables).scores(joined.codes)
    np.testing.assert_allclose(Scorer(unfolded).scores(source.codes), expected, atol=1e-5)
