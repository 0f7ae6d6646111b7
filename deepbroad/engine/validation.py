"""Held-out loss of models that differ in their strengths: what an automatic choice goes by."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from deepbroad.data.source import ArraySource
from deepbroad.engine.batches import take_rows
from deepbroad.engine.merging import merge_rows
from deepbroad.engine.passes import pass_dtype
from deepbroad.engine.planning import group_part
from deepbroad.engine.training import Training
from deepbroad.kernels.threads import Threads
from deepbroad.model.family import Family, PerTerm
from deepbroad.model.objective import Design, Objective
from deepbroad.model.plan import Plan
from deepbroad.model.strengths import Adaptation
from deepbroad.solvers import LBFGS

# Folds, and how often they are drawn anew, for so many rows at most.
FOLDS = ((300, 5, 2), (3_000, 5, 1))
SHARE_HELD = 5
# Groups of the held-out rows of a single fold, which tell what is chance.
GROUPS = 5
# The gap that ends dual ascent, in what an iteration of L-BFGS brings at least when it goes on: a
# gap is all that is left, and it closes fast.
GAP = 0.1
# Bytes that the duals of all folds may take.
ROOM = float(1 << 29)


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


class Fold:
    """A training set, held-out rows, and the parameters of the latest fit.

    Each fit starts from the one before it, so that a path of similar strengths is cheap.
    """

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

    @property
    def orders(self) -> np.ndarray:
        """How many columns each term joins, (n_terms,)."""
        return self._training.plan.terms.orders

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


class Validation:
    """Folds of a source under one plan.

    Parameters
    ----------
    source : ArraySource
        Rows of code columns, identical ones not merged: those in both parts of a split are what a
        model will meet again.
    plan : Plan
        Made from all of these rows.
    family : Family
        Its strengths are given to `loss`.
    held : sequence of integer arrays
        The rows that each fold holds out.
    room : float
        Bytes that the duals of all folds may take.
    """

    def __init__(
        self,
        source: ArraySource,
        plan: Plan,
        family: Family,
        held: Sequence[np.ndarray],
        *,
        smoothing: float,
        min_count: float,
        threads: Threads,
        room: float = ROOM,
    ) -> None:
        self.folds = []
        self.passes = 0
        self._threads = threads
        # Several folds are fitted side by side, each by one thread.
        own = threads if len(held) == 1 else Threads(1)
        for rows in held:
            training = train_without(
                source, rows, plan, smoothing=smoothing, min_count=min_count, threads=own
            )
            judged = group_part(source.take(rows), plan, own)
            self.folds.append(Fold(training, judged, family, room / len(held)))

    def loss(self, strength: PerTerm, solver: LBFGS) -> float:
        """Return the mean held-out loss of models of these strengths."""
        return self._mean(self._hold_out([strength] * len(self.folds), solver))

    def losses(self, strength: PerTerm, solver: LBFGS) -> np.ndarray:
        """Return the mean held-out loss of each fold; of groups of its rows if there is but one.

        What is asked next starts where this did: a fit that goes on from another one, which had not
        quite converged, looks better than its strengths are.
        """
        kept = [fold.keep() for fold in self.folds]
        whole = self._hold_out([strength] * len(self.folds), solver)
        if len(self.folds) == 1:
            found = self.folds[0].held_losses()
        else:
            found = [loss / fold.held_weight for loss, fold in zip(whole, self.folds, strict=True)]
        self._go_back(kept)
        return np.array(found)

    def adapted_loss(self, strength: np.ndarray, adaptation: Adaptation, solver: LBFGS) -> float:
        """Return the held-out loss where each fold adapts the strengths to its latest fit."""
        kept = [fold.keep() for fold in self.folds]
        adapted = [
            strength * adaptation.factors(fold.variances(), fold.orders) for fold in self.folds
        ]
        losses = self._hold_out(adapted, solver)
        self._go_back(kept)
        return self._mean(losses)

    def _hold_out(self, strengths: Sequence[PerTerm], solver: LBFGS) -> list[float]:
        """Fit to each fold with its strengths and return the sums of held-out losses."""
        passes, losses = [0] * len(self.folds), [0.0] * len(self.folds)

        def fit(k: int) -> None:
            passes[k] = self.folds[k].minimise(strengths[k], solver)
            losses[k] = self.folds[k].held_loss()

        self._threads.run([partial(fit, k) for k in range(len(self.folds))])
        self.passes += sum(passes)
        return losses

    def _go_back(self, kept: Sequence[np.ndarray | None]) -> None:
        """Start the next fits from parameters that were kept."""
        for fold, u in zip(self.folds, kept, strict=True):
            fold.go_back(u)

    def _mean(self, losses: list[float]) -> float:
        return sum(losses) / sum(fold.held_weight for fold in self.folds)


def train_without(
    source: ArraySource,
    held: np.ndarray,
    plan: Plan,
    *,
    smoothing: float,
    threads: Threads,
    min_count: float = 1,
) -> Training:
    """Return the training set of the rows that are not held out, identical ones merged."""
    rest = np.ones(source.n_rows, bool)
    rest[held] = False
    train = merge_rows(source.take(np.flatnonzero(rest)))
    return Training(
        group_part(train, plan, threads),
        plan,
        smoothing=smoothing,
        dtype=pass_dtype(plan, train.n_rows),
        threads=threads,
        min_count=min_count,
    )


def stratified_folds(
    labels: np.ndarray, n_folds: int, random: np.random.Generator
) -> list[np.ndarray]:
    """Return the rows of each fold; every class is spread evenly over them."""
    order = random.permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    fold = np.empty(len(labels), np.int64)
    fold[order] = (np.arange(len(labels)) + random.integers(n_folds)) % n_folds
    return [np.flatnonzero(fold == k) for k in range(n_folds)]


def draw_folds(sample: ArraySource, random: np.random.Generator) -> list[np.ndarray]:
    """Return the rows to hold out, fold by fold: more folds the fewer rows there are."""
    labels = sample.labels
    for most, folds, repeats in FOLDS:
        if len(labels) <= most:
            folds = max(2, min(folds, len(labels)))
            drawn = [stratified_folds(labels, folds, random) for _ in range(repeats)]
            return [rows for one in drawn for rows in one if 0 < len(rows) < len(labels)]
    held = stratified_folds(labels, SHARE_HELD, random)[0]
    # A class that no held-out row has would seem to be told apart by any model, the weaker the
    # strengths the better.
    values, firsts, counts = np.unique(labels, return_index=True, return_counts=True)
    unheld = (counts > 1) & ~np.isin(values, labels[held])
    return [np.sort(np.append(held, firsts[unheld]))]
