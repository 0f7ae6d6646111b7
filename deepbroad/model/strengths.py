"""Strengths of penalties on scores: by the order and level of terms."""

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
