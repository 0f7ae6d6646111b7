"""Blocks of coded rows."""

import numpy as np
import pytest

from deepbroad.data.source import BLOCK_ROWS, ArraySource, Source


def source(n_rows, n_classes=3, weights=True):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, (2, n_rows)).astype(np.uint8)
    labels = rng.integers(0, n_classes, n_rows)
    return ArraySource(
        codes, labels, n_classes, np.array([4, 4]), np.ones(n_rows) if weights else None
    )


@pytest.mark.parametrize("n_rows", [1, BLOCK_ROWS - 1, BLOCK_ROWS, BLOCK_ROWS + 1, 3 * BLOCK_ROWS])
def test_blocks_join_to_all_rows_in_order(n_rows):
    rows: Source = source(n_rows)
    blocks = list(rows.blocks())
    assert sum(block.labels.shape[0] for block in blocks) == rows.n_rows == n_rows
    np.testing.assert_array_equal(np.hstack([block.codes for block in blocks]), rows.codes)
    np.testing.assert_array_equal(np.hstack([block.labels for block in blocks]), rows.labels)
    assert len(blocks) == -(-n_rows // BLOCK_ROWS)


def test_blocks_are_views():
    rows = source(BLOCK_ROWS + 5)
    for block in rows.blocks():
        assert np.shares_memory(block.codes, rows.codes)
        assert np.shares_memory(block.labels, rows.labels)
        assert np.shares_memory(block.weights, rows.weights)


def test_blocks_can_be_gone_through_again():
    rows = source(10, weights=False)
    assert [block.weights for block in rows.blocks()] == [None]
    assert len(list(rows.blocks())) == 1


@pytest.mark.parametrize(
    ("n_classes", "dtype"), [(1, "u1"), (256, "u1"), (257, "u2"), (70_000, "u4")]
)
def test_labels_have_the_smallest_type(n_classes, dtype):
    assert source(5, n_classes).labels.dtype == dtype


def test_shapes_must_agree():
    codes = np.zeros((2, 5), dtype=np.uint8)
    with pytest.raises(ValueError, match="labels are of shape"):
        ArraySource(codes, np.zeros(4, int), 2, np.ones(2))
    with pytest.raises(ValueError, match="weights are of shape"):
        ArraySource(codes, np.zeros(5, int), 2, np.ones(2), np.ones(4))
    with pytest.raises(ValueError, match="cardinalities"):
        ArraySource(codes, np.zeros(5, int), 2, np.ones(3))


def numbered(n_rows, weights=None, **options):
    codes = np.arange(n_rows, dtype=np.uint16)[None]
    return ArraySource(codes, np.arange(n_rows) % 3, 3, np.array([n_rows]), weights, **options)


def test_rows_are_taken_by_number():
    some = numbered(10, np.arange(10.0)).take(np.array([2, 7]))
    np.testing.assert_array_equal(some.codes, [[2, 7]])
    np.testing.assert_array_equal(some.labels, [2, 1])
    np.testing.assert_array_equal(some.weights, [2.0, 7.0])


def test_rows_are_drawn_once_each_in_order():
    random = np.random.default_rng(0)
    rows = numbered(100).draw(30, random).codes[0].astype(int)
    assert len(rows) == 30
    assert (np.diff(rows) > 0).all()
    whole = numbered(100)
    assert whole.draw(100, random) is whole


def test_only_rows_of_weight_are_drawn():
    random = np.random.default_rng(0)
    weights = np.arange(100) % 2.0
    assert (numbered(100, weights).draw(30, random).codes % 2 == 1).all()
    np.testing.assert_array_equal(
        numbered(100, weights).draw(50, random).codes[0], np.arange(1, 100, 2)
    )


class Elsewhere:
    def empty(self, shape, dtype):
        return np.empty(shape, dtype)


def test_rows_that_are_not_in_memory_are_brought_there():
    source = numbered(20, store=Elsewhere())
    drawn = source.draw(30, np.random.default_rng(0))
    assert not source.resident
    assert drawn.resident
    np.testing.assert_array_equal(drawn.codes, source.codes)
