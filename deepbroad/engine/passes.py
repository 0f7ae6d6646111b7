"""Full passes over a source: counts, and loss with gradient. Each is a sum over blocks of rows.

Blocks, tiles and private copies never depend on the number of threads, and every sum is taken in
their order or without rounding: so neither the number of threads nor the parts that blocks lie in
change a bit of any result.
"""

import sys
from collections.abc import Sequence
from functools import partial
from math import fsum
from typing import Any, NamedTuple

import numpy as np

from deepbroad.data.source import BLOCK_ROWS, ArraySource, Block, Source
from deepbroad.engine.fused import FusedTables
from deepbroad.engine.scatter import WORTH_THREADS, Scatter, Whole
from deepbroad.kernels.cells import collect_cells, place_cells
from deepbroad.kernels.lookup import TILE, score_rows
from deepbroad.kernels.rounding import quantum_of, round_to
from deepbroad.kernels.threads import Threads, split_range
from deepbroad.kernels.vector import lane_count, lanes_for
from deepbroad.model.loss import LOG_LOSS, Loss
from deepbroad.model.plan import Plan
from deepbroad.model.scores import ScoreTables

# Rows scored at a time.
MIN_ROWS = 16 * TILE
# Look-ups that the loss of a row is like.
LOSS_LOOKUPS = 6
# Below this many look-ups and entries a pass takes a few milliseconds at any precision.
CHEAP_PASS = 1_000_000
# Below this tolerance a solver would follow the rounding of sums in single precision.
EXACT_TOL = 1e-6


def pass_dtype(plan: Plan, rows: int) -> np.dtype:
    """Return float64 where a pass is cheap anyway, float32 where speed and memory count."""
    entries = plan.n_entries + (0 if plan.items is None else plan.items.n_entries)
    cheap = rows * plan.n_tables + entries <= CHEAP_PASS
    return np.dtype(np.float64 if cheap else np.float32)


def count_cells(source: Source, plan: Plan, threads: Threads) -> tuple[np.ndarray, np.ndarray]:
    """Return the weight of each class (C,) and of each cell and class (n_cells, C)."""
    whole = Whole.of(source, threads)
    class_counts, counts = source.reduce(count_part, plan, whole, join=add_counts, threads=threads)
    # Whole numbers up to 2^24 are exact in single precision, and half as large.
    small = not source.is_weighted and source.n_rows < 2**24
    return class_counts, counts.astype(np.float32) if small else counts.copy()


def count_part(
    part: ArraySource, plan: Plan, whole: Whole, threads: Threads
) -> tuple[np.ndarray, np.ndarray]:
    """Count the rows of a part, in double precision: scatter one-hot labels."""
    width = lane_count(part.n_classes)
    scatter = Scatter(plan, whole, width, np.dtype(np.float64), threads)
    scatter.start(part.n_rows)
    quantum, class_counts = quantum_of(whole.weight), np.zeros(part.n_classes)
    one_hot = np.empty((min(part.n_rows, BLOCK_ROWS), width))
    for block in part.blocks():
        rows = len(block.labels)
        weights = 1.0 if block.weights is None else block.weights
        one_hot[:rows] = 0.0
        one_hot[np.arange(rows), block.labels] = weights
        class_counts += round_to(quantum, one_hot[:rows, : part.n_classes].sum(axis=0))
        scatter.add(block, one_hot[:rows].reshape(-1))
    scatter.finish()
    return class_counts, scatter.cells.reshape(-1, width)[:, : part.n_classes]


def add_counts(
    first: tuple[np.ndarray, np.ndarray], second: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the counts of two parts together."""
    return first[0] + second[0], first[1] + second[1]


def score_block(
    block: Block, low: int, high: int, tables: FusedTables, base: np.ndarray, values: np.ndarray
) -> None:
    """Write the scores of rows low..high of a block, `base` and an entry of every table."""
    lanes = lanes_for(tables.width)
    score_rows(block.codes, low, high, tables.plan.index, base, tables.entries, values, lanes)
    if tables.items is not None and block.items is not None:
        tables.items.score(block.items, low, high, values)


def score_source(
    source: ArraySource, model: ScoreTables, chosen: np.ndarray, threads: Threads
) -> np.ndarray:
    """Return the scores (rows, C - 1), relative to class 0, of chosen rows of a coded source."""
    n_scores = model.n_classes - 1
    width = lane_count(n_scores)
    tables = FusedTables(model.plan, width, model.scores.dtype, threads)
    base = np.zeros(width, model.scores.dtype)
    base[:n_scores], tables.cells.reshape(-1, width)[:, :n_scores] = model.relative()
    tables.build()
    found, at = [np.empty((0, n_scores), base.dtype)], 0
    for block in source.blocks():
        rows = len(block.labels)
        values = np.empty((rows, width), base.dtype)
        score_block(block, 0, rows, tables, base, values.reshape(-1))
        found.append(values[chosen[at : at + rows], :n_scores])
        at += rows
    return np.concatenate(found)


class PassDesign(NamedTuple):
    """What a pass over rows needs to know beside them.

    Attributes
    ----------
    plan : Plan
        The fused tables.
    reached : ndarray of shape (n_reached,)
        Cells that are parameters.
    scale : ndarray of shape (n_reached, C)
        s, so that a cell's scores are s·u.
    fixed : ndarray of shape (n_cells, C) or None
        Scores of cells that are no parameters; None means 0.
    dtype : dtype
        float32, or float64 where precision matters more than speed.
    exact : bool
        Whether sums over rows are in double precision where that takes little memory.
    whole : Whole or None
        The rows of all parts together; None if those of a part are for themselves.
    """

    plan: Plan
    reached: np.ndarray
    scale: np.ndarray
    fixed: np.ndarray | None
    dtype: np.dtype
    exact: bool = False
    whole: Whole | None = None


class Sums(NamedTuple):
    """Sums over the rows of a part.

    Attributes
    ----------
    blocks : sequence of arrays of shape (C,)
        Of each block Σ ω·loss and its derivatives by the scores of all classes but the first.
    cells : ndarray of shape (n_reached, C)
        The derivatives by the scores of cells.
    """

    blocks: Sequence[np.ndarray]
    cells: np.ndarray

    def plus(self, other: "Sums") -> "Sums":
        """Return the sums over both parts."""
        return Sums([*self.blocks, *other.blocks], self.cells + other.cells)

    @property
    def loss(self) -> float:
        """Σ ω·loss."""
        return sum_exactly([block[0] for block in self.blocks])

    @property
    def classes(self) -> np.ndarray:
        """The derivatives by the scores of classes (C,)."""
        others = [sum_exactly(column) for column in np.transpose(self.blocks)[1:]]
        return np.array([-sum(others), *others])


def sum_exactly(numbers: Sequence[float]) -> float:
    """Return a sum that does not depend on the order of its terms."""
    return fsum(numbers) if np.isfinite(numbers).all() else float(np.sum(numbers))


class LossPass:
    """Loss and gradient over all rows of a source in the plan's groups, wherever they are.

    `loss` is what rows lose, the log loss unless told.
    """

    def __init__(
        self, source: Source, design: PassDesign, threads: Threads, loss: Loss = LOG_LOSS
    ) -> None:
        self.loss, self._scale = loss, design.scale
        design = design._replace(whole=Whole.of(source, threads))
        self._parts = source.hold(PartPass, design, threads=threads)
        self._is_one_part = isinstance(source, ArraySource)

    def __call__(
        self, class_scores: np.ndarray, parameters: np.ndarray, gradient: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """Return Σ ω·loss and its gradient by class score (C,).

        The gradient by parameter (n_reached, C) goes into `gradient`.
        """
        into = gradient if self._is_one_part else None
        sums = self._parts.reduce(class_scores, parameters, self.loss, into, join=Sums.plus)
        if into is None:
            np.multiply(sums.cells, self._scale, out=gradient)
        return sums.loss, sums.classes


class PartPass:
    """Loss and gradient over the rows of a part, for given class scores and cell parameters."""

    def __init__(self, source: ArraySource, design: PassDesign, threads: Threads) -> None:
        plan, self.reached, self.scale, fixed, dtype, exact, whole = design
        self.source, self.plan, self.threads = source, plan, threads
        self._design = design
        self.n_scores = source.n_classes - 1
        self.width = lane_count(self.n_scores)
        self.tables = FusedTables(plan, self.width, dtype, threads)
        if fixed is not None:
            relative = self.tables.cells.reshape(-1, self.width)[:, : self.n_scores]
            np.subtract(fixed[:, 1:], fixed[:, :1], out=relative)
        whole = whole or Whole.of(source, threads)
        self.scatter = Scatter(plan, whole, self.width, dtype, threads, exact=exact)
        rows = min(source.n_rows, BLOCK_ROWS)
        parts = threads.count if self.scale.size > WORTH_THREADS else 1
        self._ranges = split_range(len(self.reached), parts, MIN_ROWS)
        self._values = np.zeros(rows * self.width, dtype)
        self._ones = np.ones(rows)
        self._partial = np.empty((-(-rows // TILE), 1 + self.n_scores))

    def __call__(
        self,
        class_scores: np.ndarray,
        parameters: np.ndarray,
        loss: Loss,
        gradient: np.ndarray | None = None,
    ) -> Sums:
        """Return the sums over the rows; with `gradient`, its cells are derivatives by parameter.

        Without it they are by score, to be scaled once parts are joined, since products are
        rounded; and in an array of their own, which no further call overwrites.
        """
        scale = self.scale
        if gradient is None:
            gradient, scale = np.empty(scale.shape), np.broadcast_to(np.ones(1), scale.shape)
        self.threads.run(
            [
                partial(
                    place_cells, a, b, self.reached, self.scale, parameters,
                    self.tables.cells, self.width,
                )
                for a, b in self._ranges
            ]
        )  # fmt: skip
        self.tables.build()
        self.scatter.start(self.source.n_rows)
        base = np.zeros(self.width, self._values.dtype)
        with np.errstate(over="ignore"):  # of a step that went too far: its loss will tell
            base[: self.n_scores] = class_scores[1:] - class_scores[0]
        blocks = [self._run_block(block, base, loss) for block in self.source.blocks()]
        self.scatter.finish()
        self.threads.run(
            [
                partial(
                    collect_cells, a, b, self.reached, scale,
                    self.scatter.cells, gradient, self.width,
                )
                for a, b in self._ranges
            ]
        )  # fmt: skip
        return Sums(blocks, gradient)

    def __reduce__(self) -> tuple[Any, ...]:
        # On a cluster, work may move: what it was made from, not its buffers, and no threads.
        return PartPass, (self.source, self._design, Threads(1))

    def __sizeof__(self) -> int:
        held = self.tables.cells.nbytes + self.tables.entries.nbytes + self.scatter.nbytes
        return sys.getsizeof(self.source) + self._values.nbytes + held

    def _run_block(self, block: Block, base: np.ndarray, loss: Loss) -> np.ndarray:
        """Score a block's rows, take their loss and scatter their residuals; return the sums."""
        rows = len(block.labels)
        weights = self._ones if block.weights is None else block.weights
        lookups = rows * (self.plan.n_tables + LOSS_LOOKUPS)
        busy = block.items is not None or lookups > WORTH_THREADS
        parts = self.threads.count if busy else 1
        self.threads.run(
            [
                partial(self._residuals, block, weights, base, loss, a, b)
                for a, b in split_range(rows, parts, TILE)
            ]
        )
        self.scatter.add(block, self._values[: rows * self.width])
        sums: np.ndarray = self._partial[: -(-rows // TILE)].sum(axis=0)
        return sums

    def _residuals(
        self,
        block: Block,
        weights: np.ndarray,
        base: np.ndarray,
        loss: Loss,
        start: int,
        stop: int,
    ) -> None:
        """Write the residuals of rows start..stop of a block, and their sums by tile."""
        # A few tiles at a time, so that their scores are still in the cache for the loss, unless
        # that has entries of items to keep.
        items = self.tables.items
        is_banded = items is not None and block.items is not None and items.is_banded(block.items)
        step = max(stop - start, 1) if is_banded else MIN_ROWS
        for low in range(start, stop, step):
            high = min(low + step, stop)
            values = self._values[low * self.width : high * self.width]
            lanes = lanes_for(self.width)
            score_block(block, low, high, self.tables, base, values)
            loss.rows(values, low, high, block.labels, weights, self.n_scores, self._partial, lanes)
