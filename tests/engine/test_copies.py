"""Copies of rows, told from rows that are the same by chance."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.data.source import ArraySource
from deepbroad.engine import automatic, refinement
from deepbroad.engine.copies import (
    FEW,
    FEW_ROWS,
    RELATED,
    SINGLE,
    TOO_FEW,
    are_strangers,
    is_unlikely,
    merge_copies,
)
from deepbroad.engine.merging import find_identical
from deepbroad.kernels.threads import Threads
from tests.engine.choices import FAMILY, choose, main_effects, source_of


def wide(rows=300, seed=0, *, attributes=12, values=6):
    """Return rows that next to never are the same by chance, nor nearly."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(2, size=rows)
    codes = np.minimum(rng.integers(values, size=(attributes, rows)) + labels, values - 1)
    return source_of(codes, labels)


def every_combination():
    """Return each combination of values once: all have relatives."""
    codes = np.indices((3, 3, 3, 3)).reshape(4, -1)
    return source_of(codes, (codes.sum(axis=0) > 4).astype(int))


def repeat(source, times):
    """Return a source with each row as many times as said, in random order."""
    rows = np.repeat(np.arange(source.n_rows), times)
    return source.take(np.random.default_rng(0).permutation(rows))


def draw(source, count, seed=0):
    """Return rows drawn independently, again and again."""
    return source.take(np.random.default_rng(seed).integers(source.n_rows, size=count))


def count_rows(source):
    return Counter(map(bytes, np.vstack([source.codes, source.labels]).T))


# How often rows come.


@given(
    seed=st.integers(0, 10**6), cells=st.integers(2, 2000), rows=st.integers(2, 3000),
    spread=st.floats(0.0, 3.0),
)  # fmt: skip
def test_independent_draws_are_never_unlikely(seed, cells, rows, spread):
    rng = np.random.default_rng(seed)
    odds = np.exp(spread * rng.normal(size=cells))
    drawn = rng.choice(cells, size=rows, p=odds / odds.sum())
    times = np.bincount(drawn, minlength=cells)
    assert not is_unlikely(times[times > 0])


@pytest.mark.parametrize("times", [2, 3, 7])
@pytest.mark.parametrize("rows", [50, 5000])
def test_rows_that_all_come_equally_often_are_unlikely(times, rows):
    assert is_unlikely(np.full(rows, times))


def test_single_rows_are_not_unlikely_nor_are_a_few_pairs():
    assert not is_unlikely(np.ones(5000, int))
    assert not is_unlikely(np.repeat([1, 2], [1000, 20]))
    assert is_unlikely(np.repeat([1, 2], [1000, 200]))


@given(seed=st.integers(0, 10**6), cells=st.integers(20, 400), times=st.integers(2, 5))
def test_a_table_several_times_over_is_unlikely_whatever_it_holds(seed, cells, times):
    rng = np.random.default_rng(seed)
    drawn = np.bincount(rng.integers(cells, size=600), minlength=cells)
    found = drawn[drawn > 0] * times
    common = np.bincount(found).max()
    # Where all rows come often, there are few of each number to tell by.
    assert is_unlikely(found) or common < 30


# Relatives.


def naive_relatives(source):
    """Return the share of repeated rows with another that differs in one attribute or the class."""
    rows = [tuple(row) for row in np.vstack([source.codes, source.labels]).T.tolist()]
    counts = Counter(rows)
    attributes = source.attributes

    def differ(one, other):
        in_class = one[-1] != other[-1]
        return in_class + len({attributes[c] for c in range(len(one) - 1) if one[c] != other[c]})

    repeated = [row for row, count in counts.items() if count > 1]
    related = [any(differ(row, other) == 1 for other in counts) for row in repeated]
    single = 1 - len(repeated) / len(counts) if len(counts) <= FEW_ROWS else 1.0
    return len(repeated), single, np.mean(related) if related else 0.0


@given(
    seed=st.integers(0, 10**6), attributes=st.integers(1, 5), values=st.integers(2, 5),
    rows=st.integers(2, 80), shared=st.booleans(),
)  # fmt: skip
def test_strangers_are_those_without_relatives(seed, attributes, values, rows, shared):
    rng = np.random.default_rng(seed)
    plain = source_of(rng.integers(values, size=(attributes, rows)), rng.integers(3, size=rows))
    owners = np.arange(attributes) // 2 if shared else None
    source = draw(
        ArraySource(plain.codes, plain.labels, 3, plain.cardinalities, attributes=owners), 2 * rows
    )
    identical = find_identical(source)
    repeated, single, share = naive_relatives(source)
    expected = repeated >= TOO_FEW and single >= SINGLE and share < RELATED
    assert are_strangers(source, identical, np.bincount(identical.numbers)) == expected


# What becomes of the rows.


@pytest.mark.parametrize(
    "copied",
    [
        repeat(wide(), 2),
        repeat(wide(), np.where(wide().labels == 1, 5, 1)),
        draw(wide(), 600),
        draw(wide(), 2400),
        repeat(every_combination(), 3),
        repeat(wide(), 1 + (np.arange(300) % 4 == 0)),
    ],
    ids=["twice", "balanced", "drawn", "drawn often", "combinations", "a quarter"],
)
def test_copies_are_one_row_of_their_weight(copied):
    merged = merge_copies(copied)
    expected = count_rows(copied)
    assert merged.n_rows == len(expected) < copied.n_rows
    rows = map(bytes, np.vstack([merged.codes, merged.labels]).T)
    assert dict(zip(rows, merged.weights, strict=True)) == expected


def indicators(rows=4000, values=12, seed=0):
    """Return the indicators of one category: rows of two values differ in two columns."""
    rng = np.random.default_rng(seed)
    category = rng.integers(values, size=rows)
    return source_of(
        np.eye(values, dtype=int)[category].T, (category + rng.integers(4, size=rows)) // 8
    )


@pytest.mark.parametrize(
    "source",
    [wide(), every_combination(), main_effects(), draw(every_combination(), 200), indicators()],
    ids=["none", "combinations", "dense", "drawn", "indicators"],
)
def test_rows_that_are_the_same_by_chance_stay(source):
    assert merge_copies(source) is source


def test_few_copies_stay():
    times = np.ones(1000, int)
    times[: int(1000 * FEW) - 10] = 2
    source = repeat(wide(1000), times)
    assert merge_copies(source) is source


# The choice.


def test_the_choice_for_a_table_twice_over_is_that_for_rows_of_weight_two():
    source = wide(400, 3)
    twice = choose(repeat(source, 2))
    rng = np.random.default_rng(0)
    rows = rng.permutation(np.repeat(np.arange(400), 2))
    _, first = np.unique(rows, return_index=True)
    ordered = source.take(rows[np.sort(first)])
    weighted = source_of(ordered.codes, ordered.labels, np.full(400, 2.0))
    expected = choose(weighted)
    assert twice.n_copies == 400
    assert expected.n_copies == 0
    assert twice.best == expected.best
    np.testing.assert_array_equal(twice.strength, expected.strength)


def test_the_refinement_knows_copies_too(monkeypatch):
    seen = []
    monkeypatch.setattr(automatic, "MAX_ROWS", 300)
    monkeypatch.setattr(
        refinement, "estimate_fit", lambda source, *_, **__: seen.append(source) or Free()
    )
    choose(repeat(wide(1000), 2), depths=(1,))
    assert seen[-1].n_rows == 1000
    assert set(seen[-1].weights) == {2.0}


class Free:
    """A fit that takes for ever, so that none is tried."""

    seconds_per_pass = 1e9


def test_copies_do_not_score_by_counts(monkeypatch):
    asked = []
    monkeypatch.setattr(automatic, "CERTAIN_ROWS", 10)
    monkeypatch.setattr(automatic, "is_sparse", lambda *_: asked.append(1) or False)
    choose(repeat(wide(), 2), depths=(1, 2), counts=True)
    assert not asked
    choose(wide(), depths=(1, 2), counts=True)
    assert asked


def test_threads_make_no_difference():
    source = repeat(wide(), 2)
    with Threads(2) as threads:
        assert threads.count == 2
    one, more = choose(source, family=FAMILY), choose(source, family=FAMILY, n_threads=2)
    assert one.best == more.best
