"""Newton's method in the space of cells: fits of the same tables to the same rows, side by side.

Conjugate gradients solve for the steps, each fit with step lengths of its own.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from deepbroad.data.source import ArraySource, Source
from deepbroad.engine.lane_passes import FLOAT, LanePasses, Vector
from deepbroad.engine.row_newton import find_offsets
from deepbroad.kernels.folds import CHUNK, multiply_lanes, penalise_lanes, step_lanes, turn_lanes
from deepbroad.kernels.threads import Threads
from deepbroad.kernels.vector import lane_count
from deepbroad.model.family import spread
from deepbroad.model.plan import Plan

# Steps at most, and how often one is halved until the objective falls.
STEPS, HALVINGS = 40, 8
# For a Newton step, conjugate gradients end with a step that brings less than this share of the
# mean of all so far; their steps at most.
SOLVED, SOLVER_STEPS = 0.9, 30
# What the last step of a fit to all rows may promise: a share of the training loss, or so much for
# each row. Strengths that single precision bears.
TOLERANCE, ROW_TOLERANCE, LEAST, MOST = 1e-4, 3e-5, 1e-8, 1e9
# Vectors over rows and over cells that a fit keeps.
ROW_VECTORS, CELL_VECTORS = 6, 10


class CellNewton:
    """Minimises the penalised log loss of K fits.

    Parameters
    ----------
    source : ArraySource
        Rows in the groups of the plan.
    plan : Plan
    trained : ndarray of shape (n, K), float32
        The weight of each row in each fit.

    Attributes
    ----------
    passes : LanePasses
    point : Vector
        Where the fits are; at first at the frequencies of classes.
    strength : ndarray of shape (n_reached, K)
        λ of each cell.
    """

    def __init__(
        self, source: ArraySource, plan: Plan, trained: np.ndarray, threads: Threads
    ) -> None:
        self.passes = LanePasses(source, plan, trained, threads)
        self.n_classes, self.n_folds = source.n_classes, trained.shape[1]
        n_lanes, n_cells = self.passes.n_lanes, len(self.passes.reached)
        self._sums = np.zeros((-(-n_cells // CHUNK), self.n_folds))
        self.strength = np.ones((n_cells, self.n_folds), FLOAT)
        self._scores = np.zeros_like(self.passes.values)
        counted = [find_offsets(source.labels, own, self.n_classes) for own in trained.T]
        self.go_to(Vector(np.concatenate(counted), np.zeros((n_cells, n_lanes), FLOAT)))

    def go_to(self, point: Vector) -> None:
        """Let fits be at another point."""
        self.point = point
        self.passes.score(point, self._scores)
        self.refresh()

    @property
    def row_scores(self) -> np.ndarray:
        """The scores of rows where fits are, (n, n_lanes)."""
        return self._scores[:, : self.passes.n_lanes]

    def refresh(self) -> None:
        """Let shares, losses and values of the passes be those of the point."""
        self.passes.lose(self._scores)

    def minimise(
        self,
        tolerance: float,
        *,
        floor: float = 0.0,
        is_enough: Callable[[], bool] | None = None,
    ) -> None:
        """Take Newton steps until one promises less than a share of the training loss.

        What is left after that step is a small part of what it promised. A promise below `floor`
        is as good, and `is_enough` may end a fit after any step.
        """
        point, now = self.point, self._measure(self.point)
        scale = self.scale(self.passes.curvature())
        for _ in range(STEPS):
            right = self.passes.gather()
            self._penalise(point.cells, right.cells)
            np.negative(right.classes, out=right.classes)
            np.negative(right.cells, out=right.cells)
            step, image = self.solve(right, scale, SOLVED)
            little = np.maximum(tolerance * self.passes.training_losses(), floor)
            is_last = (self._dot(right, step) <= little).all()
            point, now, is_lower = self._search(point, now, step, image)
            if is_last or not is_lower or (is_enough and is_enough()):
                break
        self.point = point

    def scale(self, curved: Vector) -> Vector:
        """Return the diagonal of H + Λ, given that of H."""
        penalty = np.repeat(self.strength, self.n_classes - 1, axis=1)
        cells = curved.cells + penalty * FLOAT.type(1.0 - 1.0 / self.n_classes)
        return Vector(curved.classes + 1e-6, cells)

    def _measure(self, point: Vector) -> np.ndarray:
        """Return the objective of each fold at a point whose rows' losses are known, (K,)."""
        unused = np.zeros_like(point.cells)
        self._penalise(point.cells, unused)
        found: np.ndarray = self.passes.training_losses() + 0.5 * self._sums.sum(axis=0)
        return found

    def _penalise(self, cells: np.ndarray, into: np.ndarray) -> None:
        """Add Λ times a vector, and let sums be the vector's products with that."""
        self.passes.run_cells(penalise_lanes, cells, self.strength, into, self._sums)

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
            scores[:, : self.passes.n_lanes] += lanes * image
            self.passes.lose(scores)
            now = self._measure(tried)
            higher = ~(now <= before)
            if not higher.any():
                break
            lengths[higher] *= 0.5 if halving + 1 < HALVINGS else 0.0
        self._scores = scores
        return tried, now, bool(lengths.any())

    def solve(self, right: Vector, scale: Vector, share: float) -> tuple[Vector, np.ndarray]:
        """Return the x with (H + Λ) x = right, about, and its scores of rows.

        Each step of conjugate gradients adds to right·x, of which half is by how much the quadratic
        model of the objective falls: steps end when they add little of that in every fold.
        """
        residual = right.copy()
        found = Vector(np.zeros_like(right.classes), np.zeros_like(right.cells))
        image = np.zeros((len(self.passes.values), self.passes.n_lanes), FLOAT)
        scores = np.zeros_like(self.passes.values)
        direction = Vector(right.classes / scale.classes, right.cells / scale.cells)
        size = self._dot(residual, direction)
        total = np.zeros(self.n_folds)
        for count in range(1, SOLVER_STEPS + 1):
            product, curved = self._multiply(direction, scores)
            lengths = size / np.maximum(curved, 1e-30)
            lanes = self._by_lane(lengths)
            image += lanes * scores[:, : self.passes.n_lanes]
            found.classes[:] += lanes * direction.classes
            residual.classes[:] -= lanes * product.classes
            self.passes.run_cells(
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
            self.passes.run_cells(turn_lanes, ratios, residual.cells, scale.cells, direction.cells)
        return found, image

    def _multiply(self, direction: Vector, scores: np.ndarray) -> tuple[Vector, np.ndarray]:
        """Return (H + Λ) d for a direction d, and d·(H + Λ) d by fold; write the scores of d."""
        self.passes.score(direction, scores)
        self.passes.curve(scores)
        product = self.passes.gather()
        self._penalise(direction.cells, product.cells)
        return product, self._dot(direction, product)

    def _dot(self, first: Vector, second: Vector) -> np.ndarray:
        """Return inner products by fold."""
        self.passes.run_cells(multiply_lanes, first.cells, second.cells, self._sums)
        found: np.ndarray = self._sums.sum(axis=0) + self._by_fold(first.classes * second.classes)
        return found

    def _by_fold(self, lanes: np.ndarray) -> np.ndarray:
        """Return the sums of lanes by fold."""
        found: np.ndarray = lanes.reshape(self.n_folds, -1).sum(axis=1)
        return found

    def _by_lane(self, folds: np.ndarray) -> np.ndarray:
        """Return a number for each fold as one for each lane."""
        return np.repeat(folds, self.n_classes - 1).astype(FLOAT)


class CellScores(NamedTuple):
    """A model: scores of classes (C,), and of all cells (n_cells, C), 0 where no row is."""

    classes: np.ndarray
    cells: np.ndarray


def newton_bytes(source: Source, n_reached: int) -> float:
    """Return about how many bytes a fit to all rows takes beside its tables."""
    n_scores = source.n_classes - 1
    by_row = ROW_VECTORS * lane_count(n_scores) * source.n_rows
    return float(FLOAT.itemsize * (by_row + CELL_VECTORS * n_scores * n_reached))


def find_scores(
    source: ArraySource, plan: Plan, strength: np.ndarray | float, threads: Threads
) -> CellScores:
    """Fit all rows, with a strength for each term, in single precision."""
    given = np.ones(source.n_rows) if source.weights is None else source.weights
    # Single precision has no room for units.
    unit = float(given.mean())
    trained = (given / unit).astype(np.float32)[:, None]
    newton = CellNewton(source, plan, trained, threads)
    by_cell = spread(strength, plan.terms, newton.passes.reached)
    newton.strength = np.empty_like(newton.strength)
    newton.strength[:] = np.clip(by_cell / unit, LEAST, MOST)
    newton.minimise(TOLERANCE, floor=ROW_TOLERANCE * float(trained.sum()))
    scores = np.zeros((plan.terms.n_cells, source.n_classes), FLOAT)
    scores[newton.passes.reached] = centre_scores(newton.point.cells)
    return CellScores(centre_scores(newton.point.classes[None])[0], scores)


def centre_scores(relative: np.ndarray) -> np.ndarray:
    """Return scores (n, C) that add up to 0, given those relative to the first class."""
    scores = np.column_stack([np.zeros(len(relative)), relative])
    found: np.ndarray = scores - scores.mean(axis=1, keepdims=True)
    return found
