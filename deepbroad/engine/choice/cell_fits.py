"""Fits of one set of tables to all validation folds, in the space of cells: for many rows.

A fit is by Newton's method; conjugate gradients solve for its steps, each fold with step lengths of
its own.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from deepbroad.engine.choice.dealing import DealtRows
from deepbroad.engine.choice.fits import HeldLosses, Traces, draw_residuals
from deepbroad.engine.choice.fold_passes import FLOAT, FoldPasses, Vector
from deepbroad.engine.row_newton import find_offsets
from deepbroad.kernels.folds import CHUNK, multiply_lanes, penalise_lanes, step_lanes, turn_lanes
from deepbroad.kernels.threads import Threads
from deepbroad.model.terms import NONE, Terms

# Tables that a fold does not have are held at 0.
ABSENT = 1e9
# Share of the training loss that the last Newton step may promise: what is left after it is a small
# part of that. Steps at most, and how often one is halved until the objective falls.
TOLERANCE, STEPS, HALVINGS = 2e-2, 20, 8
# Conjugate gradients end with a step that brings less than this share of the mean of all so far,
# for a Newton step and for a probe; and their steps at most.
SOLVED, PROBED, SOLVER_STEPS = 0.9, 0.2, 30


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
        self._passes = FoldPasses(rows, terms, threads)
        self.terms, self.n_lanes = self._passes.terms, self._passes.n_lanes
        n_cells = len(self._passes.reached)
        self._sums = np.zeros((-(-n_cells // CHUNK), self.n_folds))
        counted = [find_offsets(self._labels, own, self.n_classes) for own in rows.trained.T]
        start = Vector(np.concatenate(counted), np.zeros((n_cells, self.n_lanes), FLOAT))
        self.point = self._at = CellPoint(start, self._spread_strength(np.ones(len(terms))))
        self._scores = np.zeros_like(self._passes.values)
        self._passes.score(start, self._scores)

    @property
    def _labels(self) -> np.ndarray:
        return self.rows.source.labels

    @property
    def products(self) -> int:
        """How many passes fits have taken."""
        return self._passes.count

    def minimise(self, strength: np.ndarray) -> HeldLosses:
        """Fit with strengths (n_tables,), going on from the point; return the held-out losses."""
        self._leave_out_absent()
        self._refresh()
        self._strength, point = self._spread_strength(strength), self.point.scores
        now, scale = self._measure(point), self._scale(self._passes.curvature())
        for _ in range(STEPS):
            right = self._passes.gather()
            self._penalise(point.cells, right.cells)
            np.negative(right.classes, out=right.classes)
            np.negative(right.cells, out=right.cells)
            step, image = self._solve(right, scale, SOLVED)
            is_last = (self._dot(right, step) <= TOLERANCE * self._passes.training_losses()).all()
            point, now, is_lower = self._search(point, now, step, image)
            if is_last or not is_lower:
                break
        self.point = self._at = CellPoint(point, self._strength)
        return HeldLosses.of(self._passes.losses, self.rows.held)

    def _leave_out_absent(self) -> None:
        """Let a point score nothing by tables that folds do not have."""
        absent = np.repeat(~self.present, self.n_classes - 1, axis=1)[self._passes.table_of]
        if self.point.scores.cells[absent].any():
            scores = self.point.scores.copy()
            scores.cells[absent] = 0.0
            self.point = self.point._replace(scores=scores)

    def _spread_strength(self, strength: np.ndarray) -> np.ndarray:
        """Return λ of each reached cell in each fold, (n_reached, K)."""
        by_fold = np.where(self.present, strength[:, None], ABSENT)
        return np.ascontiguousarray(by_fold[self._passes.table_of], FLOAT)

    def _measure(self, point: Vector) -> np.ndarray:
        """Return the objective of each fold at a point whose rows' losses are known, (K,)."""
        unused = np.zeros_like(point.cells)
        self._penalise(point.cells, unused)
        found: np.ndarray = self._passes.training_losses() + 0.5 * self._sums.sum(axis=0)
        return found

    def _penalise(self, cells: np.ndarray, into: np.ndarray) -> None:
        """Add Λ times a vector, and let sums be the vector's products with that."""
        self._passes.run_cells(penalise_lanes, cells, self._strength, into, self._sums)

    def _scale(self, curved: Vector) -> Vector:
        """Return the diagonal of H + Λ."""
        penalty = np.repeat(self._strength, self.n_classes - 1, axis=1)
        scale = curved.cells + penalty * FLOAT.type(1.0 - 1.0 / self.n_classes)
        return Vector(curved.classes + 1e-6, scale)

    def _search(
        self, point: Vector, before: np.ndarray, step: Vector, image: np.ndarray
    ) -> tuple[Vector, np.ndarray, bool]:
        """Go as far along a step as the objective of each fold falls.

        Return the point, its objectives, and whether any fold went on. `image` is the step's scores
        of rows.
        """
        lengths = np.ones(self.n_folds)
        for halving in range(HALVINGS + 1):
            lanes = self._by_lane(lengths)
            tried = Vector(point.classes + lanes * step.classes, point.cells + lanes * step.cells)
            scores = self._scores.copy()
            scores[:, : self.n_lanes] += lanes * image
            self._passes.lose(scores)
            now = self._measure(tried)
            higher = ~(now <= before)
            if not higher.any():
                break
            lengths[higher] *= 0.5 if halving + 1 < HALVINGS else 0.0
        self._scores = scores
        return tried, now, bool(lengths.any())

    def _solve(self, right: Vector, scale: Vector, share: float) -> tuple[Vector, np.ndarray]:
        """Return the x with (H + Λ) x = right, about, and its scores of rows.

        Each step of conjugate gradients adds to right·x, of which half is by how much the quadratic
        model of the objective falls: steps end when they add little of that in every fold.
        """
        residual = right.copy()
        found = Vector(np.zeros_like(right.classes), np.zeros_like(right.cells))
        image = np.zeros((len(self._passes.values), self.n_lanes), FLOAT)
        scores = np.zeros_like(self._passes.values)
        direction = Vector(right.classes / scale.classes, right.cells / scale.cells)
        size = self._dot(residual, direction)
        total = np.zeros(self.n_folds)
        for count in range(1, SOLVER_STEPS + 1):
            product, curved = self._multiply(direction, scores)
            lengths = size / np.maximum(curved, 1e-30)
            lanes = self._by_lane(lengths)
            image += lanes * scores[:, : self.n_lanes]
            found.classes[:] += lanes * direction.classes
            residual.classes[:] -= lanes * product.classes
            self._passes.run_cells(
                step_lanes, lanes, direction.cells, product.cells, scale.cells, found.cells,
                residual.cells, self._sums,
            )  # fmt: skip
            added = lengths * size
            total += added
            if (count * added < share * total).all():
                break
            scaled = residual.classes / scale.classes
            before, size = size, self._sums.sum(axis=0) + self._by_fold(residual.classes * scaled)
            ratios = self._by_lane(size / np.maximum(before, 1e-30))
            direction.classes[:] = scaled + ratios * direction.classes
            self._passes.run_cells(turn_lanes, ratios, residual.cells, scale.cells, direction.cells)
        return found, image

    def _multiply(self, direction: Vector, scores: np.ndarray) -> tuple[Vector, np.ndarray]:
        """Return (H + Λ) d for a direction d, and d·(H + Λ) d by fold; write the scores of d."""
        self._passes.score(direction, scores)
        self._passes.curve(scores)
        product = self._passes.gather()
        self._penalise(direction.cells, product.cells)
        return product, self._dot(direction, product)

    def _dot(self, first: Vector, second: Vector) -> np.ndarray:
        """Return inner products by fold."""
        self._passes.run_cells(multiply_lanes, first.cells, second.cells, self._sums)
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
            self._passes.score(self.point.scores, self._scores)
            self._at = self.point
        self._strength = self.point.strength
        self._passes.lose(self._scores)

    @property
    def losses(self) -> np.ndarray:
        """Log loss of each row under the model of each fold, (n, K)."""
        self._refresh()
        return self._passes.losses

    def held_shares(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return rows, folds and probabilities (n, C) of all held-out rows."""
        self._refresh()
        rows, folds = np.nonzero(self.rows.held)
        by_fold = self._passes.shares.reshape(len(self._labels), self.n_folds, -1)
        shares = by_fold[rows, folds]
        first = np.maximum(1.0 - shares.sum(axis=1, dtype=np.float64), 0.0)
        return rows, folds, np.column_stack([first, shares])

    def variances(self) -> np.ndarray:
        """Return the squares of what tables add to the scores, summed over rows, (n_tables, K)."""
        cells = self.point.scores.cells
        squares = (cells * self._centred(cells)).reshape(len(cells), self.n_folds, -1).sum(axis=2)
        return np.column_stack([self._by_table(self._passes.weights * each) for each in squares.T])

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
                own = slice(self._passes.bounds[table], self._passes.bounds[table + 1])
                into[own] = other._scores_of(source, members, cells)[
                    self._passes.reached[own] - self.terms.offsets[table]
                ]

    def _scores_of(self, table: int, members: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """Return the scores of all cells of a table, its axes in the order of `members`."""
        low, high = self._passes.bounds[table], self._passes.bounds[table + 1]
        found = np.zeros((self.terms.sizes[table], self.n_lanes), FLOAT)
        found[self._passes.reached[low:high] - self.terms.offsets[table]] = cells[low:high]
        own = self.terms.members[table].tolist()
        wanted = [own.index(m) for m in members.tolist() if m != NONE]
        order = len(wanted)
        shape = [*self.terms.shapes[table][:order], self.n_lanes]
        return found.reshape(shape).transpose(*wanted, order).reshape(-1, self.n_lanes)

    # The evidence.

    def traces(self, draws: np.ndarray) -> Traces:
        """Return what the evidence knows of each table under the latest fit."""
        self._refresh()
        curved = self._passes.curvature()
        scale = self._scale(curved)
        diagonal = curved.cells / scale.cells
        self._passes.values[:, : self.n_lanes] = self._draw_residuals(draws)
        right = self._passes.gather()
        solved, _ = self._solve(right, scale, PROBED)
        cells = self.point.scores.cells
        counts = np.maximum(self.present.sum(axis=1), 1)
        sums = (solved.cells * right.cells, diagonal, cells * self._centred(cells))
        return Traces(*(self._by_table(each.sum(axis=1)) / counts for each in sums))

    def _draw_residuals(self, draws: np.ndarray) -> np.ndarray:
        """Return √ω (1[y*] - p) of each row in each fold."""
        shares = self._passes.shares.reshape(len(draws), self.n_folds, -1)
        found = np.stack([draw_residuals(own, draws) for own in shares.transpose(1, 0, 2)], axis=1)
        residuals = found * np.sqrt(self.rows.trained)[:, :, None]
        return residuals.reshape(len(draws), -1)

    def _centred(self, cells: np.ndarray) -> np.ndarray:
        """Return δ - Σδ/C of the scores of each fold: the penalty's gradient for λ = 1."""
        by_fold = cells.reshape(len(cells), self.n_folds, -1)
        whole = by_fold.sum(axis=2, keepdims=True) / self.n_classes
        return (by_fold - whole).reshape(cells.shape)

    def _by_table(self, values: np.ndarray) -> np.ndarray:
        return np.bincount(self._passes.table_of, values, len(self.terms))


def _key(members: Sequence[int]) -> tuple[int, ...]:
    """Return the code columns of a table, whatever the order of its axes."""
    return tuple(sorted(int(m) for m in members if m != NONE))
