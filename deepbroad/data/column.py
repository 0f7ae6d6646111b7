"""One column of a table, in the two views that encoding needs: as numbers and as categories.

A column is made from a NumPy array, an Arrow array or a pandas categorical; which library the
table came from is forgotten here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deepbroad.data.objects import factor_objects
from deepbroad.data.times import epoch_microseconds, time_quantity
from deepbroad.data.value import Identity, identify

Kind: TypeAlias = Literal["number", "category"]
# What a column measures. Cut points of one quantity mean nothing to another; "nothing" (all
# missing) goes with every quantity.
Quantity: TypeAlias = Literal["number", "datetime", "duration", "time", "text", "nothing"]
Arrow: TypeAlias = pa.Array | pa.ChunkedArray


class Factor(NamedTuple):
    """A column as indices into its levels.

    Parameters
    ----------
    indices : integer array of shape (n_rows,)
        -1 where the value is missing.
    levels : list
        The identity of each level; None is missing too, and two levels may be equal.
    """

    indices: np.ndarray
    levels: Sequence[Identity | None]


@dataclass(frozen=True, slots=True)
class Column:
    """A named column: `kind` says how it is meant, `values` holds it as it came, uncopied."""

    name: str
    kind: Kind
    quantity: Quantity
    values: np.ndarray | Arrow | Factor

    def numbers(self, quantity: Quantity = "number") -> np.ndarray:
        """Return the values as float64, NaN where missing; times in microseconds."""
        if self.quantity not in (quantity, "nothing"):
            raise ValueError(
                f"column {self.name!r} must hold {_PLURAL[quantity]}, as in training, "
                f"but holds {_PLURAL[self.quantity]}; convert it, or fit with this column in "
                "`categorical_features`"
            )
        if isinstance(self.values, Factor):
            indices, levels = self.values
            # The last entry is what index -1 takes.
            table = np.array([*map(_as_number, levels), np.nan])
            return table[indices]
        if isinstance(self.values, np.ndarray):
            return np.ascontiguousarray(self.values, dtype=np.float64)
        if time_quantity(self.values.type) is not None:
            return epoch_microseconds(self.values)
        cast = self.values.cast(pa.float64(), safe=False)
        return np.asarray(
            cast.to_numpy(zero_copy_only=False) if _is_flat(cast) else cast.to_numpy()
        )

    def factor(self) -> Factor:
        """Return the values as indices into a list of distinct levels."""
        if isinstance(self.values, Factor):
            return self.values
        if isinstance(self.values, np.ndarray):
            # Arrow wants a contiguous column; `from_pandas` would make a mask of the NaNs, which
            # `identify` finds anyway, once per level.
            return _factor_arrow(pa.array(np.ascontiguousarray(self.values)))
        return _factor_arrow(self.values)


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
        return Column(name, "category", "text", _factor_fixed_width(values))
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
        raise TypeError("argument must be a string or a number, not a structured value")
    return _column_from_objects(name, values.astype(object, copy=False))


def column_from_arrow(name: str, values: Arrow) -> Column:
    """Return a column of an Arrow array, chunked or not, of any type that is not nested."""
    kind = values.type
    if isinstance(kind, pa.ExtensionType):
        values = _storage(values)
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
        return Column(name, "category", "text", _factor_arrow(values))
    if pa.types.is_dictionary(kind):
        return column_from_factor(name, _factor_arrow(values), kind="category")
    raise TypeError(
        f"argument must be a string or a number, but column {name!r} is of type {kind}; "
        "split nested columns into columns of single values"
    )


def column_from_factor(name: str, factor: Factor, *, kind: Kind | None = None) -> Column:
    """Return a column of levels; with no `kind`, levels of one ordered quantity are numbers."""
    levels = [level for level in factor.levels if level is not None]
    sorts = {_quantity_of(level) for level in levels} or {"nothing"}
    quantity: Quantity = sorts.pop() if len(sorts) == 1 else "text"
    if kind is None:
        only_booleans = all(isinstance(level, bool) for level in levels)
        ordered = quantity not in ("text", "nothing") and not only_booleans
        kind = "number" if ordered else "category"
    return Column(name, kind, quantity, factor)


_PLURAL: dict[str, str] = {
    "number": "numbers",
    "datetime": "dates",
    "duration": "durations",
    "time": "times of day",
    "text": "text",
    "nothing": "nothing",
}


def _column_from_objects(name: str, values: np.ndarray) -> Column:
    """Return a column of Python objects, as what they are."""
    found = factor_objects(values)
    if isinstance(found, pa.Array | pa.ChunkedArray):
        return column_from_arrow(name, found)
    return column_from_factor(name, Factor(*found))


def _factor_arrow(values: Arrow) -> Factor:
    """Dictionary-encode `values`, unless they already are."""
    if not pa.types.is_dictionary(values.type):
        values = values.dictionary_encode()
    if not _is_flat(values):
        values = values.unify_dictionaries().combine_chunks()
    indices, dictionary = values.indices, values.dictionary
    if indices.null_count:
        indices = indices.cast(pa.int64()).fill_null(-1)
    return Factor(indices.to_numpy(), _identify_all(dictionary))


def _identify_all(dictionary: pa.Array) -> list[Identity | None]:
    """Return the identities of the values of an Arrow array."""
    if isinstance(dictionary.type, pa.ExtensionType):
        dictionary = _storage(dictionary)
    if pa.types.is_string(dictionary.type) or pa.types.is_large_string(dictionary.type):
        return dictionary.to_pylist()
    quantity = time_quantity(dictionary.type)
    if quantity is not None:
        times = epoch_microseconds(dictionary).tolist()
        return [None if time != time else (quantity, time) for time in times]
    return [identify(value) for value in dictionary.to_pylist()]


def _factor_fixed_width(values: np.ndarray) -> Factor:
    """Factor NumPy strings by their raw bytes: five times faster than decoding each of them."""
    values = np.ascontiguousarray(values)
    binary = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(values.dtype.itemsize), len(values), [None, pa.py_buffer(values)]
    )
    encoded = binary.dictionary_encode()
    levels = np.frombuffer(encoded.dictionary.buffers()[1], dtype=values.dtype)
    return Factor(encoded.indices.to_numpy(), levels.tolist())


def _quantity_of(level: Identity) -> Quantity:
    """Return what one level measures."""
    if isinstance(level, bool | int | float):
        return "number"
    if isinstance(level, tuple) and level[0] != "other":
        return level[0]
    return "text"


def _as_number(level: Any) -> float:
    """Return a level of an ordered quantity as a float; ints beyond its range are infinite."""
    if level is None:
        return np.nan
    number = level[1] if isinstance(level, tuple) else level
    try:
        return float(number)
    except OverflowError:
        return np.inf if number > 0 else -np.inf


def _storage(values: Arrow) -> Arrow:
    """Return the plain values behind an extension type."""
    if _is_flat(values):
        return values.storage
    return pa.chunked_array([chunk.storage for chunk in values.chunks], values.type.storage_type)


def _is_flat(values: Arrow) -> bool:
    return isinstance(values, pa.Array)


def _is_text(kind: pa.DataType) -> bool:
    """Tell whether an Arrow type holds strings or bytes."""
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
    )
