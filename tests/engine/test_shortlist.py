"""Shortlists of tuples, on data where some are known to tell more than others."""

from math import comb

import numpy as np
import pytest

from deepbroad.data.source import ArraySource
from deepbroad.engine import shortlist
from deepbroad.engine.shortlist import draw_shortlist, draw_tiled
from deepbroad.kernels.threads import Threads

NONE_HELD = np.empty(0, np.int64)


def draw(source, order=2, count=3, held=NONE_HELD, n_threads=1):
    with Threads(n_threads) as threads:
        return [tuple(t) for t in draw_shortlist(source, held, order, count, threads).tolist()]


def source_of(codes, labels, attributes=None):
    codes = np.asarray(codes, np.uint8)
    cardinalities = codes.max(axis=1).astype(int) + 1
    return ArraySource(codes, labels, 2, cardinalities, None, attributes=attributes)


def planted(rows=800, attributes=8):
    """Classes that follow from attributes 1 and 4 together, and somewhat from 2 and 6."""
    rng = np.random.default_rng(0)
    codes = rng.integers(2, size=(attributes, rows))
    labels = codes[1] ^ codes[4]
    some = rng.random(rows) < 0.3
    labels[some] = (codes[2] ^ codes[6])[some]
    return source_of(codes, labels)


def test_tuples_that_tell_more_than_their_parts_come_first():
    assert draw(planted(), count=1) == [(1, 4)]
    assert draw(planted(), count=2) == [(1, 4), (2, 6)]


def test_tuples_are_ascending_and_none_comes_twice():
    found = draw(planted(), count=10)
    assert found == sorted(set(found))
    assert all(a < b for a, b in found)


def test_what_tells_nothing_beyond_its_parts_is_left_out():
    rng = np.random.default_rng(1)
    codes = rng.integers(2, size=(4, 4000))
    found = draw(source_of(codes, codes[0]), count=6)
    assert len(found) < 6


def test_held_rows_are_not_looked_at():
    source = planted()
    held = np.arange(0, 800, 3)
    before = draw(source, count=5, held=held)
    labels = np.array(source.labels)
    labels[held] = 1 - labels[held]
    turned = source_of(source.codes, labels)
    assert draw(turned, count=5, held=held) == before
    assert draw(turned, count=1) == [(1, 4)]


def test_triples():
    rng = np.random.default_rng(2)
    codes = rng.integers(2, size=(6, 1000))
    assert draw(source_of(codes, codes[0] ^ codes[3] ^ codes[5]), order=3, count=1) == [(0, 3, 5)]


def test_an_attribute_with_several_columns_is_one():
    source = planted()
    numbers = np.repeat(source.codes[:, None], 3, axis=1)
    found = source_of(numbers.reshape(24, -1), source.labels, np.repeat(np.arange(8), 3))
    assert draw(found, count=2) == [(1, 4), (2, 6)]


def test_of_many_attributes_those_that_tell_most_are_looked_at(monkeypatch):
    monkeypatch.setattr(shortlist, "MAX_SCORED", comb(4, 2))
    rng = np.random.default_rng(3)
    codes = rng.integers(2, size=(9, 2000))
    labels = np.where(rng.random(2000) < 0.5, codes[2] & codes[7], codes[5] | codes[0])
    found = draw(source_of(codes, labels), count=100)
    assert found
    assert {i for pair in found for i in pair} <= {0, 2, 5, 7}


@pytest.mark.parametrize("n_threads", [2, 3])
def test_threads_change_nothing(n_threads):
    assert draw(planted(), count=10, n_threads=n_threads) == draw(planted(), count=10)


# Attributes whose tuples are tiled.


def numbers(rows=1500, attributes=8):
    """Columns of four fine bins and coarser ones each; classes by 1, 4 and 6 together."""
    rng = np.random.default_rng(2)
    fine = rng.integers(4, size=(attributes, rows))
    places = np.array([[bins // 2, (bins + 1) // 2, bins] for bins in fine])
    places = places.reshape(-1, rows)
    labels = (fine[1] // 2) ^ (fine[4] // 2) ^ (rng.random(rows) < 0.2)
    labels = np.where(fine[6] == 3, 1, labels)
    return source_of(places, labels, np.repeat(np.arange(attributes), 3))


def tile(source, most, order=3, redundant=None, held=NONE_HELD):
    count = len(np.unique(source.attributes))
    redundant = np.zeros((count, count), bool) if redundant is None else redundant
    with Threads(1) as threads:
        return [
            tuple(t) for t in draw_tiled(source, held, order, most, redundant, threads).tolist()
        ]


def test_tiled_are_all_tuples_of_the_attributes_that_tell_most():
    assert tile(numbers(), 3) == [(1, 4, 6)]
    assert len(tile(numbers(), 4)) == 4
    assert tile(numbers(), 2) == []


def test_tiled_tuples_have_two_numbers_and_no_redundant_pair():
    redundant = np.zeros((8, 8), bool)
    redundant[1, 6] = redundant[6, 1] = True
    assert (1, 4, 6) not in tile(numbers(), 8, redundant=redundant)
    assert (1, 4, 6) in tile(numbers(), 8)
    # Halves alone are categories.
    source = numbers()
    one_number = np.r_[[3 * i for i in range(7)], 21:24]
    owners = np.r_[np.arange(7), [7] * 3]
    few = source_of(np.asarray(source.codes)[one_number], source.labels, owners)
    assert tile(few, 8) == []
