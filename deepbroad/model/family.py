"""What sets one trainable model apart from another: values per term, spread over its cells."""

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from deepbroad.model.terms import Terms

# One value for all terms, or an array with a value for each, (n_terms,).
PerTerm: TypeAlias = float | np.ndarray


@dataclass(frozen=True, eq=False)
class Family:
    """The arrays of the objective, as data.

    Attributes
    ----------
    generative : bool
        Scale s of a cell: its log θ (DBL), or 1 (LR), whose generative weights are 0.
    strength : float or ndarray of shape (n_terms,)
        λ of each term.
    start, target : float or ndarray of shape (n_terms,)
        u⁰ and t of the cells of each term, in units of its weight in the generative model.
    by_score : bool
        Whether strengths are of scores: λ s² for the parameter of a cell, so that the penalty is
        ½ λ (β - s·t)² whatever the scale.
    backs_off : bool
        Whether cells of two columns or more that no training row reaches score 0, for models that
        have their parts as terms too, instead of s·t.
    children : ndarray of shape (n_terms,) or None
        The column of each term that is given the others, its parents: then the scale of a cell is
        log θ of its value given theirs and the class, and its generative weight 1. None: the scale
        is log θ of the joint value given the class.
    """

    generative: bool
    strength: PerTerm
    start: PerTerm = 1.0
    target: PerTerm = 0.0
    by_score: bool = False
    backs_off: bool = False
    children: np.ndarray | None = None

    def shared_out(self, shares: np.ndarray, strength: PerTerm) -> "Family":
        """Return the family of terms that share the evidence, (n_terms,), with some strengths."""
        start, target = self.start * shares, self.target * shares
        return replace(self, start=start, target=target, strength=strength)

    def fixed_target(self, terms: Terms) -> PerTerm:
        """Return t of the cells that no training row reaches, by term."""
        if not self.backs_off:
            return self.target
        return np.where(terms.orders > 1, 0.0, self.target)


def spread(values: PerTerm, terms: Terms, cells: np.ndarray) -> np.ndarray | float:
    """Return the value of the term of each cell, (n, 1), for an ascending list of cells."""
    if np.ndim(values) == 0:
        return float(values)
    counts = np.diff(np.searchsorted(cells, terms.offsets))
    return np.repeat(np.asarray(values, np.float64), counts)[:, None]
