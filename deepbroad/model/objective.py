"""The one objective that every discriminative model minimises.

With cells j and scores β_j = s_j·u_j it is

    F(u) = (1/Σω) [ Σ_r ω_r · loss_r + ½ Σ_j λ_j (u_j - t_j)² ]

so DBL and LR differ in the arrays s, u⁰, t and λ, never in code. Class terms are not penalised.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from deepbroad.kernels.cells import CHUNK, penalise_cells
from deepbroad.kernels.threads import Threads, split_range

# Below this many parameters, handing work to threads costs more than it saves.
WORTH_THREADS = 100_000

# Given the scores of classes (C,) and the parameters of reached cells (n_reached, C), returns
# Σ ω·loss and its gradient by class score, and writes that by cell into the last argument.
Pass = Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[float, np.ndarray]]


@dataclass(frozen=True, eq=False)
class Design:
    """The four arrays over reached cells (n_reached, C), or anything that broadcasts to that.

    Only cells that a training row reaches are parameters. The class terms have a scale and start of
    their own, (C,). `curvature` and `class_curvature` are a rough diagonal of F's Hessian, for
    solvers that precondition.
    """

    scale: np.ndarray
    start: np.ndarray | float
    target: np.ndarray | float
    strength: np.ndarray | float
    class_scale: np.ndarray
    class_start: np.ndarray
    curvature: np.ndarray | None = None
    class_curvature: np.ndarray | None = None


class Objective:
    """F and its gradient as functions of one flat vector: class terms, then cells row by row.

    Parameters
    ----------
    design : Design
        Scale, start, target and strength.
    run_pass : callable
        Runs over the rows: class parameters β_y and cell parameters u in, loss and gradients out.
        It applies the scale of cells itself, inside its kernel.
    total_weight : float
        Σω.
    threads : Threads
        For the work on parameters.
    """

    def __init__(
        self, design: Design, run_pass: Pass, total_weight: float, threads: Threads | None = None
    ) -> None:
        self.design = design
        self._run_pass = run_pass
        self._total_weight = total_weight
        self._threads = threads or Threads(1)
        self._gradient: np.ndarray | None = None
        # Made once: in small fits, making them takes as long as the penalty itself.
        shape = design.scale.shape
        self._target = np.broadcast_to(design.target, shape)
        self._strength = np.broadcast_to(design.strength, shape)
        self._penalties = np.empty(-(-shape[0] // CHUNK))
        parts = self._threads.count if design.scale.size > WORTH_THREADS else 1
        self._ranges = split_range(shape[0], parts, CHUNK)

    @property
    def start(self) -> np.ndarray:
        """The flat vector to start from."""
        start = np.broadcast_to(np.asarray(self.design.start, np.float64), self.design.scale.shape)
        return self.join(self.design.class_start, start)

    @property
    def lower_start(self) -> np.ndarray:
        """The start, or the target where F is lower there.

        Strong penalties put a start that is none of theirs so high that coming down from it takes
        longer than the fit.
        """
        start, target = self.start, self.join(self.design.class_start, self._target)
        return start if self(start)[0] <= self(target)[0] else target.astype(np.float64)

    @property
    def curvature(self) -> np.ndarray | None:
        """The rough diagonal of the Hessian as a flat vector, if the design has one."""
        if self.design.curvature is None or self.design.class_curvature is None:
            return None
        return self.join(self.design.class_curvature, self.design.curvature)

    def point_of(self, class_scores: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Return the parameters that give scores of classes, (C,), and of cells, (n_reached, C)."""
        design, scale = self.design, self.design.class_scale
        # Where log θ is 0 (a column of one value) the weight has no effect; it stays at the start.
        start = np.broadcast_to(design.start, design.scale.shape).astype(np.float64)
        cells = np.divide(scores, design.scale, out=start, where=design.scale != 0)
        classes = np.divide(class_scores, scale, out=design.class_start.copy(), where=scale != 0)
        return self.join(classes, cells)

    @staticmethod
    def join(classes: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """Return one flat vector of class terms and cells, in the dtype of the cells."""
        return np.concatenate([np.asarray(classes, np.asarray(cells).dtype), np.ravel(cells)])

    def split(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return views of the class terms (C,) and the cells (n_reached, C) of a flat vector."""
        n_classes = len(self.design.class_scale)
        return u[:n_classes], u[n_classes:].reshape(-1, n_classes)

    def __call__(self, u: np.ndarray) -> tuple[float, np.ndarray]:
        """Return F(u) and its gradient, which is overwritten by the next call."""
        design = self.design
        classes, cells = self.split(u)
        if self._gradient is None:
            # Once: the system hands out fresh memory page by page, which takes longer than a pass.
            self._gradient = np.empty(len(u))
        gradient = self._gradient
        into_classes, into_cells = self.split(gradient)
        loss, class_gradient = self._run_pass(classes * design.class_scale, cells, into_cells)
        into_classes[:] = class_gradient * design.class_scale / self._total_weight
        penalty = self._penalise(cells, into_cells)
        return (loss + penalty) / self._total_weight, gradient

    def _penalise(self, cells: np.ndarray, gradient: np.ndarray) -> float:
        """Add the penalty's gradient, divide by Σω, and return the penalty."""
        self._threads.run(
            [
                partial(
                    penalise_cells, first, last, cells, self._target, self._strength,
                    self._total_weight, gradient, self._penalties,
                )
                for first, last in self._ranges
            ]
        )  # fmt: skip
        return float(self._penalties.sum())
