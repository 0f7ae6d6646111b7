"""What all classifiers share: from a table to a plan, and what a fit leaves behind."""

import logging
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from math import inf
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from deepbroad.data.cuts import Edges
from deepbroad.data.encoding import Encoding
from deepbroad.data.files import is_files
from deepbroad.data.frequencies import Frequencies
from deepbroad.data.labels import Labels
from deepbroad.data.names import list_names
from deepbroad.engine.estimate import Estimate
from deepbroad.engine.memory import format_bytes, parse_limit
from deepbroad.engine.merging import merge_part
from deepbroad.engine.passes import pass_dtype
from deepbroad.engine.planning import group_source
from deepbroad.engine.provision import Wish, provide
from deepbroad.engine.scoring import Scorer
from deepbroad.engine.training import Training
from deepbroad.estimators.explainer import Explainer
from deepbroad.estimators.intake import Rows, TableRows, Wants, open_rows
from deepbroad.estimators.named_tables import NamedTables
from deepbroad.estimators.parameters import (
    check_count,
    check_depth,
    check_number,
    resolve_terms,
)
from deepbroad.estimators.prepared import Coded, Prepared
from deepbroad.estimators.read_only import read_only
from deepbroad.kernels.threads import Threads, thread_count
from deepbroad.model.scores import ScoreTables
from deepbroad.model.terms import Terms

logger = logging.getLogger("deepbroad")


class TableClassifier(Explainer, ClassifierMixin, BaseEstimator, ABC):
    """Base of the classifiers: validates, encodes and plans, and holds what was fitted."""

    n: int
    smoothing: float
    class_weight: Any
    categorical_features: Any
    terms: Any
    min_count: float
    max_terms: int | None
    term_gains_: np.ndarray | None
    memory_limit: Any
    n_jobs: int | None

    # How often training rows had each value; None in models of files that do not tell.
    _frequencies: Frequencies | None = None
    # How many vectors a solver remembers; a model that only counts has none.
    _history = 0
    # Whether rows with never-seen values have what is left of their evidence rescaled.
    _rescales = False
    # Up to how many joint values tables are dense whatever rows show; None: the planner's choice.
    _small_table: int | None = None
    # How many attributes tuples join beyond n.
    _beyond = 0
    # Whether the solver takes a step by some of the rows at a time.
    _in_batches = False

    @property
    def _cell_count(self) -> float:
        """The weight below which a joint value is as if no row had it."""
        return self.min_count

    @abstractmethod
    def _fit_tables(self, training: Training, prepared: Prepared) -> ScoreTables:
        """Return the scores that a training set gives, and set the attributes of the fit."""

    def _check_parameters(self) -> None:
        """Raise ValueError for a parameter that no data could make valid."""
        check_number("smoothing", self.smoothing, above=0.0, included=True)
        check_number("min_count", self.min_count, above=0.0, included=False)
        if self.max_terms is not None:
            check_count("max_terms", self.max_terms, least=1)
        thread_count(self.n_jobs)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model to a table.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            A pandas, polars or pyarrow table, a NumPy array, or a SciPy sparse matrix. Strings,
            categories, booleans, numbers, dates and missing values need no preparation. Or the
            path of a Parquet, CSV, Arrow or ARFF file, or of a folder of such, which is never held
            in memory as a whole; while a `dask.distributed.Client` is active, its workers read it.
            Or a Dask data frame or array, whose partitions stay where they are.
        y : array-like of shape (n_samples,)
            Class labels of any type; the name of a column where X is in files. Beside a Dask
            collection, a Dask series or array, or the name of a column.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows; a row of weight 2 counts as two rows, one of weight 0 as none. A
            name or a Dask collection where y is one.

        Returns
        -------
        self : object
            The fitted model.
        """
        limit = parse_limit(self.memory_limit)
        with Threads(self.n_jobs) as threads, self._watching():
            prepared = self._prepare(X, y, sample_weight, threads, limit=limit, reset=True)
            self._announce(prepared, limit)
            plan = prepared.plan
            training = Training(
                group_source(prepared.source, plan, threads),
                plan,
                smoothing=float(self.smoothing),
                dtype=pass_dtype(plan, prepared.source.n_rows),
                threads=threads,
                min_count=self._cell_count,
            )
            tables = self._fit_tables(training, prepared)
            del training
            self._frequencies = Frequencies.of(prepared.source, threads)
        self._keep(prepared.labels, prepared.encoding, tables)
        scores = prepared.provision.scores
        self.term_gains_ = None if scores is None else read_only(scores.gain)
        return self

    def _watching(self) -> AbstractContextManager[Any]:
        """Return the context of a fit that someone watches."""
        return nullcontext()

    def _announce(self, prepared: Prepared, limit: int) -> None:
        """Log what the fit will do, and warn where memory allows less than was asked for."""
        provision = prepared.provision
        logger.info("%s needs %s", type(self).__name__, provision.estimate)
        constant = np.flatnonzero(prepared.encoding.cardinalities == 1)
        if len(constant):
            names = [prepared.encoding.columns[c].name for c in constant]
            shown = list_names(names)
            logger.info("%d attributes have one value or bin only: %s", len(names), shown)
        if provision.by_limit:
            warnings.warn(
                f"All {provision.n_tuples:,} tuples of {self.n} attributes would take more memory "
                f"than the {format_bytes(limit)} that memory_limit allows, so the model keeps the "
                f"{len(prepared.plan.terms):,} that tell most about the class (`terms_`). Raise "
                "memory_limit, lower n, or set max_terms to choose their number yourself.",
                UserWarning,
                stacklevel=3,
            )

    def _keep(self, labels: Labels, encoding: Encoding, tables: ScoreTables) -> None:
        """Hold a fitted model; model files come in here too."""
        self.classes_ = labels.classes
        self._labels, self._encoding = labels, encoding
        self._scorer = self._make_scorer(tables)

    def _make_scorer(self, tables: ScoreTables) -> Any:
        """Return what scores rows by fitted tables: a `Scorer`, or what has its methods."""
        return Scorer(tables, rescale=self._rescales)

    def estimate(self, X: Any, y: Any, sample_weight: Any = None) -> Estimate:
        """Return what a fit to this table will need, without fitting.

        It is for all tuples (or `terms`, or `max_terms`), whatever `memory_limit` says: a fit that
        is given less takes slower plans of the same model, and then fewer tuples.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.

        Returns
        -------
        estimate : Estimate
            Rows, terms, cells, look-ups per row before and after fusion, bytes and seconds per
            pass.
        """
        with Threads(self.n_jobs) as threads:
            # Whatever it takes: a limit would only hide how much all tuples need.
            prepared = self._prepare(X, y, sample_weight, threads, limit=inf, reset=False)
        return prepared.provision.estimate

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy: the share of rows whose class is predicted rightly.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`; files are gone through batch by batch.

        Returns
        -------
        accuracy : float
        """
        if is_files(X):
            return self._file_accuracy(X, y, sample_weight)
        return float(super().score(X, y, sample_weight))

    def _prepare(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        threads: Threads,
        *,
        limit: float,
        reset: bool,
    ) -> Prepared:
        """Read, check, encode and plan a training table within a limit of memory."""
        self._check_parameters()
        rows = open_rows(X, y, sample_weight)
        if reset:
            self._take_names(rows, X, y)
        n = self._read_depth(len(rows.names))
        wants = Wants(
            self.categorical_features,
            self.class_weight,
            self._count_levels,
            limit,
            self._given_edges(rows.names),
        )
        labels, encoding, source = rows.read(wants, threads)
        del rows
        coded, terms, structure = self._settle(Coded(source, encoding, n, limit, reset, threads))
        source = coded.source.convert(merge_part, threads=threads)
        encoding, n = coded.encoding, coded.depth
        del coded
        wish = Wish(
            n,
            terms=terms,
            max_terms=self.max_terms,
            min_count=self._cell_count,
            history=self._history,
            small=self._small_table,
            beyond=self._beyond,
            in_batches=self._in_batches,
        )
        provision = provide(source, wish, limit, threads)
        return Prepared(labels, encoding, source, provision, n, structure)

    def _given_edges(self, names: Sequence[str]) -> Edges | None:
        """Return the cut points of numbers, None where they follow from the rows."""
        return None

    def _settle(self, coded: Coded) -> tuple[Coded, Terms | None, Any]:
        """Return the table in the code columns that the model uses, and what `_choose_terms` does.

        A model that chooses its code columns has others than those that it was given.
        """
        return coded, *self._choose_terms(coded)

    def _read_depth(self, n_features: int) -> int:
        """Return how many attributes a tuple joins; ValueError for more than there are."""
        return check_depth(self.n, n_features)

    def _count_levels(self, n_rows: int) -> int:
        """Return how many levels of nested bins numbers have, 0 for bins by description length."""
        return 0

    def _choose_terms(self, coded: Coded) -> tuple[Terms | None, Any]:
        """Return the terms, None for all tuples of n columns, and the structure they came from."""
        if self.terms is None:
            return None, None
        return resolve_terms(self.terms, coded.depth, coded.encoding), None

    def _take_names(self, rows: Rows, X: Any, y: Any) -> None:
        """Hold how many attributes there are, and their names, as scikit-learn does."""
        if isinstance(rows, TableRows):
            validate_data(self, X, y, skip_check_array=True)
            check_consistent_length(X, y)
        else:
            self.n_features_in_ = len(rows.names)
            self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
            if rows.named:
                self.feature_names_in_ = np.array(rows.names, dtype=object)

    @property
    def tables_(self) -> NamedTables:
        """Fitted tables by the names of their attributes, for instance ``tables_["a", "b"]``."""
        check_is_fitted(self, "classes_")
        return NamedTables(self._scorer.model, self._encoding, self.classes_)

    @property
    def terms_(self) -> list[tuple[str, ...]]:
        """The tuples of attributes that the model has: all of them, or those that were kept."""
        check_is_fitted(self, "classes_")
        terms = self._scorer.model.plan.terms
        names = [column.name for column in self._encoding.columns]
        tuples = (tuple(names[c] for c in sorted(row) if c >= 0) for row in terms.members.tolist())
        # A tuple of numbers at several resolutions has several terms.
        return list(dict.fromkeys(tuples))

    @property
    def attributes_(self) -> dict[str, list[str]]:
        """What became of each attribute: the names of its values, of bins for numbers.

        A number with the single bin "any" tells nothing about the class by itself, and takes no
        part in the model.
        """
        check_is_fitted(self, "classes_")
        encoding = self._encoding
        # Of several code columns the last is the finest.
        return {encoding.names[c.attribute]: c.value_names() for c in encoding.columns}

    @property
    def intercept_(self) -> np.ndarray:
        """Class scores β_y, (n_classes,); read-only."""
        check_is_fitted(self, "classes_")
        return read_only(self._scorer.model.class_scores)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags
