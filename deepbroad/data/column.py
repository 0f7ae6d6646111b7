"""One column of a table, in the two views that encoding needs: as numbers and as categories.

A column is made from a NumPy array, an Arrow array or a pandas categorical; which library the
table came from is forgotten here.
"""

import warnings
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deepbroad.data.factor import (
    Arrow,
    Factor,
    Quantity,
    as_number,
    factor_arrow,
    factor_fixed_width,
    is_flat,
    is_of,
    plain_storage,
    quantity_of,
)
from deepbroad.data.objects import factor_objects
from deepbroad.data.times import epoch_microseconds, time_quantity
from deepbroad.data.value import NestedValue

Kind: TypeAlias = Literal["number", "category"]
_EXACT = 2**53  # float64 holds all integers up to here


@dataclass(frozen=True, slots=True)
class Column:
    """A named column: `kind` says how it is meant, `values` holds it as it came, uncopied.

    `objects` tells that its library gave no type to the column, so that any value may come next.
    """

    name: str
    kind: Kind
    quantity: Quantity
    values: np.ndarray | Arrow | Factor
    objects: bool = False

    def numbers(self, quantity: Quantity = "number") -> np.ndarray:
        """Return the values as float64, NaN where missing; times in microseconds.

        Python objects that are no such quantity are values like any that training never saw: they
        are NaN too, with a warning. A whole column of another type is a mistake: ValueError.
        """
        same = self.measures(quantity)
        if not same and not self.objects:
            raise ValueError(
                f"column {self.name!r} must hold {PLURAL[quantity]}, as in training, "
                f"but holds {PLURAL[self.quantity]}; convert it, or fit with this column in "
                "`categorical_features`"
            )
        if not same or isinstance(self.values, Factor):
            indices, levels = self.factor()
            # The last entry is what index -1 takes.
            table = np.array([*(as_number(level, quantity) for level in levels), np.nan])
            if not same:
                self._warn_of_strangers(quantity)
            return table[indices]
        if isinstance(self.values, np.ndarray):
            return np.ascontiguousarray(self.values, dtype=np.float64)
        if time_quantity(self.values.type) is not None:
            return epoch_microseconds(self.values)
        cast = self.values.cast(pa.float64(), safe=False)
        return np.asarray(cast.to_numpy(zero_copy_only=False) if is_flat(cast) else cast.to_numpy())

    def measures(self, quantity: Quantity) -> bool:
        """Tell whether the values are of `quantity`; where all are missing, zones do not count."""
        if self.quantity in (quantity, "nothing"):
            return True
        if isinstance(self.values, np.ndarray | Factor):
            return False
        is_date = {self.quantity, quantity} == {"datetime", "instant"}
        return is_date and self.values.null_count == len(self.values)

    def merges_integers(self) -> bool:
        """Tell whether `numbers` makes one of two integers, which it may beyond 2^53."""
        values = self.values
        if isinstance(values, Factor):
            large = {n for n in values.levels if isinstance(n, int) and abs(n) >= _EXACT}
            return len({as_number(n, "number") for n in large}) < len(large)
        if isinstance(values, np.ndarray):
            if values.dtype not in (np.int64, np.uint64):
                return False
            values = pa.array(np.ascontiguousarray(values))
        kind = values.type
        is_exact = pa.types.is_int64(kind) or pa.types.is_uint64(kind)
        if not is_exact and not (pa.types.is_decimal(kind) and kind.scale <= 0):
            return False
        low, high = pc.min_max(values).as_py().values()
        if low is None or max(-low, high) <= _EXACT:
            return False
        numbers = values.cast(pa.float64(), safe=False)
        return bool(pc.count_distinct(numbers).as_py() < pc.count_distinct(values).as_py())

    def factor(self) -> Factor:
        """Return the values as indices into a list of distinct levels."""
        if isinstance(self.values, Factor):
            return self.values
        if isinstance(self.values, np.ndarray):
            # Arrow wants a contiguous column; `from_pandas` would make a mask of the NaNs, which
            # `identify` finds anyway, once per level.
            return factor_arrow(pa.array(np.ascontiguousarray(self.values)))
        return factor_arrow(self.values)

    def among(self, rows: np.ndarray) -> "Column":
        """Return this column as it would be meant if there were only `rows`, a mask.

        Python objects of the other rows that this leaves without a meaning become missing.
        """
        if not self.objects or not isinstance(self.values, Factor):
            return self
        indices, levels = self.values
        occurs = np.zeros(len(levels) + 1, dtype=bool)
        occurs[indices[rows]] = True
        there = [level for level, yes in zip(levels, occurs, strict=False) if yes]
        meant = column_from_factor(self.name, Factor(indices, there))
        if meant.kind == "number":
            levels = [level if is_of(meant.quantity, level) else None for level in levels]
        return replace(meant, values=Factor(indices, levels), objects=True)

    def _warn_of_strangers(self, quantity: Quantity) -> None:
        """Warn that some values are not of `quantity`, and say how many."""
        indices, levels = self.factor()
        strange = np.array([level is not None and not is_of(quantity, level) for level in levels])
        count = int(np.append(strange, False)[indices].sum())
        warnings.warn(
            f"column {self.name!r} held {PLURAL[quantity]} in training: {count} of "
            f"{len(indices)} values are something else now, and are taken as never seen",
            UserWarning,
            stacklevel=2,
        )


def refuse_nested(name: str, kind: str) -> TypeError:
    """Return the error of a column whose values hold several values each."""
    # The first words are those of NumPy, which scikit-learn's checks look for.
    return TypeError(
        f"argument must be a string or a number, but column {name!r} holds values of {kind}; "
        "split nested columns into columns of single values"
    )


def column_from_numpy(name: str, values: np.ndarray) -> Column:
    """Return a column of a one-dimensional NumPy array of any dtype."""
    kind = values.dtype.kind
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    if kind in "biuf":
        if kind == "f" and values.dtype.itemsize not in (4, 8):
            values = values.astype(np.float64)
        return Column(name, "category" if kind == "b" else "number", "number", values)
    if kind in "US":
        return Column(name, "category", "text", factor_fixed_width(values))
    if kind in "mM":
        if np.datetime_data(values.dtype)[0] not in (
            "D" if kind == "M" else "s",
            "s",
            "ms",
            "us",
            "ns",
        ):
            values = values.astype(f"{kind}8[s]")
        return column_from_arrow(name, pa.array(np.ascontiguousarray(values)))
    if kind == "c":
        raise ValueError(f"Complex data not supported\n{values}\n")
    if kind == "V":
        raise refuse_nested(name, "a structured type")
    return _column_from_objects(name, values.astype(object, copy=False))


def column_from_arrow(name: str, values: Arrow) -> Column:
    """Return a column of an Arrow array, chunked or not, of any type that is not nested."""
    kind = values.type
    if isinstance(kind, pa.ExtensionType):
        values = plain_storage(values)
        kind = values.type
    if pa.types.is_run_end_encoded(kind):
        values = pc.run_end_decode(values)
        kind = values.type
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        kind = pa.large_string() if pa.types.is_string_view(kind) else pa.large_binary()
        values = values.cast(kind)
    if pa.types.is_float16(kind):
        values = values.cast(pa.float32())
    if pa.types.is_null(kind):
        return Column(name, "category", "nothing", Factor(np.full(len(values), -1), []))
    if pa.types.is_boolean(kind):
        return Column(name, "category", "number", values)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return Column(name, "number", "number", values)
    quantity = time_quantity(kind)
    if quantity is not None:
        return Column(name, "number", quantity, values)
    if _is_text(kind):
        return Column(name, "category", "text", factor_arrow(values))
    if pa.types.is_dictionary(kind):
        factor = factor_arrow(values)
        if _is_text(kind.value_type) and any(level is not None for level in factor.levels):
            return Column(name, "category", "text", factor)
        return column_from_factor(name, factor, kind="category")
    raise refuse_nested(name, f"type {kind}")


def column_from_factor(name: str, factor: Factor, *, kind: Kind | None = None) -> Column:
    """Return a column of levels; with no `kind`, levels of one ordered quantity are numbers."""
    levels = [level for level in factor.levels if level is not None]
    sorts = {quantity_of(level) for level in levels} or {"nothing"}
    quantity: Quantity = sorts.pop() if len(sorts) == 1 else "text"
    if kind is None:
        only_booleans = all(isinstance(level, bool) for level in levels)
        ordered = quantity not in ("text", "nothing") and not only_booleans
        kind = "number" if ordered else "category"
    return Column(name, kind, quantity, factor)


PLURAL: dict[str, str] = {
    "number": "numbers",
    "datetime": "dates without a time zone",
    "instant": "dates with a time zone",
    "duration": "durations",
    "time": "times of day",
    "text": "text",
    "nothing": "nothing",
}


def _column_from_objects(name: str, values: np.ndarray) -> Column:
    """Return a column of Python objects, as what they are."""
    try:
        found = factor_objects(values)
    except NestedValue as error:
        raise refuse_nested(name, error.args[0]) from error
    if isinstance(found, pa.Array | pa.ChunkedArray):
        return replace(column_from_arrow(name, found), objects=True)
    return replace(column_from_factor(name, Factor(*found)), objects=True)


def _is_text(kind: pa.DataType) -> bool:
    """Tell whether an Arrow type holds strings or bytes."""
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
    )
