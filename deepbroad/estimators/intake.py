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
from deepbroad.data.cuts import Edges
from deepbroad.data.encoding import Encoding
from deepbroad.data.files import check_named, is_files, open_files
from deepbroad.data.labels import Labels
from deepbroad.data.sketch import SketchRules, TableSketch, number_capacity, sketch_files
from deepbroad.data.source import Source
from deepbroad.data.table import read_table
from deepbroad.data.target import Target
from deepbroad.data.weights import count_rows, read_weights
from deepbroad.engine.cluster_reading import is_cluster, open_cluster
from deepbroad.estimators.parameters import (
    check_total,
    class_factors,
    ignored_classes,
    weigh_classes,
)
from deepbroad.kernels.threads import Threads

# Share of the memory limit that summaries of numbers may take while files are read, and bytes.
SKETCHED, MOST_SKETCHED = 0.125, 2e9
# Share that the values of categories may take: an identifier of every row would have no end.
VALUES = 0.25
# Bytes that they may have always: where even these are too many, no column is to blame.
LEAST_VALUES = 2**20
# Share that the codes of few rows of a cluster may take here.
COLLECTED = 0.125


@dataclass(frozen=True)
class Wants:
    """How a model wants its rows.

    Attributes
    ----------
    categorical_features, class_weight
        As users give them.
    count_levels : callable
        From the number of rows (`count_rows`) to the levels of nested bins of numbers, 0 for bins
        by description length.
    limit : float
        Bytes that the fit may take.
    edges : mapping from str to sequence of cut points, or None
        Those of each number, where a recipe gives them (`Encoding.fit`).
    """

    categorical_features: Any
    class_weight: Any
    count_levels: Callable[[int], int]
    limit: float
    edges: Edges | None = None


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
    named : bool
        Whether these names were given, or are just "x0", "x1", ...
    """

    names: Sequence[str]
    named = True

    @abstractmethod
    def read(self, wants: Wants, threads: Threads) -> Intake:
        """Check and code them."""


def open_rows(X: Any, y: Any, sample_weight: Any) -> Rows:
    """Return training rows by how they were given, before any is read."""
    if is_cluster(X):
        return ClusterRows(X, y, sample_weight)
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
        if weights is not None:
            check_total(weights)
            # Weights of 1 are none: what goes by rows alone is not to be lost for them.
            weights = None if (weights == 1.0).all() else weights
        if weights is not None and not weights.all():
            # A class of weight 0 is as if absent.
            labels, codes = Labels.fit(y, weights)
        check_classes(labels, is_weighted=weights is not None)
        encoding, columns = Encoding.fit(
            table,
            codes,
            labels.n_classes,
            weights,
            categorical_features=wants.categorical_features,
            levels=wants.count_levels(count_rows(weights, table.n_rows)),
            edges=wants.edges,
        )
        source = encoding.as_source(columns, codes, weights, labels.n_classes)
        return Intake(labels, encoding, source)


class SketchedRows(Rows):
    """Rows that are gone through twice: to learn their encoding, and to code them."""

    @abstractmethod
    def _sketch(self, rules: SketchRules, threads: Threads) -> TableSketch:
        """Return what is seen of all rows."""

    @abstractmethod
    def _code(self, encoding: Encoding, target: Target, wants: Wants, threads: Threads) -> Source:
        """Return the rows in codes."""

    def read(self, wants: Wants, threads: Threads) -> Intake:
        """Check and code them."""
        rules = SketchRules(
            select_categorical(wants.categorical_features, self.names),
            ignored_classes(wants.class_weight),
            number_capacity(min(SKETCHED * wants.limit, MOST_SKETCHED), len(self.names)),
            max(VALUES * wants.limit, LEAST_VALUES),
        )
        encoding, target = self._sketch(rules, threads).finish(
            partial(_weigh, wants.class_weight), wants.count_levels, wants.edges
        )
        check_classes(target.labels)
        return Intake(target.labels, encoding, self._code(encoding, target, wants, threads))


class FileRows(SketchedRows):
    """Rows of files, which are coded into other files: no more than some batches are in memory."""

    def __init__(self, X: Any, y: Any, sample_weight: Any) -> None:
        check_named(y, sample_weight)
        self._y: str = y
        self._open = partial(open_files, X, y=y, weights=sample_weight)
        # Labels are text in CSV where they are not all of one type.
        self._files = self._open(categories=[y])
        self.names = self._files.names

    def _sketch(self, rules: SketchRules, threads: Threads) -> TableSketch:
        named = rules.named_categories(self.names)
        if named:
            self._files = self._open(categories=[self._y, *named])
        return sketch_files(self._files, rules, threads)

    def _code(self, encoding: Encoding, target: Target, wants: Wants, threads: Threads) -> Source:
        store = CodeStore()
        rows = encode_files(self._files, encoding, target, store, threads)
        return encoding.as_source(*rows, target.labels.n_classes, store)


class ClusterRows(SketchedRows):
    """Rows on a Dask cluster, which stay there unless they are few."""

    def __init__(self, X: Any, y: Any, sample_weight: Any) -> None:
        self._table = open_cluster(X, y, sample_weight)
        self.names, self.named = self._table.names, self._table.named

    def _sketch(self, rules: SketchRules, threads: Threads) -> TableSketch:
        return self._table.sketch(rules)

    def _code(self, encoding: Encoding, target: Target, wants: Wants, threads: Threads) -> Source:
        return self._table.code(encoding, target, COLLECTED * wants.limit)


def _weigh(class_weight: Any, labels: Labels, totals: np.ndarray) -> np.ndarray | None:
    """Return the weight of each class, as `class_factors` does, once all weights are checked."""
    factors = class_factors(class_weight, labels, totals)
    check_total(totals if factors is None else totals * factors)
    return factors


def check_classes(labels: Labels, *, is_weighted: bool = False) -> None:
    """Raise ValueError unless there are classes to tell apart."""
    if labels.n_classes < 2:
        where = " among the rows whose weight is above 0" if is_weighted else ""
        raise ValueError(
            f"A classifier needs at least 2 classes, and y has one class{where}: "
            f"{labels.classes.tolist()[0]!r}."
        )
