"""What pairs of rows share: the Gram matrix of strengths, by the matches of terms counted once."""

from functools import partial

import numpy as np

from deepbroad.data.source import ArraySource
from deepbroad.engine.cell_list import CellList
from deepbroad.engine.dual import STEP, SWEEP
from deepbroad.engine.planning import group_part
from deepbroad.kernels.gram import (
    TILE_ROWS,
    add_matches,
    join_grams,
    mirror_gram,
    number_cells,
)
from deepbroad.kernels.threads import Threads, split_range
from deepbroad.kernels.vector import lane_count
from deepbroad.model.cost import TYPICAL
from deepbroad.model.plan import Plan

# More terms of one kind than these do not fit the integers that count matches.
MOST_ALIKE = int(np.iinfo(np.uint16).max)
# Nanoseconds to add a number of the matrix to a score.
ADDITION = 0.13
# Matrices of a validation beside the matches: one for all folds, those of threads, copies.
MATRICES = 4
# In more rows than these, a matrix for each fold takes longer than sweeps over its cells.
MOST_OWN = 1_000


class Gram:
    """What pairs of rows share under a plan.

    Parameters
    ----------
    source : ArraySource
        Rows of code columns.
    plan : Plan
    kinds : integer array of shape (n_terms,)
        Terms of one kind have the same strength most of the time: their matches are counted once.

    Attributes
    ----------
    cells : ndarray of shape (n_terms, n_rows), int32
        Cells of rows, numbered within each term.
    """

    def __init__(
        self, source: ArraySource, plan: Plan, kinds: np.ndarray, threads: Threads
    ) -> None:
        self.cells = list_own_cells(source, plan, threads)
        self._is_telling = plan.terms.spaces > 1
        self._kinds, self._threads = kinds, threads
        self._firsts = np.unique(kinds, return_index=True)[1]
        shape = len(self._firsts), source.n_rows, source.n_rows
        self._matches = np.zeros(shape, np.uint16)
        for kind, matches in enumerate(self._matches):
            chosen = kinds == kind
            values = self._is_telling[chosen].astype(np.uint16)
            fill_gram(self.cells[chosen], values, matches, threads)
        self._latest: tuple[np.ndarray, np.ndarray] | None = None

    def inverse(self, strength: np.ndarray) -> np.ndarray:
        """Return 1/λ of each term; the one cell of a term without values to tell has no score."""
        return np.where(self._is_telling, 1.0 / strength, 0.0).astype(np.float32)

    def prepare(self, strength: np.ndarray) -> None:
        """Make the matrix of strengths that several folds will ask for."""
        if self._latest is not None:
            known, gram = self._latest
            ratio = known[0] / strength[0]
            if np.allclose(known, strength * ratio, rtol=1e-12, atol=0.0):
                self._latest = strength, gram * np.float32(ratio)
                return
        self._latest = strength, self._of(strength, self._threads)

    def find(self, strength: np.ndarray) -> np.ndarray | None:
        """Return the matrix of strengths, (n, n) float32; None if cells had better be used."""
        if self._latest is not None and strength is self._latest[0]:
            return self._latest[1]
        if self.cells.shape[1] > MOST_OWN and not self._is_by_kind(strength):
            return None
        return self._of(strength, Threads(1))

    def _is_by_kind(self, strength: np.ndarray) -> bool:
        return np.array_equal(strength[self._firsts][self._kinds], strength)

    def _of(self, strength: np.ndarray, threads: Threads) -> np.ndarray:
        gram = np.zeros(self._matches.shape[1:], np.float32)
        if not self._is_by_kind(strength):
            fill_gram(self.cells, self.inverse(strength), gram, threads)
            return gram
        inverse = (1.0 / strength[self._firsts]).astype(np.float32)
        threads.run(
            [
                partial(join_grams, self._matches, inverse, *part, gram)
                for part in split_range(len(gram), threads.count)
            ]
        )
        return gram


def fill_gram(cells: np.ndarray, values: np.ndarray, gram: np.ndarray, threads: Threads) -> None:
    """Add the values of the terms in which rows match to a matrix of zeros."""
    # Later rows have fewer columns left to them: more parts than threads.
    parts = split_range(len(gram), 4 * threads.count, TILE_ROWS)
    threads.run([partial(add_matches, cells, values, *part, gram) for part in parts])
    mirror_gram(gram)


def list_own_cells(source: ArraySource, plan: Plan, threads: Threads) -> np.ndarray:
    """Return the cell of each row, numbered within each term by first appearance, (n_terms, n)."""
    n_cells = plan.terms.n_cells
    listed = CellList(
        group_part(source, plan, threads), np.arange(source.n_rows), plan, np.arange(n_cells),
        is_kept=True, threads=threads,
    )  # fmt: skip
    cells = np.ascontiguousarray(next(listed.blocks()).cells.T)
    number_cells(cells, np.full(n_cells, -1, np.int32))
    return cells


def plan_gram(source: ArraySource, plan: Plan, kinds: np.ndarray, room: float) -> bool:
    """Tell whether fits in the space of rows are faster than over cells, and fit in `room` bytes.

    By counts at typical costs, so on any machine the same.
    """
    rows, terms, n_classes = source.n_rows, len(plan.terms), source.n_classes
    alike = np.bincount(kinds)
    if plan.items is not None or n_classes < 2 or alike.max() > MOST_ALIKE:
        return False
    listed = 8.0 * terms * rows + 8.0 * plan.terms.n_cells
    if listed + (2.0 * len(alike) + 4.0 * MATRICES) * rows**2 > room:
        return False
    width = lane_count(n_classes - 1)
    cells = min(float(plan.terms.n_cells), float(rows) * terms)
    lookup = TYPICAL.lookup(cells, width, tables=terms, item=4)
    return ADDITION * rows * (n_classes - 1) <= SWEEP * float(lookup) * terms + STEP
