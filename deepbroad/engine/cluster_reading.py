"""Tables on a Dask cluster: each partition is sketched, then coded, by the worker that has it."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from deepbroad.data.encoding import Encoding
from deepbroad.data.files import FileBatch, TableFiles, check_named, is_files, open_files
from deepbroad.data.names import suggest
from deepbroad.data.parts import Piece, align_parts, gather, view_rows
from deepbroad.data.sketch import SketchRules, TableSketch, join_sketches, sketch_table
from deepbroad.data.source import SPAN_ROWS, ArraySource, Source
from deepbroad.data.table import read_table
from deepbroad.data.target import Target
from deepbroad.data.weights import read_weights
from deepbroad.engine.cluster import Cluster, ClusterSource, Parcel, find_client

# Rows that a worker reads at a time.
PIECE_ROWS = 2**17


def is_collection(X: Any) -> bool:
    """Tell whether a table is a Dask data frame or array; Dask is not imported for that."""
    dask = sys.modules.get("dask")
    return dask is not None and dask.is_dask_collection(X) and hasattr(X, "to_delayed")


def is_cluster(X: Any) -> bool:
    """Tell whether a table is for a cluster: a Dask collection, or files while a client is active.

    Workers must be able to read the files by the same paths.
    """
    if is_collection(X):
        return True
    distributed = sys.modules.get("distributed")
    if distributed is None or not is_files(X):
        return False
    try:
        distributed.Client.current()
    except ValueError:
        return False
    return True


def open_cluster(X: Any, y: Any, sample_weight: Any = None, client: Any = None) -> "ClusterTable":
    """Return a table whose partitions are on a cluster, or are read there.

    Parameters
    ----------
    X : Dask data frame or array, or files as for `deepbroad.data.files.open_files`
        Partitions of files are files, or row groups of Parquet.
    y, sample_weight : str, or Dask series or array
        The name of a column, or as many partitions as X has, each with as many rows. Beside a Dask
        array of known chunks any array will do.
    client : distributed.Client, optional
        The active one by default.
    """
    cluster = Cluster(find_client(client))
    if not is_collection(X):
        return FilesTable(cluster, X, y, sample_weight)
    if hasattr(X, "chunks"):
        return DaskArray(cluster, X, y, sample_weight)
    return DaskFrame(cluster, X, y, sample_weight)


class ClusterTable(ABC):
    """A training table in partitions.

    Attributes
    ----------
    names : tuple of str
        The attributes.
    named : bool
        Whether they were given, or are just "x0", "x1", ...
    """

    names: tuple[str, ...]
    named = True

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    @abstractmethod
    def _batches(self) -> tuple[Callable[..., Iterable[FileBatch]], list[list[Any]]]:
        """Return a function that workers read a partition by, and its arguments for each."""

    def _map(self, function: Callable[..., Any], *things: Any) -> list[Any]:
        """Return futures of function(batches of a partition, *things)."""
        read, columns = self._batches()
        # Not sent once: all tasks would then go to the worker that has it, and stay there.
        known = Parcel((function, read, *things))
        return self._cluster.map(call_batches, [known] * len(columns[0]), *columns)

    def sketch(self, rules: SketchRules) -> TableSketch:
        """Return what is seen of all rows."""

        def run() -> TableSketch:
            sketches = self._map(sketch_batches, self.names, rules)
            # A table of no partitions is seen like one of empty ones.
            empty = TableSketch(self.names, rules)
            return self._cluster.join(sketches, join_sketches).result() if sketches else empty

        found = self._cluster.insist(run)
        if not found.n_rows:
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
        return found

    def code(self, encoding: Encoding, target: Target, room: float = 0.0) -> Source:
        """Return the rows in codes; but for some at the ends of parts they stay where they are.

        Unless they are so few that they would be one part, and fit into `room` bytes: then they are
        collected here, where passes are faster, and every solver has them.
        """
        parts = ClusterSource(self._cluster, self._map(code_batches, encoding, target))
        if parts.n_rows < 2 * SPAN_ROWS and parts.n_rows * len(encoding.columns) * 4 <= room:
            return parts.take(np.arange(parts.n_rows))
        return align_source(parts)


class FilesTable(ClusterTable):
    """A table in files that workers can read."""

    def __init__(self, cluster: Cluster, X: Any, y: Any, sample_weight: Any) -> None:
        super().__init__(cluster)
        check_named(y, sample_weight)
        # Types of labels are not looked for in all rows, as where the files are local: no worker
        # would help.
        self._open = partial(open_files, X, y=y, weights=sample_weight)
        self._files = self._open()
        self.names = self._files.names

    def sketch(self, rules: SketchRules) -> TableSketch:
        """Return what is seen of all rows."""
        named = rules.named_categories(self.names)
        if named:
            self._files = self._open(categories=named)
        return super().sketch(rules)

    def _batches(self) -> tuple[Callable[..., Iterable[FileBatch]], list[list[Any]]]:
        whole = self._files
        pieces = [piece for file in whole.files for piece in file.split(PIECE_ROWS)]
        return read_files, [
            [TableFiles([piece], whole.names, whole.y, whole.weights) for piece in pieces]
        ]


class DaskTable(ClusterTable):
    """A Dask collection with labels and weights beside it, or in columns of it."""

    def __init__(self, cluster: Cluster, X: Any, y: Any, sample_weight: Any) -> None:
        super().__init__(cluster)
        self._X = X
        # Names of columns of a frame, then collections of as many partitions as X.
        self._inside = [name for name in (y, sample_weight) if isinstance(name, str)]
        self._y, self._weights = y, sample_weight

    def _batches(self) -> tuple[Callable[..., Iterable[FileBatch]], list[list[Any]]]:
        pieces = [partitions(self._X)]
        for name, beside in (("y", self._y), ("sample_weight", self._weights)):
            if beside is None or isinstance(beside, str):
                pieces.append([beside] * len(pieces[0]))
                continue
            pieces.append(partitions(self._aligned(name, beside)))
            if len(pieces[-1]) != len(pieces[0]):
                raise ValueError(
                    f"X has {len(pieces[0])} partitions and {name} has {len(pieces[-1])}: "
                    "repartition one like the other."
                )
        # Computed where they lie; released as soon as the tasks that use them are done.
        lazy = [one for some in pieces for one in some if is_delayed(one)]
        futures = iter(self._cluster.client.compute(lazy))
        return read_frame, [
            [next(futures) if is_delayed(one) else one for one in some] for some in pieces
        ]

    def _aligned(self, name: str, beside: Any) -> Any:
        """Return labels or weights as a Dask collection in partitions like those of X."""
        if not is_collection(beside):
            raise TypeError(
                f"With X on a cluster, {name} is the name of one of its columns, or a Dask series "
                f"or array; got {type(beside).__name__}."
            )
        return beside


class DaskFrame(DaskTable):
    """A Dask data frame."""

    def __init__(self, cluster: Cluster, X: Any, y: Any, sample_weight: Any) -> None:
        super().__init__(cluster, X, y, sample_weight)
        known = [str(name) for name in X.columns]
        for name in self._inside:
            if name not in known:
                raise ValueError(f"X has no column {name!r}. {suggest(name, known)}")
        self.names = tuple(name for name in known if name not in self._inside)


class DaskArray(DaskTable):
    """A Dask array, in blocks of whole rows."""

    named = False

    def __init__(self, cluster: Cluster, X: Any, y: Any, sample_weight: Any) -> None:
        if X.ndim != 2:
            raise ValueError(f"Expected 2D array, got {X.ndim}D array instead")
        super().__init__(cluster, X.rechunk({1: -1}), y, sample_weight)
        if self._inside:
            raise TypeError(f"a Dask array has no column {self._inside[0]!r}: give a Dask array")
        self.names = tuple(f"x{i}" for i in range(X.shape[1]))

    def _aligned(self, name: str, beside: Any) -> Any:
        rows = self._X.chunks[0]
        if np.isnan(rows).any():
            return super()._aligned(name, beside)
        if not is_collection(beside):
            from dask.array import from_array

            beside = from_array(np.asarray(beside), chunks=-1)
        if not hasattr(beside, "chunks") or np.isnan(beside.chunks[0]).any():
            return beside
        if beside.shape != self._X.shape[:1]:
            raise ValueError(
                "Found input variables with inconsistent numbers of samples: X is of shape "
                f"{self._X.shape}, {name} of shape {beside.shape}"
            )
        return beside.rechunk((rows,))


def partitions(collection: Any) -> list[Any]:
    """Return the partitions of a Dask collection, each to be computed."""
    return list(np.ravel(collection.to_delayed()))


def is_delayed(thing: Any) -> bool:
    """Tell a partition from a name."""
    return thing is not None and not isinstance(thing, str)


def align_source(source: ClusterSource) -> ClusterSource:
    """Return a source whose parts end between the spans that its rows have in one part.

    Sums over rows are then the same as those of one process. Small parts are joined, since for each
    of them every pass builds all tables; rows at the ends of others move to the neighbour.
    """
    lengths = [facts.n_rows for facts in source.facts]
    aligned = align_parts(lengths, SPAN_ROWS)
    if aligned == [[Piece(i, 0, length)] for i, length in enumerate(lengths)]:
        return source
    cluster, parts, bounds = source.cluster, [], []
    for pieces in aligned:
        largest = max(pieces, key=lambda piece: piece.end - piece.begin)
        small = [piece for piece in pieces if piece is not largest]
        columns = [[source.parts[piece.part] for piece in small]]
        columns += [[piece[k] for piece in small] for k in (1, 2)]
        # Of all parts but one only the rows that are needed move; that one is cut where it lies.
        futures = iter(cluster.map(view_rows, *columns))
        parts.append([source.parts[p.part] if p is largest else next(futures) for p in pieces])
        bounds.append([(p.begin, p.end) if p is largest else None for p in pieces])
    return ClusterSource(cluster, cluster.map(gather_pieces, parts, bounds))


# What follows runs on workers.


def call_batches(known: Parcel, *columns: Any) -> Any:
    """Read a partition, and call a function of its batches."""
    function, read, *things = known.open()
    return function(read(*columns), *things)


def read_files(files: TableFiles) -> Iterator[FileBatch]:
    """Go through a file."""
    if files.n_rows:
        yield from files.batches()


def read_frame(X: Any, y: Any, weights: Any) -> Iterator[FileBatch]:
    """Return a partition of a Dask collection as a batch, none if it is empty."""
    if len(X) == 0:
        return
    inside = [name for name in (y, weights) if isinstance(name, str)]
    labels = X[y] if isinstance(y, str) else y
    if len(labels) != len(X):
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: a partition of X has "
            f"{len(X)} rows, and that of y {len(labels)}"
        )
    given = X[weights] if isinstance(weights, str) else weights
    table = read_table(X.drop(columns=inside) if inside else X)
    yield FileBatch(table, labels, read_weights(given, len(X), is_part=True))


def sketch_batches(
    batches: Iterable[FileBatch], names: Sequence[str], rules: SketchRules
) -> TableSketch:
    """Return what is seen of a partition."""
    sketch = TableSketch(names, rules)
    for table, y, weights in batches:
        sketch.merge(sketch_table(table, y, weights, rules))
    return sketch


def code_batches(batches: Iterable[FileBatch], encoding: Encoding, target: Target) -> ArraySource:
    """Return a partition in codes."""
    n_classes = target.labels.n_classes
    parts = [
        encoding.as_source(encoding.encode(table), *target.encode(y, weights), n_classes)
        for table, y, weights in batches
    ]
    if len(parts) == 1:
        return parts[0]
    empty = np.empty((len(encoding.columns), 0), np.uint8)
    return gather(parts) if parts else encoding.as_source(empty, empty[0], None, n_classes)


def gather_pieces(
    parts: Sequence[ArraySource], bounds: Sequence[tuple[int, int] | None]
) -> ArraySource:
    """Return the rows of several parts as one, of those with bounds only the rows between."""
    return gather(
        [
            part if ends is None else view_rows(part, *ends)
            for part, ends in zip(parts, bounds, strict=True)
        ]
    )
