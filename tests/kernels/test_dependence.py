"""Averages over parent sets, and lifts, against loops that say what they are."""

import numpy as np
import pytest

from deepbroad.kernels import dependence
from deepbroad.kernels.dependence import (
    LEFT_OUT,
    NOTHING,
    Joints,
    Lookups,
    average_rows,
    lift_cells,
    merge_scores,
)
from deepbroad.kernels.lookup import TableIndex
from deepbroad.kernels.vector import lanes_for

pytestmark = pytest.mark.uncompiled

SIZES = np.array([3, 2, 4])
PAIRS = np.array([[0, 1], [0, 2], [1, 2]])


def tables_of(columns, rows, width, dtype, rng):
    """Return look-ups of random tables that join some of three columns."""
    codes = np.stack([rng.integers(v, size=rows) for v in SIZES]).astype(np.uint8)
    sizes = SIZES[columns]
    strides = np.cumprod(np.hstack([sizes[:, 1:], np.ones((len(sizes), 1), int)])[:, ::-1], axis=1)
    counts = sizes.prod(axis=1)
    offsets = np.cumsum(counts) - counts
    entries = rng.normal(size=counts.sum() * width).astype(dtype)
    return Lookups(codes, TableIndex(columns, strides[:, ::-1].copy(), offsets), entries)


def entry_of(look_ups, table, row):
    members = look_ups.places.members[table]
    place = look_ups.places.strides[table] @ look_ups.codes[members, row].astype(int)
    return int(look_ups.places.offsets[table] + place)


def average_naively(parents, enough, joints, tables, singles, known, width):
    """Return the log of the sum over parent sets, row by row and lane by lane."""
    rows = parents.codes.shape[1]
    values = np.full((rows, width), NOTHING)
    for r in range(rows):
        scores = []
        for p, children in enumerate(joints.children):
            parent = entry_of(parents, p, r)
            if not enough[parent]:
                continue
            score = (1 - known[r]) * parents.entries.reshape(-1, width)[parent].astype(float)
            for table in children:
                entry = entry_of(tables, table, r)
                score = score + tables.entries.reshape(-1, width)[entry]
                if entry == joints.shared[table]:
                    for column in joints.members[table]:
                        single = entry_of(singles, column, r)
                        score = score - singles.entries.reshape(-1, width)[single]
            scores.append(score)
        if scores:
            values[r] = np.logaddexp.reduce(scores, axis=0)
    return values


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 4, 32])
def test_rows_are_averaged_over_their_parent_sets(width, dtype):
    rng = np.random.default_rng(0)
    rows, start = 30, 5
    singles = tables_of(np.arange(3)[:, None], rows, width, dtype, rng)
    parents = tables_of(np.arange(3)[:, None], rows, width, dtype, rng)
    tables = tables_of(PAIRS, rows, width, dtype, rng)
    parents, tables = parents._replace(codes=singles.codes), tables._replace(codes=singles.codes)
    enough = ~np.isin(np.arange(SIZES.sum()), [0, 1, 3, 5, 6])
    shared = np.array([-1, entry_of(tables, 1, 7), -1])
    joints = Joints(np.array([[0, 1], [0, 2], [1, 2]]), shared, PAIRS)
    known = rng.integers(0, 3, rows)
    values = np.empty((rows - start) * width, dtype)
    lanes = lanes_for(width)
    average_rows(start, rows, parents, enough, joints, tables, singles, known, values, lanes)
    expected = average_naively(parents, enough, joints, tables, singles, known, width)[start:]
    assert set((expected == NOTHING).all(axis=1)) == {True, False}
    found = values.reshape(-1, width)
    served = expected > NOTHING
    np.testing.assert_array_equal(found[~served], dtype(NOTHING))
    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(found[served], expected[served], atol=tolerance)


def test_more_rows_than_fit_at_once_score_the_same():
    rng = np.random.default_rng(1)
    rows = 2 * dependence.ROWS + 3
    singles = tables_of(np.arange(3)[:, None], rows, 2, np.float64, rng)
    tables = tables_of(PAIRS, rows, 2, np.float64, rng)._replace(codes=singles.codes)
    joints = Joints(np.array([[0, 1], [0, 2], [1, 2]]), np.full(3, -1), PAIRS)
    enough, known = np.ones(SIZES.sum(), bool), np.full(rows, 2)
    values = np.empty(rows * 2)
    average_rows(0, rows, singles, enough, joints, tables, singles, known, values, lanes_for(2))
    few = np.r_[0:2, dependence.ROWS - 2 : dependence.ROWS + 2, rows - 2 : rows]
    chosen = [look._replace(codes=singles.codes[:, few]) for look in (singles, tables)]
    expected = average_naively(chosen[0], enough, joints, chosen[1], chosen[0], known[few], 2)
    np.testing.assert_allclose(values.reshape(-1, 2)[few], expected, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_merged_scores_are_sums_of_exponentials_in_any_order(dtype):
    scores = np.array([[-500.0, 3.0, LEFT_OUT], [-499.0, 1.0, LEFT_OUT], [-520.0, 3.5, -7.0]])
    expected = np.logaddexp.reduce(np.maximum(scores, -1e6), axis=0)
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        largest, totals = np.full(3, NOTHING, dtype), np.zeros(3, dtype)
        ahead, powers = np.empty(3, bool), np.empty(3, np.int32)
        for k in order:
            merge_scores(scores[k].astype(dtype), 3, largest, totals, ahead, powers)
        np.testing.assert_allclose(largest + np.log(totals), expected, rtol=1e-6)


def test_lifts_are_cells_less_their_single_values():
    rng = np.random.default_rng(2)
    members, shapes = np.array([[2, 0], [0, 1]]), np.array([[4, 3], [3, 2]])
    first = np.concatenate([[0], np.cumsum(SIZES)])
    single, cells = rng.normal(size=(SIZES.sum(), 3)), rng.normal(size=(20, 3))
    found = cells.copy()
    # Two cells before each term belong to none.
    lift_cells(members, shapes, np.array([[2, 14], [14, 20]]), first, single, found)
    np.testing.assert_array_equal(found[:2], cells[:2])
    one, two, three = (single[first[c] : first[c + 1]] for c in range(3))
    expected = cells[2:14].reshape(4, 3, 3) - three[:, None] - one[None]
    np.testing.assert_allclose(found[2:14].reshape(4, 3, 3), expected)
    expected = cells[14:].reshape(3, 2, 3) - one[:, None] - two[None]
    np.testing.assert_allclose(found[14:].reshape(3, 2, 3), expected)
