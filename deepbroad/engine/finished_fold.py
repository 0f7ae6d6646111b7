"""What is left of a fold of a temperature once it is fitted, as a journal keeps it."""

from dataclasses import dataclass

import numpy as np

from deepbroad.model.arrangement import Arrangement
from deepbroad.model.plan import Plan
from deepbroad.model.scores import ScoreTables


@dataclass(frozen=True, eq=False)
class Warm:
    """A model to start others from.

    Attributes
    ----------
    members : ndarray of shape (n_terms, depth)
        The members of the plan's terms, which tell the order of cells.
    class_scores, scores : ndarray
        As in `ScoreTables`.
    """

    members: np.ndarray
    class_scores: np.ndarray
    scores: np.ndarray


@dataclass(frozen=True, eq=False)
class FinishedFold:
    """Scores of the rows that a fold held out, and its model if later fits start from it."""

    scores: np.ndarray
    warm: Warm | None

    @classmethod
    def of(cls, scores: np.ndarray, model: ScoreTables | None) -> "FinishedFold":
        """Return what is left, given the model that later fits start from."""
        if model is None:
            return cls(scores, None)
        return cls(scores, Warm(model.plan.terms.members, model.class_scores, model.scores))

    def tables(self, plan: Plan) -> ScoreTables | None:
        """Return the model in the cells of a plan, which may have others' axes in another order."""
        if self.warm is None:
            return None
        classes, scores = self.warm.class_scores, self.warm.scores
        if classes.ndim != 1 or scores.shape != (plan.terms.n_cells, len(classes)):
            raise ValueError(f"scores of shape {scores.shape} are not those of the model's cells")
        arrangement = Arrangement(self.warm.members, plan.terms)
        if not arrangement.is_same:
            scores = scores[arrangement.cells]
        return ScoreTables(plan, classes, scores, None)
