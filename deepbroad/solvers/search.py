"""One run of L-BFGS: its iterations, how it is watched, and when it ends."""

from collections.abc import Sequence
from math import isfinite, sqrt
from time import perf_counter
from typing import Protocol

import numpy as np

from deepbroad.kernels.history import advance, dot
from deepbroad.solvers.chunks import Chunks
from deepbroad.solvers.history import History
from deepbroad.solvers.line_search import LONGEST, LineSearch
from deepbroad.solvers.solver import (
    Callback,
    Moment,
    Objective,
    Progress,
    Runner,
    Solution,
    State,
    Status,
)

# The decrease is judged over this many iterations: one short step is no sign of the end.
WINDOW = 5
# Evaluations that one line search may take.
MAX_TRIALS = 20
# A line search that found no good step may leave one that lowers F by more than this part of it.
ROUNDING = 1e-14


class Settings(Protocol):
    """What a search is told by its solver; see `LBFGS`."""

    @property
    def max_iter(self) -> int: ...  # noqa: D102
    @property
    def tol(self) -> float: ...  # noqa: D102
    @property
    def history(self) -> int: ...  # noqa: D102


class Search:
    """The point that a minimisation has reached, and how it got there.

    All vectors are in the coordinates of the objective, u; the scaling κ of the search enters
    through the history alone.
    """

    def __init__(
        self,
        settings: Settings,
        objective: Objective,
        callbacks: Sequence[Callback],
        scaling: np.ndarray,
        threads: Runner | None,
    ) -> None:
        self.settings, self.objective, self.callbacks = settings, objective, callbacks
        self._scaling, self._threads = scaling, threads
        self.loss = np.inf
        self.loss_curve: list[float] = []
        self.evaluation_curve: list[float] = []
        self.stopped = False
        # The lowest trial of a line search under way; it is u + step·direction.
        self._lowest = (0.0, np.inf)
        self._began = perf_counter()

    def begin(self, start: np.ndarray) -> None:
        """Take over the start and evaluate it; callbacks may already stop there."""
        self._hold(start)
        loss, fresh = self._evaluate(self.u)
        self.gradient = np.empty_like(self.u)
        self.history.meet(self.gradient, fresh)
        if not (isfinite(loss) and isfinite(self.history.squared_gradient)):
            raise FloatingPointError(
                f"The objective is not finite at the start: its value is {loss}, the largest "
                f"absolute entry of its gradient {np.abs(fresh).max(initial=0.0)}."
            )
        self.loss = loss
        self._report()

    def resume(self, state: State, length: int) -> None:
        """Go on from a state."""
        if state.u.shape != (length,):
            raise ValueError(
                f"The state is of a search over {state.u.size} parameters, not {length}."
            )
        self._hold(np.require(state.u, np.float64, ["C", "W"]))
        self.loss_curve, self.evaluation_curve = [*state.loss_curve], [*state.evaluation_curve]
        self.loss = self.loss_curve[-1]
        self._began -= state.seconds
        self.gradient = np.require(state.gradient, np.float64, ["C", "W"])
        self.history.restore(state.pairs, state.order, state.gram)
        self.history.gradient_norm = state.gradient_norm

    def run(self) -> Status:
        """Iterate to the end, and tell why it is one."""
        while (status := self._ended()) is None:
            while not self._search_line():
                if not len(self.history.order):
                    return self._judge()
                # The pairs misled: from here again, along the gradient.
                self.history.forget()
        return status

    def solution(self, status: Status) -> Solution:
        """Return what the search found."""
        step, loss = self._lowest
        if loss < self.loss:
            # In place: a thread that Ctrl-C left behind may still write to the trial.
            self._advance(step, self.u)
            self.loss = loss
        return Solution(
            u=self.u,
            loss=self.loss,
            status=status,
            n_iter=max(len(self.loss_curve) - 1, 0),
            loss_curve=self.loss_curve,
            evaluation_curve=self.evaluation_curve,
        )

    def state(self) -> State:
        """Return where the search stands after an iteration, in arrays that it still uses."""
        return State(
            u=self.u,
            gradient=self.gradient,
            pairs=self.history.used,
            order=self.history.order,
            gram=self.history.gram,
            gradient_norm=self.history.gradient_norm,
            seconds=perf_counter() - self._began,
            loss_curve=self.loss_curve,
            evaluation_curve=self.evaluation_curve,
        )

    def _hold(self, u: np.ndarray) -> None:
        """Take the point, and room for the rest."""
        self.u, self.trial = u, np.empty_like(u)
        self.direction = np.empty(len(u), self._scaling.dtype)
        self.chunks = Chunks(len(u), self._threads)
        self.history = History(self.settings.history, len(u), self._scaling, self.chunks)

    def _evaluate(self, u: np.ndarray) -> tuple[float, np.ndarray]:
        """Evaluate the objective."""
        value, gradient = self.objective(u)
        loss = float(value)
        self.evaluation_curve.append(loss)
        return loss, np.ascontiguousarray(gradient, np.float64)

    def _search_line(self) -> bool:
        """Take one step down the direction of the history; tell whether there was one."""
        self._lowest = (0.0, np.inf)
        # The first direction has the length of the gradient, later ones that of a Newton step.
        is_first = len(self.loss_curve) == 1
        first = min(1 / sqrt(self.history.squared_gradient), LONGEST) if is_first else 1.0
        slope = self.history.point(self.gradient, self.direction, first, self.u, self.trial)
        if not slope < 0:
            return False
        line = LineSearch(self.loss, slope, first)
        for count in range(MAX_TRIALS):
            if count:
                self._advance(line.step, self.trial)
            step = line.step
            loss, fresh = self._evaluate(self.trial)
            if loss < min(self.loss, self._lowest[1]):
                self._lowest = (step, loss)
            reached = self._slope(fresh)
            verdict = line.judge(loss, reached)
            if verdict == "found" or (verdict and loss < self.loss - ROUNDING * abs(self.loss)):
                self._accept(step, loss, fresh, slope, reached)
                return True
            del fresh  # before the objective makes another
            if verdict is not None:
                break
        return False

    def _accept(
        self, step: float, loss: float, fresh: np.ndarray, slope: float, reached: float
    ) -> None:
        """Make the trial the point of the search, and learn from it."""
        self.u, self.trial, self.loss, self._lowest = self.trial, self.u, loss, (0.0, np.inf)
        curves = (reached - slope) * step > np.finfo(np.float64).eps * -slope * step
        if curves:
            self.history.learn(step, self.direction, self.gradient, fresh)
        else:
            self.history.meet(self.gradient, fresh)
        self._report()

    def _advance(self, step: float, target: np.ndarray) -> None:
        """Write u + step·direction."""
        u, direction = self.u, self.direction
        self.chunks.each(lambda a, b: advance(u[a:b], direction[a:b], step, target[a:b]))

    def _slope(self, gradient: np.ndarray) -> float:
        """Return the slope of F along the direction."""
        direction = self.direction
        return sum(self.chunks.each(lambda a, b: float(dot(direction[a:b], gradient[a:b]))))

    def _report(self) -> None:
        """Record the loss of an iteration and tell the callbacks."""
        self.loss_curve.append(self.loss)
        moment = Moment(self.state)
        progress = Progress(
            iteration=len(self.loss_curve) - 1,
            max_iter=self.settings.max_iter,
            evaluations=len(self.evaluation_curve),
            loss=self.loss,
            gradient_norm=self.history.gradient_norm,
            seconds=perf_counter() - self._began,
            state=moment,
        )
        try:
            for callback in self.callbacks:
                if callback(progress):
                    self.stopped = True
        finally:
            moment.pass_by()

    def _ended(self) -> Status | None:
        """Tell whether it is time to end, and why."""
        curve = self.loss_curve
        if self.stopped:
            return "stopped"
        fell_little = (
            len(curve) > WINDOW and curve[-1 - WINDOW] - curve[-1] <= WINDOW * self._tolerance
        )
        if fell_little:
            return "converged"
        if len(curve) > self.settings.max_iter:
            return "max_iter"
        stuck = len(curve) > 1 and curve[-1] >= curve[-2]
        return "converged" if stuck or self.history.gradient_norm == 0 else None

    @property
    def _tolerance(self) -> float:
        """The decrease of F per iteration that counts as none."""
        return self.settings.tol * max(abs(self.loss_curve[-1]), 1.0)

    def _judge(self) -> Status:
        """Tell what it means that the line search found no lower point."""
        # After a decrease that is small, or within the rounding of single precision, it is the end.
        curve = self.loss_curve
        recent = curve[-2] - curve[-1] if len(curve) > 1 else 0.0
        rounding = 1e-7 * max(abs(curve[-1]), 1.0)
        return "converged" if recent <= max(100 * self._tolerance, rounding) else "stalled"
