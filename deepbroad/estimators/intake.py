"""Training rows on their way in: a table in memory, files, or a Dask collection.

However they come, labels, encoding and a source of codes come out; what follows sees no difference.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from deepbroad.data.categorical import select_categorical
from deepbroad.data.code_store import CodeStore, encode_files
from deepbroad.data.encoding import Encoding
from deepbroad.data.files import is_files, open_files
from deepbroad.data.labels import Labels
from deepbroad.data.sketch import SketchRules, number_capacity, sketch_files
from deepbroad.data.source import MEMORY, ArraySource, Source, Store
from deepbroad.data.table import read_table
from deepbroad.data.weights import read_weights
from deepbroad.estimators.parameters import class_factors, ignored_classes, weigh_classes
from deepbroad.kernels.threads import Threads

# Share of the memory limit that summaries of numbers may take while files are read, and bytes.
SKETCHED, MOST_SKETCHED = 0.125, 2e9


@dataclass(frozen=True)
class Wants:
    """How a model wants its rows.

    Attributes
    ----------
    categorical_features, class_weight
        As users give them.
    count_levels : callable
        From the number of rows of weight to the levels of nested bins of numbers, 0 for bins by
        description length.
    limit : float
        Bytes that the fit may take.
    """

    categorical_features: Any
    class_weight: Any
    count_levels: Callable[[int], int]
    limit: float


class Intake(NamedTuple):
    """Training rows as the engine takes them."""

    labels: Labels
    encoding: Encoding
    source: Source


class Rows(ABC):
    """Training rows as they were given.

    Attributes
    ----------
    names : sequence of str
        Their attributes.
    """

    names: Sequence[str]

    @abstractmethod
    def read(self, wants: Wants, threads: Threads) -> Intake:
        """Check and code them."""


def open_rows(X: Any, y: Any, sample_weight: Any) -> Rows:
    """Return training rows by how they were given, before any is read."""
    if is_files(X):
        return FileRows(X, y, sample_weight)
    return TableRows(X, y, sample_weight)


class TableRows(Rows):
    """Rows of a table in memory."""

    def __init__(self, X: Any, y: Any, sample_weight: Any) -> None:
        self._table, self._y = read_table(X), y
        self._sample_weight = sample_weight
        self.names = self._table.names

    def read(self, wants: Wants, threads: Threads) -> Intake:
        """Check and code them."""
        table, y = self._table, self._y
        weights = read_weights(self._sample_weight, table.n_rows)
        labels, codes = Labels.fit(y, weights)
        weights = weigh_classes(wants.class_weight, labels, codes, weights)
        if weights is not None and not weights.all():
            # A class of weight 0 is as if absent.
            labels, codes = Labels.fit(y, weights)
        check_classes(labels)
        encoding, columns = Encoding.fit(
            table,
            codes,
            labels.n_classes,
            weights,
            categorical_features=wants.categorical_features,
            levels=wants.count_levels(
                table.n_rows if weights is None else int(np.count_nonzero(weights))
            ),
        )
        return Intake(labels, encoding, _as_source(columns, codes, weights, labels, encoding))


class FileRows(Rows):
    """Rows of files, which are coded into other files: no more than some batches are in memory."""

    def __init__(self, X: Any, y: Any, sample_weight: Any) -> None:
        if not isinstance(y, str):
            raise TypeError(
                "With X in files, y is the name of their column that holds the classes; got "
                f"{type(y).__name__}."
            )
        if sample_weight is not None and not isinstance(sample_weight, str):
            raise TypeError(
                "With X in files, sample_weight is the name of one of their columns; got "
                f"{type(sample_weight).__name__}."
            )
        self._given = X, y, sample_weight
        self.names = open_files(X, y=y, weights=sample_weight).names

    def read(self, wants: Wants, threads: Threads) -> Intake:
        """Check and code them."""
        X, y, sample_weight = self._given
        chosen = select_categorical(wants.categorical_features, self.names)
        text = [] if chosen is None else [self.names[i] for i in np.flatnonzero(chosen).tolist()]
        files = open_files(X, y=y, weights=sample_weight, text=text)
        sketched = SketchRules(
            chosen,
            ignored_classes(wants.class_weight),
            number_capacity(min(SKETCHED * wants.limit, MOST_SKETCHED), len(files.names)),
        )
        encoding, target = sketch_files(files, sketched, threads).finish(
            partial(class_factors, wants.class_weight), wants.count_levels
        )
        labels, store = target.labels, CodeStore()
        check_classes(labels)
        rows = encode_files(files, encoding, target, store, threads)
        source = _as_source(rows.codes, rows.labels, rows.weights, labels, encoding, store)
        return Intake(labels, encoding, source)


def check_classes(labels: Labels) -> None:
    """Raise ValueError unless there are classes to tell apart."""
    if labels.n_classes < 2:
        raise ValueError(
            "A classifier needs at least 2 classes, and y has one class: "
            f"{labels.classes.tolist()[0]!r}."
        )


def _as_source(
    codes: np.ndarray,
    labels: np.ndarray,
    weights: np.ndarray | None,
    classes: Labels,
    encoding: Encoding,
    store: Store = MEMORY,
) -> ArraySource:
    return ArraySource(
        codes,
        labels,
        n_classes=classes.n_classes,
        cardinalities=encoding.cardinalities,
        weights=weights,
        attributes=encoding.attributes,
        store=store,
    )
