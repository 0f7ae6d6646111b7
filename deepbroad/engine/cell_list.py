"""Which cells rows reach, row by row: kept, or listed again block by block."""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from deepbroad.data.source import ArraySource
from deepbroad.kernels.dual import list_compact, list_dense
from deepbroad.kernels.threads import Threads
from deepbroad.model.plan import Plan
from deepbroad.model.terms import NONE

# Bytes of a list that is kept at most.
KEPT_BYTES = float(1 << 29)
# Bytes of the cells of a block, and how many rows next to each other are always in the same block:
# codes are laid out by column, so that these are read at once.
BLOCK_BYTES = 1 << 23
TILE = 64


class Block(NamedTuple):
    """Some rows, (n,), and the cell of each term that they reach, (n, n_terms) int32."""

    rows: np.ndarray
    cells: np.ndarray


class CellList:
    """The cells of rows.

    Parameters
    ----------
    source : ArraySource
        Rows coded in the plan's groups.
    rows : integer array
        Those that are listed; blocks number them from 0 on.
    plan : Plan
    reached : integer array
        The cells that have a number, in ascending order: every cell of every listed row.
    is_kept : bool
        Whether the list of all rows is kept, as one block.
    """

    def __init__(
        self,
        source: ArraySource,
        rows: np.ndarray,
        plan: Plan,
        reached: np.ndarray,
        *,
        is_kept: bool,
        threads: Threads,
    ) -> None:
        terms = plan.terms
        self._source, self._rows, self._terms, self._threads = source, rows, terms, threads
        self._numbers = np.zeros(terms.n_cells, np.int32)
        self._numbers[reached] = np.arange(len(reached), dtype=np.int32)
        self._shared = [group for group in plan.groups if not group.compact]
        self._dense = np.flatnonzero(~terms.is_compact)
        self._compact = np.flatnonzero(terms.is_compact)
        shapes, members = terms.shapes[self._dense], terms.members[self._dense]
        after = np.cumprod(shapes[:, ::-1], axis=1)[:, ::-1]
        self._members = np.maximum(members, 0)
        self._strides = np.where(members == NONE, 0, after // shapes)
        self._kept = self._list(np.arange(len(rows))) if is_kept else None

    def blocks(self, random: np.random.Generator | None = None) -> Iterator[Block]:
        """Yield all rows, block by block; with `random`, blocks of rows from everywhere."""
        if self._kept is not None:
            yield self._kept
            return
        tiles = np.arange(0, len(self._rows), TILE)
        if random is not None:
            random.shuffle(tiles)
        size = max(1, BLOCK_BYTES // (4 * len(self._terms) * TILE))
        for first in range(0, len(tiles), size):
            rows = (tiles[first : first + size, None] + np.arange(TILE)).ravel()
            yield self._list(rows[rows < len(self._rows)])

    def _list(self, numbers: np.ndarray) -> Block:
        """Return the block of some rows."""
        cells = np.empty((len(numbers), len(self._terms)), np.int32)
        step = -(-len(numbers) // self._threads.count) or 1
        parts = [slice(low, low + step) for low in range(0, len(numbers), step)]
        self._threads.run(
            [partial(self._fill, self._rows[numbers[part]], cells[part]) for part in parts]
        )
        return Block(numbers, cells)

    def _fill(self, rows: np.ndarray, cells: np.ndarray) -> None:
        """Write the cells of some rows of the source."""
        terms, source = self._terms, self._source
        if len(self._dense):
            codes = np.zeros((len(terms.cardinalities), len(rows)), np.int32)
            for group, joint in zip(self._shared, source.codes, strict=False):
                own = joint[rows]
                for column, digits in zip(group.columns, group.digits, strict=True):
                    codes[column] = digits[own]
            list_dense(
                codes, self._members, self._strides, terms.offsets[self._dense], self._dense,
                self._numbers, cells,
            )  # fmt: skip
        if len(self._compact):
            list_compact(
                source.codes, len(self._shared), rows, terms.offsets[self._compact],
                self._compact, self._numbers, cells,
            )  # fmt: skip
