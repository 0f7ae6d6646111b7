"""Fits of one set of tables to all validation folds, in the space of cells: for many rows.

A fold is a lane of every pass: one look-up serves all folds, since their rows differ in weights
alone. So K fits take little more time than one. A fit is by Newton's method; conjugate gradients
solve for its steps, each fold with step lengths of its own.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from deepbroad.data.source import ArraySource
from deepbroad.engine.choice.dealing import DealtRows
from deepbroad.engine.choice.fits import HeldLosses, Traces, draw_residuals
from deepbroad.engine.fused import FusedTables
from deepbroad.engine.passes import score_block
from deepbroad.engine.planning import Planner, group_part
from deepbroad.engine.scatter import Scatter, Whole
from deepbroad.engine.workload import Workload
from deepbroad.kernels.folds import (
    CHUNK,
    collect_lanes,
    curve_rows,
    lose_rows,
    multiply_lanes,
    penalise_lanes,
    place_lanes,
    step_lanes,
    turn_lanes,
)
from deepbroad.kernels.threads import Threads, split_range
from deepbroad.kernels.vector import lane_count
from deepbroad.model.cost import TYPICAL
from deepbroad.model.plan import Plan
from deepbroad.model.terms import NONE, Terms

FLOAT = np.dtype(np.float32)
# Tables that a fold does not have are held at 0.
ABSENT = 1e9
# Share of the objective that the last Newton step may promise, steps at most, and how often one is
# halved until the objective falls.
TOLERANCE, STEPS, HALVINGS = 3e-3, 20, 8
# By how much conjugate gradients let the residual fall, and their steps at most.
SOLVED, PROBED, SOLVER_STEPS = 0.2, 0.1, 30
# Look-ups of a pass up to which plans are not compared.
FEW_LOOKUPS = 1 << 17
# Rows, and scores of cells, from which work is shared out to threads.
WORTH_THREADS = 4096
WORTH_CELLS = 1 << 17


class Vector(NamedTuple):
    """Scores of all folds, or a vector of their shape.

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


class CellPoint(NamedTuple):
    """A fit to each fold: scores, and λ of each reached cell in each fold (n_reached, K)."""

    scores: Vector
    strength: np.ndarray


class CellFits:
    """Models of the same tables, each fitted to the training rows of a fold.

    Parameters
    ----------
    rows : DealtRows
    terms : Terms
        Tables of code columns.
    present : bool array of shape (n_tables, K)
        Which tables the model of each fold has; may change between fits.
    """

    def __init__(
        self, rows: DealtRows, terms: Terms, present: np.ndarray, threads: Threads
    ) -> None:
        self.rows, self.threads, self.present = rows, threads, present
        self.n_classes, self.n_folds = rows.source.n_classes, rows.n_folds
        self.n_lanes = self.n_folds * (self.n_classes - 1)
        self.width = lane_count(self.n_lanes)
        self.plan = make_plan(rows.source, terms, self.n_lanes, threads)
        self.terms = self.plan.terms
        self._source = group_part(rows.source, self.plan, threads)
        self._tables = FusedTables(self.plan, self.width, FLOAT, threads)
        whole = Whole.of(self._source, threads)
        self._scatter = Scatter(self.plan, whole, self.width, FLOAT, threads)
        n_rows = rows.source.n_rows
        self._values = np.zeros((n_rows, self.width), FLOAT)
        self._scores = np.zeros((n_rows, self.width), FLOAT)
        self.shares = np.zeros((n_rows, self.n_lanes), FLOAT)
        self._losses = np.zeros((n_rows, self.n_folds))
        parts = threads.count if n_rows >= WORTH_THREADS else 1
        self._ranges = split_range(n_rows, parts, 512)
        self.passes = 0
        self._count_cells()
        self.point = self._at = CellPoint(self._start(), self._spread_strength(np.ones(len(terms))))
        self._score(self.point.scores, self._scores)
        self._lose(self._scores)

    def _count_cells(self) -> None:
        """Find the cells that rows reach, their weights, and the tables they belong to."""
        self._values[:] = 0.0
        self._values[:, 0] = self.rows.trained.sum(axis=1)
        cells = self._sum_cells()
        self.reached = np.flatnonzero(cells[:, 0] > 0).astype(np.int32)
        self._weights = cells[self.reached, 0] / self.n_folds
        self._bounds = np.searchsorted(self.reached, self.terms.offsets)
        self._table_of = np.repeat(np.arange(len(self.terms)), np.diff(self._bounds))
        parts = self.threads.count if len(self.reached) * self.n_lanes >= WORTH_CELLS else 1
        self._cell_ranges = split_range(len(self.reached), parts, CHUNK)
        self._sums = np.zeros((-(-len(self.reached) // CHUNK), self.n_folds))

    def _start(self) -> Vector:
        """Return the point of class shares alone."""
        counts = np.array(
            [
                np.bincount(self._source.labels, weights, self.n_classes)
                for weights in self.rows.trained.T.astype(np.float64)
            ]
        )
        logs = np.log((counts + 1.0 / self.n_classes) / (counts.sum(axis=1, keepdims=True) + 1.0))
        classes = (logs[:, 1:] - logs[:, :1]).ravel()
        return Vector(classes, np.zeros((len(self.reached), self.n_lanes), FLOAT))

    # Passes over rows.

    def _score(self, point: Vector, into: np.ndarray) -> None:
        """Write the scores of rows."""
        self._run_cells(place_lanes, self.reached, point.cells, self._tables.cells, self.width)
        self._tables.build()
        base = np.zeros(self.width, FLOAT)
        base[: self.n_lanes] = point.classes
        at = 0
        for block in self._source.blocks():
            count = len(block.labels)
            values = into[at : at + count]
            parts = self.threads.count if count >= WORTH_THREADS else 1
            self.threads.run(
                [
                    partial(score_block, block, low, high, self._tables, base,
                            values[low:high].reshape(-1))
                    for low, high in split_range(count, parts, 512)
                ]
            )  # fmt: skip
            at += count
        self.passes += 1

    def _sum_cells(self) -> np.ndarray:
        """Return the sums of values by cell, (n_cells, width)."""
        self._scatter.start(self._source.n_rows)
        at = 0
        for block in self._source.blocks():
            count = len(block.labels)
            self._scatter.add(block, self._values[at : at + count].reshape(-1))
            at += count
        self._scatter.finish()
        return self._scatter.cells.reshape(-1, self.width)

    def _gather(self) -> Vector:
        """Return the sums of values by class term and reached cell."""
        self._sum_cells()
        found = np.empty((len(self.reached), self.n_lanes), FLOAT)
        self._run_cells(collect_lanes, self.reached, self._scatter.cells, self.width, found)
        return Vector(self._values[:, : self.n_lanes].sum(axis=0, dtype=np.float64), found)

    def _lose(self, scores: np.ndarray) -> None:
        """Let shares and losses be those of scores, and values the derivatives."""
        self._run_rows(
            lose_rows, scores, self._source.labels, self.rows.trained, self.shares, self._losses,
            self._values,
        )  # fmt: skip

    def _run_rows(self, kernel: Callable[..., None], scores: np.ndarray, *rest: Any) -> None:
        self.threads.run([partial(kernel, scores, a, b, *rest) for a, b in self._ranges])

    def _run_cells(self, kernel: Callable[..., None], *arguments: Any) -> None:
        self.threads.run([partial(kernel, a, b, *arguments) for a, b in self._cell_ranges])

    # Fits.

    def minimise(self, strength: np.ndarray) -> HeldLosses:
        """Fit with strengths (n_tables,), going on from the point; return the held-out losses."""
        self._leave_out_absent()
        self._refresh()
        self._strength, point = self._spread_strength(strength), self.point.scores
        now, scale = self._measure(point), self._scale(self._curve())
        for _ in range(STEPS):
            right = self._gather()
            self._run_cells(penalise_lanes, point.cells, self._strength, right.cells, self._sums)
            np.negative(right.classes, out=right.classes)
            np.negative(right.cells, out=right.cells)
            promised = np.zeros(self.n_folds)
            step, image = self._solve(right, scale, promised)
            if not (promised > TOLERANCE * now).any():
                break
            point, now, is_lower = self._search(point, now, step, image)
            if not is_lower:
                break
        self.point = self._at = CellPoint(point, self._strength)
        return HeldLosses.of(self._losses, self.rows.held)

    def _leave_out_absent(self) -> None:
        """Let a point score nothing by tables that folds do not have."""
        absent = np.repeat(~self.present, self.n_classes - 1, axis=1)[self._table_of]
        if self.point.scores.cells[absent].any():
            scores = self.point.scores.copy()
            scores.cells[absent] = 0.0
            self.point = self.point._replace(scores=scores)

    def _spread_strength(self, strength: np.ndarray) -> np.ndarray:
        """Return λ of each reached cell in each fold, (n_reached, K)."""
        by_fold = np.where(self.present, strength[:, None], ABSENT)
        return np.ascontiguousarray(by_fold[self._table_of], FLOAT)

    def _measure(self, point: Vector) -> np.ndarray:
        """Return the objective of each fold at a point whose rows' losses are known, (K,)."""
        unused = np.zeros_like(point.cells)
        self._run_cells(penalise_lanes, point.cells, self._strength, unused, self._sums)
        losses = np.einsum("rk,rk->k", self._losses, self.rows.trained, dtype=np.float64)
        found: np.ndarray = losses + 0.5 * self._sums.sum(axis=0)
        return found

    def _curve(self) -> Vector:
        """Return the diagonal of H at the shares of rows."""
        kept = self._values.copy()
        trained = np.repeat(self.rows.trained, self.n_classes - 1, axis=1)
        self._values[:, : self.n_lanes] = trained * self.shares * (1.0 - self.shares)
        found = self._gather()
        self._values[:] = kept
        return found

    def _scale(self, curved: Vector) -> Vector:
        """Return the diagonal of H + Λ."""
        penalty = np.repeat(self._strength, self.n_classes - 1, axis=1)
        scale = curved.cells + penalty * FLOAT.type(1.0 - 1.0 / self.n_classes)
        return Vector(curved.classes + 1e-6, scale)

    def _search(
        self, point: Vector, before: np.ndarray, step: Vector, image: np.ndarray
    ) -> tuple[Vector, np.ndarray, bool]:
        """Go as far along a step as the objective of each fold falls; tell whether any did."""
        lengths = np.ones(self.n_folds)
        for _ in range(HALVINGS):
            lanes = self._by_lane(lengths)
            tried = Vector(point.classes + lanes * step.classes, point.cells + lanes * step.cells)
            scores = self._scores.copy()
            scores[:, : self.n_lanes] += lanes * image
            self._lose(scores)
            now = self._measure(tried)
            higher = ~(now <= before)
            if not higher.any():
                break
            lengths[higher] *= 0.5
        else:
            lengths[higher] = 0.0
            lanes = self._by_lane(lengths)
            tried = Vector(point.classes + lanes * step.classes, point.cells + lanes * step.cells)
            scores = self._scores.copy()
            scores[:, : self.n_lanes] += lanes * image
            self._lose(scores)
            now = self._measure(tried)
        self._scores = scores
        return tried, now, bool(lengths.any())

    def _solve(
        self, right: Vector, scale: Vector, promised: np.ndarray, tol: float = SOLVED
    ) -> tuple[Vector, np.ndarray]:
        """Return the x with (H + Λ) x = right, about, and its scores of rows.

        `right` is used up; right·x is added to `promised`, (K,).
        """
        residual, begun = right, right.copy()
        found = Vector(np.zeros_like(right.classes), np.zeros_like(right.cells))
        image = np.zeros((len(self._values), self.n_lanes), FLOAT)
        scores = np.zeros_like(self._values)
        direction = Vector(right.classes / scale.classes, right.cells / scale.cells)
        size = self._dot(residual, direction)
        enough = tol * tol * size
        for _ in range(SOLVER_STEPS):
            if not (size > enough).any():
                break
            product, curved = self._multiply(direction, scores)
            lengths = size / np.maximum(curved, 1e-30)
            lanes = self._by_lane(lengths)
            image += lanes * scores[:, : self.n_lanes]
            found.classes[:] += lanes * direction.classes
            residual.classes[:] -= lanes * product.classes
            self._run_cells(
                step_lanes, lanes, direction.cells, product.cells, scale.cells, found.cells,
                residual.cells, self._sums,
            )  # fmt: skip
            scaled = residual.classes / scale.classes
            before, size = size, self._sums.sum(axis=0) + self._by_fold(residual.classes * scaled)
            ratios = self._by_lane(size / np.maximum(before, 1e-30))
            direction.classes[:] = scaled + ratios * direction.classes
            self._run_cells(turn_lanes, ratios, residual.cells, scale.cells, direction.cells)
        promised += self._dot(begun, found)
        return found, image

    def _multiply(self, direction: Vector, scores: np.ndarray) -> tuple[Vector, np.ndarray]:
        """Return (H + Λ) d for a direction d, and d·(H + Λ) d by fold; write the scores of d."""
        self._score(direction, scores)
        self._run_rows(curve_rows, scores, self.rows.trained, self.shares, self._values)
        product = self._gather()
        self._run_cells(penalise_lanes, direction.cells, self._strength, product.cells, self._sums)
        return product, self._dot(direction, product)

    def _dot(self, first: Vector, second: Vector) -> np.ndarray:
        """Return inner products by fold."""
        self._run_cells(multiply_lanes, first.cells, second.cells, self._sums)
        found: np.ndarray = self._sums.sum(axis=0) + self._by_fold(first.classes * second.classes)
        return found

    def _by_fold(self, lanes: np.ndarray) -> np.ndarray:
        """Return the sums of lanes by fold."""
        found: np.ndarray = lanes.reshape(self.n_folds, -1).sum(axis=1)
        return found

    def _by_lane(self, folds: np.ndarray) -> np.ndarray:
        """Return a number for each fold as one for each lane."""
        return np.repeat(folds, self.n_classes - 1).astype(FLOAT)

    def _refresh(self) -> None:
        """Let scores, shares, losses and values be those of the point."""
        if self.point is not self._at:
            self._score(self.point.scores, self._scores)
            self._at = self.point
        self._strength = self.point.strength
        self._lose(self._scores)

    @property
    def losses(self) -> np.ndarray:
        """Log loss of each row under the model of each fold, (n, K)."""
        self._refresh()
        return self._losses

    def held_shares(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return rows, folds and probabilities (n, C) of all held-out rows."""
        self._refresh()
        rows, folds = np.nonzero(self.rows.held)
        shares = self.shares.reshape(len(self.shares), self.n_folds, -1)[rows, folds]
        first = np.maximum(1.0 - shares.sum(axis=1, dtype=np.float64), 0.0)
        return rows, folds, np.column_stack([first, shares])

    def variances(self) -> np.ndarray:
        """Return the squares of what tables add to the scores, summed over rows, (n_tables, K)."""
        cells = self.point.scores.cells
        squares = (cells * self._centred(cells)).reshape(len(cells), self.n_folds, -1).sum(axis=2)
        return np.column_stack([self._by_table(self._weights * each) for each in squares.T])

    def carry(self, other: "CellFits") -> None:
        """Go on from the scores that another fit has for the tables that both have."""
        point = self.point.scores.copy()
        self.point = self.point._replace(scores=point)
        point.classes[:] = other.point.scores.classes
        into, cells = point.cells, other.point.scores.cells
        known = {_key(members): t for t, members in enumerate(other.terms.members)}
        for table, members in enumerate(self.terms.members):
            source = known.get(_key(members))
            if source is not None:
                own = slice(self._bounds[table], self._bounds[table + 1])
                into[own] = other._scores_of(source, members, cells)[
                    self.reached[own] - self.terms.offsets[table]
                ]

    def _scores_of(self, table: int, members: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """Return the scores of all cells of a table, its axes in the order of `members`."""
        low, high = self._bounds[table], self._bounds[table + 1]
        found = np.zeros((self.terms.sizes[table], self.n_lanes), FLOAT)
        found[self.reached[low:high] - self.terms.offsets[table]] = cells[low:high]
        own = self.terms.members[table].tolist()
        wanted = [own.index(m) for m in members.tolist() if m != NONE]
        order = len(wanted)
        shape = [*self.terms.shapes[table][:order], self.n_lanes]
        return found.reshape(shape).transpose(*wanted, order).reshape(-1, self.n_lanes)

    # The evidence.

    def traces(self, draws: np.ndarray) -> Traces:
        """Return what the evidence knows of each table under the latest fit."""
        self._refresh()
        curved = self._curve()
        scale = self._scale(curved)
        diagonal = curved.cells / scale.cells
        self._values[:, : self.n_lanes] = self._draw_residuals(draws)
        right = self._gather()
        solved, _ = self._solve(right.copy(), scale, np.zeros(self.n_folds), PROBED)
        cells = self.point.scores.cells
        counts = np.maximum(self.present.sum(axis=1), 1)
        sums = (solved.cells * right.cells, diagonal, cells * self._centred(cells))
        return Traces(*(self._by_table(each.sum(axis=1)) / counts for each in sums))

    def _draw_residuals(self, draws: np.ndarray) -> np.ndarray:
        """Return √ω (1[y*] - p) of each row in each fold."""
        shares = self.shares.reshape(len(draws), self.n_folds, -1)
        found = np.stack([draw_residuals(own, draws) for own in shares.transpose(1, 0, 2)], axis=1)
        residuals = found * np.sqrt(self.rows.trained)[:, :, None]
        return residuals.reshape(len(draws), -1)

    def _centred(self, cells: np.ndarray) -> np.ndarray:
        """Return δ - Σδ/C of the scores of each fold: the penalty's gradient for λ = 1."""
        by_fold = cells.reshape(len(cells), self.n_folds, -1)
        whole = by_fold.sum(axis=2, keepdims=True) / self.n_classes
        return (by_fold - whole).reshape(cells.shape)

    def _by_table(self, values: np.ndarray) -> np.ndarray:
        return np.bincount(self._table_of, values, len(self.terms))


def make_plan(source: ArraySource, terms: Terms, n_lanes: int, threads: Threads) -> Plan:
    """Return the faster of two plans: a look-up for each table, or fused tables."""
    lanes = source.with_classes(n_lanes + 1)
    planner = Planner(lanes, terms, compact=False, threads=threads)
    if source.n_rows * len(terms) <= FEW_LOOKUPS:
        return planner.single()
    plans = [planner.single(), planner.fused()]
    seconds = [Workload.of(lanes, plan, solved=False).seconds(TYPICAL, 1) for plan in plans]
    return plans[int(np.argmin(seconds))]


def _key(members: Sequence[int]) -> tuple[int, ...]:
    """Return the code columns of a table, whatever the order of its axes."""
    return tuple(sorted(int(m) for m in members if m != NONE))
