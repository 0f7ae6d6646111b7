"""What is learned of a table that comes in parts: enough to fit the encoding of the whole."""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from deepbroad.data.code_column import (
    CategoryColumn,
    CodeColumn,
    NumberColumn,
    occurring_levels,
)
from deepbroad.data.column import PLURAL, Column
from deepbroad.data.column_warnings import warn_of_merged_integers, warn_of_stray_text
from deepbroad.data.cuts import Edges
from deepbroad.data.encoding import Encoding
from deepbroad.data.factor import Quantity
from deepbroad.data.files import TableFiles
from deepbroad.data.labels import LabelError, Labels
from deepbroad.data.names import list_names
from deepbroad.data.number_sketch import NumberSketch
from deepbroad.data.table import Table
from deepbroad.data.target import ClassSketch, Target
from deepbroad.data.value import Identity, sort_key
from deepbroad.kernels.threads import Threads

# A triple has 20 bytes. Beside those that are exact there are as many pending or in the midst of a
# sort, and half as many for each of the dozen depths that a billion rows reach.
_BYTES_PER_PAIR = 160
_LEAST_CAPACITY, _MOST_CAPACITY = 2**10, 2**20
_BYTES_PER_VALUE = 100  # a slot of a set and later of a tuple and a dictionary

Weigh = Callable[[Labels, np.ndarray], np.ndarray | None]


class SketchRules(NamedTuple):
    """How the columns of a table are meant, and how much is remembered of them.

    Parameters
    ----------
    categorical : boolean array of shape (n_columns,), optional
        What `select_categorical` returns.
    ignored : sequence of labels
        Classes of weight 0: their rows are as if absent.
    capacity : int
        Of each `NumberSketch`.
    value_bytes : float
        How much memory the values of categories may take.
    """

    categorical: np.ndarray | None = None
    ignored: Sequence[Any] = ()
    capacity: int = 2**16
    value_bytes: float = np.inf

    def named_categories(self, names: Sequence[str]) -> list[str]:
        """Return the columns that the user calls categories.

        They are text in CSV unless it writes them as whole numbers, booleans or dates.
        """
        chosen = [] if self.categorical is None else np.flatnonzero(self.categorical).tolist()
        return [names[i] for i in chosen]


class Fitted(NamedTuple):
    """What makes codes of a table and of its labels."""

    encoding: Encoding
    target: Target


def number_capacity(budget: float, n_columns: int) -> int:
    """Return the capacity with which so many numbers are remembered in `budget` bytes."""
    fits = int(budget / (_BYTES_PER_PAIR * max(n_columns, 1)))
    return min(max(fits, _LEAST_CAPACITY), _MOST_CAPACITY)


class ColumnSketch:
    """What is seen of one attribute.

    Parameters
    ----------
    name : str
    is_category : bool or None
        Whether the user says so; None leaves it to the column.
    capacity : int
        Of the sketch of its numbers.
    """

    def __init__(self, name: str, is_category: bool | None, capacity: int) -> None:
        self.name, self.is_category = name, is_category
        self.quantity: Quantity | None = None  # of numbers; None for categories, or nothing yet
        self.missing = False
        self.merges_integers = False
        self.values: set[Identity] = set()
        self.value_bytes = 0
        self.numbers = NumberSketch(capacity)

    def add(
        self,
        column: Column,
        labels: np.ndarray,
        weights: np.ndarray | None,
        counted: np.ndarray | None,
    ) -> None:
        """Take in some rows; `counted` says which have weight, None for all."""
        if counted is not None:
            column = column.among(counted)
        if column.kind == "number" and not self.is_category:
            self._agree(column.quantity)
            self.merges_integers |= column.merges_integers()
            numbers = column.numbers(column.quantity)
            absent = np.isnan(numbers)
            self.missing |= bool(absent.any() if counted is None else (absent & counted).any())
            self.numbers.add(numbers, labels, weights)
            return
        values, missing = occurring_levels(column.factor(), counted)
        self.missing |= missing
        self._add_values(values)

    def merge(self, other: "ColumnSketch", codes: np.ndarray) -> None:
        """Take in what another sketch saw; `codes` are those of its classes here."""
        if other.quantity is not None:
            self._agree(other.quantity)
        self.missing |= other.missing
        self.merges_integers |= other.merges_integers
        self._add_values(other.values)
        self.numbers.merge(other.numbers.relabelled(codes))

    def _add_values(self, values: set[Identity]) -> None:
        """Take in values of a category."""
        new = values - self.values
        if new and self.quantity is not None:
            raise self._refusal(self.quantity, None)
        self.values |= new
        self.value_bytes += sum(sys.getsizeof(value) + _BYTES_PER_VALUE for value in new)

    def _agree(self, quantity: Quantity) -> None:
        """Be a number of some quantity; ValueError if that contradicts what was seen before."""
        if self.values or self.quantity not in (None, quantity):
            raise self._refusal(self.quantity, quantity)
        self.quantity = quantity

    def _refusal(self, first: Quantity | None, second: Quantity | None) -> ValueError:
        """Return the error of a column that means different things in different rows."""
        words = [PLURAL[quantity] if quantity else "categories" for quantity in (first, second)]
        return ValueError(
            f"column {self.name!r} holds {words[0]} in some rows and {words[1]} in others. Convert "
            "it to one type, or name it in `categorical_features`"
        )

    def finish(
        self, attribute: int, target: Target, levels: int, edges: Edges | None = None
    ) -> list[CodeColumn]:
        """Return the code columns of this attribute, as `Encoding.fit` would."""
        all_cuts = self.numbers.relabelled(target.codes).cuts(
            target.labels.n_classes,
            target.kept_factors,
            levels=levels,
            keeps_two=self.is_category is None,
            edges=None if edges is None else edges.get(self.name, ()),
        )
        if all_cuts and self.quantity is not None:
            if self.merges_integers:
                warn_of_merged_integers(self.name)
            return [
                NumberColumn(attribute, self.name, self.missing, cuts, self.quantity)
                for cuts in all_cuts
            ]
        values = sorted(self.values, key=sort_key)
        if self.is_category is None:
            warn_of_stray_text(self.name, values)
        return [CategoryColumn(attribute, self.name, self.missing, tuple(values))]


class TableSketch:
    """What is seen of some rows of a table; that of all rows is the same in any order.

    Parameters
    ----------
    names : sequence of str
        The attributes.
    rules : SketchRules

    Attributes
    ----------
    n_rows : int
        Rows seen, those of weight 0 included.
    classes : ClassSketch
    columns : list of ColumnSketch

    Examples
    --------
    >>> from deepbroad.data.table import read_table
    >>> rules = SketchRules()
    >>> sketch = sketch_table(read_table([["red", 1.0], ["blue", 2.0]]), ["a", "a"], None, rules)
    >>> sketch.merge(sketch_table(read_table([["green", 3.0]]), ["b"], None, rules))
    >>> encoding, target = sketch.finish()
    >>> encoding.value_names(0), target.labels.classes
    (['blue', 'green', 'red'], array(['a', 'b'], dtype='<U1'))
    """

    def __init__(self, names: Sequence[str], rules: SketchRules) -> None:
        self.names, self.rules = tuple(names), rules
        self.n_rows = 0
        self.classes = ClassSketch(None, np.empty(0), np.empty(0, np.int64))
        chosen = rules.categorical
        self.columns = [
            ColumnSketch(name, None if chosen is None else bool(chosen[i]), rules.capacity)
            for i, name in enumerate(self.names)
        ]

    @property
    def is_exact(self) -> bool:
        """Whether cuts are those of the whole column, for every number."""
        return all(column.numbers.is_exact for column in self.columns)

    @property
    def nbytes(self) -> int:
        """Bytes of memory, nearly."""
        return sum(column.numbers.nbytes + column.value_bytes for column in self.columns)

    def merge(self, other: "TableSketch") -> None:
        """Take in what another sketch saw of other rows; that one is left as it is."""
        if self.names != other.names:
            raise ValueError(
                "parts of a table must have the same columns, but one has "
                f"{list_names(self.names)}, another {list_names(other.names)}"
            )
        self.n_rows += other.n_rows
        mine, theirs = self.classes.merge(other.classes)
        for column, more in zip(self.columns, other.columns, strict=True):
            column.numbers = column.numbers.relabelled(mine)
            column.merge(more, theirs)
        self._check_values()

    def finish(
        self,
        weigh: Weigh | None = None,
        count_levels: Callable[[int], int] | None = None,
        edges: Edges | None = None,
    ) -> Fitted:
        """Return the encoding of the whole table and of its labels.

        Parameters
        ----------
        weigh : callable, optional
            From the classes and the sample weight of each, the factor of each, or None for ones.
            Those of the ignored classes must be 0, and no others.
        count_levels : callable, optional
            From the number of rows (`count_rows`), how many levels of nested cuts numbers have.
        edges : mapping from name to sequence of cut points, optional
            As for `Encoding.fit`.
        """
        seen = self.classes.labels
        if seen is None:
            raise ValueError("y has no labels: every row has weight 0")
        factors = None if weigh is None else weigh(seen, self.classes.totals)
        kept = np.ones(seen.n_classes, bool) if factors is None else factors > 0
        ignored = self.classes.codes_of(self.rules.ignored)
        if kept[ignored].any() or kept.sum() + len(ignored) != seen.n_classes:
            raise AssertionError("the classes of weight 0 are those that the sketch ignored")
        target = Target(seen, factors)
        levels = 0 if count_levels is None else count_levels(self.classes.count_rows(factors))
        columns: list[CodeColumn] = []
        for i, column in enumerate(self.columns):
            columns += column.finish(i, target, levels, edges)
        return Fitted(Encoding(columns, self.names), target)

    def _check_values(self) -> None:
        """Raise MemoryError if categories have more values than there is memory for."""
        if sum(column.value_bytes for column in self.columns) <= self.rules.value_bytes:
            return
        worst = max(self.columns, key=lambda column: column.value_bytes)
        raise MemoryError(
            f"column {worst.name!r} has {len(worst.values):,} different values so far, more than "
            "memory_limit has room for. Leave it out if it names single rows, or raise memory_limit"
        )


def sketch_table(
    table: Table,
    y: Any,
    weights: np.ndarray | None,
    rules: SketchRules,
    threads: Threads | None = None,
) -> TableSketch:
    """Return what is seen of some rows.

    Parameters
    ----------
    table : Table
    y : array-like of shape (n_rows,)
    weights : float64 array of shape (n_rows,), optional
        Rows of weight 0 are as if absent.
    rules : SketchRules
        The same for all parts of a table.
    threads : Threads, optional
        Columns are independent of one another.
    """
    sketch = TableSketch(table.names, rules)
    sketch.n_rows = table.n_rows
    sketch.classes, codes = ClassSketch.fit(y, weights)
    ignored = sketch.classes.codes_of(rules.ignored)
    if len(ignored):
        weights = np.where(np.isin(codes, ignored), 0.0, 1.0 if weights is None else weights)
    counted = None if weights is None else weights > 0
    if counted is not None and counted.all():
        counted = None

    def add(i: int) -> None:
        sketch.columns[i].add(table.column(i), codes, weights, counted)

    (threads or Threads(1)).run([partial(add, i) for i in range(table.n_columns)])
    sketch._check_values()
    return sketch


def join_sketches(first: TableSketch, second: TableSketch) -> TableSketch:
    """Return what two sketches saw of different rows, and leave both as they are."""
    joined = TableSketch(first.names, first.rules)
    joined.merge(first)
    joined.merge(second)
    return joined


def sketch_files(
    files: TableFiles, rules: SketchRules, threads: Threads | None = None
) -> TableSketch:
    """Return what is seen of all rows of some files, in one pass."""
    sketch = TableSketch(files.names, rules)
    for table, y, weights in files.batches():
        try:
            part = sketch_table(table, y, weights, rules, threads)
        except LabelError as error:
            raise LabelError(
                f"{files}: column {files.y!r} cannot be the classes: {error}"
            ) from error
        sketch.merge(part)
    return sketch
