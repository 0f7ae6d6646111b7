"""Scores that follow a stream: each batch moves them as far as the rows before allow.

Of the rows before, the scores β that they led to are kept, and their counts, which tell how firmly:
their loss is taken to be ½ Σ h (β - β_before)², h being about the diagonal of its Hessian. A batch
minimises its own loss plus that, as any fit does: penalties λ + h towards β_before instead of λ
towards the model's target. So a cell moves less the more rows it had, with no step size to choose.
The model is a mean of the scores after each batch, in which later ones weigh more: the diagonal
knows nothing of what cells have in common, so that scores sway with each batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from deepbroad.data.source import ArraySource
from deepbroad.engine.stream import Batch, Stream
from deepbroad.engine.training import Training
from deepbroad.model.family import Family
from deepbroad.model.generative import curvature
from deepbroad.model.objective import Design, Objective, Pass
from deepbroad.model.plan import Plan
from deepbroad.model.scores import ScoreTables
from deepbroad.solvers import Solution, Solver
from deepbroad.solvers.solver import Callback

# The k-th batch has this share of the mean: LATER / (k + LATER - 1); 1 would be the plain mean.
LATER = 4


@dataclass(frozen=True, eq=False)
class Scored:
    """Scores of classes (C,) and of cells (n_cells, C)."""

    classes: np.ndarray
    cells: np.ndarray


@dataclass(frozen=True, eq=False)
class Learned:
    """What a discriminative model keeps of a stream beside its counts.

    Attributes
    ----------
    last, mean : Scored
        After the last batch, and on average.
    batches : int
        How many came.
    """

    last: Scored
    mean: Scored
    batches: int

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays of cells."""
        return self.last.cells.nbytes + self.mean.cells.nbytes


@dataclass(frozen=True, eq=False)
class Before:
    """What was known before a batch, where cells and classes are now.

    `known` (n_cells, C) tells which scores there are: of cells that rows reached, and of classes.
    """

    class_counts: np.ndarray
    counts: np.ndarray
    known: np.ndarray
    learned: Learned

    @classmethod
    def of(
        cls, stream: Stream, learned: Learned, plan: Plan, batch: Batch, min_count: float = 1
    ) -> "Before":
        """Return what a stream and its model come to in the plan that a batch led to."""
        places, n_classes = stream.class_places(batch), batch.labels.n_classes

        def spread(values: np.ndarray) -> np.ndarray:
            moved = np.zeros(n_classes)
            moved[places] = values
            return moved

        def move(scored: Scored) -> Scored:
            return Scored(spread(scored.classes), stream.moved(scored.cells, plan, batch))

        counts = stream.moved(stream.counts, plan, batch)
        if min_count > 1:
            # Rare cells had no scores.
            counts = np.where(counts.sum(axis=1, keepdims=True) < min_count, 0, counts)
        old_class = np.zeros(n_classes, bool)
        old_class[places] = True
        return cls(
            spread(stream.class_counts),
            counts,
            np.asarray(counts.any(axis=1))[:, None] & old_class,
            Learned(move(learned.last), move(learned.mean), learned.batches),
        )

    @property
    def known_classes(self) -> np.ndarray:
        """Which classes there are scores of, (C,)."""
        return np.asarray(self.known.any(axis=0))


def learn_batch(
    training: Training,
    source: ArraySource,
    family: Family,
    solver: Solver,
    before: Before | None,
    callbacks: Sequence[Callback] = (),
) -> tuple[Learned, ScoreTables, Solution]:
    """Return the scores that a batch leads to, the model, and how the solver got there.

    `training` has the counts of all rows so far, `source` the rows of the batch.
    """
    design, reached = training.design(family), training.reached
    run_pass: Pass = training.loss_pass(family, design, source)
    weight = float(source.n_rows if source.weights is None else source.weights.sum())
    # The curvature of all rows is of their mean loss; F is that of the batch.
    more = float(training.class_counts.sum()) / weight
    if design.curvature is not None and design.class_curvature is not None:
        design = replace(
            design, curvature=design.curvature * more, class_curvature=design.class_curvature * more
        )
    if before is not None:
        run_pass = anchor_classes(run_pass, before)
        design = anchor(design, before, reached)
    objective = Objective(design, run_pass, weight, training.threads)
    solution = solver.minimise(
        objective,
        objective.start,
        curvature=objective.curvature,
        callbacks=callbacks,
        threads=training.threads,
    )
    classes, cells = objective.split(solution.u)
    del objective, run_pass  # their tables are as large as the model
    scores = np.zeros(training.counts.shape, training.dtype)
    scores[reached] = design.scale * cells
    last = Scored(classes * design.class_scale, scores)
    learned = Learned(last, last, 1) if before is None else average(before, last)
    return learned, training.scored(family, learned.mean.classes, learned.mean.cells), solution


def anchor(design: Design, before: Before, reached: np.ndarray) -> Design:
    """Return the design that starts from, and is drawn to, the scores before."""
    last, known = before.learned.last, before.known[reached]
    scale = design.scale.astype(np.float64)
    start = np.broadcast_to(design.start, scale.shape).astype(np.float64)
    target = np.broadcast_to(design.target, scale.shape).astype(np.float64)
    # Where log θ is 0 (a column of one value) the weight has no effect; it stays at the start.
    weights = np.divide(last.cells[reached], scale, out=start.copy(), where=scale != 0)
    firmness = curvature(before.counts[reached].astype(np.float64), scale, 0.0)
    classes = np.divide(
        last.classes, design.class_scale, out=design.class_start.astype(np.float64),
        where=before.known_classes & (design.class_scale != 0),
    )  # fmt: skip
    return replace(
        design,
        start=np.where(known, weights, start),
        target=np.where(known, weights, target),
        strength=design.strength + np.where(known, firmness, 0.0),
        class_start=classes,
    )


def anchor_classes(run_pass: Pass, before: Before) -> Pass:
    """Return the pass over rows plus ½ Σ h (β - β_before)² of the class scores."""
    firmness = curvature(before.class_counts, np.ones(len(before.class_counts)), 0.0)
    firmness = np.where(before.known_classes, firmness, 0.0)
    anchors = before.learned.last.classes

    def run(
        classes: np.ndarray, cells: np.ndarray, gradient: np.ndarray
    ) -> tuple[float, np.ndarray]:
        loss, by_class = run_pass(classes, cells, gradient)
        pull = firmness * (classes - anchors)
        return loss + 0.5 * float(pull @ (classes - anchors)), by_class + pull

    return run


def average(before: Before, last: Scored) -> Learned:
    """Return what is learned with the scores after one batch more; new ones are their own mean."""
    mean, batches = before.learned.mean, before.learned.batches + 1
    share = LATER / (batches + LATER - 1)
    classes = np.where(
        before.known_classes, mean.classes + share * (last.classes - mean.classes), last.classes
    )
    step = last.cells - mean.cells
    cells = np.where(before.known, mean.cells + last.cells.dtype.type(share) * step, last.cells)
    return Learned(last, Scored(classes, cells.astype(last.cells.dtype, copy=False)), batches)
