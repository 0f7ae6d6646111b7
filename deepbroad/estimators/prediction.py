"""Predictions of fitted models, for tables in memory, files and Dask collections."""

from collections.abc import Callable, Iterator
from copy import copy
from functools import partial
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted, validate_data

from deepbroad.data.encoding import Encoding
from deepbroad.data.files import TableFiles, check_named, is_files, open_files
from deepbroad.data.labels import Labels
from deepbroad.data.table import read_table
from deepbroad.engine.cluster_prediction import predict_cluster
from deepbroad.engine.cluster_reading import is_collection


class Predictor:
    """What a fitted classifier says of rows.

    For a Dask data frame or array every method returns a Dask array, which is computed when it is
    asked for.
    """

    classes_: np.ndarray
    n_jobs: int | None
    _encoding: Encoding
    _labels: Labels
    _scorer: Any

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the log odds of classes.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            As for `fit`.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes the log odds of ``classes_[1]``; for more, each class's score less the
            mean of the row's scores.
        """
        return self._say(X, "_log_odds")

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            As for `fit`.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Of the type of ``classes_``.
        """
        return self._say(X, "_labels_of")

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class for each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            As for `fit`.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``; rows sum to 1.
        """
        return self._say(X, "_probabilities")

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithm of `predict_proba`, exact also where a probability is tiny.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            As for `fit`.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        return self._say(X, "_log_probabilities")

    def iter_proba(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the probabilities of rows batch by batch, for files with more rows than memory has.

        Parameters
        ----------
        X : path
            As for `fit`; a table in memory is one batch.

        Yields
        ------
        probabilities : ndarray of shape (n_batch, n_classes)
            Columns in the order of ``classes_``.
        """
        for codes in self._batches(X):
            yield self._probabilities(codes)

    def _say(self, X: Any, what: str) -> np.ndarray:
        """Return what the method of that name says of the codes of rows."""
        check_is_fitted(self, "classes_")
        says: Callable[[np.ndarray], np.ndarray] = getattr(self, what)
        if is_collection(X):
            # Workers have a thread for each partition.
            alone = copy(self)
            alone.n_jobs = 1
            nothing = np.empty((len(self._encoding.columns), 0), self._encoding.dtype)
            found: np.ndarray = predict_cluster(partial(_say, alone, what), X, says(nothing))
            return found
        said = [says(codes) for codes in self._batches(X)]
        return said[0] if len(said) == 1 else np.concatenate(said)

    def _batches(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the codes of rows: all at once, or those of files batch by batch."""
        check_is_fitted(self, "classes_")
        encoding = self._encoding
        if is_files(X):
            yield from (encoding.encode(batch.table) for batch in self._open(X).batches())
        else:
            table = read_table(X)
            validate_data(self, X, reset=False, skip_check_array=True)
            yield encoding.encode(table)

    def _open(
        self, X: Any, y: str | None = None, weights: str | None = None, text: tuple[str, ...] = ()
    ) -> TableFiles:
        """Open files that have the attributes of the model, of the types that training had."""
        encoding = self._encoding
        return open_files(
            X,
            y=y,
            weights=weights,
            columns=encoding.names,
            text=[*encoding.text_names, *text],
            numbers=encoding.number_names,
            whole=encoding.whole_names,
        )

    def _open_labelled(self, X: Any, y: Any, sample_weight: Any = None) -> TableFiles:
        """Open files that have the classes of rows, and perhaps their weights, in columns."""
        check_is_fitted(self, "classes_")
        check_named(y, sample_weight)
        if y in self._encoding.names:
            raise ValueError(f"{y!r} is an attribute of the model; name the column of its classes.")
        # Classes that CSV would take for numbers.
        is_text = all(isinstance(label, str) for label in self.classes_.tolist())
        return self._open(X, y, sample_weight, text=(y,) if is_text else ())

    def _file_accuracy(self, X: Any, y: Any, sample_weight: Any) -> float:
        """Return the share of the weight of rows in files whose class is predicted rightly."""
        right = total = 0.0
        for batch in self._open_labelled(X, y, sample_weight).batches():
            codes = self._encoding.encode(batch.table)
            found = self._best(codes) == self._labels.find(batch.y, batch.weights)
            weights = np.ones(len(found)) if batch.weights is None else batch.weights
            right += float(weights[found].sum())
            total += float(weights.sum())
        if not total:
            raise ValueError("Sample weights must contain at least one non-zero number.")
        return right / total

    def _scores(self, codes: np.ndarray) -> np.ndarray:
        """Return the scores of all classes, the first being 0, (n_rows, n_classes) float64."""
        scores = np.zeros((codes.shape[1], len(self.classes_)))
        scores[:, 1:] = self._scorer.scores(codes, self.n_jobs)
        return scores

    def _log_odds(self, codes: np.ndarray) -> np.ndarray:
        scores = self._scores(codes)
        if len(self.classes_) == 2:
            return scores[:, 1]
        return scores - scores.mean(axis=1, keepdims=True)

    def _labels_of(self, codes: np.ndarray) -> np.ndarray:
        return self.classes_[self._best(codes)]

    def _best(self, codes: np.ndarray) -> np.ndarray:
        """Return the number of the most probable class of each row, the first of equals."""
        scores = self._scorer.scores(codes, self.n_jobs)
        best = scores.argmax(axis=1)
        ahead = np.take_along_axis(scores, best[:, None], axis=1)[:, 0] > 0
        return np.where(ahead, best + 1, 0)

    def _probabilities(self, codes: np.ndarray) -> np.ndarray:
        probabilities: np.ndarray = self._scorer.probabilities(codes, self.n_jobs)
        return probabilities

    def _log_probabilities(self, codes: np.ndarray) -> np.ndarray:
        scores = self._scores(codes)
        return scores - logsumexp(scores, axis=1, keepdims=True)


def _say(model: Predictor, what: str, X: Any) -> np.ndarray:
    """Return what a model says of a partition, on a worker."""
    return model._say(X, what)
