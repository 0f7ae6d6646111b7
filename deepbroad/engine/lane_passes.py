"""Passes over the same rows for several fits at once, which weigh rows differently.

One look-up serves the scores of all fits. So the fits of K validation folds take little more time
than one.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from deepbroad.data.source import ArraySource
from deepbroad.engine.fused import FusedTables
from deepbroad.engine.passes import score_block
from deepbroad.engine.scatter import Scatter, Whole
from deepbroad.kernels.folds import CHUNK, collect_lanes, curve_rows, lose_rows, place_lanes
from deepbroad.kernels.threads import Threads, split_range
from deepbroad.kernels.vector import lane_count
from deepbroad.model.plan import Plan

FLOAT = np.dtype(np.float32)
# Rows, and scores of cells, from which work is shared out to threads.
WORTH_THREADS = 4096
WORTH_CELLS = 1 << 17


class Vector(NamedTuple):
    """Scores of all fits relative to the first class, or a vector of their shape.

    Attributes
    ----------
    classes : ndarray of shape (n_lanes,)
    cells : ndarray of shape (n_reached, n_lanes)
    """

    classes: np.ndarray
    cells: np.ndarray

    def copy(self) -> "Vector":
        """Return a vector of its own memory."""
        return Vector(self.classes.copy(), self.cells.copy())


class LanePasses:
    """Scores, losses and sums over rows, under the models of K fits.

    Parameters
    ----------
    source : ArraySource
        Rows in the groups of the plan.
    trained : ndarray of shape (n, K), float32
        The weight of each row in each fit.

    Attributes
    ----------
    terms : Terms
        The tables, in the order of the plan.
    reached : ndarray of shape (n_reached,)
        The cells that rows of some weight reach.
    weights : ndarray of shape (n_reached,)
        Their mean weight over fits.
    table_of : ndarray of shape (n_reached,)
    bounds : ndarray of shape (n_tables + 1,)
        The first reached cell of each table.
    shares : ndarray of shape (n, n_lanes)
        Probabilities of all classes but the first, as last computed.
    losses : ndarray of shape (n, K)
    values : ndarray of shape (n, width)
        What is summed by cell next.
    count : int
        Passes so far.
    """

    def __init__(
        self, source: ArraySource, plan: Plan, trained: np.ndarray, threads: Threads
    ) -> None:
        self._source, self.trained, self._threads = source, trained, threads
        self.n_scores, self.n_folds = source.n_classes - 1, trained.shape[1]
        self.n_lanes = self.n_folds * self.n_scores
        self.width = lane_count(self.n_lanes)
        self.terms, self.labels = plan.terms, source.labels
        self._tables = FusedTables(plan, self.width, FLOAT, threads)
        whole = Whole.of(source, threads)
        self._scatter = Scatter(plan, whole, self.width, FLOAT, threads)
        n_rows = source.n_rows
        self.values = np.zeros((n_rows, self.width), FLOAT)
        self.shares = np.zeros((n_rows, self.n_lanes), FLOAT)
        self.losses = np.zeros((n_rows, self.n_folds))
        parts = threads.count if n_rows >= WORTH_THREADS else 1
        self._ranges = split_range(n_rows, parts, 512)
        self.count = 0
        self._count_cells()

    def _count_cells(self) -> None:
        """Find the cells that rows reach, their weights, and the tables they belong to."""
        self.values[:, 0] = self.trained.sum(axis=1)
        cells = self._sum_cells()
        self.reached = np.flatnonzero(cells[:, 0] > 0).astype(np.int32)
        self.weights = cells[self.reached, 0] / self.n_folds
        self.bounds = np.searchsorted(self.reached, self.terms.offsets)
        self.table_of = np.repeat(np.arange(len(self.terms)), np.diff(self.bounds))
        parts = self._threads.count if len(self.reached) * self.n_lanes >= WORTH_CELLS else 1
        self._cell_ranges = split_range(len(self.reached), parts, CHUNK)

    def score(self, point: Vector, into: np.ndarray) -> None:
        """Write the scores of rows, (n, width)."""
        self.run_cells(place_lanes, self.reached, point.cells, self._tables.cells, self.width)
        self._tables.build()
        base = np.zeros(self.width, FLOAT)
        base[: self.n_lanes] = point.classes
        at = 0
        for block in self._source.blocks():
            count = len(block.labels)
            values = into[at : at + count]
            parts = self._threads.count if count >= WORTH_THREADS else 1
            self._threads.run(
                [
                    partial(score_block, block, low, high, self._tables, base,
                            values[low:high].reshape(-1))
                    for low, high in split_range(count, parts, 512)
                ]
            )  # fmt: skip
            at += count
        self.count += 1

    def gather(self) -> Vector:
        """Return the sums of values by class term and reached cell."""
        self._sum_cells()
        found = np.empty((len(self.reached), self.n_lanes), FLOAT)
        self.run_cells(collect_lanes, self.reached, self._scatter.cells, self.width, found)
        return Vector(self.values[:, : self.n_lanes].sum(axis=0, dtype=np.float64), found)

    def _sum_cells(self) -> np.ndarray:
        """Return the sums of values by cell, (n_cells, width)."""
        self._scatter.start(self._source.n_rows)
        at = 0
        for block in self._source.blocks():
            count = len(block.labels)
            self._scatter.add(block, self.values[at : at + count].reshape(-1))
            at += count
        self._scatter.finish()
        return self._scatter.cells.reshape(-1, self.width)

    def lose(self, scores: np.ndarray) -> None:
        """Let shares and losses be those of scores, and values the derivatives."""
        labels, trained = self.labels, self.trained
        self._run_rows(lose_rows, scores, labels, trained, self.shares, self.losses, self.values)

    def curve(self, scores: np.ndarray) -> None:
        """Let values be the Hessian's product with the scores of a direction, at the shares."""
        self._run_rows(curve_rows, scores, self.trained, self.shares, self.values)

    def curvature(self) -> Vector:
        """Return the diagonal of H at the shares of rows; values stay as they are."""
        kept = self.values.copy()
        trained = np.repeat(self.trained, self.n_scores, axis=1)
        self.values[:, : self.n_lanes] = trained * self.shares * (1.0 - self.shares)
        found = self.gather()
        self.values[:] = kept
        return found

    def training_losses(self) -> np.ndarray:
        """Return the sums of losses by fold, (K,)."""
        return np.einsum("rk,rk->k", self.losses, self.trained, dtype=np.float64)

    def _run_rows(self, kernel: Callable[..., None], scores: np.ndarray, *rest: Any) -> None:
        self._threads.run([partial(kernel, scores, a, b, *rest) for a, b in self._ranges])

    def run_cells(self, kernel: Callable[..., None], *arguments: Any) -> None:
        """Run a kernel over ranges of reached cells."""
        self._threads.run([partial(kernel, a, b, *arguments) for a, b in self._cell_ranges])
