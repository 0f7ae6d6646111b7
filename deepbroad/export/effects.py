"""A fitted model as a list of effects: what a row with certain codes adds to the score of a class.

All scores here are relative to the first class, whose own is 0: they are log odds.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from deepbroad.data.code_column import CodeColumn
from deepbroad.engine.scoring import Scorer
from deepbroad.model.generative import evidence_rescaling
from deepbroad.model.scores import ScoreTables
from deepbroad.model.terms import NONE


class TermEffects(NamedTuple):
    """The effects of one term.

    Attributes
    ----------
    columns : tuple of int
        Code columns that it joins.
    codes : int64 array of shape (n_columns, n_effects)
        The joint values that are listed.
    scores : float64 array of shape (n_effects, C - 1)
        What each of them adds to the scores of the classes after the first.
    otherwise : float64 array of shape (C - 1,)
        What all other joint values of seen values add.
    """

    columns: tuple[int, ...]
    codes: np.ndarray
    scores: np.ndarray
    otherwise: np.ndarray


@dataclass(frozen=True, eq=False)
class Effects:
    """An additive model, ready to be written in another language.

    Attributes
    ----------
    model_name : str
        The class of the estimator.
    classes : ndarray of shape (C,)
        Labels.
    columns : tuple of CodeColumn
        How values become codes; a tuple with a never-seen value has no effect.
    intercept : float64 array of shape (C - 1,)
        The score of a row without any effect.
    rescaling : float64 array or None
        Entry k multiplies the sum of effects of rows with k never-seen values in `used` columns.
    """

    model_name: str
    classes: np.ndarray
    columns: tuple[CodeColumn, ...]
    intercept: np.ndarray
    rescaling: np.ndarray | None
    _tables: ScoreTables

    @classmethod
    def of(cls, model: Any) -> "Effects":
        """Return the effects of a fitted classifier; TypeError if it is no sum of tables."""
        check_is_fitted(model, "classes_")
        scorer = getattr(model, "_scorer", None)
        name = type(model).__name__
        if not isinstance(scorer, Scorer):
            raise TypeError(
                f"{name} cannot be exported: its scores are no sum of tables. AnJEClassifier, "
                "DBLClassifier, LRClassifier, KDBClassifier and TANClassifier can."
            )
        tables = scorer.model
        class_scores = np.asarray(tables.class_scores, np.float64)
        if not np.isfinite(class_scores).all() or not np.isfinite(tables.scores).all():
            raise ValueError(f"This {name} cannot be exported: its scores are not finite numbers.")
        rescaling = None
        if scorer.rescale:
            members = tables.plan.terms.members
            n_used = len(np.unique(members[members != NONE]))
            depth = int(tables.plan.terms.orders.max())
            rescaling = evidence_rescaling(n_used, depth, np.arange(n_used + 1))
        return cls(
            name,
            model.classes_,
            model._encoding.columns,
            class_scores[1:] - class_scores[0],
            rescaling,
            tables,
        )

    @property
    def n_scores(self) -> int:
        """C - 1."""
        return len(self.intercept)

    @property
    def used(self) -> list[int]:
        """The code columns that terms join, ascending."""
        members = self._tables.plan.terms.members
        return [int(column) for column in np.unique(members[members != NONE])]

    @property
    def labels(self) -> list[Any]:
        """The classes as Python values."""
        labels: list[Any] = self.classes.tolist()
        return labels

    def terms(self) -> Iterator[TermEffects]:
        """Yield the effects of each term; joint values whose effect is `otherwise` are left out."""
        terms = self._tables.plan.terms
        for term in range(len(terms)):
            columns = terms.tuple(term)
            scores = np.asarray(self._tables.scores[self._tables.cells_of(term)], np.float64)
            scores = scores[:, 1:] - scores[:, :1]
            otherwise = np.zeros(self.n_scores)
            if terms.is_compact[term]:
                # The last cell is the one that joint values without their own share.
                scores, otherwise = scores[:-1], scores[-1]
            listed = np.flatnonzero((scores != otherwise).any(axis=1))
            codes = self._tables.seen_values(term, columns)
            yield TermEffects(columns, codes[:, listed], scores[listed], otherwise)
