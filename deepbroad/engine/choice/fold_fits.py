"""Fits of one set of tables to all validation folds at once: a fold is a lane of every pass.

One look-up serves all folds, since their rows differ in weights alone. So K fits take little more
time than one, and the loss of held-out rows comes with every pass.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np

from deepbroad.data.source import ArraySource
from deepbroad.engine.choice.dealing import DealtRows
from deepbroad.engine.choice.fits import HeldLosses, Traces, draw_residuals
from deepbroad.engine.choice.settings import Settings
from deepbroad.engine.fused import FusedTables
from deepbroad.engine.passes import CHEAP_PASS, score_block
from deepbroad.engine.planning import Planner, group_part
from deepbroad.engine.scatter import Scatter, Whole
from deepbroad.engine.workload import Workload
from deepbroad.kernels.folds import (
    CHUNK,
    collect_lanes,
    curve_rows,
    lose_rows,
    penalise_lanes,
    place_lanes,
)
from deepbroad.kernels.threads import Threads, split_range
from deepbroad.kernels.vector import lane_count
from deepbroad.model.cost import TYPICAL
from deepbroad.model.plan import Plan
from deepbroad.model.terms import NONE, Terms
from deepbroad.solvers import LBFGS

FLOAT = np.dtype(np.float32)
# Tables that a fold does not have are held at 0.
ABSENT = 1e9
# Steps of conjugate gradients: the traces that they are for need no more digits.
STEPS = 6
# Pairs of steps that the solver remembers: more cost as much as a pass over few rows.
HISTORY = 6
# Rows, and scores of cells, from which work is shared out to threads.
WORTH_THREADS = 4096
WORTH_CELLS = 1 << 17


class FoldFits:
    """Models of the same tables, each fitted to the training rows of a fold.

    Parameters
    ----------
    rows : DealtRows
    terms : Terms
        Tables of code columns.
    present : bool array of shape (n_tables, K)
        Which tables the model of each fold has; may change between fits.
    settings : Settings
        How precise fits are.
    """

    def __init__(
        self,
        rows: DealtRows,
        terms: Terms,
        present: np.ndarray,
        settings: Settings,
        threads: Threads,
    ) -> None:
        self.rows, self.threads, self.present, self._settings = rows, threads, present, settings
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
        self.shares = np.zeros((n_rows, self.n_lanes), FLOAT)
        self._losses = np.zeros((n_rows, self.n_folds))
        parts = threads.count if n_rows >= WORTH_THREADS else 1
        self._ranges = split_range(n_rows, parts, 512)
        self.passes = 0
        # F of the latest fit, by which the next one knows how precise to be.
        self._objective = 1.0
        self._count_cells()
        self.point = self._start()

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
        self._total = float(self.rows.trained.sum()) / self.n_folds

    def _start(self) -> np.ndarray:
        """Return the point of class shares alone: class scores of each fold, then cells."""
        counts = np.array(
            [
                np.bincount(self._source.labels, weights, self.n_classes)
                for weights in self.rows.trained.T.astype(np.float64)
            ]
        )
        shares = (counts + 1.0 / self.n_classes) / (counts.sum(axis=1, keepdims=True) + 1.0)
        logs = np.log(shares)
        self._spread = (shares * (1.0 - shares))[:, 1:].ravel()
        classes = (logs[:, 1:] - logs[:, :1]).ravel()
        return np.concatenate([classes, np.zeros(len(self.reached) * self.n_lanes)])

    # Passes over rows.

    def _score(self, point: np.ndarray) -> None:
        """Let values have the scores of rows."""
        classes, cells = self._split(point)
        self._run_cells(place_lanes, self.reached, cells, self._tables.cells, self.width)
        self._tables.build()
        base = np.zeros(self.width, FLOAT)
        base[: self.n_lanes] = classes
        at = 0
        for block in self._source.blocks():
            count = len(block.labels)
            values = self._values[at : at + count]
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

    def _gather(self) -> np.ndarray:
        """Return the sums of values by reached cell, (n_reached, n_lanes)."""
        self._sum_cells()
        found = np.empty((len(self.reached), self.n_lanes))
        self._run_cells(collect_lanes, self.reached, self._scatter.cells, self.width, found)
        return found

    def _lose(self, point: np.ndarray) -> None:
        """Let values have the derivatives of rows, and shares and losses what they are."""
        self._score(point)
        flat, labels = self._values.reshape(-1), self._source.labels
        self.threads.run(
            [
                partial(lose_rows, flat, low, high, self.width, labels, self.rows.trained,
                        self.shares, self._losses)
                for low, high in self._ranges
            ]
        )  # fmt: skip

    def _run_cells(self, kernel, *arguments) -> None:  # type: ignore[no-untyped-def]
        self.threads.run([partial(kernel, a, b, *arguments) for a, b in self._cell_ranges])

    def _split(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        cells = point[self.n_lanes :].reshape(-1, self.n_lanes)
        return point[: self.n_lanes], cells

    def _class_sums(self) -> np.ndarray:
        found: np.ndarray = self._values[:, : self.n_lanes].sum(axis=0, dtype=np.float64)
        return found

    # Fits.

    def _spread_strength(self, strength: np.ndarray) -> np.ndarray:
        """Return λ of each reached cell in each fold, (n_reached, K)."""
        by_fold = np.where(self.present, strength[:, None], ABSENT)
        return np.ascontiguousarray(by_fold[self._table_of])

    def minimise(self, strength: np.ndarray, precision: int = 1) -> HeldLosses:
        """Fit with strengths (n_tables,), going on from the point; return the held-out losses."""
        solver = LBFGS(
            max_iter=self._settings.iterations * precision,
            tol=self._settings.tolerance * min(1.0, self._objective) / precision,
            history=HISTORY,
            double_limit=0,
        )
        self._by_cell = by_cell = self._spread_strength(strength)
        gradient = np.empty(len(self.point))
        into = self._split(gradient)
        penalties = np.empty(-(-len(self.reached) // CHUNK))

        def objective(u: np.ndarray) -> tuple[float, np.ndarray]:
            self._lose(u)
            loss = float(np.einsum("rk,rk->", self._losses, self.rows.trained, dtype=np.float64))
            into[0][:] = self._class_sums()
            self._sum_cells()
            self._run_cells(collect_lanes, self.reached, self._scatter.cells, self.width, into[1])
            self._run_cells(penalise_lanes, self._split(u)[1], by_cell, into[1], penalties)
            np.divide(gradient, self._total, out=gradient)
            return (loss + float(penalties.sum())) / self._total, gradient

        per_score = np.repeat(by_cell, self.n_classes - 1, axis=1) * (1.0 - 1.0 / self.n_classes)
        per_score += self._weights[:, None] * self._spread
        curvature = np.concatenate([self._total * self._spread + 1e-3, per_score.ravel()])
        found = solver.minimise(
            objective, self.point, curvature=curvature / self._total, threads=self.threads
        )
        if found.status == "interrupted":
            raise KeyboardInterrupt
        self.point, self._objective = np.array(found.u), found.loss
        return HeldLosses.of(self.losses, self.rows.held)

    @property
    def losses(self) -> np.ndarray:
        """Log loss of each row under the model of each fold, (n, K)."""
        self._lose(self.point)
        return self._losses

    def held_shares(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return rows, folds and probabilities (n, C) of all held-out rows."""
        self._lose(self.point)
        rows, folds = np.nonzero(self.rows.held)
        shares = self.shares.reshape(len(self.shares), self.n_folds, -1)[rows, folds]
        first = np.maximum(1.0 - shares.sum(axis=1, dtype=np.float64), 0.0)
        return rows, folds, np.column_stack([first, shares])

    def variances(self) -> np.ndarray:
        """Return the mean square of what tables add to the scores of rows, (n_tables, K)."""
        cells = self._split(self.point)[1]
        squares = (cells * self._centred(cells)).reshape(len(cells), self.n_folds, -1).sum(axis=2)
        return np.column_stack([self._by_table(self._weights * each) for each in squares.T])

    def carry(self, other: "FoldFits") -> None:
        """Go on from the scores that another fit has for the tables that both have."""
        self.point[: self.n_lanes] = other.point[: self.n_lanes]
        self._objective = other._objective
        into, cells = self._split(self.point)[1], other._split(other.point)[1]
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
        found = np.zeros((self.terms.sizes[table], self.n_lanes))
        found[self.reached[low:high] - self.terms.offsets[table]] = cells[low:high]
        own = self.terms.members[table].tolist()
        wanted = [own.index(m) for m in members.tolist() if m != NONE]
        order = len(wanted)
        shape = [*self.terms.shapes[table][:order], self.n_lanes]
        return found.reshape(shape).transpose(*wanted, order).reshape(-1, self.n_lanes)

    # The evidence.

    def traces(self, draws: np.ndarray) -> Traces:
        """Return what the evidence knows of each table under the latest fit."""
        self._lose(self.point)
        trained = np.repeat(self.rows.trained, self.n_classes - 1, axis=1)
        lanes = self._values[:, : self.n_lanes]
        lanes[:] = trained * self.shares * (1.0 - self.shares)
        class_diagonal, diagonal = self._class_sums(), self._gather()
        by_cell = np.repeat(self._by_cell, self.n_classes - 1, axis=1)
        penalised = diagonal + by_cell * (1.0 - 1.0 / self.n_classes)
        lanes[:] = self._draw_residuals(draws)
        right = self._class_sums(), self._gather()
        solved = self._solve(right, (class_diagonal + 1e-9, penalised))
        cells = self._split(self.point)[1]
        counts = np.maximum(self.present.sum(axis=1), 1)
        sums = (solved * right[1], diagonal / penalised, cells * self._centred(cells))
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

    def _multiply(self, point: np.ndarray) -> np.ndarray:
        """Return (H + Λ) times a direction, as one flat vector."""
        self._score(point)
        flat = self._values.reshape(-1)
        self.threads.run(
            [
                partial(curve_rows, flat, low, high, self.width, self.rows.trained, self.shares)
                for low, high in self._ranges
            ]
        )
        product = np.empty_like(point)
        product[: self.n_lanes] = self._class_sums()
        cells = self._gather()
        unused = np.empty(-(-len(self.reached) // CHUNK))
        self._run_cells(penalise_lanes, self._split(point)[1], self._by_cell, cells, unused)
        product[self.n_lanes :] = cells.ravel()
        return product

    def _solve(
        self,
        right: tuple[np.ndarray, np.ndarray],
        diagonal: tuple[np.ndarray, np.ndarray],
    ) -> np.ndarray:
        """Return the cells of (H + Λ)⁻¹b by conjugate gradients, each fold by itself."""
        residual, scale = (np.concatenate([a, b.ravel()]) for a, b in (right, diagonal))
        found = np.zeros_like(residual)
        direction = residual / scale
        size = self._by_fold(residual * direction)
        for _ in range(STEPS):
            product = self._multiply(direction)
            step = self._spread_folds(size / np.maximum(self._by_fold(direction * product), 1e-30))
            found += step * direction
            residual -= step * product
            scaled = residual / scale
            before, size = size, self._by_fold(residual * scaled)
            direction = scaled + self._spread_folds(size / np.maximum(before, 1e-30)) * direction
        return self._split(found)[1]

    def _by_fold(self, values: np.ndarray) -> np.ndarray:
        """Return the sums of a flat vector by fold."""
        lanes = values.reshape(-1, self.n_lanes).sum(axis=0)
        return lanes.reshape(self.n_folds, -1).sum(axis=1)

    def _spread_folds(self, values: np.ndarray) -> np.ndarray:
        """Return a number for each fold as a flat vector."""
        lanes = np.repeat(values, self.n_classes - 1)
        return np.tile(lanes, len(self.point) // self.n_lanes)


def make_plan(source: ArraySource, terms: Terms, n_lanes: int, threads: Threads) -> Plan:
    """Return the faster of two plans: a look-up for each table, or fused tables."""
    lanes = source.with_classes(n_lanes + 1)
    planner = Planner(lanes, terms, compact=False, threads=threads)
    if source.n_rows * len(terms) <= CHEAP_PASS:
        return planner.single()
    plans = [planner.single(), planner.fused()]
    seconds = [Workload.of(lanes, plan, solved=False).seconds(TYPICAL, 1) for plan in plans]
    return plans[int(np.argmin(seconds))]


def _key(members: Sequence[int]) -> tuple[int, ...]:
    """Return the code columns of a table, whatever the order of its axes."""
    return tuple(sorted(int(m) for m in members if m != NONE))
