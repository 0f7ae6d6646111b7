"""A fitted model: one score per class for each class term and each cell, summed over a row's cells."""

from dataclasses import dataclass

import numpy as np

from deepbroad.model.plan import Plan


@dataclass(frozen=True)
class ScoreTables:
    """The scores β of a model, cell by cell in the order of the plan's terms.

    Attributes
    ----------
    plan : Plan
        The terms, and the fused tables that rows are scored with.
    class_scores : ndarray of shape (C,), float64
        β_y.
    scores : ndarray of shape (n_cells, C), float32 or float64
        β of every cell, those that no training row reached included.
    scale : ndarray of shape (n_cells, C) or None
        s, log θ in models with a generative side: the weights are w = β / s.
    """

    plan: Plan
    class_scores: np.ndarray
    scores: np.ndarray
    scale: np.ndarray | None

    @property
    def n_classes(self) -> int:
        """C."""
        return len(self.class_scores)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        scale = 0 if self.scale is None else self.scale.nbytes
        return self.scores.nbytes + scale + self.class_scores.nbytes

    def relative(self) -> tuple[np.ndarray, np.ndarray]:
        """Return class scores (C - 1,) and cell scores (n_cells, C - 1) less those of class 0."""
        return self.class_scores[1:] - self.class_scores[0], self.scores[:, 1:] - self.scores[:, :1]

    def cells_of(self, term: int) -> slice:
        """Return where the cells of a term are."""
        offsets = self.plan.terms.offsets
        return slice(int(offsets[term]), int(offsets[term + 1]))

    def table(self, columns: tuple[int, ...], what: str = "scores") -> np.ndarray:
        """Return one term's scores or weights, axes in the order of `columns`, classes last."""
        terms = self.plan.terms
        wanted = sorted(columns)
        for term in range(len(terms)):
            own = terms.tuple(term)
            if sorted(own) == wanted:
                break
        else:
            raise KeyError(columns)
        cells = self.cells_of(term)
        values = self.scores[cells]
        if what == "weights":
            if self.scale is None:
                raise ValueError("this model has no generative side, so its weights are its scores")
            values = np.divide(
                values, self.scale[cells], out=np.ones_like(values), where=self.scale[cells] != 0
            )
        shape = [int(terms.cardinalities[c]) for c in own]
        values = values.reshape(*shape, self.n_classes)
        return values.transpose(*[own.index(c) for c in columns], len(own))
