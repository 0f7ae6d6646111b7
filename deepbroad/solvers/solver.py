"""What a solver needs of an objective, and what it gives back."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np


class Objective(Protocol):
    """A differentiable function of one flat float64 vector."""

    def __call__(self, u: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the value at `u` and the gradient."""


@dataclass(frozen=True)
class Progress:
    """Where a fit stands after an iteration; handed to every callback.

    Attributes
    ----------
    iteration, max_iter : int
        Iterations done and allowed; iteration 0 is the start.
    evaluations : int
        Passes over the data so far.
    loss : float
        The objective F.
    gradient_norm : float
        Largest absolute entry of its gradient, in the coordinates that the solver searches.
    seconds : float
        Time since the solver started.
    """

    iteration: int
    max_iter: int
    evaluations: int
    loss: float
    gradient_norm: float
    seconds: float


# A callback that returns True stops the fit; whatever it has reached is kept.
Callback = Callable[[Progress], bool | None]
Status = Literal["converged", "max_iter", "stopped", "interrupted", "stalled"]


@dataclass
class Solution:
    """The best point found, how the search got there and why it ended.

    `loss_curve` has F after each iteration, the start first; `evaluation_curve` has F at every
    evaluation, line searches included.
    """

    u: np.ndarray
    loss: float
    status: Status
    n_iter: int
    loss_curve: list[float] = field(default_factory=list)
    evaluation_curve: list[float] = field(default_factory=list)


class Solver(Protocol):
    """Minimises an objective from a starting point."""

    def minimise(
        self,
        objective: Objective,
        start: np.ndarray,
        *,
        curvature: np.ndarray | None = None,
        callbacks: Sequence[Callback] = (),
        threads: object = None,
    ) -> Solution:
        """Return the best point found.

        `curvature` is a rough diagonal of the Hessian, all positive, that a solver may use to
        precondition its search. It never changes what is minimised.
        """
