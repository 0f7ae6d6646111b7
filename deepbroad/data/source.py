"""Coded rows, block by block: the contract between data, wherever it lies, and the engine."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from deepbroad.kernels.threads import Threads

Result = TypeVar("Result")
# Makes one result of two that stand next to each other, and leaves both as they are.
Join = Callable[[Any, Any], Any]

# 64 Ki rows of a few dozen uint8 columns and their scores fit into a second-level cache.
BLOCK_ROWS = 65536
# Rows, whole blocks, that are added up by themselves before they join others. Parts of a table end
# between such spans, so that sums are the same however many parts there are.
SPAN_ROWS = 4 * BLOCK_ROWS


class RowItems(NamedTuple):
    """Items of rows, ascending in each: those of row r are items[starts[r]:starts[r + 1]].

    An item is a value of a column that is not its common one (`deepbroad.model.items`).
    """

    starts: np.ndarray
    items: np.ndarray


class Block(NamedTuple):
    """Some consecutive rows.

    Parameters
    ----------
    codes : array of shape (n_columns, rows), unsigned
    labels : array of shape (rows,), unsigned
    weights : float64 array of shape (rows,), or None for ones
    items : RowItems, or None where codes say everything
    """

    codes: np.ndarray
    labels: np.ndarray
    weights: np.ndarray | None
    items: RowItems | None = None


class Held(Protocol):
    """Objects that were made of the parts of a source, each beside its part."""

    def reduce(self, *arguments: Any, join: Join) -> Any:
        """Call each object with the arguments, and join the results in the order of the parts."""


class Source(Protocol):
    """Rows that can be gone through any number of times, in one part or several.

    A part is an `ArraySource`; only functions that are sent to the parts see their rows. Where a
    part or a block ends may depend on the data and its files, never on the number of threads or
    workers: sums over blocks are then the same bit for bit.
    """

    @property
    def n_rows(self) -> int:
        """How many rows all parts have together."""

    @property
    def n_given(self) -> int:
        """How many rows they were before identical ones were merged."""

    @property
    def n_weighted(self) -> int:
        """How many rows are not as if absent."""

    @property
    def n_classes(self) -> int:
        """Labels are in [0, n_classes)."""

    @property
    def cardinalities(self) -> np.ndarray:
        """V_i of each code column, int64; codes are in [0, V_i]."""

    @property
    def attributes(self) -> np.ndarray:
        """The attribute that each code column belongs to, int64, ascending."""

    @property
    def is_weighted(self) -> bool:
        """Whether some rows may have other weights than 1."""

    @property
    def resident(self) -> bool:
        """Whether the rows take memory of this process."""

    def reduce(
        self, function: Callable[..., Result], *arguments: Any, join: Join, threads: Threads
    ) -> Result:
        """Return function(part, *arguments, threads) of each part, joined in their order."""

    def hold(self, make: Callable[..., Any], *arguments: Any, threads: Threads) -> Held:
        """Make an object of each part, make(part, *arguments, threads), and keep it there."""

    def convert(
        self, function: Callable[..., "ArraySource"], *arguments: Any, threads: Threads
    ) -> "Source":
        """Return the source whose parts are function(part, *arguments, threads)."""

    def take(self, rows: np.ndarray) -> "ArraySource":
        """Return some of the rows, given by number, as a source in memory."""

    def draw(self, count: int, random: np.random.Generator) -> "ArraySource":
        """Return so many rows of weight, drawn at random, in memory, or all if there are less."""


class Store(Protocol):
    """Where the arrays of a source lie."""

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """Return a new array of any content."""


class Memory:
    """Arrays in memory."""

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """Return a new array of any content."""
        return np.empty(shape, dtype)


MEMORY = Memory()


class HeldHere:
    """One object in this process."""

    def __init__(self, thing: Callable[..., Any]) -> None:
        self._thing = thing

    def reduce(self, *arguments: Any, join: Join) -> Any:
        """Call the object; there is nothing to join."""
        return self._thing(*arguments)


class ArraySource:
    """Rows in arrays, one part; blocks are views of `BLOCK_ROWS` rows.

    Parameters
    ----------
    codes : array of shape (n_columns, n_rows)
    labels : array of shape (n_rows,)
    n_classes : int
    cardinalities : array of shape (n_columns,)
    weights : array of shape (n_rows,), optional
    items : RowItems, optional
    n_given : int, optional
        How many rows these were before identical ones were merged.
    attributes : array of shape (n_columns,), optional
        The attribute that each code column belongs to, ascending; by default each has its own.
    store : Store, optional
        Where the arrays lie, and those that are made of them row by row; in memory unless told.

    Examples
    --------
    >>> codes = np.zeros((3, 100_000), dtype=np.uint8)
    >>> source = ArraySource(codes, np.zeros(100_000, dtype=np.uint8), 2, np.ones(3))
    >>> [block.codes.shape for block in source.blocks()]
    [(3, 65536), (3, 34464)]
    """

    def __init__(
        self,
        codes: np.ndarray,
        labels: np.ndarray,
        n_classes: int,
        cardinalities: np.ndarray,
        weights: np.ndarray | None = None,
        items: RowItems | None = None,
        n_given: int | None = None,
        attributes: np.ndarray | None = None,
        store: Store = MEMORY,
    ) -> None:
        self.codes, self.items, self.store = codes, items, store
        self.labels = np.asarray(labels).astype(
            np.min_scalar_type(max(n_classes - 1, 0)), copy=False
        )
        self.weights = None if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
        self.n_classes = n_classes
        self.cardinalities = np.asarray(cardinalities, dtype=np.int64)
        own = np.arange(len(self.cardinalities))
        self.attributes = own if attributes is None else np.asarray(attributes, np.int64)
        rows = self.n_rows
        self.n_given = rows if n_given is None else n_given
        if self.cardinalities.shape != (codes.shape[0],):
            raise ValueError(
                f"{self.cardinalities.shape} cardinalities for codes of shape {codes.shape}"
            )
        for name, array in (("labels", self.labels), ("weights", self.weights)):
            if array is not None and array.shape != (rows,):
                raise ValueError(f"{name} are of shape {array.shape}, codes have {rows} rows")

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self.codes.shape[1])

    @property
    def rows_of_weight(self) -> np.ndarray:
        """The rows, ascending, that are not as if absent."""
        if self.weights is None:
            return np.arange(self.n_rows)
        return np.flatnonzero(self.weights > 0)

    @property
    def is_weighted(self) -> bool:
        """Whether rows have weights of their own."""
        return self.weights is not None

    @property
    def n_weighted(self) -> int:
        """How many rows have a weight above 0."""
        return self.n_rows if self.weights is None else int(np.count_nonzero(self.weights > 0))

    @property
    def resident(self) -> bool:
        """Whether the arrays are in memory, not in files."""
        return isinstance(self.store, Memory)

    def __sizeof__(self) -> int:
        # Dask moves what looks small.
        listed = () if self.items is None else self.items
        arrays = (self.codes, self.labels, self.weights, *listed)
        return sum(array.nbytes for array in arrays if array is not None)

    def reduce(
        self, function: Callable[..., Result], *arguments: Any, join: Join, threads: Threads
    ) -> Result:
        """Return function(self, *arguments, threads)."""
        return function(self, *arguments, threads)

    def hold(self, make: Callable[..., Any], *arguments: Any, threads: Threads) -> Held:
        """Make an object of these rows."""
        return HeldHere(make(self, *arguments, threads))

    def convert(
        self, function: Callable[..., "ArraySource"], *arguments: Any, threads: Threads
    ) -> "ArraySource":
        """Return function(self, *arguments, threads)."""
        return function(self, *arguments, threads)

    def take(self, rows: np.ndarray) -> "ArraySource":
        """Return some of the rows, given by number, as a source in memory."""
        if self.items is not None:
            raise AssertionError("rows are taken before items are listed")
        return ArraySource(
            np.take(self.codes, rows, axis=1),
            self.labels[rows],
            n_classes=self.n_classes,
            cardinalities=self.cardinalities,
            weights=None if self.weights is None else self.weights[rows],
            attributes=self.attributes,
        )

    def with_classes(self, n_classes: int) -> "ArraySource":
        """Return the same rows as if there were more classes, for plans of wider tables."""
        return ArraySource(
            self.codes, self.labels, n_classes, self.cardinalities, self.weights, self.items,
            self.n_given, self.attributes, self.store,
        )  # fmt: skip

    def draw(self, count: int, random: np.random.Generator) -> "ArraySource":
        """Return so many rows of weight, drawn at random, in memory, or all if there are less."""
        if self.n_weighted > count:
            # A number of rows takes no memory, where a list of them could take a lot.
            among = self.n_rows if self.weights is None else self.rows_of_weight
            return self.take(np.sort(random.choice(among, count, replace=False)))
        if self.n_weighted == self.n_rows and self.resident:
            return self
        return self.take(self.rows_of_weight)

    def blocks(self) -> Iterator[Block]:
        """Go through all rows, in order."""
        for begin in range(0, self.n_rows, BLOCK_ROWS):
            rows = slice(begin, begin + BLOCK_ROWS)
            weights = None if self.weights is None else self.weights[rows]
            items = None
            if self.items is not None:
                starts = self.items.starts[begin : begin + BLOCK_ROWS + 1]
                items = RowItems(starts, self.items.items)
            yield Block(self.codes[:, rows], self.labels[rows], weights, items)
