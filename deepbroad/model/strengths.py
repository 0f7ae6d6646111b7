"""Strengths of penalties on scores: by the order and level of terms, adapted to each term."""

from dataclasses import dataclass, replace

import numpy as np

from deepbroad.model.resolutions import LevelledTerms


@dataclass(frozen=True)
class Strengths:
    """λ of every term by a few numbers: one per order, and how it grows with the level.

    Terms that are the same but for a shift of their bins share the variance of one: each has the
    strength of one times their number.

    Attributes
    ----------
    by_order : tuple of float
        λ of the coarsest terms of one attribute, of two, ...
    growth : float
        Each level finer has a strength so many times greater.
    """

    by_order: tuple[float, ...]
    growth: float = 1.0

    def per_term(self, levelled: LevelledTerms) -> np.ndarray:
        """Return λ of each term, (n_terms,)."""
        orders = np.array(self.by_order)[levelled.terms.orders - 1]
        return orders * self.growth ** (levelled.levels - 1.0) * levelled.copies

    def scaled(self, which: int, factor: float) -> "Strengths":
        """Return others that differ in one number: an order from 0, or after those the growth."""
        if which == len(self.by_order):
            return replace(self, growth=self.growth * factor)
        changed = list(self.by_order)
        changed[which] *= factor
        return replace(self, by_order=tuple(changed))

    def deeper(self, strength: float) -> "Strengths":
        """Return others with one order more."""
        return replace(self, by_order=(*self.by_order, strength))


@dataclass(frozen=True)
class Adaptation:
    """Strengths that follow what a first fit found: terms of small scores are held down more.

    A term whose scores have v times the mean variance of its order has its strength multiplied by
    (v + floor)^-power; so a table that tells nothing all but disappears.
    """

    power: float
    floor: float

    def factors(self, variances: np.ndarray, orders: np.ndarray) -> np.ndarray:
        """Return the factor of each term, (n_terms,), given the variances of their scores."""
        factors = np.ones(len(variances))
        if not self.power:
            return factors
        for order in np.unique(orders):
            chosen = orders == order
            mean = float(variances[chosen].mean())
            if mean > 0.0:
                factors[chosen] = (variances[chosen] / mean + self.floor) ** -self.power
        return factors


UNADAPTED = Adaptation(0.0, 1.0)
