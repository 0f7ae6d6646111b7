"""A column as indices into its levels, and what those levels measure."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from deepbroad.data.times import epoch_microseconds, time_quantity
from deepbroad.data.value import Identity, identify

# What a column measures. Cut points of one quantity mean nothing to another; "nothing" (all
# missing) goes with every quantity.
Quantity: TypeAlias = Literal[
    "number", "datetime", "instant", "duration", "time", "text", "nothing"
]
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


def factor_arrow(values: Arrow) -> Factor:
    """Dictionary-encode `values`, unless they already are."""
    if not pa.types.is_dictionary(values.type):
        values = values.dictionary_encode()
    if not is_flat(values):
        values = values.unify_dictionaries().combine_chunks()
    indices, dictionary = values.indices, values.dictionary
    if indices.null_count:
        indices = indices.cast(pa.int64()).fill_null(-1)
    return Factor(indices.to_numpy(), _identify_all(dictionary))


def factor_fixed_width(values: np.ndarray) -> Factor:
    """Factor NumPy strings by their raw bytes: five times faster than decoding each of them."""
    values = np.ascontiguousarray(values)
    binary = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(values.dtype.itemsize), len(values), [None, pa.py_buffer(values)]
    )
    encoded = binary.dictionary_encode()
    levels = np.frombuffer(encoded.dictionary.buffers()[1], dtype=values.dtype)
    return Factor(encoded.indices.to_numpy(), levels.tolist())


def quantity_of(level: Identity) -> Quantity:
    """Return what one level measures."""
    if isinstance(level, bool | int | float):
        return "number"
    if isinstance(level, tuple) and level[0] != "other":
        return level[0]
    return "text"


def is_of(quantity: Quantity, level: Identity | None) -> bool:
    """Tell whether a level measures `quantity`."""
    return level is not None and quantity_of(level) == quantity


def as_number(level: Any, quantity: Quantity) -> float:
    """Return a level of `quantity` as a float; ints beyond its range are infinite."""
    if not is_of(quantity, level):
        return np.nan
    number = level[1] if isinstance(level, tuple) else level
    try:
        return float(number)
    except OverflowError:
        return np.inf if number > 0 else -np.inf


def plain_storage(values: Arrow) -> Arrow:
    """Return the plain values behind an extension type."""
    if is_flat(values):
        return values.storage
    return pa.chunked_array([chunk.storage for chunk in values.chunks], values.type.storage_type)


def is_flat(values: Arrow) -> bool:
    """Tell whether `values` are one piece."""
    return isinstance(values, pa.Array)


def _identify_all(dictionary: pa.Array) -> list[Identity | None]:
    """Return the identities of the values of an Arrow array."""
    if isinstance(dictionary.type, pa.ExtensionType):
        dictionary = plain_storage(dictionary)
    if pa.types.is_string(dictionary.type) or pa.types.is_large_string(dictionary.type):
        return dictionary.to_pylist()
    quantity = time_quantity(dictionary.type)
    if quantity is not None:
        times = epoch_microseconds(dictionary).tolist()
        return [None if time != time else (quantity, time) for time in times]
    return [identify(value) for value in dictionary.to_pylist()]
