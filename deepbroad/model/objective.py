"""The one objective that every discriminative model minimises.

With cells j and scores β_j = s_j·u_j it is

    F(u) = (1/Σω) [ Σ_r ω_r · loss_r + ½ Σ_j λ_j (u_j - t_j)² ]

so DBL and LR differ in the arrays s, u⁰, t and λ, never in code. Class terms are not penalised.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

# Returns Σ ω·loss, its gradient by class (C,) and by reached cell (n_reached, C), given both.
Pass = Callable[[np.ndarray, np.ndarray], tuple[float, np.ndarray, np.ndarray]]


@dataclass(frozen=True, eq=False)
class Design:
    """The four arrays over reached cells (n_reached, C), or anything that broadcasts to that.

    Only cells that a training row reaches are parameters. The class terms have a scale and start of
    their own, (C,). `curvature` and `class_curvature` are a rough diagonal of F's Hessian, for
    solvers that precondition.
    """

    scale: np.ndarray
    start: np.ndarray
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
    """

    def __init__(self, design: Design, run_pass: Pass, total_weight: float) -> None:
        self.design = design
        self._run_pass = run_pass
        self._total_weight = total_weight

    @property
    def start(self) -> np.ndarray:
        """The flat vector to start from."""
        return self.join(self.design.class_start, self.design.start)

    @property
    def curvature(self) -> np.ndarray | None:
        """The rough diagonal of the Hessian as a flat vector, if the design has one."""
        if self.design.curvature is None or self.design.class_curvature is None:
            return None
        return self.join(self.design.class_curvature, self.design.curvature)

    @staticmethod
    def join(classes: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """Return one flat vector of class terms and cells."""
        return np.concatenate([classes, np.ravel(cells)])

    def split(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return views of the class terms (C,) and the cells (n_reached, C) of a flat vector."""
        n_classes = len(self.design.class_scale)
        return u[:n_classes], u[n_classes:].reshape(-1, n_classes)

    def __call__(self, u: np.ndarray) -> tuple[float, np.ndarray]:
        """Return F(u) and its gradient."""
        design = self.design
        classes, cells = self.split(u)
        loss, class_gradient, cell_gradient = self._run_pass(classes * design.class_scale, cells)
        gradient = np.empty_like(u)
        into_classes, into_cells = self.split(gradient)
        into_classes[:] = class_gradient * design.class_scale
        pull = cells - design.target
        np.multiply(pull, design.strength, out=into_cells)
        penalty = 0.5 * np.vdot(into_cells, pull)
        into_cells += cell_gradient
        gradient /= self._total_weight
        return (loss + float(penalty)) / self._total_weight, gradient
