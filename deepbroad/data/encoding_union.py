"""Encodings of tables that come one after the other: one of the values and classes of all."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from deepbroad.data.categorical import select_categorical
from deepbroad.data.code_column import CategoryColumn, CodeColumn, NumberColumn, seen_levels
from deepbroad.data.column import Column
from deepbroad.data.encoding import CategoricalFeatures, Encoding, stack_codes
from deepbroad.data.labels import Labels
from deepbroad.data.table import Table
from deepbroad.data.value import Identity, sort_key


def unite(first: Encoding, second: Encoding) -> Encoding:
    """Return the encoding of the rows of two tables together.

    Categories are united in sorted order, as a fit to all rows has them. Numbers keep the cuts of
    the first. A value is missing in both if it is in one.

    Examples
    --------
    >>> from deepbroad.data.table import read_table
    >>> labels = np.array([0, 1])
    >>> red, _ = Encoding.fit(read_table([["red"], ["blue"]]), labels, 2)
    >>> green, _ = Encoding.fit(read_table([["green"], [None]]), labels, 2)
    >>> unite(red, green).value_names(0)
    ['blue', 'green', 'red', 'missing']
    """
    if first.names != second.names:
        raise ValueError(f"the columns {list(second.names)} are not those of {list(first.names)}")
    others = second.owned
    united = [
        _unite_columns(column, others[column.attribute][0], column.name) for column in first.columns
    ]
    return Encoding(united, first.names)


def unite_labels(first: Labels, second: Labels) -> Labels:
    """Return the classes of both, as labels of both together have them."""
    if all(first.code_of(label) is not None for label in second.classes):
        return first
    arrays = [first.classes, second.classes]
    if len({"n" if array.dtype.kind in "biuf" else array.dtype.kind for array in arrays}) > 1:
        # NumPy would make strings of numbers beside them.
        arrays = [array.astype(object) for array in arrays]
    return Labels.fit(np.concatenate(arrays))[0]


def encode_more(
    encoding: Encoding,
    table: Table,
    counted: np.ndarray | None = None,
    *,
    categorical_features: CategoricalFeatures = "auto",
) -> tuple[Encoding, np.ndarray]:
    """Return the union of an encoding with what a further table shows, and that table's codes.

    Parameters
    ----------
    encoding : Encoding
        Of the tables so far.
    table : Table
        Of the same columns.
    counted : boolean array of shape (n_rows,), optional
        Rows whose values count; others are coded like rows to predict.
    categorical_features : as for `Encoding.fit`
        Columns named here take numbers as categories.

    Returns
    -------
    encoding : Encoding
    codes : array of shape (n_columns, n_rows)

    Raises
    ------
    ValueError
        If a column is of another kind than before.
    """
    if table.n_columns != len(encoding.names):
        raise ValueError(f"X has {table.n_columns} features, but {len(encoding.names)} were fitted")
    named = select_categorical(categorical_features, encoding.names)
    columns: list[CodeColumn] = []
    codes: list[np.ndarray] = []
    for i, known in enumerate(encoding.owned):
        column = table.column(i)
        if counted is not None:
            column = column.among(counted)
        is_named = named is not None and bool(named[i])
        shown, column = _observe(known[0], column, counted, is_named=is_named)
        for one in known:
            columns.append(_unite_columns(one, shown, one.name))
            codes.append(np.empty(table.n_rows, np.min_scalar_type(columns[-1].cardinality)))
            columns[-1].encode(column, codes[-1])
    return Encoding(columns, encoding.names), stack_codes(codes)


def code_maps(old: Encoding, new: Encoding) -> list[np.ndarray]:
    """Return for each code column of `old` its codes in `new`, a union with it, (V_i,) int64."""
    return [_code_map(*pair) for pair in zip(old.columns, new.columns, strict=True)]


def _code_map(old: CodeColumn, new: CodeColumn) -> np.ndarray:
    """Return the codes in `new` of the values of `old`, then of missing if `old` has it."""
    if new is old:
        return np.arange(old.cardinality)
    if isinstance(old, CategoryColumn) and isinstance(new, CategoryColumn):
        place = {value: code for code, value in enumerate(new.values)}
        codes = [place[value] for value in old.values]
    else:
        codes = list(range(old.n_values))
    return np.array(codes + [new.n_values] * old.missing, np.int64)


def _observe(
    known: CodeColumn, column: Column, counted: np.ndarray | None, *, is_named: bool
) -> tuple[CodeColumn, Column]:
    """Return what a further table shows of an attribute, and its column in the view read."""
    if isinstance(known, NumberColumn):
        if not column.measures(known.quantity):
            raise _changed(known, "numbers", column)
        numbers = column.numbers(known.quantity)
        absent = np.isnan(numbers) if counted is None else np.isnan(numbers) & counted
        shown: CodeColumn = replace(known, missing=bool(absent.any()))
        return shown, replace(column, quantity=known.quantity, values=numbers)
    if not isinstance(known, CategoryColumn):
        raise AssertionError("a code column is of a number or of a category")
    if column.kind == "number" and not is_named and not _holds_numbers(known):
        raise _changed(known, "categories" if known.values else "missing values alone", column)
    factor = column.factor()
    values, missing = seen_levels(factor, counted)
    shown = replace(known, missing=missing, values=tuple(values))
    return shown, replace(column, values=factor)


def _holds_numbers(known: CategoryColumn) -> bool:
    """Tell whether some category is a number, truth values aside."""
    return any(isinstance(v, int | float) and not isinstance(v, bool) for v in known.values)


def _changed(known: CodeColumn, held: str, column: Column) -> ValueError:
    """Return the error of a column that is of another kind than before."""
    holds = "numbers or times" if column.kind == "number" else "other values"
    return ValueError(
        f"Column {known.name!r} held {held} in the batches so far, and holds {holds} now. Convert "
        "it, or name it in `categorical_features` from the first batch on."
    )


def _unite_columns(first: CodeColumn, second: CodeColumn, name: str) -> CodeColumn:
    """Return the code column of the values of both."""
    missing = first.missing or second.missing
    if isinstance(first, NumberColumn) and isinstance(second, NumberColumn):
        if first.quantity != second.quantity:
            raise ValueError(f"Column {name!r} measures {first.quantity}, then {second.quantity}.")
        return first if missing == first.missing else replace(first, missing=True)
    if isinstance(first, CategoryColumn) and isinstance(second, CategoryColumn):
        values = _unite_values(first.values, second.values)
        if missing == first.missing and len(values) == len(first.values):
            return first
        return replace(first, missing=missing, values=values)
    raise ValueError(f"Column {name!r} is a number in one table and a category in the other.")


def _unite_values(first: tuple[Identity, ...], second: Sequence[Identity]) -> tuple[Identity, ...]:
    """Return the values of both in sorted order."""
    known = set(first)
    more = [value for value in second if value not in known]
    return tuple(sorted([*first, *more], key=sort_key)) if more else first
