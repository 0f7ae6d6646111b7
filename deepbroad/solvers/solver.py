"""What a solver needs of an objective, and what it gives back."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Protocol

import numpy as np


class Objective(Protocol):
    """A differentiable function of one flat float64 vector."""

    def __call__(self, u: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the value at `u` and the gradient, float64.

        `u` is the solver's and changes after the call. The gradient is read until the next call,
        which may write to the same array.
        """


class Runner(Protocol):
    """Threads that share work out among them."""

    @property
    def count(self) -> int:
        """How many threads there are."""

    def run(self, tasks: Sequence[Callable[[], object]]) -> object:
        """Run all tasks and wait."""


@dataclass
class State:
    """Where a search stands after an iteration: enough to go on as if it had never stopped.

    Arrays, numbers and lists of floats only, so that it can be saved without pickle. κ is the
    scaling of the search, m its history; `kernels.history` says more.

    Attributes
    ----------
    u, gradient : ndarray of shape (n,)
        The point and the gradient of F there.
    pairs : ndarray of shape (at most m, 2, n)
        Steps over κ and gradient changes times κ, in float32 or float64.
    order : ndarray of int
        The slots of `pairs` in use, oldest first.
    gram : ndarray of shape (2m+1, 2m+1)
        Inner products of pairs and scaled gradient.
    gradient_norm, seconds : float
        As in `Progress`.
    loss_curve, evaluation_curve : list of float
        As in `Solution`.
    """

    # Whose last axis runs over the parameters.
    along_parameters: ClassVar[tuple[str, ...]] = ("u", "gradient", "pairs")

    u: np.ndarray
    gradient: np.ndarray
    pairs: np.ndarray
    order: np.ndarray
    gram: np.ndarray
    gradient_norm: float
    seconds: float
    loss_curve: list[float]
    evaluation_curve: list[float]

    def __post_init__(self) -> None:
        # Kernels trust these, and a state may come from a file.
        slots = self.order
        fits = (
            self.u.ndim == 1
            and self.gradient.shape == self.u.shape
            and self.pairs.ndim == 3
            and self.pairs.shape[1:] == (2, len(self.u))
            and self.gram.ndim == 2
            and self.gram.shape[0] == self.gram.shape[1] >= 2 * len(self.pairs) + 1
            and len(self.gram) % 2 == 1
            and (slots.ndim, slots.dtype.kind) == (1, "i")
            and ((slots >= 0) & (slots < len(self.pairs))).all()
            and len(np.unique(slots)) == len(slots)
            and len(self.loss_curve) > 0
        )
        if not fits:
            raise ValueError("The arrays of the state do not fit together.")

    def copy(self) -> "State":
        """Return a state of its own, which the search does not change."""
        return deepcopy(self)

    def with_history(self, size: int) -> "State":
        """Return the state of a search that remembers so many pairs: the newest of these."""
        old = len(self.gram) // 2
        if size == old:
            return self
        kept = self.order[-size:]
        rows = np.append(np.column_stack([2 * kept, 2 * kept + 1]).ravel(), 2 * old)
        into = np.append(np.arange(2 * len(kept)), 2 * size)
        gram = np.zeros((2 * size + 1, 2 * size + 1))
        gram[np.ix_(into, into)] = self.gram[np.ix_(rows, rows)]
        return replace(self, pairs=self.pairs[kept], order=np.arange(len(kept)), gram=gram)


class Moment:
    """Gives the state of a search, during a callback only: later the search has moved on."""

    def __init__(self, take: Callable[[], Any] | None = None) -> None:
        self._take = take

    def __call__(self) -> Any:
        """Return the state; its arrays are the search's own, to be saved or copied at once."""
        if self._take is None:
            raise RuntimeError("The state of a search can be had during its callback only.")
        return self._take()

    def pass_by(self) -> None:
        """Let go of the search, so that whoever keeps its progress does not keep its memory."""
        self._take = None


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
    state : callable
        Returns the state to resume from (`State` for L-BFGS). It takes no copy: save it, or `copy`
        it, before the callback returns.
    """

    iteration: int
    max_iter: int
    evaluations: int
    loss: float
    gradient_norm: float
    seconds: float
    state: Callable[[], Any] = field(default_factory=Moment, repr=False, compare=False)


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

    @property
    def tol(self) -> float:
        """By how little the objective may fall before it ends."""

    def minimise(
        self,
        objective: Any,
        start: np.ndarray,
        *,
        curvature: np.ndarray | None = None,
        callbacks: Sequence[Callback] = (),
        threads: Runner | None = None,
        state: Any = None,
    ) -> Solution:
        """Return the best point found.

        The objective is an `Objective`, or what else the solver asks for; states are its own.

        `curvature` is a rough diagonal of the Hessian, all positive, that a solver may use to
        precondition its search. It never changes what is minimised, nor does the number of
        `threads`. With a `state` the search goes on from there instead of `start`, under the same
        objective and curvature; the state's arrays are taken over.
        """
