"""A training set and the rows that are held out from it, fitted by its cells."""

from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from deepbroad.data.source import ArraySource
from deepbroad.engine.batches import take_rows
from deepbroad.engine.training import Training
from deepbroad.model.family import Family, PerTerm
from deepbroad.model.objective import Design, Objective
from deepbroad.solvers import LBFGS

# Groups of the held-out rows of a single fold, which tell what is chance.
GROUPS = 5
# The gap that ends dual ascent, in what an iteration of L-BFGS brings at least when it goes on: a
# gap is all that is left, and it closes fast.
GAP = 0.1


class Fold(Protocol):
    """A training set, held-out rows, and the latest fit.

    Each fit starts from the one before it, so that a path of similar strengths is cheap.

    Attributes
    ----------
    held_weight : float
        Σ ω of the held-out rows.
    """

    held_weight: float

    def minimise(self, strength: np.ndarray, solver: LBFGS) -> int:
        """Fit with other strengths, (n_terms,); return how many passes that took."""

    def held_loss(self) -> float:
        """Return Σ ω·loss of the held-out rows under the latest fit."""

    def held_losses(self) -> list[float]:
        """Return the mean loss of each group of the held-out rows under the latest fit."""

    def variances(self) -> np.ndarray:
        """Return the mean square of the scores of each term under the latest fit, (n_terms,)."""

    def keep(self) -> Any:
        """Return where the latest fit is, for `go_back`."""

    def go_back(self, kept: Any) -> None:
        """Go back to a fit that was kept: the next one starts there."""


class HeldRows:
    """Rows that a fold holds out, and the pass over them."""

    def __init__(
        self, training: Training, family: Family, design: Design, source: ArraySource
    ) -> None:
        self.source = source
        self.weight = float(source.n_rows if source.weights is None else source.weights.sum())
        self._pass = training.loss_pass(family, design, source)

    def loss(self, class_scores: np.ndarray, cells: np.ndarray, residuals: np.ndarray) -> float:
        """Return Σ ω·loss; `residuals` is room that a pass writes to."""
        return self._pass(class_scores, cells, residuals)[0]


class CellFold:
    """A fold whose fits are of the scores of cells, by dual ascent or L-BFGS."""

    def __init__(self, training: Training, held: ArraySource, family: Family, room: float) -> None:
        self._training, self._family = training, family
        self._design = training.design(family)
        self._pass = training.loss_pass(family, self._design)
        self._held = HeldRows(training, family, self._design, held)
        self.held_weight = self._held.weight
        self._dual = training.dual(family, self._design, room)
        self._groups: list[HeldRows] = []
        self._u: np.ndarray | None = None
        self._residuals = np.empty(self._design.scale.shape)

    def minimise(self, strength: PerTerm, solver: LBFGS) -> int:
        """Fit with other strengths; return how many passes that took."""
        if self._dual is not None:
            ascent = self._dual.ascend(strength, GAP * solver.tol, certain=False)
            if ascent.status == "converged":
                self._u = self._dual.point()
                return ascent.sweeps
        family = replace(self._family, strength=strength)
        design = self._training.redesign(family, self._design)
        total = float(self._training.class_counts.sum())
        objective = Objective(design, self._pass, total, self._training.threads)
        solution = solver.minimise(
            objective,
            objective.lower_start if self._u is None else self._u,
            curvature=objective.curvature,
            threads=self._training.threads,
        )
        if solution.status == "interrupted":
            # The solver keeps what it has; a choice that was interrupted has nothing to keep.
            raise KeyboardInterrupt
        self._u = np.array(solution.u)
        return len(solution.evaluation_curve)

    def held_loss(self) -> float:
        """Return Σ ω·loss of the held-out rows under the latest fit."""
        classes, cells = self._split()
        return self._held.loss(classes * self._design.class_scale, cells, self._residuals)

    def held_losses(self) -> list[float]:
        """Return the mean loss of each group of the held-out rows under the latest fit."""
        if not self._groups:
            source = self._held.source
            parts = (take_rows(source, np.arange(g, source.n_rows, GROUPS)) for g in range(GROUPS))
            self._groups = [
                HeldRows(self._training, self._family, self._design, part) for part in parts
            ]
        classes, cells = self._split()
        scores = classes * self._design.class_scale
        return [group.loss(scores, cells, self._residuals) / group.weight for group in self._groups]

    def variances(self) -> np.ndarray:
        """Return the mean square of the scores of each term under the latest fit, (n_terms,)."""
        _, cells = self._split()
        offsets = self._training.plan.terms.offsets
        bounds = np.searchsorted(self._training.reached, offsets)
        squares = ((cells * self._design.scale) ** 2).sum(axis=1)
        sums = np.concatenate([[0.0], np.cumsum(squares)])[bounds]
        return np.diff(sums) / np.maximum(np.diff(bounds), 1) / (cells.shape[1] - 1)

    def keep(self) -> np.ndarray | None:
        """Return the parameters of the latest fit, for `go_back`."""
        return self._u

    def go_back(self, kept: np.ndarray | None) -> None:
        """Start the next fit from parameters that were kept."""
        self._u = kept

    def _split(self) -> tuple[np.ndarray, np.ndarray]:
        if self._u is None:
            raise AssertionError("a fold is judged after a fit")
        n_classes = len(self._design.class_scale)
        return self._u[:n_classes], self._u[n_classes:].reshape(-1, n_classes)
