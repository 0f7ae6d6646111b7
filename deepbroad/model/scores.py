"""A fitted model: a score per class for every cell, summed over the cells of a row."""

from dataclasses import dataclass, replace

import numpy as np

from deepbroad.model.plan import Plan
from deepbroad.model.terms import NONE

# A compact term is shown as a dense array up to this many cells.
MAX_DENSE = 10_000_000


@dataclass(frozen=True, eq=False)
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

    def scaled(self, factor: float) -> "ScoreTables":
        """Return the model whose scores are so many times as large, those of classes too."""
        if factor == 1:
            return self
        kind = self.scores.dtype.type
        return replace(
            self, class_scores=self.class_scores * factor, scores=self.scores * kind(factor)
        )

    def has_terms_of(self, plan: Plan) -> bool:
        """Tell whether another plan has the same terms and cells, in whatever order of axes."""
        ours, theirs = self.plan.terms, plan.terms
        return (
            np.array_equal(ours.cardinalities, theirs.cardinalities)
            and np.array_equal(ours.sizes, theirs.sizes)
            and self._same_keys(plan)
            and ours.members.shape == theirs.members.shape
            and np.array_equal(np.sort(ours.members, axis=1), np.sort(theirs.members, axis=1))
        )

    def _same_keys(self, plan: Plan) -> bool:
        """Tell whether compact terms store the same joint values."""
        ours, theirs = self.plan.compact_groups, plan.compact_groups
        return ours.keys() == theirs.keys() and all(
            np.array_equal(group.columns, theirs[term].columns)
            and np.array_equal(group.keys, theirs[term].keys)
            for term, group in ours.items()
        )

    def reordered(self, plan: Plan) -> "ScoreTables":
        """Return the same scores in the order of the axes of a plan that matches."""
        theirs = plan.terms
        scores = np.empty_like(self.scores)
        for term in range(len(theirs)):
            if theirs.is_compact[term]:  # cells in the order of their keys, whatever the axes
                scores[self.cells_of(term)] = self.scores[self.cells_of(term)]
                continue
            columns = theirs.tuple(term)
            scores[self.cells_of(term)] = self._arrange(self.scores, term, columns).reshape(
                -1, self.n_classes
            )
        return ScoreTables(plan, self.class_scores, scores, None)

    def _arrange(self, values: np.ndarray, term: int, columns: tuple[int, ...]) -> np.ndarray:
        """Return a term's part of `values` with its axes in the order of `columns`."""
        terms = self.plan.terms
        own = terms.tuple(term)
        shape = [int(terms.cardinalities[c]) for c in own]
        part = values[self.cells_of(term)]
        if terms.is_compact[term]:
            if terms.spaces[term] > MAX_DENSE:
                raise ValueError(
                    f"The table has {terms.spaces[term]:,} cells, most of them alike; read those "
                    "of joint values that training saw with `to_arrow`."
                )
            digits = self.seen_values(term, own)
            part = np.broadcast_to(part[-1], (*shape, self.n_classes)).copy()
            part[tuple(digits)] = values[self.cells_of(term)][:-1]
        part = part.reshape(*shape, self.n_classes)
        return part.transpose(*[own.index(c) for c in columns], len(own))

    def seen_values(self, term: int, columns: tuple[int, ...]) -> np.ndarray:
        """Return the codes of `columns` at each cell that a term stores, (n_columns, n_cells)."""
        terms = self.plan.terms
        if not terms.is_compact[term]:
            own = terms.tuple(term)
            shape = [int(terms.cardinalities[c]) for c in own]
            digits = np.indices(shape).reshape(len(own), -1)
            return digits[[own.index(c) for c in columns]]
        group = self.plan.compact_groups[term]
        order = [int(np.flatnonzero(group.columns == c)[0]) for c in columns]
        return group.digits[order]

    def cells_of(self, term: int) -> slice:
        """Return where the cells of a term are."""
        offsets = self.plan.terms.offsets
        return slice(int(offsets[term]), int(offsets[term + 1]))

    def table(self, columns: tuple[int, ...], what: str = "scores") -> np.ndarray:
        """Return one term's scores or weights, axes in the order of `columns`, classes last."""
        term = self.find_term(columns)
        scores = self._arrange(self.scores, term, columns)
        if what == "scores":
            return scores
        if self.scale is None:
            raise ValueError("this model has no generative side, so its weights are its scores")
        scale = self._arrange(self.scale, term, columns)
        # Where log θ is 0 (attributes of one value) any weight gives the same score.
        return np.divide(scores, scale, out=np.ones(scores.shape), where=scale != 0)

    def find_term(self, columns: tuple[int, ...]) -> int:
        """Return the term that joins these columns; KeyError if none does."""
        terms = self.plan.terms
        wanted = np.full(terms.members.shape[1], NONE)
        if len(columns) > len(wanted):
            raise KeyError(columns)
        wanted[: len(columns)] = columns
        found = (np.sort(terms.members, axis=1) == np.sort(wanted)).all(axis=1)
        if not found.any():
            raise KeyError(columns)
        return int(np.flatnonzero(found)[0])
