"""Dual coordinate ascent: sweeps over rows whose steps are exact, until the gap is closed."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import ClassVar, Literal, NamedTuple, Protocol

import numpy as np

from deepbroad.kernels.dual import count_needed
from deepbroad.solvers.lbfgs import LBFGS
from deepbroad.solvers.stochastic import SGD

# Bytes that an ascent may take in any fit.
LEAST_ROOM = 4e6
# Scores in single precision bear no smaller gap.
LEAST_GAP = 1e-8


class Dual(Protocol):
    """A dual problem of rows."""

    def sweep(self, seed: int, cycle: int) -> float:
        """Take the step of each row once; return about the gap between F and its dual."""

    def measure(self) -> float:
        """Return that gap as it is now, which takes half as long as a sweep."""


class Ascent(NamedTuple):
    """How many sweeps there were, the last gap, and why they ended."""

    sweeps: int
    gap: float
    status: Literal["converged", "slow", "stopped"]


@dataclass
class AscentState:
    """Where an ascent stands after a sweep: enough to go on as if it had never stopped.

    Attributes
    ----------
    scores, class_scores, beliefs, partitions : ndarray
        As `deepbroad.kernels.dual` has them.
    anchor, before : ndarray
    pull : float
    moves : int
        As `deepbroad.engine.anchor` has them.
    best : ndarray
        The parameters of the lowest F so far.
    by_beliefs, by_anchor : float
        Parts of the latest gap.
    gaps : list of float
        The gap of each sweep.
    losses : list of float
        F before the first and after each.
    seconds : float
        Time so far.
    """

    along_parameters: ClassVar[tuple[str, ...]] = ()
    arrays: ClassVar[tuple[str, ...]] = (
        "scores", "class_scores", "beliefs", "partitions", "anchor", "before",
    )  # fmt: skip

    scores: np.ndarray
    class_scores: np.ndarray
    beliefs: np.ndarray
    partitions: np.ndarray
    anchor: np.ndarray
    before: np.ndarray
    best: np.ndarray
    pull: float
    moves: int
    by_beliefs: float
    by_anchor: float
    gaps: list[float]
    losses: list[float]
    seconds: float


@dataclass(frozen=True)
class DualFirst:
    """Dual ascent where that is fast, else another solver.

    Attributes
    ----------
    otherwise : LBFGS or SGD
        The other one, whose `max_iter` is that of sweeps too.
    gap : float
        The gap at which the ascent stops.
    pairs : int
        It may take as much memory as so many pairs of vectors that L-BFGS remembers.
    """

    state_type: ClassVar[type] = AscentState

    otherwise: LBFGS | SGD
    gap: float
    pairs: int

    def room(self, n_parameters: int) -> float:
        """Return how many bytes the ascent may take."""
        size = 4 if n_parameters > self.otherwise.double_limit else 8
        return max(2.0 * self.pairs * size * n_parameters, LEAST_ROOM)


@dataclass(frozen=True)
class DualAscent:
    """Stochastic dual coordinate ascent.

    A step brings one row's belief about its class to where it is best, all others as they are, so
    that there is no step size. Sweeps close the gap between F and its dual at a steady rate: fast
    where strengths are large, or classes nearly separable; slowly where neither is, which shows
    after a few sweeps.

    Parameters
    ----------
    tol : float
        The gap at which to stop: F is no further than this above its minimum.
    most : int
        Sweeps at most. Once they will not do at the rate so far, the ascent is given up.
    seed : int
        For the order of rows.
    certain : bool
        Whether the gap is measured before it counts as closed: what sweeps tell of it is each row's
        part at its turn, and the steps of other rows come after it.

    References
    ----------
    Shalev-Shwartz and Zhang, Stochastic dual coordinate ascent methods for regularized loss
    minimization, 2013.
    """

    tol: float = 1e-4
    most: int = 30
    seed: int = 0
    certain: bool = True

    def ascend(
        self, dual: Dual, gaps: list[float], watch: Callable[[], bool] | None = None
    ) -> Ascent:
        """Sweep until the gap is closed; a `watch`, called after each sweep, may stop it.

        `gaps` has those of the sweeps so far, and gets those of the others.
        """
        stopped = False
        while self.tol >= LEAST_GAP:
            gap = gaps[-1] if gaps else inf
            if stopped:
                return Ascent(len(gaps), gap, "stopped")
            if gaps and gap <= self.tol and self.certain:
                gap = gaps[-1] = max(gap, dual.measure())
            if gap <= self.tol:
                return Ascent(len(gaps), gap, "converged")
            if len(gaps) + count_needed(np.array(gaps), self.tol) > self.most:
                return Ascent(len(gaps), gap, "slow")
            gaps.append(dual.sweep(self.seed, len(gaps)))
            stopped = watch is not None and watch()
        return Ascent(len(gaps), inf, "slow")
