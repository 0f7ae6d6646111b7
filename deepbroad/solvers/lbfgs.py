"""L-BFGS, the paper's solver, through SciPy."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np
from scipy.optimize import OptimizeResult, minimize
from threadpoolctl import threadpool_limits

from deepbroad.solvers.solver import Callback, Objective, Progress, Solution, Status

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
    """

    max_iter: int = 500
    tol: float = 1e-6
    history: int = 10

    def minimise(
        self, objective: Objective, start: np.ndarray, *, callbacks: Sequence[Callback] = ()
    ) -> Solution:
        """Return the best point found; Ctrl-C ends the search and keeps it."""
        search = Search(objective, self, callbacks, np.array(start, np.float64))
        if self.max_iter == 0:
            search.evaluate(search.best)
            return search.solution("max_iter")
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
    best: np.ndarray
    best_loss: float = np.inf
    gradient_norm: float = np.inf
    loss_curve: list[float] = field(default_factory=list)
    evaluation_curve: list[float] = field(default_factory=list)
    ended: Status | None = None
    began: float = field(default_factory=perf_counter)

    def evaluate(self, u: np.ndarray) -> tuple[float, np.ndarray]:
        """Evaluate the objective and remember the best point."""
        loss, gradient = self.objective(u)
        self.evaluation_curve.append(loss)
        if loss < self.best_loss:
            self.best_loss, self.best = loss, u.copy()
            self.gradient_norm = float(np.abs(gradient).max(initial=0.0))
        if len(self.evaluation_curve) == 1:
            self.report(loss)
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
            u=self.best,
            loss=self.best_loss,
            status=status,
            n_iter=max(len(self.loss_curve) - 1, 0),
            loss_curve=self.loss_curve,
            evaluation_curve=self.evaluation_curve,
        )
