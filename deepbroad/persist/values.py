"""Constructor parameters as JSON and back, type for type.

What JSON has is itself; anything else is an object with one key, the name of its type.
"""

import datetime
import math
import re
from typing import Any

import numpy as np

from deepbroad.model.recipe import Recipe
from deepbroad.persist.error import ModelFileError

MAX_DEPTH = 16
# Types of NumPy that JSON can hold: numbers, strings, dates and durations; arrays also of objects.
_SCALAR = re.compile(r"[<>|=][biufUSMm]\d+(\[\w+\])?")
_OBJECTS = "|O"
# Strings of an array are all as long as the longest: a few letters must not ask for gigabytes.
_MAX_BYTES = 1 << 26


def to_json(value: Any, depth: int = 0) -> Any:
    """Return JSON for `value`; ModelFileError if it is of a type that a file cannot hold."""
    if depth > MAX_DEPTH:
        raise ModelFileError("it is nested too deeply to be written")
    if isinstance(value, np.generic | np.ndarray):
        return _array_to_json(value, depth)
    match value:
        case None | bool():
            return value
        case int() | str():
            return int.__int__(value) if isinstance(value, int) else str.__str__(value)
        case float():
            return float(value) if math.isfinite(value) else {"float": repr(float(value))}
        case bytes():
            return {"bytes": value.hex()}
        case list():
            return [to_json(item, depth + 1) for item in value]
        case tuple():
            return {"tuple": [to_json(item, depth + 1) for item in value]}
        case dict():
            pairs = [[to_json(key, depth + 1), to_json(v, depth + 1)] for key, v in value.items()]
            return {"dict": pairs}
        case Recipe():
            return {"recipe": value.to_dict()}
        case datetime.datetime():
            return {"datetime": value.isoformat()}
        case datetime.date():
            return {"date": value.isoformat()}
        case datetime.timedelta():
            return {"timedelta": [value.days, value.seconds, value.microseconds]}
    raise ModelFileError(
        f"a value of type {type(value).__name__} cannot be written; plain numbers, strings, "
        "lists, tuples, dictionaries, dates, recipes and NumPy arrays can"
    )


def from_json(data: Any, depth: int = 0) -> Any:
    """Return the value that `to_json` wrote; ValueError if it cannot have written `data`."""
    if depth > MAX_DEPTH:
        raise ValueError("nested too deeply")
    if isinstance(data, float) and not math.isfinite(data):
        raise ValueError("a number is too large")
    if data is None or isinstance(data, bool | int | float | str):
        return data
    if isinstance(data, list):
        return [from_json(item, depth + 1) for item in data]
    match list(data.items()):
        case [("float", "inf" | "-inf" | "nan" as text)]:
            return float(text)
        case [("bytes", str(text))]:
            return bytes.fromhex(text)
        case [("tuple", list(items))]:
            return tuple(from_json(item, depth + 1) for item in items)
        case [("dict", list(pairs))]:
            return {from_json(k, depth + 1): from_json(v, depth + 1) for k, v in pairs}
        case [("datetime", str(text))]:
            return datetime.datetime.fromisoformat(text)
        case [("date", str(text))]:
            return datetime.date.fromisoformat(text)
        case [("timedelta", [int(days), int(seconds), int(microseconds)])]:
            return datetime.timedelta(days, seconds, microseconds)
        case [("recipe", dict(recipe))]:
            return Recipe.from_dict(recipe)
        case [("numpy", [str(dtype), value])]:
            return _array_from_json(dtype, None, [value], depth)
        case [("array", [str(dtype), list(shape), list(values)])]:
            return _array_from_json(dtype, shape, values, depth)
    raise ValueError(f"not a value: {data!r:.80}")


def _array_to_json(value: np.generic | np.ndarray, depth: int) -> Any:
    """Return a NumPy scalar or array by its type, shape and flat values."""
    array = np.asarray(value)
    if array.dtype.kind in "US":
        array = array.astype(array.dtype.kind)  # no longer than its strings need
    name = array.dtype.str
    if not (_SCALAR.fullmatch(name) or name == _OBJECTS) or array.dtype.itemsize > _MAX_BYTES:
        raise ModelFileError(f"a NumPy value of type {array.dtype} cannot be written")
    flat = array.ravel()
    items = (flat.view(np.int64) if array.dtype.kind in "Mm" else flat).tolist()
    if flat.nbytes > _MAX_BYTES:
        raise ModelFileError("an array of that size cannot be written")
    written = [to_json(item, depth + 1) for item in items]
    if isinstance(value, np.generic):
        return {"numpy": [name, written[0]]}
    return {"array": [name, list(array.shape), written]}


def _array_from_json(name: str, shape: list[Any] | None, data: list[Any], depth: int) -> Any:
    """Return a NumPy scalar (no shape) or array."""
    if not _SCALAR.fullmatch(name) and (shape is None or name != _OBJECTS):
        raise ValueError(f"not a NumPy type that a file can hold: {name!r:.40}")
    dtype = np.dtype(name)
    if len(data) * dtype.itemsize > _MAX_BYTES:
        raise ValueError("an array is too large")
    items = [from_json(item, depth + 1) for item in data]
    longest = max((len(item) for item in items if isinstance(item, str | bytes)), default=0)
    if dtype.kind in "US" and dtype.itemsize > 4 * max(longest, 1):
        raise ValueError("strings are shorter than declared")
    flat = np.empty(len(items), np.int64 if dtype.kind in "Mm" else dtype)
    with np.errstate(all="ignore"):
        for i, item in enumerate(items):
            flat[i] = item
    if name != _OBJECTS and [to_json(item) for item in flat.tolist()] != data:
        raise ValueError(f"values are not of type {name!r}")
    flat = flat.view(dtype)
    if shape is None:
        return flat[0]
    if len(shape) > 8 or not all(type(length) is int and length >= 0 for length in shape):
        raise ValueError("not the shape of an array")
    return flat.reshape(shape)
