"""Strengths of tables: the evidence sets them relative to each other, held-out rows their scale."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from deepbroad.engine.choice.fits import Fits, HeldLosses
from deepbroad.engine.choice.settings import Settings
from deepbroad.model.resolutions import LevelledTerms

# A cell's score with a standard deviation of ten log odds is as good as free, and one of a
# thousandth as good as none; larger common factors change nothing that validation could see.
LEAST, MOST = 1e-2, 1e6
MOST_STEPS = 8
# A probe is noisy: a table borrows from the tables of its order and level as if these had shown so
# many effective parameters of it.
BORROWED = 4.0
# The share of a table's parameters that are effective at least: probes may be negative.
LEAST_SHARE = 0.05


@dataclass(frozen=True, eq=False)
class Tuned:
    """Strengths of tables, and the held-out losses and the point of their fits."""

    strength: np.ndarray
    losses: HeldLosses
    point: object

    @property
    def loss(self) -> float:
        """The mean held-out loss."""
        return self.losses.mean


def is_better(found: HeldLosses, best: HeldLosses, settings: Settings) -> bool:
    """Tell whether held-out rows gain more than chance would give: the rule of every comparison."""
    gain, error = found.gain_over(best)
    return gain > max(settings.certainty * error, settings.gain * best.mean)


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
    fits : Fits
    tables : LevelledTerms
    settings : Settings
    draws : ndarray of shape (n_rows,)
        Uniform numbers for the probes; the same in each round.
    is_late : callable
        Whether nothing new is to be tried.
    """

    def __init__(
        self,
        fits: Fits,
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
        best = self._scale(self._fit(strength), scaled)
        if best.loss > known * (1.0 - self._settings.gain) or self._is_late():
            return best
        self._fits.point = best.point
        found = self._scale(self._fit(self._weigh()), np.ones(len(strength), bool))
        return found if is_better(found.losses, best.losses, self._settings) else best

    def _fit(self, strength: np.ndarray) -> Tuned:
        strength = np.clip(strength, LEAST, MOST)
        losses = self._fits.minimise(strength)
        return Tuned(strength, losses, self._fits.point)

    def _scale(self, first: Tuned, scaled: np.ndarray) -> Tuned:
        """Return the best fit over a common factor of some strengths, from that of a first fit.

        The factor goes up and down by steps as long as held-out rows gain; then a parabola through
        the best three tells where the least loss is.
        """
        tried = {0: first}

        def at(step: float) -> Tuned:
            nearest = min(tried, key=lambda other: abs(other - step))
            self._fits.point = tried[nearest].point
            factor = self._settings.step**step
            strength = np.where(scaled, first.strength / factor, first.strength)
            tried[step] = self._fit(strength)
            return tried[step]

        best = 0
        for way in (1, -1):
            while abs(best) < MOST_STEPS and not self._is_late():
                gain = tried[best].loss - at(best + way).loss
                if gain > 0.0:
                    best += way
                if gain < self._settings.gain * tried[best].loss:
                    break
            if best:
                break
        if self._is_late():
            return tried[best]
        return self._interpolate(tried, best, at)

    def _interpolate(self, tried, best, at):
        below, here, above = (tried.get(best + k) for k in (-1, 0, 1))
        if below is None or above is None:
            return here
        curve = below.loss + above.loss - 2.0 * here.loss
        slope = 0.5 * (above.loss - below.loss)
        if 0.5 * slope * slope / max(curve, 1e-12) > self._settings.gain * here.loss:
            found = at(best - slope / curve)
            return found if found.loss < here.loss else here
        return here

    def _weigh(self) -> np.ndarray:
        """Return the strengths that the evidence gives: λ = γ / ‖β‖² for each table.

        A Gamma prior whose mean is the strength of the table's group, by order and level, holds for
        tables that show little.
        """
        effective, diagonal, squares = self._fits.traces(self._draws)
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
