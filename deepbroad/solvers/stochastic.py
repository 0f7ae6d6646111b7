"""Stochastic gradient descent: its settings, and what it asks of an objective."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from typing import ClassVar, Protocol

import numpy as np

from deepbroad.kernels.steps import Pull
from deepbroad.solvers.lbfgs import SMALL
from deepbroad.solvers.solver import Callback, Runner, Solution
from deepbroad.solvers.walk import Judged, Walk, WalkState

# So many passes for so small a gain.
USUAL_PASSES, USUAL_TOL = 10, 2e-3


class StochasticObjective(Protocol):
    """F in batches: F(u) = mean over batches of their loss, plus ½ Σ λ_j (u_j - t_j)².

    Each pass goes through all batches once. A few rows are in none of them: they are held out.
    """

    @property
    def n_batches(self) -> int:
        """How many batches a pass has."""

    @property
    def pull(self) -> Pull:
        """λ and t, by parameter."""

    def batch(self, u: np.ndarray, cycle: int, number: int) -> tuple[float, np.ndarray]:
        """Return the loss of a batch of a pass and its gradient, both without the penalty.

        Their means over the batches of a pass are those of all rows that are not held out. The
        gradient is read until the next call, which may write to the same array.
        """

    def judge(self, u: np.ndarray) -> Judged:
        """Return the mean loss of the held-out rows and the penalty, or F where there are none."""


@dataclass(frozen=True)
class SGD:
    """Averaged stochastic gradient descent whose step size follows from the way it has come.

    Steps are taken over z = u/κ with κ = h^-q, h being the curvature: there, the generative start
    is a good one and all directions are of about the same kind. With g the gradient of a batch, m
    its running mean and r the largest distance so far that steps, not the penalty, brought it from
    the start,

        η = a·f·r² / sqrt(Σ r²·‖κg‖²),   z ← z - η·m,   ū ← ū + 8/(k + 7)·(u - ū)

    where the sum is over all steps so far and k counts them; f is 1 at first and falls to 0 over
    most of the passes that are planned, so that what is chance in the steps goes out of the point.
    The penalty is not part of g: each step takes it implicitly (`deepbroad.kernels.steps`), so that
    a strong one, far from its target, does not limit the step size. The first r is a tenth of a
    gradient step, by the curvature along it. The solution is the last mean ū whose held-out
    loss is within `tol` of the lowest since F by these rows was last halved.
    After a pass that raises it by a tenth, or by `tol` if that is more, and at once after a batch
    that loses three times what F is by it at the best ū, the walk goes on from that with half of a,
    the sum and r as they were there.

    Parameters
    ----------
    max_iter : int
        Passes over the data at most.
    tol : float
        It plans for ten passes with 2e-3, for more the smaller it is. If a tenth of these in a row,
        one at least, do not lower the held-out loss by this part of it each, steps shrink to
        nothing in the next pass, and stop if that does not lower it either.
    momentum : float
        Weight of the past in m at most. It grows with the steps, k/(k + 10), until m is of about a
        quarter of a pass.
    preconditioning : float
        q.
    caution : float
        a. Less takes more passes; where classes are separable and parameters many, 1 is too much
        already, but there dual ascent is faster.
    seed : int
        For whoever draws the batches.
    double_limit : int
        With more parameters than this, all vectors but u and ū are float32.

    References
    ----------
    Khaled, Mishchenko and Jin, DoWG unleashed, 2023, for the step size; Shamir and Zhang,
    Stochastic gradient descent for non-smooth optimization, 2013, for the averaging; Defazio,
    Cutkosky, Mehta and Mishchenko, When, why and how much? Adaptive learning rate scheduling by
    refinement, 2023, for f.
    """

    max_iter: int = 500
    tol: float = USUAL_TOL
    momentum: float = 0.98
    preconditioning: float = 0.25
    caution: float = 3.0
    seed: int = 0
    double_limit: int = SMALL

    state_type: ClassVar[type] = WalkState

    @property
    def horizon(self) -> int:
        """For how many passes it plans."""
        if self.tol <= 0.0:
            return self.max_iter
        return int(min(self.max_iter, ceil(USUAL_PASSES * sqrt(USUAL_TOL / self.tol))))

    def minimise(
        self,
        objective: StochasticObjective,
        start: np.ndarray,
        *,
        curvature: np.ndarray | None = None,
        callbacks: Sequence[Callback] = (),
        threads: Runner | None = None,
        state: WalkState | None = None,
    ) -> Solution:
        """Return the best mean; Ctrl-C ends the walk and keeps it.

        See `Solver.minimise`. Losses are of held-out rows. An iteration is a pass; the state that
        `Progress` gives has the mean of the pass as `mean`. The solution's `evaluation_curve` has
        the mean loss of the batches of each pass, before the steps that were taken by them.
        """
        dtype = np.float64 if len(start) <= self.double_limit else np.float32
        scaling = np.ones(len(start), dtype)
        if curvature is not None:
            np.power(curvature, -self.preconditioning, out=scaling, casting="same_kind")
        walk = Walk(self, objective, scaling, callbacks, threads)
        try:
            if state is None:
                walk.begin(np.array(start, np.float64))
            else:
                walk.resume(state, len(start))
            return walk.solution(walk.run())
        except KeyboardInterrupt:
            return walk.solution("interrupted")
