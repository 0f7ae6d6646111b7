"""Fits: counting for the generative models, minimising for the discriminative ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deepbroad.data.source import ArraySource
from deepbroad.engine.passes import LossPass, count_cells
from deepbroad.engine.threads import Threads
from deepbroad.model.generative import curvature, log_likelihoods, log_priors, partition_weight
from deepbroad.model.objective import Design, Objective
from deepbroad.model.plan import Plan
from deepbroad.model.scores import ScoreTables
from deepbroad.solvers import Solution, Solver
from deepbroad.solvers.solver import Callback


@dataclass(frozen=True)
class Family:
    """What sets one discriminative model apart from another: data for the objective.

    Attributes
    ----------
    generative : bool
        Scale by log θ and start from AnJE (DBL), or scale 1 and start from 0 (LR).
    alpha : float
        λ, the strength of the penalty, the same for every cell.
    to_generative : bool
        Pull weights towards AnJE's 1/p instead of 0.
    """

    generative: bool
    alpha: float
    to_generative: bool = False


class Training:
    """One training set under one plan: counts once, then fits.

    Parameters
    ----------
    source : ArraySource
        Rows coded in the plan's groups.
    min_count : float
        Joint values of less weight are as if no row had them.
    """

    def __init__(
        self,
        source: ArraySource,
        plan: Plan,
        *,
        smoothing: float,
        dtype: np.dtype,
        threads: Threads,
        min_count: float = 1,
    ) -> None:
        self.source, self.plan, self.threads = source, plan, threads
        self.smoothing, self.dtype = smoothing, dtype
        self.class_counts, self.counts = count_cells(source, plan, threads)
        # The cell that rare joint values share is as if no row reached it, and so are rare cells.
        self.counts[plan.terms.shared_cells] = 0.0
        if min_count > 1:
            self.counts[self.counts.sum(axis=1) < min_count] = 0.0

    @cached_property
    def log_priors(self) -> np.ndarray:
        """Log π, (C,)."""
        return log_priors(self.class_counts, self.smoothing)

    def log_likelihoods(self, cells: np.ndarray | slice) -> np.ndarray:
        """Log θ of some cells, (n, C)."""
        sizes = self.plan.terms.per_cell(self.plan.terms.spaces)[cells]
        return log_likelihoods(self.counts[cells], self.class_counts, sizes, self.smoothing)

    def generative(self) -> ScoreTables:
        """Return AnJE: log π and log θ / p."""
        scale = self.log_likelihoods(slice(None))
        scores = scale * partition_weight(self.plan.terms)
        return ScoreTables(self.plan, self.log_priors, self._cast(scores), self._cast(scale))

    def discriminative(
        self,
        family: Family,
        solver: Solver,
        *,
        callbacks: Sequence[Callback] = (),
        warm: ScoreTables | None = None,
    ) -> tuple[ScoreTables, Solution]:
        """Return the model that minimises the objective, and how the solver got there."""
        reached = np.flatnonzero(self.counts.any(axis=1))
        shape = (len(reached), self.source.n_classes)
        weight = partition_weight(self.plan.terms) if family.generative else 0.0
        scale = self.log_likelihoods(reached) if family.generative else np.ones(shape)
        target = weight if family.to_generative else 0.0
        class_scale = self.log_priors if family.generative else np.ones(shape[1])
        total = float(self.class_counts.sum())
        design = Design(
            scale=self._cast(scale),
            start=np.full(shape, weight),
            target=target,
            strength=family.alpha,
            class_scale=class_scale,
            class_start=np.full(shape[1], 1.0 if family.generative else 0.0),
            curvature=curvature(self.counts[reached], scale, family.alpha) / total,
            class_curvature=curvature(self.class_counts, class_scale, 0.0) / total,
        )
        scores = self._fixed_scores(target)
        run_pass = LossPass(
            self.source,
            self.plan,
            reached=reached,
            scale=design.scale,
            fixed=scores[:, 1:] - scores[:, :1] if target else None,
            dtype=self.dtype,
            threads=self.threads,
        )
        objective = Objective(design, run_pass, total)
        start = objective.start
        if warm is not None:
            start = warm_start(objective, warm, reached)
        solution = solver.minimise(
            objective, start, curvature=objective.curvature, callbacks=callbacks
        )
        classes, cells = objective.split(solution.u)
        scores[reached] = design.scale * cells
        full_scale = self._full_scale(reached, design.scale) if family.generative else None
        return ScoreTables(self.plan, classes * design.class_scale, scores, full_scale), solution

    def _fixed_scores(self, target: float) -> np.ndarray:
        """Return the scores s·t of the cells that no training row reaches, 0 elsewhere."""
        scores = np.zeros(self.counts.shape, self.dtype)
        if target:
            unreached = np.flatnonzero(~self.counts.any(axis=1))
            scores[unreached] = target * self.log_likelihoods(unreached)
        return scores

    def _full_scale(self, reached: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """Return log θ of every cell; 0 for unreached ones without smoothing, where θ is 0."""
        if self.smoothing:
            return self._cast(self.log_likelihoods(slice(None)))
        full = np.zeros(self.counts.shape, self.dtype)
        full[reached] = scale
        return full

    def _cast(self, array: np.ndarray) -> np.ndarray:
        return array.astype(self.dtype, copy=False)


def warm_start(objective: Objective, warm: ScoreTables, reached: np.ndarray) -> np.ndarray:
    """Return the parameters that give `warm`'s scores under this objective's scale."""
    design = objective.design
    # Where log θ is 0 (a column of one value) the weight has no effect; it stays at the start.
    cells = np.divide(
        warm.scores[reached], design.scale, out=design.start.copy(), where=design.scale != 0
    )
    scale = design.class_scale
    classes = np.divide(warm.class_scores, scale, out=design.class_start.copy(), where=scale != 0)
    return objective.join(classes, cells)
