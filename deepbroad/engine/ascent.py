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
    """Return what dual ascent comes to, and whether that is the end: it may not be fast."""
    most = solver.otherwise.max_iter
    state = journal.state(ASCENT, solver, terms, reached)
    watched = journal.watch(ASCENT, terms, callbacks)
    watch = AscentWatch(dual, objective, most, watched, state)
    try:
        ascent = dual.ascend(strength, solver.gap, most=most, watch=watch)
    except KeyboardInterrupt:
        return watch.solution("interrupted"), True
    if ascent.status == "slow":
        return watch.solution("stalled"), False
    return watch.solution(ascent.status), True


class AscentWatch:
    """Follows an ascent by the objective itself, and tells callbacks of it.

    A `state` is what the ascent goes on from.
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
        if state is not None:
            dual.resume(state)
            self.gaps, self._losses = state.gaps, state.losses
            self._began -= state.seconds

    def __call__(self) -> bool:
        """Evaluate F where the ascent is; tell whether a callback stops it."""
        loss, gradient = self._objective(self._dual.point())
        self._losses.append(loss)
        seconds = perf_counter() - self._began
        moment = Moment(lambda: self._dual.state(self.gaps, self._losses, seconds))
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

    def solution(self, status: Status) -> Solution:
        """Return where the ascent is."""
        losses = self._losses or [inf]  # given up at once
        return Solution(self._dual.point(), losses[-1], status, len(losses) - 1, losses, losses[1:])
