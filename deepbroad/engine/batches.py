"""Mini-batches of a source: loss and gradient over random tiles of its rows, and held-out rows.

A tile is a few consecutive rows, read at once from memory or a mapped file; a batch is many tiles
from everywhere, since rows may be sorted by class. Every pass deals out all tiles anew. Which rows
are in a batch depends on the seed, the number of rows and counts of work, never on threads or time.
"""

from typing import NamedTuple

import numpy as np

from deepbroad.data.source import ArraySource, RowItems, Source
from deepbroad.engine.passes import PartPass, PassDesign, Sums, count_part
from deepbroad.engine.scatter import Whole
from deepbroad.engine.workload import typical_work
from deepbroad.kernels.steps import Pull
from deepbroad.kernels.threads import Threads
from deepbroad.model.loss import LOG_LOSS, Loss
from deepbroad.model.objective import Design, Objective
from deepbroad.model.plan import Plan
from deepbroad.solvers.walk import Judged

# Tiles of a batch, and rows of a tile at most.
TILES = 64
MAX_TILE = 1024
# Work of a batch that is not on its rows may take as long as half of that on its rows: a third.
# But the number of steps is what counts, so that in a pass of few batches it may take six times as
# long, and a pass has so many batches at least, twice as many if they have enough rows even then:
# it is still far cheaper than the passes that it spares. Nowhere have they fewer than LEAST_ROWS.
OVERHEAD, MOST_OVERHEAD = 0.5, 6.0
LEAST_BATCHES = 48
ENOUGH_ROWS = 512
LEAST_ROWS = 256
# One row in so many is held out, up to a number of rows; with fewer rows than this, none. They tell
# two means apart that differ by far less than either from the truth, since they are the same rows;
# and what is held out is not learned.
HELD_SHARE = 20
MOST_HELD = 5_000
FEWEST_ROWS = 5_000
# A scale of 0 (a column of one value) divides nothing.
LEAST_SCALE = 1e-6
# The number by which `PartBatches` knows the held-out rows.
HELD = -1


class Dealing(NamedTuple):
    """How rows are dealt out.

    Attributes
    ----------
    n_batches : int
        Batches of a pass; each has its share of every part.
    held_share : int
        One tile in so many is held out; 0 for none.
    seed : int
    """

    n_batches: int
    held_share: int
    seed: int

    @classmethod
    def of(
        cls, source: Source, plan: Plan, dtype: np.dtype, n_parameters: int, seed: int
    ) -> "Dealing":
        """Choose by counts of work at typical costs."""
        rows, n_scores = source.n_rows, source.n_classes - 1
        each, fixed = typical_work(plan, n_scores, dtype, n_parameters)
        ratio = rows * each / fixed
        few = min(MOST_OVERHEAD * ratio, 2.0 * LEAST_BATCHES)
        n_batches = max(int(OVERHEAD * ratio), int(few), least_batches(rows))
        held_share = max(HELD_SHARE, -(-rows // MOST_HELD)) if rows >= FEWEST_ROWS else 0
        return cls(max(1, min(n_batches, rows // LEAST_ROWS)), held_share, seed)

    def tiles(self, n_rows: int) -> "Tiles":
        """Return the tiles of a part of so many rows."""
        size = max(1, min(MAX_TILE, n_rows // (self.n_batches * TILES)))
        bounds = np.append(np.arange(0, n_rows, size), n_rows)
        order = np.random.default_rng(self.seed).permutation(len(bounds) - 1)
        n_held = len(order) // self.held_share if self.held_share else 0
        return Tiles(bounds, np.sort(order[n_held:]), np.sort(order[:n_held]))


def least_batches(rows: int) -> int:
    """Return how many batches a pass over so many rows has at least, if they are not too few."""
    return min(max(LEAST_BATCHES, rows // ENOUGH_ROWS), 2 * LEAST_BATCHES)


class Tiles(NamedTuple):
    """Where tiles begin and end, (n + 1,), and the numbers of those dealt out and held out."""

    bounds: np.ndarray
    dealt: np.ndarray
    held: np.ndarray

    def gather(self, source: ArraySource, tiles: np.ndarray) -> ArraySource:
        """Return the rows of some tiles of a part, next to each other."""
        lengths = self.bounds[tiles + 1] - self.bounds[tiles]
        rows = np.repeat(self.bounds[tiles] - (np.cumsum(lengths) - lengths), lengths)
        return take_rows(source, rows + np.arange(len(rows)))


def count_held(
    part: ArraySource, plan: Plan, dealing: Dealing, threads: Threads
) -> tuple[np.ndarray, np.ndarray]:
    """Count the held-out rows of a part, as `count_part` does all."""
    tiles = dealing.tiles(part.n_rows)
    held = tiles.gather(part, tiles.held)
    return count_part(held, plan, Whole.of(held, threads), threads)


class PartBatches:
    """Batches of the rows of a part.

    Each call is for one batch of a pass, or for the held-out rows.
    """

    def __init__(
        self, source: ArraySource, design: PassDesign, dealing: Dealing, threads: Threads
    ) -> None:
        self._source, self._design, self._dealing = source, design, dealing
        self._tiles = tiles = dealing.tiles(source.n_rows)
        self._held = tiles.gather(source, tiles.held)
        tile = int(np.diff(tiles.bounds).max(initial=0))
        largest = -(-len(tiles.dealt) // dealing.n_batches) * tile
        # Any rows will do: the pass is lent those of one batch after the other.
        some = take_rows(source, slice(0, max(largest, self._held.n_rows, 1)))
        self._pass = PartPass(some, design, threads)
        self._cycle, self._dealt = -1, [tiles.dealt]

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
        rows = self._pass.source = self._held if number == HELD else self.batch(cycle, number)
        weight = float(rows.n_rows if rows.weights is None else rows.weights.sum())
        return WeighedSums(weight, self._pass(class_scores, parameters, loss, gradient))

    def __reduce__(self) -> tuple[object, ...]:
        # On a cluster, work may move: what it was made from, and no threads.
        return PartBatches, (self._source, self._design, self._dealing, Threads(1))

    def batch(self, cycle: int, number: int) -> ArraySource:
        """Return the rows of a batch."""
        if cycle != self._cycle:
            random = np.random.default_rng([self._dealing.seed, cycle])
            order = random.permutation(self._tiles.dealt)
            dealt = np.array_split(order, self._dealing.n_batches)
            self._cycle, self._dealt = cycle, [np.sort(tiles) for tiles in dealt]
        return self._tiles.gather(self._source, self._dealt[number])


def take_rows(source: ArraySource, rows: "np.ndarray | slice") -> ArraySource:
    """Return some of the rows, copied, with their items."""
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
        self,
        source: Source,
        design: PassDesign,
        dealing: Dealing,
        threads: Threads,
        loss: Loss = LOG_LOSS,
    ) -> None:
        self.loss, self.n_batches, self._scale = loss, dealing.n_batches, design.scale
        self.holds_out = dealing.held_share > 0
        self._parts = source.hold(PartBatches, design, dealing, threads=threads)
        self._is_one_part = isinstance(source, ArraySource)

    def __call__(
        self, class_scores: np.ndarray, parameters: np.ndarray, gradient: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """Return what `LossPass` does, over all rows that are not held out."""
        loss, classes, cells = 0.0, np.zeros(len(class_scores)), np.zeros(gradient.shape)
        for number in range(self.n_batches):
            sums = self.run(class_scores, parameters, gradient, 0, number).sums
            loss += sums.loss
            classes += sums.classes
            cells += gradient
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

        Derivatives by parameter are in `gradient`.
        """
        into = gradient if self._is_one_part else None
        found: WeighedSums = self._parts.reduce(
            class_scores, parameters, self.loss, cycle, number, into, join=WeighedSums.plus
        )
        if into is None:
            np.multiply(found.sums.cells, self._scale, out=gradient)
        return found


class BatchObjective(Objective):
    """F in batches, for a solver that takes a step by each.

    F is that of the rows that are not held out. The design must not know of the others either:
    log θ of rare joint values tells the class of the very rows that it was counted from.

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
    def curvature(self) -> np.ndarray | None:
        """That by parameter, h, times the root of the scale, h·√|s|.

        Steps then keep some of the scale that the generative model gives them, which a stochastic
        solver is better with (covertype, connect-4) than with all of it or none.
        """
        found = super().curvature
        if found is None:
            return None
        scale = self.join(self.design.class_scale, self.design.scale)
        return found * np.sqrt(np.maximum(np.abs(scale), LEAST_SCALE))

    @property
    def pull(self) -> Pull:
        """The strengths over Σω, and the targets, by parameter; those of classes are 0."""
        classes, dtype = np.zeros(len(self.design.class_scale)), self.design.scale.dtype
        strength = (self._strength / self._total_weight).astype(dtype)
        return Pull(self.join(classes, strength), self.join(classes, self._target.astype(dtype)))

    def batch(self, u: np.ndarray, cycle: int, number: int) -> tuple[float, np.ndarray]:
        """Return the loss of a batch and its gradient, as `StochasticObjective` has them."""
        share = self.n_batches / self._total_weight
        sums = self._run(u, cycle, number).sums
        into_classes, _ = self.split(self._sums)
        np.multiply(sums.classes, self.design.class_scale, out=into_classes)
        self._sums *= share
        return sums.loss * share, self._sums

    def judge(self, u: np.ndarray) -> Judged:
        """Return the mean loss of the held-out rows and the penalty, or F where there are none."""
        if not self._batches.holds_out:
            return Judged(self(u)[0], 0.0)
        weight, sums = self._run(u, 0, HELD)
        into = self.split(self._sums)[1]  # what it had is not needed any more
        penalty = self._penalise(self.split(u)[1], into)
        return Judged(sums.loss / weight, penalty / self._total_weight)

    def _run(self, u: np.ndarray, cycle: int, number: int) -> WeighedSums:
        """Return the sums over a batch; those by cell are in `_sums`."""
        classes, cells = self.split(u)
        into = self.split(self._sums)[1]
        return self._batches.run(classes * self.design.class_scale, cells, into, cycle, number)
