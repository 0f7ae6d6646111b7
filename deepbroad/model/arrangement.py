"""The cells of the same terms under two plans: where each is, if the axes change their order."""

from functools import cached_property

import numpy as np

from deepbroad.model.terms import Terms


class Arrangement:
    """From the cells of a plan to those of another of the same terms.

    Parameters
    ----------
    members : ndarray of shape (n_terms, depth)
        The columns of each term in the order of its axes, as the one plan has them.
    terms : Terms
        The terms of the other.
    """

    def __init__(self, members: np.ndarray, terms: Terms) -> None:
        if (
            members.shape != terms.members.shape
            or (np.sort(members, axis=1) != np.sort(terms.members, axis=1)).any()
        ):
            raise ValueError("The plans are not of the same terms.")
        self._members, self._terms = members, terms

    @cached_property
    def is_same(self) -> bool:
        """Whether nothing moves."""
        moved = (self._members != self._terms.members).any(axis=1)
        # The cells of compact terms are in the order of their keys, whatever the axes.
        return not (moved & ~self._terms.is_compact).any()

    @cached_property
    def cells(self) -> np.ndarray:
        """Where each cell of the other plan was in the one, (n_cells,)."""
        terms = self._terms
        cells = np.arange(terms.n_cells)
        moved = (self._members != terms.members).any(axis=1) & ~terms.is_compact
        for term in np.flatnonzero(moved).tolist():
            now = terms.tuple(term)
            was = self._members[term, : len(now)].tolist()
            own = cells[terms.offsets[term] : terms.offsets[term + 1]]
            shape = terms.cardinalities[was]
            own[:] = own.reshape(shape).transpose([was.index(c) for c in now]).ravel()
        return cells

    def ranks(self, reached: np.ndarray) -> np.ndarray:
        """Where each of some cells of the other plan, ascending, was among them in the one."""
        cells = self.cells[reached]
        return np.searchsorted(np.sort(cells), cells)

    def move(self, values: np.ndarray, reached: np.ndarray) -> None:
        """Bring parameters, (..., C + n_reached·C), from the one plan to the other, in place."""
        ranks = self.ranks(reached)
        n_classes = values.shape[-1] // (len(reached) + 1)
        for flat in values.reshape(-1, values.shape[-1]):
            cells = flat[n_classes:].reshape(-1, n_classes)
            cells[:] = cells[ranks]
