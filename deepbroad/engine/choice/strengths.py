"""Strengths of tables: the evidence sets them relative to each other, held-out rows their scale."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from deepbroad.engine.choice.fits import Fits, HeldLosses
from deepbroad.engine.choice.settings import Settings
from deepbroad.model.resolutions import LevelledTerms

# A cell's score with a standard deviation of a hundred log odds is as good as free, and one of a
# thousandth as good as none; larger common factors change nothing that validation could see.
LEAST, MOST = 1e-4, 1e6
# A probe is noisy: a table borrows from the tables of its order and level as if these had shown so
# many effective parameters of it.
BORROWED = 4.0
# The share of a table's parameters that are effective at least: probes may be negative.
LEAST_SHARE = 0.05
# After the first, so many fits that are worse than without the new tables end the search.
HARMFUL = 2


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
    """Tell whether held-out rows gain more than chance would give: so a richer model is taken."""
    gain, error = found.gain_over(best)
    return gain > max(settings.certainty * error, settings.gain * best.mean)


def find_vertex(below: float, here: float, above: float) -> tuple[float, float]:
    """Return where the parabola through three values a step apart is least, and by how much."""
    curve, slope = below + above - 2.0 * here, 0.5 * (above - below)
    if curve <= 0.0:
        return 0.0, 0.0
    return -slope / curve, 0.5 * slope * slope / curve


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
        Uniform numbers for the probe.
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
        self._begin = fits.point
        kinds = np.column_stack([tables.terms.orders, tables.levels])
        self._group = np.unique(kinds, axis=0, return_inverse=True)[1].ravel()
        self._orders = tables.terms.orders

    def run(self, strength: np.ndarray, scaled: np.ndarray, known: float) -> Tuned:
        """Return the best fit over a common factor of the strengths of `scaled` tables.

        The search ends early where these do harm to the `known` loss of a model without them.
        """
        return self._scale(self._fit(strength), scaled, known)

    def weigh(self, best: Tuned) -> Tuned:
        """Return a fit with strengths that the evidence gives if it is better than the `best`.

        The evidence knows how tables of an order compare. How much the order as a whole varies it
        knows where rows are many, and misjudges where they are few, or separable: so the variance
        that was found before is tried too.
        """
        for done in range(self._settings.rounds):
            if done and self._is_late():
                break
            self._fits.point = best.point
            weighed = self._apply_evidence(best.strength)
            tried = []
            for strength in (weighed, self._keep_variances(weighed, best.strength)):
                self._fits.point = best.point
                tried.append(self._fit(strength))
            found = min(tried, key=lambda fit: fit.loss)
            # Where classes are nearly separable the evidence finds penalties that are too strong;
            # never much too weak ones.
            found = self._scale(found, np.ones(len(weighed), bool), inf, ways=(1,))
            if not is_better(found.losses, best.losses, self._settings):
                break
            best = found
        return best

    def _fit(self, strength: np.ndarray, known: float = inf) -> Tuned:
        strength = np.clip(strength, LEAST, MOST)
        losses = self._fits.minimise(strength, known)
        return Tuned(strength, losses, self._fits.point)

    def _scale(
        self, first: Tuned, scaled: np.ndarray, known: float, ways: Sequence[int] = (1, -1)
    ) -> Tuned:
        """Return the best fit over a common factor of some strengths, given the first.

        The factor goes by steps as long as held-out rows gain, to weaker strengths (1) or stronger
        ones (-1); then a parabola through the best three tells where the least loss is. Weaker ones
        go on from the nearest fit. Stronger ones begin where the search did: from a fit that has
        learned too much they would be long in coming back.
        """
        begin, tried = self._begin, {0.0: first}

        def fit_at(step: float) -> Tuned:
            below = [known for known in tried if known < step]
            self._fits.point = tried[max(below)].point if below else begin
            factor = np.where(scaled, self._settings.step**step, 1.0)
            tried[step] = self._fit(first.strength / factor, tried[best].loss)
            return tried[step]

        best = 0.0
        # Where some strengths do harm, weaker ones do more, and ever stronger ones do nothing.
        for way in ways if tried[best].loss < known else (-1,):
            gain = inf
            while gain >= self._settings.gain * tried[best].loss:
                is_harmful = tried[best].loss > known and len(tried) > HARMFUL
                if is_harmful or self._is_late():
                    break
                gain = tried[best].loss - fit_at(best + way).loss
                if gain > 0.0:
                    best += way
            if best:
                break
        around = [tried.get(best + k) for k in (-1, 0, 1)]
        if None in around:
            return tried[best]
        vertex, gain = find_vertex(*[fit.loss for fit in around if fit])
        if gain < self._settings.gain * tried[best].loss or self._is_late():
            return tried[best]
        found = fit_at(best + vertex)
        return min(found, tried[best], key=lambda fit: fit.loss)

    def _keep_variances(self, strength: np.ndarray, known: np.ndarray) -> np.ndarray:
        """Return strengths whose tables have, by order, the variance of those with known ones."""
        is_fitted = self._fits.present.any(axis=1)
        found, before = (
            np.bincount(self._orders, np.where(is_fitted, 1.0 / each, 0.0))
            for each in (strength, known)
        )
        factors = np.divide(found, before, out=np.ones_like(found), where=before > 0)
        return strength * np.where(is_fitted, factors[self._orders], 1.0)

    def _apply_evidence(self, strength: np.ndarray) -> np.ndarray:
        """Return the strengths that the evidence gives: λ = γ / ‖β‖² for each table.

        A Gamma prior whose mean is the strength of the table's group, by order and level, holds for
        tables that show little. Tables that no fold has keep their strength.
        """
        effective, diagonal, squares = self._fits.traces(self._draws)
        group, count = self._group, int(self._group.max()) + 1
        whole = [np.bincount(group, each, count) for each in (effective, diagonal, squares)]
        share = np.clip(whole[0] / np.maximum(whole[1], 1e-12), LEAST_SHARE, 1.0)
        n_folds = self._fits.present.sum(axis=1)
        known = diagonal * n_folds
        trust = known / (known + BORROWED)
        expected = share[group] * diagonal
        shown = trust * effective + (1.0 - trust) * expected
        shown = np.maximum(shown, LEAST_SHARE * expected)
        typical = np.maximum(share * whole[1] / np.maximum(whole[2], 1e-12), LEAST)[group]
        return np.where(n_folds > 0, (shown + 1.0) / (squares + 1.0 / typical), strength)
