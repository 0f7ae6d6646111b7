"""Explanations of fitted models."""

from typing import Any, overload

import numpy as np
from sklearn.utils.validation import check_is_fitted

from deepbroad.data.encoding import Encoding
from deepbroad.data.frequencies import Frequencies
from deepbroad.engine.cluster_reading import is_collection
from deepbroad.engine.memory import format_bytes, parse_limit
from deepbroad.engine.scoring import Scorer
from deepbroad.estimators.explanation import Explanation, RowExplanations
from deepbroad.estimators.prediction import Predictor
from deepbroad.model.marginals import Marginals
from deepbroad.model.purification import Purification


class Explainer(Predictor):
    """What a fitted classifier's tables say, exactly."""

    memory_limit: Any
    _frequencies: Frequencies | None

    @overload
    def explain(self, X: None = None, *, background: Any = ...) -> Explanation: ...

    @overload
    def explain(self, X: Any, *, background: Any = ...) -> RowExplanations: ...

    def explain(self, X: Any = None, *, background: Any = "training") -> Any:
        """Tell the model apart into an intercept, single effects, pure pairs and higher effects.

        The effects sum to the model's log odds exactly; each is what its attributes do only
        together (`Explanation` has the formula and the reference).

        Parameters
        ----------
        X : table of shape (n_samples, n_features), optional
            Rows to explain, as for `predict`. Without them the model as a whole is explained.
        background : "training", "uniform" or table, default="training"
            The distribution over which effects have mean 0, attributes being independent of each
            other: each value as frequent as in training, all values of an attribute alike, or as
            frequent as in a table.

        Returns
        -------
        explanation : Explanation or RowExplanations
            Importances and tables of effects; or each row's contributions, (n_samples, n_effects,
            n_classes), the intercept being the first. Their sum over effects is
            `decision_function` (for two classes that of ``classes_[1]``); where tables are in
            single precision, to the rounding of `decision_function` itself.

        Raises
        ------
        TypeError
            If the model is no sum of tables (AnDE).
        MemoryError
            If the effects, or the contributions of so many rows, do not fit into `memory_limit`.

        Examples
        --------
        >>> from deepbroad import DBLClassifier
        >>> X = [["sunny", "hot"], ["sunny", "cool"], ["rain", "cool"], ["rain", "hot"]] * 5
        >>> model = DBLClassifier(n=2).fit(X, ["no", "yes", "yes", "no"] * 5)
        >>> model.explain().effects[0]
        ('x1',)
        >>> rows = model.explain([["rain", "cool"]])
        >>> abs(rows.log_odds[:, 1] - model.decision_function([["rain", "cool"]])).max() < 1e-5
        np.True_
        """
        check_is_fitted(self, "classes_")
        if not isinstance(self._scorer, Scorer):
            raise TypeError(
                f"{type(self).__name__} averages many models, so its log odds are no sum of "
                "tables and have no exact effects. Explain a DBLClassifier, LRClassifier, "
                "AnJEClassifier, KDBClassifier or TANClassifier."
            )
        marginals, name = self._marginals(background)
        purified = Purification(self._scorer.model, self._encoding, marginals)
        self._check_memory(8 * purified.n_cells * purified.n_outputs, "Its effects")
        explanation = Explanation(purified, self.classes_, name, self._explain_rows)
        return explanation if X is None else explanation.rows(X)

    def _marginals(self, background: Any) -> tuple[Marginals, str]:
        """Return a distribution of attributes, and what it is called."""
        encoding = self._encoding
        if not isinstance(background, str):
            parts = [Frequencies.of_codes(codes, encoding) for codes in self._batches(background)]
            counts = [np.sum(own, axis=0) for own in zip(*(p.counts for p in parts), strict=True)]
            return Marginals.of(encoding, counts), "background"
        if background == "uniform":
            return Marginals.uniform(encoding), background
        if background != "training":
            raise ValueError(
                f'background must be "training", "uniform" or a table; got {background!r}.'
            )
        if self._frequencies is None:
            raise ValueError(
                "This model does not know how frequent values were in training, since an older "
                'version made it. Give background="uniform", or a table of typical rows.'
            )
        return Marginals.of(encoding, self._frequencies.counts), background

    def _explain_rows(self, explanation: Explanation, X: Any) -> RowExplanations:
        """Return the contributions of rows to their log odds."""
        if is_collection(X):
            raise TypeError("Contributions of a Dask collection are not computed; compute() it.")
        batches = list(self._batches(X))
        codes = np.concatenate(batches, axis=1) if len(batches) > 1 else batches[0]
        return self._explain_codes(explanation, codes)

    def _explain_codes(self, explanation: Explanation, codes: np.ndarray) -> RowExplanations:
        """Return the contributions of rows that are codes already."""
        cells = codes.shape[1] * (1 + len(explanation.effects)) * len(self.classes_)
        self._check_memory(16 * cells, f"The contributions of {codes.shape[1]:,} rows")
        found = explanation.contributions(codes, self._scorer.rescaling(codes))
        return RowExplanations(
            explanation.classes,
            [(), *explanation.effects],
            found,
            name_rows(self._encoding, codes),
            list(self._encoding.names),
        )

    def _check_memory(self, needed: float, what: str) -> None:
        """Raise MemoryError if something does not fit into the limit."""
        limit = parse_limit(self.memory_limit)
        if needed > limit:
            raise MemoryError(
                f"{what} would take {format_bytes(needed)}, and memory_limit allows "
                f"{format_bytes(limit)}. Explain fewer rows at a time, fit fewer terms "
                "(`max_terms`, a smaller n), or raise memory_limit."
            )


def name_rows(encoding: Encoding, codes: np.ndarray) -> list[list[str]]:
    """Return the names of the values of each row, attribute by attribute, at the finest bins."""
    last = {column.attribute: i for i, column in enumerate(encoding.columns)}
    named = []
    for i in last.values():
        names = np.array([*encoding.value_names(i), "never seen"], object)
        named.append(names[codes[i]])
    return [list(row) for row in zip(*named, strict=True)]
