"""The dual of the objective over rows in memory: what a solver that goes row by row works on."""

from math import inf
from typing import NamedTuple, Protocol

import numpy as np

from deepbroad.data.source import ArraySource
from deepbroad.engine.anchor import Anchor
from deepbroad.engine.cell_list import BLOCK_BYTES, KEPT_BYTES, CellList
from deepbroad.engine.row_newton import FEW_ROWS, find_beliefs
from deepbroad.engine.workload import typical_work
from deepbroad.kernels.dual import (
    gather_scores,
    hold_classes,
    measure_classes,
    measure_rows,
    sweep_rows,
)
from deepbroad.kernels.threads import Threads
from deepbroad.kernels.vector import lane_count, lanes_for
from deepbroad.model.cost import TYPICAL
from deepbroad.model.family import PerTerm
from deepbroad.model.objective import Design
from deepbroad.model.plan import Plan
from deepbroad.solvers.dual import Ascent, AscentState, DualAscent

# Cells that are computed with at a time.
CHUNK = 1 << 16
# Class terms have no penalty, but they are held back by one of this strength, in mean weights of a
# row, from where the sweep before left them, so that each sweep has a solution.
CLASS_STRENGTH = 10.0
# In few rows by a weaker one: this share of their weight.
CLASS_SHARE = 0.02
# Of a sweep, typically: look-ups in tables of all classes that one for each term of a row is like,
# and nanoseconds for each row, and for each of its classes.
SWEEP, STEP, CLASS_STEP = 1.3, 200.0, 80.0
# Nanoseconds to find a cell where they are not kept.
LISTING = 2.0
# Iterations of L-BFGS that a fit usually takes; with fewer sweeps than the least in that time none
# is begun.
USUAL_ITERATIONS = 300
LEAST_SWEEPS, MOST_SWEEPS = 20, 300
# Share of the loss of few rows that the last Newton step may promise, and steps at most: a little,
# since free class terms outweigh all else in what steps promise.
NEWTON_TOLERANCE, NEWTON_STEPS = 1e-10, 60
# Vectors as long as the scores that an anchor keeps.
ANCHOR_VECTORS = 2
# Strengths are not tried that are so many times weaker than some that took too long.
HOPELESS = 3.0


class Watch(Protocol):
    """Follows an ascent.

    Attributes
    ----------
    gaps : list of float
        Those of sweeps, which the ascent adds to.
    is_resumed : bool
        Whether the ascent goes on from a state, and its scores are as they were.
    """

    gaps: list[float]
    is_resumed: bool

    def __call__(self) -> bool:
        """Look before the first sweep and after each; tell whether to stop."""


class DualPlan(NamedTuple):
    """How a dual is ascended: sweeps at most, and whether the list of cells is kept."""

    most: int
    keeps_cells: bool


class RowDual:
    """Beliefs of rows about their classes, and the scores that follow from them.

    Parameters
    ----------
    source : ArraySource
        Rows coded in the plan's groups.
    plan : Plan
    reached : integer array
        The cells that rows reach, in ascending order: every cell of every row of any weight.
    design : Design
        Of a family that penalises scores.
    way : DualPlan
    threads : Threads
        They list cells and move the anchor; steps are taken one after the other.
    """

    def __init__(
        self,
        source: ArraySource,
        plan: Plan,
        reached: np.ndarray,
        design: Design,
        way: DualPlan,
        threads: Threads,
    ) -> None:
        self._terms, self._design, self._most = plan.terms, design, way.most
        weights = np.ones(source.n_rows) if source.weights is None else source.weights
        rows = np.flatnonzero(weights)
        self._weights, self._labels = weights[rows], source.labels[rows]
        self._total = float(weights.sum())
        self._class_weights = np.bincount(self._labels, self._weights, source.n_classes)
        self._class_strength = find_class_strength(self._weights)
        self._cells = CellList(
            source, rows, plan, reached, is_kept=way.keeps_cells, threads=threads
        )
        self._inverse = np.zeros(len(plan.terms), np.float32)
        self._beliefs = np.zeros((len(rows), source.n_classes))
        self._beliefs[np.arange(len(rows)), self._labels] = 1.0
        self._partitions = np.zeros(len(rows))
        self._class_scores = np.asarray(design.class_start * design.class_scale, np.float64)
        self._width = lane_count(source.n_classes - 1)
        self._scores: np.ndarray = np.zeros((len(reached), self._width), np.float32)
        bounds = np.searchsorted(reached, plan.terms.offsets)
        self._anchor = Anchor(self._scores.shape, bounds, source.n_classes, threads)
        # Of the latest sweep, by the beliefs of rows and by the anchor.
        self._gaps = 0.0, 0.0
        self._too_soft = inf

    def ascend(
        self,
        strength: PerTerm,
        tol: float,
        *,
        most: float = inf,
        certain: bool = True,
        watch: Watch | None = None,
    ) -> Ascent:
        """Find the beliefs for other strengths, from where the latest are.

        Strengths far weaker than some that it was given up with before are given up with at once.
        """
        if not np.all(np.asarray(strength) > 0):
            return Ascent(0, inf, "slow")
        is_resumed = watch is not None and watch.is_resumed
        if not is_resumed:
            self._begin(strength)
        self._strengthen(strength, gathers=not is_resumed)
        softness = float(self._inverse.sum())
        if softness >= HOPELESS * self._too_soft:
            return Ascent(0, inf, "slow")
        solver = DualAscent(tol=tol, most=int(min(self._most, most)), certain=certain)
        if watch is not None and not is_resumed and watch():
            return Ascent(0, inf, "stopped")
        ascent = solver.ascend(self, [] if watch is None else watch.gaps, watch)
        if ascent.status == "slow":
            self._too_soft = min(self._too_soft, softness)
        return ascent

    def _begin(self, strength: PerTerm) -> None:
        """Begin at the solution by Newton's method where rows are few."""
        n_rows, n_classes = self._beliefs.shape
        if n_rows > FEW_ROWS or np.any(self._design.target):
            return
        cells = np.concatenate([block.cells for block in self._cells.blocks()])
        firsts = cells.min(axis=0)
        spaces = self._terms.spaces
        inverse = np.where(spaces > 1, 1.0 / np.broadcast_to(strength, len(spaces)), 0.0)
        # In units of the mean weight, which may be anything.
        each = float(self._weights.mean())
        beliefs = find_beliefs(
            np.ascontiguousarray((cells - firsts).T, np.int16), inverse * each,
            self._labels, self._weights / each, n_classes, tol=NEWTON_TOLERANCE,
            steps=NEWTON_STEPS,
        )  # fmt: skip
        self._beliefs[:] = beliefs.shares
        self._class_scores = beliefs.class_scores

    def resume(self, state: AscentState) -> None:
        """Take over the beliefs of a state; ValueError if they are of another problem."""
        for array, name in zip(self._arrays, AscentState.arrays, strict=True):
            theirs = getattr(state, name)
            if array.shape != theirs.shape or array.dtype != theirs.dtype:
                raise ValueError(f"its {name} are of shape {theirs.shape}, not {array.shape}")
            array[:] = theirs
        n_parameters = len(self._design.class_scale) + self._design.scale.size
        if state.best.shape != (n_parameters,):
            raise ValueError(f"its best point has {state.best.size} numbers, not {n_parameters}")
        self._anchor.pull, self._anchor.moves = state.pull, state.moves
        self._gaps = state.by_beliefs, state.by_anchor

    def state(
        self, best: np.ndarray, gaps: list[float], losses: list[float], seconds: float
    ) -> AscentState:
        """Return where the ascent stands; arrays are its own."""
        by_beliefs, by_anchor = self._gaps
        return AscentState(
            **dict(zip(AscentState.arrays, self._arrays, strict=True)),
            best=best,
            pull=self._anchor.pull,
            moves=self._anchor.moves,
            by_beliefs=by_beliefs,
            by_anchor=by_anchor,
            gaps=gaps,
            losses=losses,
            seconds=seconds,
        )

    @property
    def _arrays(self) -> tuple[np.ndarray, ...]:
        """What a state has of it, in the order of `AscentState.arrays`."""
        own = self._scores, self._class_scores, self._beliefs, self._partitions
        return *own, self._anchor.point, self._anchor.before

    def _strengthen(self, strength: PerTerm, *, gathers: bool = True) -> None:
        """Take other strengths; beliefs stay, and scores are gathered from them unless told."""
        strength = np.broadcast_to(np.asarray(strength, np.float64), len(self._terms))
        # The one cell of a term without values to tell apart has no score.
        inverse = np.where(self._terms.spaces > 1, 1.0 / strength, 0.0)
        self._inverse = inverse.astype(np.float32)
        self._anchor.strength = strength
        if not gathers:
            return
        for part in self._chunks():
            target = self._target(part)
            self._scores[part, : target.shape[1] - 1] = target[:, 1:] - target[:, :1]
        for rows, cells in self._cells.blocks():
            gather_scores(
                rows, cells, self._labels, self._weights, self._inverse, self._beliefs,
                self._scores.reshape(-1), lanes_for(self._width), self._width,
            )  # fmt: skip
        each = self._total / max(len(self._weights), 1)
        self._anchor.begin(self._scores, each * float(self._inverse.sum()))
        self._gaps = 0.0, 0.0

    def _chunks(self) -> list[slice]:
        """Return ranges of cells, so that what is computed with them stays small."""
        return [slice(low, low + CHUNK) for low in range(0, len(self._scores), CHUNK)]

    def _target(self, part: slice) -> np.ndarray:
        """Return the scores that the penalty pulls some cells to, (n, C)."""
        scale, target = self._design.scale[part], self._design.target
        return scale * (target[part] if isinstance(target, np.ndarray) else target)

    def sweep(self, seed: int, cycle: int) -> float:
        """Take the step of each row once, in random order; return about the mean duality gap."""
        if any(self._gaps):
            self._anchor.move(self._scores, *self._gaps)
        inverse = self._inverse / np.float32(1.0 + self._anchor.pull)
        strength = hold_classes(self._class_strength, cycle, float(inverse.sum()))
        # Not after the sweep: where it leaves the class terms is nearer to the solution.
        self._class_scores += self._miss_classes()[0] / strength
        random, gap = np.random.default_rng([seed, cycle]), 0.0
        for rows, cells in self._cells.blocks(random):
            gap += sweep_rows(
                random.permutation(len(rows)), rows, cells, self._weights, inverse,
                1.0 / strength, self._class_scores, self._scores.reshape(-1),
                self._beliefs, self._partitions, lanes_for(self._width), self._width,
            )  # fmt: skip
        self._gaps = gap, self._anchor.gap(self._scores)
        return self._mean_gap(sum(self._gaps))

    def measure(self) -> float:
        """Return the mean duality gap."""
        gap = 0.0
        for rows, cells in self._cells.blocks():
            gap += measure_rows(
                rows, cells, self._weights, self._class_scores, self._scores.reshape(-1),
                self._beliefs, lanes_for(self._width), self._width,
            )  # fmt: skip
        # Beliefs bound F where they have the frequencies of classes; else they may miss it by this.
        missed = abs(float(self._miss_classes()[0] @ self._class_scores))
        return self._mean_gap(gap + self._gaps[1] + missed)

    def _mean_gap(self, gap: float) -> float:
        """Return the gap of rows and class terms by weight."""
        return float(gap + self._miss_classes()[1]) / self._total

    def _miss_classes(self) -> tuple[np.ndarray, float]:
        """Return by how much each class has more weight than rows believe, (C,), and its cost."""
        residuals = np.empty(len(self._class_scores))
        return residuals, measure_classes(
            self._class_weights, self._weights, self._beliefs, residuals
        )

    def point(self) -> np.ndarray:
        """Return the parameters u of these scores, as an objective has them."""
        design = self._design
        n_classes = len(design.class_scale)
        u = np.zeros(n_classes + design.scale.size)
        u[:n_classes] = self._class_scores / design.class_scale
        cells = u[n_classes:].reshape(-1, n_classes)
        for part in self._chunks():
            scale, target = design.scale[part], self._target(part)
            # Beyond the target, the scores of a cell add up to 0 over the classes.
            scores = np.zeros(scale.shape)
            scores[:, 1:] = self._scores[part, : n_classes - 1] - target[:, 1:] + target[:, :1]
            scores += target - scores.mean(axis=1, keepdims=True)
            np.divide(scores, scale, out=cells[part], where=scale != 0)
        return u


def plan_dual(
    source: ArraySource, plan: Plan, n_parameters: int, dtype: np.dtype, room: float
) -> DualPlan | None:
    """Return how to ascend the dual in `room` bytes; None if that would be slow, or there is none.

    Slow is what takes longer than a fit by L-BFGS, by counts at typical costs.
    """
    rows, terms, n_classes = count_weighted(source), len(plan.terms), source.n_classes
    width = lane_count(n_classes - 1)
    anchored = ANCHOR_VECTORS * 4.0 * width * n_parameters / n_classes
    left = room - rows * 8.0 * n_classes - 4.0 * plan.terms.n_cells - anchored
    listed = 4.0 * rows * terms
    keeps_cells = listed <= min(left, KEPT_BYTES)
    if not keeps_cells and left < min(listed, BLOCK_BYTES):
        return None
    lookup = TYPICAL.lookup(n_parameters / n_classes, width, tables=terms, item=4)
    each = SWEEP * float(lookup) + (0.0 if keeps_cells else LISTING)
    row_work = terms * each + STEP + CLASS_STEP * n_classes
    per_row, fixed = typical_work(plan, n_classes - 1, dtype, n_parameters)
    most = int(min(USUAL_ITERATIONS * (per_row + fixed / max(rows, 1)) / row_work, MOST_SWEEPS))
    return DualPlan(most, keeps_cells) if most >= LEAST_SWEEPS else None


def find_class_strength(weights: np.ndarray) -> float:
    """Return how strongly class terms are held back in a first sweep.

    In the unit of the weights, so that any unit gives the same model.
    """
    total = float(weights.sum())
    return min(CLASS_STRENGTH * total / max(len(weights), 1), CLASS_SHARE * total)


def count_weighted(source: ArraySource) -> int:
    """Return how many rows have any weight."""
    if source.weights is None:
        return source.n_rows
    return int(np.count_nonzero(source.weights))
