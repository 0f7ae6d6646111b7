"""Strengths of tables: the evidence sets them relative to each other, held-out rows their scale."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from deepbroad.engine.choice.fold_fits import FoldFits
from deepbroad.engine.choice.settings import Settings
from deepbroad.model.resolutions import LevelledTerms
from deepbroad.solvers import LBFGS

# A cell's score with a standard deviation of ten log odds is as good as free, and one of a
# thousandth as good as none; larger common factors change nothing that validation could see.
LEAST, MOST, RANGE = 1e-2, 1e6, 1e5
# A probe is noisy: a table borrows from the tables of its order and level as if these had shown so
# many effective parameters of it.
BORROWED = 4.0
# Pairs of steps that the solver remembers: more cost as much as a pass over few rows.
HISTORY = 6
# How many times more precise the fit is by which models are compared.
POLISHED = 5
# The share of a table's parameters that are effective at least: probes may be negative.
LEAST_SHARE = 0.05


@dataclass(frozen=True, eq=False)
class Tuned:
    """Strengths of tables, and the held-out loss and the point of their fits."""

    strength: np.ndarray
    loss: float
    point: np.ndarray


def first_strengths(tables: LevelledTerms, variance: float) -> np.ndarray:
    """Return strengths of tables of one order whose scores have some variance together.

    Each level twice as fine has twice the strength; shifted tables share the variance of one.
    """
    relative = 2.0 ** (np.maximum(tables.levels, 1) - 1.0) * tables.copies
    return relative * float((1.0 / relative).sum()) / variance


class Tuning:
    """Searches strengths for the tables of some fits.

    Parameters
    ----------
    fits : FoldFits
    tables : LevelledTerms
    settings : Settings
    draws : ndarray of shape (n_rows,)
        Uniform numbers for the probes; the same in each round.
    is_late : callable
        Whether nothing new is to be tried.
    """

    def __init__(
        self,
        fits: FoldFits,
        tables: LevelledTerms,
        settings: Settings,
        draws: np.ndarray,
        is_late: Callable[[], bool],
    ) -> None:
        self._fits, self._settings, self._draws = fits, settings, draws
        self._is_late = is_late
        kinds = np.column_stack([tables.terms.orders, tables.levels])
        self._group = np.unique(kinds, axis=0, return_inverse=True)[1].ravel()

    def run(self, strength: np.ndarray, scaled: np.ndarray, known: float) -> Tuned:
        """Return the best strengths found; first only those of `scaled` tables are searched.

        The search ends there if that gains nothing over the `known` loss of a model without them.
        """
        best = self._scale(strength, scaled)
        if best.loss > known * (1.0 - self._settings.gain):
            return best
        every, factor = np.ones(len(strength), bool), 1.0
        for _ in range(self._settings.rounds):
            if self._is_late():
                break
            self._fits.point = best.point
            relative = self._weigh(best.strength)
            found = self._scale(relative / factor, every)
            factor = float(np.median(relative / found.strength))
            gain = 1.0 - found.loss / best.loss
            if gain > 0.0:
                best = found
            if gain < self._settings.gain:
                break
        # Fits that have not converged look better than their strengths are.
        self._fits.point = best.point
        return self._fit(best.strength, precision=POLISHED)

    def _fit(self, strength: np.ndarray, precision: int = 1) -> Tuned:
        settings = self._settings
        solver = LBFGS(
            max_iter=settings.iterations * precision,
            tol=settings.tolerance * min(1.0, self._fits.objective) / precision,
            history=HISTORY,
            double_limit=0,
        )
        strength = np.clip(strength, LEAST, MOST)
        found = self._fits.minimise(strength, solver)
        return Tuned(strength, found, self._fits.point)

    def _scale(self, strength: np.ndarray, scaled: np.ndarray) -> Tuned:
        """Return the best fit over a common factor of some strengths.

        Weaker ones go on from the last fit. Stronger ones begin where the search did: from a fit
        that has learned too much they would be long in coming back.
        """
        begin = self._fits.point
        first = best = self._fit(strength)
        for step in (self._settings.step, 1.0 / self._settings.step):
            factor = step
            while 1.0 / RANGE < factor < RANGE and not self._is_late():
                self._fits.point = best.point if step > 1.0 else begin
                found = self._fit(np.where(scaled, strength / factor, strength))
                if found.loss >= best.loss * (1.0 - self._settings.gain):
                    break
                best = found
                factor *= step
            if best is not first:
                break
        self._fits.point = best.point
        return best

    def _weigh(self, strength: np.ndarray) -> np.ndarray:
        """Return the strengths that the evidence gives: λ = γ / ‖β‖² for each table.

        A Gamma prior whose mean is the strength of the table's group, by order and level, holds for
        tables that show little.
        """
        effective, diagonal, squares = self._fits.traces(strength, self._draws)
        group, count = self._group, int(self._group.max()) + 1
        whole = [np.bincount(group, each, count) for each in (effective, diagonal, squares)]
        share = np.clip(whole[0] / np.maximum(whole[1], 1e-12), LEAST_SHARE, 1.0)
        known = diagonal * self._fits.n_folds
        trust = known / (known + BORROWED)
        expected = share[group] * diagonal
        shown = trust * effective + (1.0 - trust) * expected
        shown = np.maximum(shown, LEAST_SHARE * expected)
        typical = (share * whole[1] / np.maximum(whole[2], 1e-12))[group]
        return (shown + 1.0) / (squares + 1.0 / typical)
