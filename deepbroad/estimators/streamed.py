"""What the classifiers share that learn from batches of rows, one after the other."""

import warnings
from abc import abstractmethod
from math import comb
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_consistent_length, validate_data

from deepbroad.data.encoding import Encoding
from deepbroad.data.encoding_union import code_maps
from deepbroad.data.files import is_files
from deepbroad.data.frequencies import Frequencies, finest_columns
from deepbroad.data.labels import Labels
from deepbroad.data.source import ArraySource
from deepbroad.data.table import read_table
from deepbroad.engine.footprint import listed_bytes
from deepbroad.engine.memory import format_bytes, parse_limit
from deepbroad.engine.passes import pass_dtype
from deepbroad.engine.provision import MAX_LISTED
from deepbroad.engine.stream import Batch, Stream
from deepbroad.engine.training import Training
from deepbroad.estimators.base import TableClassifier
from deepbroad.estimators.batch import Given, read_batch
from deepbroad.estimators.prepared import Coded, Prepared
from deepbroad.kernels.threads import Threads
from deepbroad.model.scores import ScoreTables
from deepbroad.model.terms import Terms


class StreamedClassifier(TableClassifier):
    """Base of the classifiers that have `partial_fit`."""

    _stream: Stream | None = None
    _structure: Any = None  # what the terms were chosen by
    _stream_n: Any = None  # the n of the batches so far
    # Whether the model is of a fit, which a partial_fit after it replaces, not of a file.
    _is_of_fit = False

    @abstractmethod
    def _join_tables(
        self, training: Training, source: ArraySource, before: Stream | None, batch: Batch
    ) -> ScoreTables:
        """Return the scores after a batch; `source` has its rows in the groups of the plan."""

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from a batch of rows, in addition to those of the calls before.

        No rows but the latest are kept, so any number of them may come. Cut points of numbers are
        those of the first batch, which should hold some thousands of typical rows. Values of
        categories that come later, and missing values, are taken in; so are classes.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            In memory, as for `fit`, with the same columns in every batch. A column of numbers must
            stay one.
        y : array-like of shape (n_samples,)
            Class labels of any type.
        classes : array-like of shape (n_classes,), optional
            All classes that will ever come. Those that no row had yet have the probability that
            smoothing gives them, and a class that is not among them is an error. If it is never
            given, classes are those of the rows so far.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows. A batch without any weight is as if absent, unless it is the first.

        Returns
        -------
        self : object
            The model of all rows so far.

        Notes
        -----
        A model that only counts (AnJE, AnDE) is, after any batches, that of a `fit` to all their
        rows, wherever cut points agree. One that minimises a loss (DBL, LR) comes near it: each
        batch moves scores as far as the counts of the rows before allow (`deepbroad.engine.online`)
        and the model is their mean, in which later batches weigh more. Rows should come in random
        order, in batches of hundreds at least. An automatic choice of depth and strengths is made
        with the first batch. `n_iter_`, `loss_` and the curves are of the last batch.

        `n`, `terms` and `categorical_features` are read with the first batch; `max_terms` and
        ``class_weight="balanced"`` would need all rows at once, and are refused. Where the tuples
        do not fit into `memory_limit`, that is an error, not a choice among them.

        `fit` forgets the batches before it, and the next batch begins anew, with a warning. A
        pickled model can go on; one of `deepbroad.load` cannot, since files hold no counts.

        Examples
        --------
        >>> from deepbroad import AnJEClassifier
        >>> model = AnJEClassifier()
        >>> for X, y in [([["rain"], ["sun"]], ["in", "out"]), ([["snow"]], ["ski"])]:
        ...     model = model.partial_fit(X, y)
        >>> model.classes_, model.predict([["snow"]])
        (array(['in', 'out', 'ski'], dtype='<U3'), array(['ski'], dtype='<U3'))
        """
        self._check_parameters()
        self._check_stream()
        limit = parse_limit(self.memory_limit)
        with Threads(self.n_jobs) as threads:
            read = self._read_batch(X, y, classes, sample_weight)
            if read is None:
                return self
            batch, announced = read
            before, history = self._stream, self._history
            begun = before
            if begun is None:
                batch, begun = self._begin_stream(batch, limit, threads)
            stream, source = begun.join(
                batch, limit - self._held_bytes, threads, history=history, announced=announced
            )
            training = self._counted(stream, source, threads)
            tables = self._join_tables(training, source, before, batch)
            frequencies = self._join_frequencies(before, batch, threads)
        self._keep(stream.labels, stream.encoding, tables)
        self._stream, self._stream_n = stream, self.n
        self._frequencies = frequencies
        self.term_gains_ = None
        return self

    def _join_frequencies(
        self, before: Stream | None, batch: Batch, threads: Threads
    ) -> Frequencies | None:
        """Return how often the rows so far had each value; None if that is not known."""
        counted = Frequencies.of(batch.source, threads)
        if before is None:
            return counted
        maps = code_maps(before.encoding, batch.encoding)
        finest = finest_columns(batch.encoding.attributes)
        known = self._frequencies
        return None if known is None else known.joined([maps[c] for c in finest], counted)

    @property
    def _held_bytes(self) -> int:
        """Bytes of the model before a batch, which stays until there is another."""
        return 0 if self._stream is None else int(self._scorer.model.nbytes)

    def _keep(self, labels: Labels, encoding: Encoding, tables: ScoreTables) -> None:
        super()._keep(labels, encoding, tables)
        # A model of a file has the same attributes as that which was saved.
        self._stream, self._is_of_fit = None, self._is_of_fit

    def _check_stream(self) -> None:
        """Raise ValueError for what no stream can have."""
        if self._stream is None and hasattr(self, "classes_"):
            if not self._is_of_fit:
                raise ValueError(
                    "partial_fit cannot go on from a model file, which holds no counts. Pickle a "
                    "model that is to go on, or give all batches to a new one."
                )
            warnings.warn(
                "partial_fit begins anew: the rows of `fit` are forgotten, since it keeps no "
                "counts. Give all rows to partial_fit.",
                UserWarning,
                stacklevel=3,
            )
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight={self.class_weight!r} needs all rows at once, and partial_fit has a "
                "batch; give a dict of weights, or sample_weight."
            )
        if self.max_terms is not None:
            raise ValueError(
                "max_terms would choose among tuples by all rows, and partial_fit has a batch; "
                "name the tuples with `terms`."
            )

    def _read_batch(
        self, X: Any, y: Any, classes: Any, sample_weight: Any
    ) -> tuple[Batch, bool] | None:
        """Read, check and encode a batch as `read_batch` does."""
        stream = self._stream
        if is_files(X):
            raise TypeError(
                "partial_fit takes a batch of rows in memory, not files. Read them yourself, for "
                "instance with pyarrow.parquet.ParquetFile(...).iter_batches(), or give the files "
                "to `fit`, which never holds them as a whole."
            )
        table = read_table(X)
        validate_data(self, X, y, reset=stream is None, skip_check_array=True)
        check_consistent_length(X, y)
        self._read_depth(table.n_columns)
        if stream is not None and self.n != self._stream_n:
            raise ValueError(f"n={self.n} is not what it was for the batches so far.")
        given = Given(
            table,
            y,
            classes,
            sample_weight,
            self.class_weight,
            self.categorical_features,
            self._count_levels,
            self._given_edges(table.names),
        )
        return read_batch(given, stream)

    def _begin_stream(self, batch: Batch, limit: float, threads: Threads) -> tuple[Batch, Stream]:
        """Return a first batch in the code columns of this model, and a stream of its terms."""
        depth = self._read_depth(len(batch.encoding.names))
        coded = Coded(batch.source, batch.encoding, depth, limit, True, threads, True)
        coded, terms, self._structure = self._settle(coded)
        depth = coded.depth
        if not isinstance(coded.source, ArraySource):
            raise AssertionError("a batch is in memory")
        batch = Batch(batch.labels, coded.encoding, coded.source)
        if terms is None:
            n_tuples = comb(len(batch.encoding.columns), depth)
            if n_tuples > MAX_LISTED or listed_bytes(n_tuples, depth, 0) > limit:
                raise MemoryError(
                    f"There are {n_tuples:,} tuples of {depth} attributes, too many to list in "
                    f"{format_bytes(limit)}. Lower n, or name the tuples with `terms`."
                )
            terms = Terms.of_order(depth, batch.encoding.cardinalities)
        return batch, Stream.begin(batch, terms, limit, threads, history=self._history)

    def _counted(self, stream: Stream, source: ArraySource, threads: Threads) -> Training:
        """Return the training set of a stream's counts, and of the rows that came last."""
        plan, min_count = stream.plan, self._cell_count
        # Rare cells lose their counts, which the stream keeps.
        counts = stream.counts.copy() if min_count > 1 else stream.counts
        return Training(
            source,
            plan,
            smoothing=float(self.smoothing),
            dtype=pass_dtype(plan, stream.n_rows),
            threads=threads,
            min_count=min_count,
            counted=(np.asarray(stream.class_counts), counts),
        )


class CountedClassifier(StreamedClassifier):
    """Base of the classifiers that only count: batches give them what all rows at once would."""

    @abstractmethod
    def _count_tables(self, training: Training) -> ScoreTables:
        """Return the scores that counts give."""

    def _fit_tables(self, training: Training, prepared: Prepared) -> ScoreTables:
        self._is_of_fit = True
        return self._count_tables(training)

    def _join_tables(
        self, training: Training, source: ArraySource, before: Stream | None, batch: Batch
    ) -> ScoreTables:
        return self._count_tables(training)
