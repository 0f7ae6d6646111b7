"""L-BFGS, the paper's solver, through SciPy."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np
from scipy.optimize import OptimizeResult, minimize
from threadpoolctl import threadpool_limits

from deepbroad.solvers.solver import Callback, Objective, Progress, Solution, Status

# SciPy's first step has length 1 in the coordinates of the search. A preconditioned one can be
# bolder, which spares the first few line searches.
FIRST_STEP = 30.0
# The decrease is judged over this many iterations: one short step is no sign of the end.
WINDOW = 5


@dataclass(frozen=True)
class LBFGS:
    """Limited-memory BFGS with a strong-Wolfe line search.

    Parameters
    ----------
    max_iter : int
        Iterations at most.
    tol : float
        Stop when F fell by less than tol·max(F, 1) per iteration, over the last five. (A bound on
        the gradient alone would not do: F is a mean over rows, so the gradient of a cell that few
        rows reach is small long before its weight is right.)
    history : int
        Pairs of steps and gradient changes to remember.
    preconditioning : float
        Search over z with u = z·h^-q, h being the curvature and q this number; 0 searches over u
        itself, as the paper does. A half would make the curvature 1 everywhere: it starts fast and
        may never end; a quarter is the geometric mean of both. `benchmarks/preconditioning.py`
        counts evaluations to 1 % above plain L-BFGS's final loss: 121 for 202 on connect-4, 65 for
        96 on letter, 71 for 140 on adult; but where classes are nearly separable the last per cent
        comes no sooner (121 for 117 on poker-hand) or the stopping rule ends before it (nursery).
    """

    max_iter: int = 500
    tol: float = 1e-5
    history: int = 10
    preconditioning: float = 0.25

    def minimise(
        self,
        objective: Objective,
        start: np.ndarray,
        *,
        curvature: np.ndarray | None = None,
        callbacks: Sequence[Callback] = (),
        threads: object = None,
    ) -> Solution:
        """Return the best point found; Ctrl-C ends the search and keeps it."""
        scaling = None
        if curvature is not None and self.preconditioning:
            scaling = FIRST_STEP * curvature**-self.preconditioning
        first = np.array(start if scaling is None else start / scaling, np.float64)
        search = Search(objective, self, callbacks, first, scaling)
        options = {
            "maxiter": self.max_iter,
            "maxfun": 20 * self.max_iter,
            "maxcor": self.history,
            "ftol": 0.0,
            "gtol": 0.0,
        }
        try:
            # Threads of the BLAS would fight with the engine's own for the cores: SciPy calls it on
            # short vectors many times per iteration, and each call can wait milliseconds.
            with threadpool_limits(1, user_api="blas"):
                search.begin()
                if search.ended is not None or self.max_iter == 0:
                    return search.solution(search.ended or "max_iter")
                result = minimize(
                    search.evaluate,
                    search.best.copy(),
                    jac=True,
                    method="L-BFGS-B",
                    callback=search.iterate,
                    options=options,
                )
        except KeyboardInterrupt:
            return search.solution("interrupted")
        return search.solution(search.ended or search.judge(result))


@dataclass
class Search:
    """What one minimisation has seen so far."""

    objective: Objective
    solver: LBFGS
    callbacks: Sequence[Callback]
    best: np.ndarray  # in the coordinates of the search, z
    scaling: np.ndarray | None  # u = z·scaling
    best_loss: float = np.inf
    gradient_norm: float = np.inf
    loss_curve: list[float] = field(default_factory=list)
    evaluation_curve: list[float] = field(default_factory=list)
    ended: Status | None = None
    first: tuple[float, np.ndarray] | None = None
    began: float = field(default_factory=perf_counter)

    def unscale(self, z: np.ndarray) -> np.ndarray:
        """Return u for a point of the search."""
        return z if self.scaling is None else z * self.scaling

    def begin(self) -> None:
        """Evaluate the start, which callbacks may already stop at."""
        loss, gradient = self.evaluate(self.best)
        self.report(loss)
        self.first = (loss, gradient)

    def evaluate(self, z: np.ndarray) -> tuple[float, np.ndarray]:
        """Evaluate the objective and remember the best point."""
        if self.first is not None:
            # SciPy begins at the start, where the search has been.
            known, self.first = self.first, None
            return known
        loss, gradient = self.objective(self.unscale(z))
        if self.scaling is not None:
            gradient *= self.scaling
        self.evaluation_curve.append(loss)
        if loss < self.best_loss:
            self.best_loss, self.best = loss, z.copy()
            self.gradient_norm = float(np.abs(gradient).max(initial=0.0))
        return loss, gradient

    def iterate(self, intermediate_result: OptimizeResult) -> None:
        """Take note of a finished iteration, and stop the search where it is time."""
        self.report(float(intermediate_result.fun))
        if self.ended is None and self.fell_little():
            self.ended = "converged"
        if self.ended is not None:
            raise StopIteration

    def report(self, loss: float) -> None:
        """Record the loss of an iteration and tell the callbacks."""
        self.loss_curve.append(loss)
        progress = Progress(
            iteration=len(self.loss_curve) - 1,
            max_iter=self.solver.max_iter,
            evaluations=len(self.evaluation_curve),
            loss=loss,
            gradient_norm=self.gradient_norm,
            seconds=perf_counter() - self.began,
        )
        for callback in self.callbacks:
            if callback(progress):
                self.ended = "stopped"

    def fell_little(self) -> bool:
        """Tell whether the last iterations lowered F by less than the tolerance."""
        curve = self.loss_curve
        if len(curve) <= WINDOW:
            return False
        return curve[-1 - WINDOW] - curve[-1] <= WINDOW * self.tolerance

    @property
    def tolerance(self) -> float:
        """The decrease of F per iteration that counts as none."""
        return self.solver.tol * max(abs(self.loss_curve[-1]), 1.0)

    def judge(self, result: OptimizeResult) -> Status:
        """Tell why SciPy stopped by itself."""
        if result.status == 1:
            return "max_iter"
        # Else the gradient is 0, or the line search found no lower point: after a decrease that is
        # small, or within the rounding of single precision, that is the end too.
        curve = self.loss_curve
        recent = curve[-2] - curve[-1] if len(curve) > 1 else 0.0
        rounding = 1e-7 * max(abs(curve[-1]), 1.0)
        small = recent <= max(100 * self.tolerance, rounding)
        return "converged" if result.status == 0 or small else "stalled"

    def solution(self, status: Status) -> Solution:
        """Return what the search found."""
        return Solution(
            u=self.unscale(self.best),
            loss=self.best_loss,
            status=status,
            n_iter=max(len(self.loss_curve) - 1, 0),
            loss_curve=self.loss_curve,
            evaluation_curve=self.evaluation_curve,
        )
