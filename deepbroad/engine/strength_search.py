"""The search for strengths: one number after the other, up and down, by the held-out loss."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import sqrt
from time import perf_counter

import numpy as np

from deepbroad.engine.validation import Validation
from deepbroad.model.resolutions import LevelledTerms
from deepbroad.model.strengths import UNADAPTED, Adaptation, Strengths
from deepbroad.solvers import LBFGS

# Factors of one sweep over the numbers after the other.
STEPS = (10.0, sqrt(10.0))
GROWTH_STEP = sqrt(2.0)
# Where searches start, by order.
START = (1.0, 30.0, 300.0)
# Prior variance of a row's scores, Σ 1/λ over the terms of an order, with which a search may begin.
MOST_VARIANCE = 20.0
# Beyond these a strength changes nothing that a validation could see. The least is a number of rows
# divided by that of the source: a few rows that all agree bear no odds of millions. Finer bins are
# held down no less than coarse ones: that would be an effect without any smoothness.
LEAST, LEAST_ROWS, MOST = 1e-4, 3.0, 1e5
LEAST_GROWTH, MOST_GROWTH = 1.0, 4.0
# A loss that is lower by less than this share is no better.
BETTER = 1e-4
# What is tried once the strengths by order are found, as long as it is better if fits are precise
# enough to tell. Where most terms matter, a little is best; in full, adaptation pays where few do
# (car, connect-4).
ADAPTATIONS = (
    Adaptation(0.25, 0.1),
    Adaptation(0.5, 0.1),
    Adaptation(1.0, 0.1),
    Adaptation(1.0, 0.01),
)
# Strengths are told apart long before a fit has converged, once the first has: one that ends early
# is near its start still, and looks better or worse than its strengths are. Tolerances are for a
# loss of 1 and become smaller with it: of a loss of 0.05, a fall by 0.0003 is not little.
FIRST = LBFGS(max_iter=200, tol=3e-5)
SOLVER = LBFGS(max_iter=60, tol=3e-4)
LEAST_LOSS = 0.003


@dataclass(frozen=True)
class Trial:
    """A model that was tried, and how it did.

    Attributes
    ----------
    strengths : Strengths
    adaptation : Adaptation
    loss : float
        Mean held-out log loss.
    passes : int
        Over the rows of the folds, that the trial took.
    by_counts : bool
        Whether cells score by their counts (`deepbroad.model.evidence`); strengths are then those
        that learned scores would have.
    tiled : bool
        Whether the tuples of its deepest order are tilings (`deepbroad.model.tiling`).
    folds : int
        How many it was judged by; losses by others are no measure of it.
    """

    strengths: Strengths
    adaptation: Adaptation
    loss: float
    passes: int
    by_counts: bool = False
    tiled: bool = False
    folds: int = 1

    @property
    def depth(self) -> int:
        """How many orders it has."""
        return len(self.strengths.by_order)


class StrengthSearch:
    """Tries strengths for one set of terms.

    Parameters
    ----------
    validation : Validation
    levelled : LevelledTerms
        The terms of its plan.
    most : int
        Trials at most.
    deadline : float
        The `perf_counter` after which nothing new is tried.
    rows : float
        Rows of the source.
    precise : bool
        Whether fits end by a tolerance that becomes smaller with the loss, which takes longer.
    tiled : bool
        Whether the deepest order has tilings, for the record.
    """

    def __init__(
        self,
        validation: Validation,
        levelled: LevelledTerms,
        *,
        most: int,
        deadline: float,
        rows: float,
        precise: bool = True,
        tiled: bool = False,
    ) -> None:
        self._validation, self._levelled = validation, levelled
        self._precise, self._tiled = precise, tiled
        self._least = max(LEAST, LEAST_ROWS / rows)
        self._most, self._deadline = most, deadline
        self._solver = SOLVER
        self._seen: dict[tuple[float, ...], Trial] = {}
        self.trials: list[Trial] = []
        self.is_cut_short = False

    def run(self, start: Strengths) -> Trial:
        """Return the best trial of strengths by order, starting from some."""
        strength = start.per_term(self._levelled)
        before = self._validation.passes
        first = self._validation.loss(strength, FIRST)
        if self._is_late():
            return self._record(start, UNADAPTED, first, before)
        level = loss_level(first) if self._precise else 1.0
        self._solver = replace(SOLVER, tol=SOLVER.tol * level)
        if level < 1.0:
            self._validation.loss(strength, replace(FIRST, tol=FIRST.tol * level))
        best = self._try(start)
        depth = len(start.by_order)
        # The deepest order first: it matters most, and it is what is new.
        numbers = sorted({int(k) - 1 for k in self._levelled.terms.orders}, reverse=True)
        if self._levelled.levels.max() > 1:
            numbers.append(depth)
        for step in STEPS:
            for number in numbers:
                best = self._walk(best, number, GROWTH_STEP if number == depth else step)
        return best

    def _walk(self, best: Trial, number: int, step: float) -> Trial:
        """Move one number down, or else up, as long as the loss falls."""
        start = best
        for factor in (1.0 / step, step):
            while self._has_time():
                moved = best.strengths.scaled(number, factor)
                if not self._is_inside(moved):
                    break
                trial = self._try(moved)
                if trial.loss >= best.loss * (1.0 - BETTER):
                    break
                best = trial
            if best is not start:
                break
        return best

    def adapt(self, best: Trial) -> Trial:
        """Return the trial with strengths adapted to each term, if that is better."""
        strength = best.strengths.per_term(self._levelled)
        if self._most == 1 or self._is_late() or len(strength) < 2:
            return best
        self._validation.loss(strength, self._solver)  # what the adaptations follow
        for adaptation in ADAPTATIONS:
            if self._is_late():
                break
            judge = partial(self._validation.adapted_loss, strength, adaptation, self._solver)
            trial = self._judge(best.strengths, adaptation, judge)
            if trial.loss < best.loss * (1.0 - BETTER):
                best = trial
            elif self._validation.is_precise:
                break
        return best

    def _try(self, strengths: Strengths) -> Trial:
        key = (*strengths.by_order, strengths.growth)
        rounded = tuple(float(f"{number:.4g}") for number in key)
        if rounded not in self._seen:
            self._seen[rounded] = self._judge(
                strengths,
                UNADAPTED,
                lambda: self._validation.loss(strengths.per_term(self._levelled), self._solver),
            )
        return self._seen[rounded]

    def _judge(
        self, strengths: Strengths, adaptation: Adaptation, loss: Callable[[], float]
    ) -> Trial:
        before = self._validation.passes
        return self._record(strengths, adaptation, loss(), before)

    def _record(
        self, strengths: Strengths, adaptation: Adaptation, loss: float, before: int
    ) -> Trial:
        """Keep a trial, given how many passes there had been before it."""
        trial = Trial(
            strengths,
            adaptation,
            loss,
            self._validation.passes - before,
            tiled=self._tiled,
            folds=len(self._validation.folds),
        )
        self.trials.append(trial)
        return trial

    def _has_time(self) -> bool:
        return not self._is_late() and len(self._seen) < self._most

    def _is_late(self) -> bool:
        late = perf_counter() >= self._deadline
        self.is_cut_short |= late
        return late

    def _is_inside(self, strengths: Strengths) -> bool:
        """Tell whether all numbers are within their bounds."""
        inside = all(self._least <= strength <= MOST for strength in strengths.by_order)
        return inside and LEAST_GROWTH <= strengths.growth <= MOST_GROWTH


def loss_level(loss: float) -> float:
    """Return what the tolerances of fits are multiplied by at a loss."""
    return min(1.0, max(loss, LEAST_LOSS))


def deepen(start: Strengths, levelled: LevelledTerms, depth: int) -> Strengths:
    """Return strengths for all orders up to a depth; those that are new begin as START has them.

    Where there are so many tuples that they could move a row's scores as they like, they begin
    stronger: fits would take long, and come to nothing.
    """
    while (order := len(start.by_order) + 1) <= depth:
        count = np.sum(1.0 / levelled.copies[levelled.terms.orders == order])
        strength = START[min(order, len(START)) - 1]
        while order > 1 and count / strength > MOST_VARIANCE:
            strength *= STEPS[-1]
        start = start.deeper(strength)
    return start
