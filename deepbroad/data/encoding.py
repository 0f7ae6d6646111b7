"""How a table becomes codes: fitted on training rows, then the same for every table."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from deepbroad.data.categorical import select_categorical
from deepbroad.data.code_column import (
    CategoryColumn,
    CodeColumn,
    NumberColumn,
    bins_within,
    code_column_from_dict,
    recode_bins,
    seen_levels,
)
from deepbroad.data.column import Column
from deepbroad.data.column_warnings import warn_of_merged_integers, warn_of_stray_text
from deepbroad.data.cuts import Edges, cuts_and_distinct, cuts_of_edges
from deepbroad.data.narrowing import Narrowing, narrow_columns
from deepbroad.data.pyramid import nested_cuts
from deepbroad.data.source import MEMORY, ArraySource, Store
from deepbroad.data.table import Table
from deepbroad.kernels.threads import Threads

CategoricalFeatures: TypeAlias = str | Sequence[str] | Sequence[int] | Sequence[bool] | None


class Encoding:
    """The code columns of a fitted table.

    Parameters
    ----------
    columns : sequence of CodeColumn
        An attribute may own several of them.
    names : sequence of str
        The columns of the table.

    Attributes
    ----------
    cardinalities : int64 array of shape (n_columns,)
        V_i: how many values training saw, plus one if it saw a missing one.

    Notes
    -----
    Conventions: codes are C-contiguous of shape (n_columns, n_rows), of the smallest of uint8,
    uint16 and uint32 that holds every V_i itself, since the code V_i means "never seen in
    training" where training saw no missing value. Rows of weight 0 are as if absent, and are
    coded like rows to predict.

    Examples
    --------
    >>> from deepbroad.data.table import read_table
    >>> table = read_table([["red", 1.0], ["blue", 5.0], ["red", None]])
    >>> encoding, codes = Encoding.fit(table, np.array([0, 1, 0]), 2, None)
    >>> codes
    array([[1, 0, 1],
           [0, 1, 2]], dtype=uint8)
    >>> encoding.value_names(1)
    ['< 3', '>= 3', 'missing']
    >>> encoding.encode(read_table([["green", 5]])).ravel()
    array([2, 1], dtype=uint8)
    """

    def __init__(self, columns: Sequence[CodeColumn], names: Sequence[str]) -> None:
        self.columns = tuple(columns)
        self.names = tuple(names)
        self.cardinalities = np.array([c.cardinality for c in self.columns], dtype=np.int64)

    @classmethod
    def fit(
        cls,
        table: Table,
        labels: np.ndarray,
        n_classes: int,
        weights: np.ndarray | None = None,
        *,
        categorical_features: CategoricalFeatures = "auto",
        levels: int = 0,
        edges: Edges | None = None,
    ) -> tuple["Encoding", np.ndarray]:
        """Return the encoding that fits a training table, and the codes of that table.

        Parameters
        ----------
        table : Table
        labels : integer array of shape (n_rows,)
            Class codes in [0, n_classes).
        n_classes : int
        weights : float64 array of shape (n_rows,), optional
        categorical_features : "auto", None, or sequence of names, of indices or of booleans
            Which columns are categories. Strings, categories, booleans and mixed objects always
            are. "auto" adds none, but cuts a number of two values between them whatever minimum
            description length says: to merge the two could only lose what the class depends on.
            None leaves all cuts to that rule.
        levels : int, default=0
            If not 0, a number has a code column for each of up to so many levels of `nested_cuts`,
            coarsest first, instead of one with cuts by minimum description length.
        edges : mapping from name to sequence of cut points, optional
            The cut points of each resolution of some numbers, instead of any that depend on the
            rows (`cuts_of_edges`). A number without a name here has one column without cuts.

        Returns
        -------
        encoding : Encoding
        codes : array of shape (n_columns, n_rows)
            What `encode(table)` returns.
        """
        chosen = select_categorical(categorical_features, table.names)
        counted = None if weights is None else weights > 0
        if counted is not None and not counted.any():
            raise ValueError("Sample weights must contain at least one non-zero number.")
        if counted is not None and counted.all():
            counted = None
        columns: list[CodeColumn] = []
        codes: list[np.ndarray] = []
        training = _Training(labels, n_classes, weights, counted, levels, edges)
        for i in range(table.n_columns):
            is_category = None if chosen is None else bool(chosen[i])
            fitted, column = _fit_column(i, table.column(i), training, is_category=is_category)
            found = [np.empty(table.n_rows, np.min_scalar_type(c.cardinality)) for c in fitted]
            _encode_column(fitted, column, found)
            columns += fitted
            codes += found
        return cls(columns, table.names), stack_codes(codes)

    @property
    def attributes(self) -> np.ndarray:
        """The attribute of each code column, (n_columns,) int64, ascending."""
        return np.array([column.attribute for column in self.columns], np.int64)

    @property
    def owned(self) -> list[list[CodeColumn]]:
        """The code columns of each attribute, coarsest first."""
        owned: list[list[CodeColumn]] = [[] for _ in self.names]
        for column in self.columns:
            owned[column.attribute].append(column)
        return owned

    @property
    def dtype(self) -> np.dtype:
        """The type of codes."""
        return np.min_scalar_type(int(self.cardinalities.max()))

    @property
    def text_names(self) -> list[str]:
        """The attributes whose values are all text, which CSV may show as numbers."""
        return [
            column.name
            for column in self.columns
            if isinstance(column, CategoryColumn)
            and all(isinstance(value, str) for value in column.values)
        ]

    @property
    def whole_names(self) -> list[str]:
        """The attributes that are categories of whole numbers."""
        return [
            column.name
            for column in self.columns
            if isinstance(column, CategoryColumn)
            and column.values
            and all(type(value) is int for value in column.values)
        ]

    @property
    def number_names(self) -> list[str]:
        """The attributes that are numbers, which files may show as text."""
        owned = [own[-1] for own in self.owned]
        return [
            column.name
            for column in owned
            if isinstance(column, NumberColumn) and column.quantity == "number"
        ]

    def encode(
        self, table: Table, out: np.ndarray | None = None, threads: Threads | None = None
    ) -> np.ndarray:
        """Return the codes of any table that has the columns of the training table, in order.

        They are put into `out`, if given, of shape (n_columns, n_rows); threads share attributes.
        """
        if table.n_columns != len(self.names):
            raise ValueError(f"X has {table.n_columns} features, but {len(self.names)} were fitted")
        codes = np.empty((len(self.columns), table.n_rows), self.dtype) if out is None else out

        def encode(attribute: int) -> None:
            own = np.flatnonzero(attributes == attribute).tolist()
            column = table.column(attribute)
            _encode_column([self.columns[i] for i in own], column, [codes[i] for i in own])

        attributes = self.attributes
        (threads or Threads(1)).run([partial(encode, i) for i in range(len(self.names))])
        return codes

    def as_source(
        self,
        codes: np.ndarray,
        labels: np.ndarray,
        weights: np.ndarray | None,
        n_classes: int,
        store: Store = MEMORY,
    ) -> ArraySource:
        """Return rows in these codes, with their classes and weights, as a source."""
        return ArraySource(
            codes,
            labels,
            n_classes=n_classes,
            cardinalities=self.cardinalities,
            weights=weights,
            attributes=self.attributes,
            store=store,
        )

    def value_names(self, i: int) -> list[str]:
        """Return a readable name for each of the V_i codes of code column `i`."""
        return self.columns[i].value_names()

    def finest_of(self, columns: Iterable[int]) -> int:
        """Return the first code column, from the last of some on, that has the cuts of them all.

        They are of one attribute, whose last column has all cuts.
        """
        chosen = set(columns)
        last = max(chosen)
        own = [self.columns[c] for c in chosen]
        cuts = [column.cuts for column in own if isinstance(column, NumberColumn)]
        while any(not np.isin(some, self._cuts_of(last)).all() for some in cuts):
            last += 1
        return last

    def narrowed(self, edges: Edges) -> tuple["Encoding", Narrowing]:
        """Return the encoding that `fit` gives for these edges, and how codes become its codes.

        Their cut points are among those of this encoding.
        """
        columns, narrowing = narrow_columns(self.owned, edges)
        return Encoding(columns, self.names), narrowing

    def _cuts_of(self, i: int) -> np.ndarray:
        column = self.columns[i]
        return column.cuts if isinstance(column, NumberColumn) else np.empty(0)

    def bins_within(self, coarse: int, fine: int) -> np.ndarray:
        """Return the code of column `coarse` that each code of column `fine` belongs to, (V,).

        Both are of one attribute, and every cut of the first is one of the second.
        """
        count = int(self.cardinalities[fine])
        first, second = self.columns[coarse], self.columns[fine]
        if coarse == fine or not isinstance(first, NumberColumn):
            return np.arange(count)
        if not isinstance(second, NumberColumn):
            raise AssertionError("an attribute is a number or a category")
        return bins_within(first, second)[:count]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that JSON can hold, from which `from_dict` makes an equal encoding."""
        return {
            "names": list(self.names),
            "columns": [column.to_dict() for column in self.columns],
        }

    @classmethod
    def from_dict(cls, data: Any) -> "Encoding":
        """Return the encoding that `to_dict` described; ValueError if it cannot have."""
        match data:
            case {"names": list(names), "columns": list(columns)} if len(data) == 2:
                pass
            case _:
                raise ValueError(f"not an encoding: {data!r:.80}")
        if not names or not all(isinstance(name, str) for name in names):
            raise ValueError("the names of an encoding must be a list of strings")
        fitted = [code_column_from_dict(column) for column in columns]
        attributes = [column.attribute for column in fitted]
        if attributes != sorted(attributes) or {*attributes} != {*range(len(names))}:
            raise ValueError("the code columns of an encoding must follow the names in order")
        return cls(fitted, names)

    @property
    def nbytes(self) -> int:
        """Bytes of memory, nearly."""
        return self.cardinalities.nbytes + sum(column.nbytes for column in self.columns)

    def __repr__(self) -> str:
        return f"Encoding({len(self.names)} attributes, {len(self.columns)} code columns)"


class _Training(NamedTuple):
    """What the fit of a column sees of the rows beside their values."""

    labels: np.ndarray
    n_classes: int
    weights: np.ndarray | None
    counted: np.ndarray | None  # which rows have weight, None if all
    levels: int  # of nested cuts, 0 for those of minimum description length
    edges: Edges | None  # given cut points by the name of the column


def _fit_column(
    attribute: int, column: Column, training: _Training, *, is_category: bool | None
) -> tuple[list[CodeColumn], Column]:
    """Return the code columns of an attribute, and the attribute in the view that it was read in.

    That view makes encoding it cheap: nothing is sorted or factored twice.
    """
    counted = training.counted
    if counted is not None:
        column = column.among(counted)
    if column.kind == "number" and not is_category:
        numbers = column.numbers(column.quantity)
        all_cuts = _cut(column.name, numbers, training, keeps_two=is_category is None)
        # No number at all is no bin at all: only a category can have missing as its sole value.
        if all_cuts:
            if column.merges_integers():
                warn_of_merged_integers(column.name)
            absent = np.isnan(numbers)
            missing = bool(absent.any() if counted is None else (absent & counted).any())
            return [
                NumberColumn(attribute, column.name, missing, cuts, column.quantity)
                for cuts in all_cuts
            ], replace(column, values=numbers)
    factor = column.factor()
    values, missing = seen_levels(factor, counted)
    if is_category is None:
        warn_of_stray_text(column.name, values)
    return (
        [CategoryColumn(attribute, column.name, missing, tuple(values))],
        replace(column, values=factor),
    )


def _encode_column(owned: Sequence[CodeColumn], column: Column, out: list[np.ndarray]) -> None:
    """Fill `out` with the codes of an attribute, from those of its last column where it tells."""
    finest = owned[-1]
    finest.encode(column, out[-1])
    for one, codes in zip(owned[:-1], out, strict=False):
        if (
            isinstance(one, NumberColumn)
            and isinstance(finest, NumberColumn)
            and one.missing == finest.missing
            and np.isin(one.cuts, finest.cuts).all()
        ):
            recode_bins(one, finest, out[-1], codes)
        else:
            one.encode(column, codes)


def _cut(
    name: str, numbers: np.ndarray, training: _Training, *, keeps_two: bool
) -> list[np.ndarray]:
    """Return the cuts of each code column of a number; none if there is no number at all."""
    labels, n_classes, weights, counted, levels, edges = training
    if levels or edges is not None:
        present = ~np.isnan(numbers) if counted is None else ~np.isnan(numbers) & counted
        if not present.any():
            return []
        if edges is not None:
            return cuts_of_edges(edges.get(name, ()))
        return nested_cuts(numbers, weights, levels=levels)
    cuts, distinct = cuts_and_distinct(numbers, labels, n_classes, weights, keeps_two=keeps_two)
    return [cuts] if distinct else []


def stack_codes(codes: list[np.ndarray]) -> np.ndarray:
    """Return columns of codes as one array, in a type that holds them all."""
    stacked = np.empty((len(codes), len(codes[0])), np.result_type(*codes))
    for i in range(len(codes)):
        stacked[i] = codes[i]
        codes[i] = codes[i][:0]  # half of the memory at the peak
    return stacked
