"""Mini-batches of a source: loss and gradient over random tiles of its rows, and held-out rows.

A tile is a few consecutive rows, read at once from memory or a mapped file; a batch is many tiles
from everywhere, since rows may be sorted by class. Every pass deals out all tiles anew. Which rows
are in a batch depends on the seed, the number of rows and counts of work, never on threads or time.
"""

from functools import cached_property
from typing import NamedTuple

import numpy as np

from deepbroad.data.source import ArraySource, RowItems, Source
from deepbroad.engine.passes import PartPass, PassDesign, Sums
from deepbroad.engine.workload import count_building
from deepbroad.kernels.steps import Pull
from deepbroad.kernels.threads import Threads
from deepbroad.kernels.vector import lane_count
from deepbroad.model.cost import TYPICAL
from deepbroad.model.loss import LOG_LOSS, Loss
from deepbroad.model.objective import Design, Objective

# Tiles of a batch, and rows of a tile at most.
TILES = 64
MAX_TILE = 1024
# Work of a batch that is not on its rows may take as long as half of that on its rows: a third.
OVERHEAD = 0.5
# But a pass has so many batches at least, if they have so many rows each: the number of steps is
# what counts, and such a pass is still far cheaper than the passes that it spares.
LEAST_BATCHES = 48
LEAST_ROWS = 256
# One row in so many is held out, up to a number of rows; with fewer rows than this, none.
HELD_SHARE = 20
MOST_HELD = 20_000
FEWEST_ROWS = 5_000
# The number by which `PartBatches` knows the held-out rows.
HELD = -1


def choose_batches(source: Source, design: PassDesign) -> int:
    """Return how many batches a pass has, by counts of work at typical costs."""
    plan, n_scores = design.plan, source.n_classes - 1
    width, item = lane_count(n_scores), design.dtype.itemsize
    lookup = float(TYPICAL.lookup(plan.n_entries, width, tables=max(plan.n_tables, 1), item=item))
    rows = source.n_rows * (plan.n_tables * lookup + TYPICAL.softmax(n_scores, item=item))
    runs, streamed = count_building(plan)
    building = TYPICAL.build(
        streamed, width, cells=plan.terms.n_cells, runs=runs, steps=len(plan.program.steps)
    )
    fixed = TYPICAL.evaluation + float(building) + TYPICAL.vectors(design.scale.size)
    by_work = int(OVERHEAD * rows / fixed)
    return max(1, min(max(by_work, LEAST_BATCHES), source.n_rows // LEAST_ROWS))


class PartBatches:
    """Batches of the rows of a part.

    Each call is for one batch of a pass, or for the held-out rows.

    Parameters
    ----------
    source : ArraySource
        The part, in the plan's groups.
    n_batches : int
        Batches of a pass; each has its share of every part.
    held_share : int
        One tile in so many is held out; 0 for none.
    """

    def __init__(
        self,
        source: ArraySource,
        design: PassDesign,
        n_batches: int,
        held_share: int,
        seed: int,
        threads: Threads,
    ) -> None:
        self._source, self._n_batches, self._seed = source, n_batches, seed
        self._arguments = (source, design, n_batches, held_share, seed)
        n_rows = source.n_rows
        tile = max(1, min(MAX_TILE, n_rows // (n_batches * TILES)))
        self._bounds = np.append(np.arange(0, n_rows, tile), n_rows)
        order = np.random.default_rng(seed).permutation(len(self._bounds) - 1)
        n_held = len(order) // held_share if held_share else 0
        self._tiles = np.sort(order[n_held:])
        self._held = self._gather(np.sort(order[:n_held]))
        largest = -(-len(self._tiles) // n_batches) * tile
        sizes = max(largest, self._held.n_rows, 1)
        # Any rows will do: the pass is lent those of one batch after the other.
        self._pass = PartPass(self._rows(slice(0, sizes)), design, threads)
        self._cycle, self._dealt = -1, [self._tiles]

    def __call__(
        self,
        class_scores: np.ndarray,
        parameters: np.ndarray,
        loss: Loss,
        cycle: int,
        number: int,
        gradient: np.ndarray | None = None,
    ) -> "WeighedSums":
        """Return the sums over the rows of a batch of a pass, or of the held-out ones."""
        rows = self._pass.source = self._held if number == HELD else self._batch(cycle, number)
        weight = float(rows.n_rows if rows.weights is None else rows.weights.sum())
        return WeighedSums(weight, self._pass(class_scores, parameters, loss, gradient))

    def __reduce__(self) -> tuple[object, ...]:
        # On a cluster, work may move: what it was made from, and no threads.
        return PartBatches, (*self._arguments, Threads(1))

    def _batch(self, cycle: int, number: int) -> ArraySource:
        """Return the rows of a batch."""
        if cycle != self._cycle:
            random = np.random.default_rng([self._seed, cycle])
            dealt = np.array_split(random.permutation(self._tiles), self._n_batches)
            self._cycle, self._dealt = cycle, [np.sort(tiles) for tiles in dealt]
        return self._gather(self._dealt[number])

    def _gather(self, tiles: np.ndarray) -> ArraySource:
        """Return the rows of some tiles, next to each other."""
        lengths = self._bounds[tiles + 1] - self._bounds[tiles]
        rows = np.repeat(self._bounds[tiles] - (np.cumsum(lengths) - lengths), lengths)
        return self._rows(rows + np.arange(len(rows)))

    def _rows(self, rows: "np.ndarray | slice") -> ArraySource:
        """Return some of the rows, copied."""
        source = self._source
        return ArraySource(
            np.ascontiguousarray(source.codes[:, rows]),
            source.labels[rows],
            n_classes=source.n_classes,
            cardinalities=source.cardinalities,
            weights=None if source.weights is None else source.weights[rows],
            items=None if source.items is None else take_items(source.items, rows),
            attributes=source.attributes,
        )


def take_items(items: RowItems, rows: "np.ndarray | slice") -> RowItems:
    """Return the items of some rows, next to each other."""
    first, last = items.starts[:-1][rows], items.starts[1:][rows]
    lengths = last - first
    starts = np.append(0, np.cumsum(lengths)).astype(items.starts.dtype)
    places = np.repeat(first - starts[:-1], lengths) + np.arange(starts[-1])
    return RowItems(starts, items.items[places])


class WeighedSums(NamedTuple):
    """Sums over some rows, and the weight of these."""

    weight: float
    sums: Sums

    def plus(self, other: "WeighedSums") -> "WeighedSums":
        """Return those of both parts."""
        return WeighedSums(self.weight + other.weight, self.sums.plus(other.sums))


class BatchPass:
    """Loss and gradient over one batch after the other, wherever the rows are.

    `loss` is what rows lose, the log loss unless told.
    """

    def __init__(
        self, source: Source, design: PassDesign, seed: int, threads: Threads, loss: Loss = LOG_LOSS
    ) -> None:
        self.loss, self.n_batches = loss, choose_batches(source, design)
        rows = source.n_rows
        self.holds_out = rows >= FEWEST_ROWS
        share = max(HELD_SHARE, -(-rows // MOST_HELD)) if self.holds_out else 0
        self._parts = source.hold(PartBatches, design, self.n_batches, share, seed, threads=threads)
        self._is_one_part = isinstance(source, ArraySource)

    def __call__(
        self, class_scores: np.ndarray, parameters: np.ndarray, gradient: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """Return what `LossPass` does, over all rows."""
        loss, classes, cells = 0.0, np.zeros(len(class_scores)), np.zeros(gradient.shape)
        for number in range(HELD if self.holds_out else 0, self.n_batches):
            _, (part, by_class, by_cell) = self.run(class_scores, parameters, gradient, 0, number)
            loss += part
            classes += by_class
            cells += by_cell
        gradient[:] = cells
        return loss, classes

    def run(
        self,
        class_scores: np.ndarray,
        parameters: np.ndarray,
        gradient: np.ndarray,
        cycle: int,
        number: int,
    ) -> WeighedSums:
        """Return the sums over a batch of a pass, or over the held-out rows.

        Those by parameter are in `gradient`, too.
        """
        into = gradient if self._is_one_part else None
        found: WeighedSums = self._parts.reduce(
            class_scores, parameters, self.loss, cycle, number, into, join=WeighedSums.plus
        )
        if into is None:
            gradient[:] = found.sums.cells
        return found


class BatchObjective(Objective):
    """F in batches, for a solver that takes a step by each.

    Parameters
    ----------
    design, total_weight, threads
        As in `Objective`.
    run_pass : BatchPass
        Runs over the rows of a batch.
    """

    def __init__(
        self, design: Design, run_pass: BatchPass, total_weight: float, threads: Threads
    ) -> None:
        super().__init__(design, run_pass, total_weight, threads)
        self._batches = run_pass
        self._sums = np.empty(design.class_scale.size + design.scale.size)

    @property
    def n_batches(self) -> int:
        """How many batches a pass has."""
        return self._batches.n_batches

    @property
    def pull(self) -> Pull:
        """The strengths over Σω, and the targets, by parameter; those of classes are 0."""
        classes, dtype = np.zeros(len(self.design.class_scale)), self.design.scale.dtype
        strength = (self._strength / self._total_weight).astype(dtype)
        return Pull(self.join(classes, strength), self.join(classes, self._target.astype(dtype)))

    @cached_property
    def _batched_weight(self) -> float:
        """The weight of all rows that are not held out."""
        held = self._run(self.start, 0, HELD).weight if self._batches.holds_out else 0.0
        return self._total_weight - held

    def batch(self, u: np.ndarray, cycle: int, number: int) -> tuple[float, np.ndarray]:
        """Return the loss of a batch and its gradient, as `StochasticObjective` has them."""
        share = self.n_batches / self._batched_weight
        sums = self._run(u, cycle, number).sums
        into_classes, _ = self.split(self._sums)
        np.multiply(sums.classes, self.design.class_scale, out=into_classes)
        self._sums *= share
        return sums.loss * share, self._sums

    def held_loss(self, u: np.ndarray) -> float:
        """Return the mean loss of the held-out rows; F itself where no rows are held out."""
        if not self._batches.holds_out:
            return self(u)[0]
        weight, sums = self._run(u, 0, HELD)
        return sums.loss / weight

    def _run(self, u: np.ndarray, cycle: int, number: int) -> WeighedSums:
        """Return the sums over a batch; those by cell are in `_sums`."""
        classes, cells = self.split(u)
        into = self.split(self._sums)[1]
        return self._batches.run(classes * self.design.class_scale, cells, into, cycle, number)
