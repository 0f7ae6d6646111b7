"""What pairs of rows share: the Gram matrix of strengths, by the matches of terms counted once."""

from functools import partial
from math import inf

import numpy as np

from deepbroad.data.source import ArraySource
from deepbroad.engine.cell_list import BLOCK_BYTES, KEPT_BYTES, CellList
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

# More rows, or terms of one kind, than these do not fit the integers of cells and matches.
MOST_NUMBERS = int(np.iinfo(np.uint16).max)
# Nanoseconds to add a number of the matrix to a score, and to match two rows in a term.
ADDITION, MATCH = 0.13, 0.08
# Nanoseconds to find a cell anew in each sweep, where they do not fit (spambase).
UNKEPT = 8.0
# Sweeps that a fit takes, about.
USUAL_SWEEPS = 20
# Fits of a search in each fold by a matrix that all folds share, and by one of its own.
SHARED_FITS, OWN_FITS = 12, 4
# Matrices of a validation beside the matches: one for all folds, those of threads, copies.
MATRICES = 4


class Gram:
    """What pairs of rows share under a plan.

    Parameters
    ----------
    source : ArraySource
        Rows of code columns.
    plan : Plan
    kinds : integer array of shape (n_terms,)
        Terms of one kind have the same strength most of the time: their matches are counted once.
    room : float
        Bytes that a fit over cells would have instead.

    Attributes
    ----------
    cells : ndarray of shape (n_terms, n_rows), uint16
        Cells of rows, numbered within each term.
    """

    def __init__(
        self, source: ArraySource, plan: Plan, kinds: np.ndarray, room: float, threads: Threads
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
        # Whether a matrix for one fit takes no longer than the sweeps of one over cells.
        lookups = USUAL_SWEEPS * lookup_cost(source, plan, room)
        self._is_fast = MATCH * source.n_rows / 2 <= lookups

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
        if not self._is_fast and not self._is_by_kind(strength):
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
    terms, rows = plan.terms, np.arange(source.n_rows)
    listed = CellList(
        group_part(source, plan, threads), rows, plan, np.arange(terms.n_cells), is_kept=False,
        threads=threads,
    )  # fmt: skip
    cells = np.empty((len(terms), len(rows)), np.uint16)
    numbers, counts = np.full(terms.n_cells, -1, np.int32), np.zeros(len(terms), np.int64)
    for block in listed.blocks():
        number_cells(block.cells, block.rows, numbers, counts, cells)
    return cells


def plan_gram(source: ArraySource, plan: Plan, kinds: np.ndarray, room: float) -> bool:
    """Tell whether fits in the space of rows are faster than over cells, and fit in `room` bytes.

    By counts at typical costs, so on any machine the same.
    """
    rows, terms, n_scores = source.n_rows, len(plan.terms), source.n_classes - 1
    alike = np.bincount(kinds)
    if plan.items is not None or n_scores < 1 or max(rows, alike.max()) > MOST_NUMBERS:
        return False
    listed = 2.0 * terms * rows + 8.0 * plan.terms.n_cells + BLOCK_BYTES
    if listed + (2.0 * len(alike) + 4.0 * MATRICES) * rows**2 > room:
        return False
    return ADDITION * rows * n_scores <= terms * lookup_cost(source, plan, inf) + STEP


def search_seconds(
    source: ArraySource, plan: Plan, *, folds: int, room: float, n_threads: int
) -> float:
    """Return about how long a search for strengths takes in the space of rows, at typical costs."""
    rows, terms, n_scores = source.n_rows, len(plan.terms), source.n_classes - 1
    matrix = MATCH * terms * rows**2 / 2
    sweep = rows * (ADDITION * rows * n_scores + STEP)
    lookups = lookup_cost(source, plan, room / folds) * rows * terms
    own = min(matrix + USUAL_SWEEPS * sweep, USUAL_SWEEPS * lookups)
    return (
        1e-9 / n_threads * (matrix + folds * (SHARED_FITS * USUAL_SWEEPS * sweep + OWN_FITS * own))
    )


def lookup_cost(source: ArraySource, plan: Plan, room: float) -> float:
    """Return the nanoseconds that a sweep over cells takes for each row and term, about."""
    terms, rows = plan.terms, float(source.n_rows)
    width = lane_count(source.n_classes - 1)
    cells = min(float(terms.n_cells), rows * len(terms))
    lookup = SWEEP * float(TYPICAL.lookup(cells, width, tables=len(terms), item=4))
    is_kept = 4.0 * rows * len(terms) <= min(room, KEPT_BYTES)
    return lookup if is_kept else lookup + UNKEPT
