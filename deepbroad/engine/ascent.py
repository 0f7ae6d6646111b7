"""A fit by dual ascent: watched by the objective itself, and kept in a journal."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from time import perf_counter

import numpy as np

from deepbroad.engine.dual import RowDual
from deepbroad.engine.journal import Journal
from deepbroad.model.family import PerTerm
from deepbroad.model.loss import LOG_LOSS
from deepbroad.model.objective import Objective
from deepbroad.model.terms import Terms
from deepbroad.solvers import DualFirst, Progress, Solution
from deepbroad.solvers.dual import AscentState
from deepbroad.solvers.solver import Callback, Moment, Status

# What a journal knows dual ascent by: a stage before that of the loss.
ASCENT = replace(LOG_LOSS, name="dual ascent")


def fit_by_dual(
    dual: RowDual,
    objective: Objective,
    strength: PerTerm,
    solver: DualFirst,
    *,
    terms: Terms,
    reached: np.ndarray,
    callbacks: Sequence[Callback],
    journal: Journal,
) -> tuple[Solution, bool]:
    """Return the best point of dual ascent, and whether that is the end.

    It is not where the ascent is slow, or where rounding made its gap too small: F cannot be that
    near to its minimum if it was lower before by more than the gap.
    """
    most = solver.otherwise.max_iter
    state = journal.state(ASCENT, solver, terms, reached)
    watched = journal.watch(ASCENT, terms, callbacks)
    watch = AscentWatch(dual, objective, most, watched, state)
    try:
        ascent = dual.ascend(strength, solver.gap, most=most, watch=watch)
    except KeyboardInterrupt:
        return watch.solution("interrupted"), True
    is_false = ascent.status == "converged" and not watch.excess <= solver.gap
    if ascent.status == "slow" or is_false:
        return watch.solution("stalled"), False
    return watch.solution(ascent.status), True


class AscentWatch:
    """Follows an ascent by the objective itself, keeps its best point, and tells callbacks of it.

    Sweeps raise the dual, not F: with weights of many magnitudes F goes up and down by orders of
    magnitude from sweep to sweep. A `state` is what the ascent goes on from.
    """

    def __init__(
        self,
        dual: RowDual,
        objective: Objective,
        max_iter: int,
        callbacks: Sequence[Callback],
        state: AscentState | None = None,
    ) -> None:
        self.is_resumed = state is not None
        self._dual, self._objective = dual, objective
        self._max_iter, self._callbacks = max_iter, callbacks
        self._began = perf_counter()
        self.gaps: list[float] = []
        self._losses: list[float] = []
        self._best: np.ndarray | None = None
        if state is not None:
            dual.resume(state)
            self.gaps, self._losses, self._best = state.gaps, state.losses, state.best
            self._began -= state.seconds

    def __call__(self) -> bool:
        """Evaluate F where the ascent is; tell whether a callback stops it."""
        point = self._dual.point()
        loss, gradient = self._objective(point)
        if self._best is None or loss < self._lowest:
            self._best = point
        best = self._best
        self._losses.append(loss)
        seconds = perf_counter() - self._began
        moment = Moment(lambda: self._dual.state(best, self.gaps, self._losses, seconds))
        progress = Progress(
            iteration=len(self.gaps),
            max_iter=self._max_iter,
            evaluations=len(self.gaps),
            loss=loss,
            gradient_norm=float(np.abs(gradient).max()),
            seconds=seconds,
            state=moment,
        )
        try:
            stops = [callback(progress) for callback in self._callbacks]
            return any(stops)
        finally:
            moment.pass_by()

    @property
    def excess(self) -> float:
        """By how much F is higher after the latest sweep than it was at its lowest."""
        return self._losses[-1] - self._lowest

    @property
    def _lowest(self) -> float:
        return min(self._losses, default=inf)  # none where it was given up at once

    def solution(self, status: Status) -> Solution:
        """Return the best point that the ascent was at."""
        best = self._dual.point() if self._best is None else self._best
        losses = self._losses or [inf]
        return Solution(best, self._lowest, status, len(losses) - 1, losses, losses[1:])
