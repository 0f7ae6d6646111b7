"""Dataclasses as JSON and arrays, and back: built by the types of their fields, by nothing else.

A file never says what is to be built of it, so that nothing in it can be run.
"""

import math
from dataclasses import fields, is_dataclass
from functools import partial
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np


def pack(value: Any, name: str, arrays: dict[str, np.ndarray]) -> Any:
    """Return JSON for `value`; its arrays go into `arrays`, under names that begin with `name`.

    `value` is a dataclass of arrays, numbers, strings, None, and lists, tuples, dictionaries and
    dataclasses of these.
    """
    if isinstance(value, np.ndarray):
        arrays[name] = value
        return name
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        # JSON has no infinity.
        return float(value) if math.isfinite(value) else repr(float(value))
    if is_dataclass(value):
        return {
            field.name: pack(getattr(value, field.name), f"{name}.{field.name}", arrays)
            for field in fields(value)
        }
    if isinstance(value, dict):
        return [
            [pack(key, f"{name}.{i}", arrays), pack(item, f"{name}.{i}", arrays)]
            for i, (key, item) in enumerate(value.items())
        ]
    if isinstance(value, list | tuple):
        if value and all(isinstance(item, float) for item in value):
            return pack(np.array(value, np.float64), name, arrays)
        return [pack(item, f"{name}.{i}", arrays) for i, item in enumerate(value)]
    raise TypeError(f"A value of type {type(value).__name__} cannot be saved.")


def unpack(kind: Any, data: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Return the value of a type that `pack` packed; ValueError if `data` holds none of it.

    Arrays are those of `arrays`.
    """
    if is_dataclass(kind):
        return _unpack_dataclass(kind, data, arrays)
    inner = get_args(kind)
    each = partial(unpack, arrays=arrays)
    match get_origin(kind) or kind, data:
        case (origin, None) if origin is NoneType or NoneType in inner:
            return None
        case (origin, _) if origin in (Union, UnionType):
            (only,) = (one for one in inner if one is not NoneType)
            return each(only, data)
        case (np.ndarray, str(name)) if name in arrays:
            return arrays[name]
        case (origin, str(name)) if origin in (list, tuple) and name in arrays:
            if arrays[name].ndim == 1 and inner[0] is float:
                return origin(arrays[name].astype(np.float64).tolist())
        case (origin, list(items)) if origin in (list, tuple):
            return origin(each(inner[0], item) for item in items)
        case (origin, list(pairs)) if origin is dict:
            return {each(inner[0], key): each(inner[1], item) for key, item in pairs}
        case (origin, float(number) | int(number)) if origin is float and number is not True:
            return float(number)
        case (origin, "inf" | "-inf" | "nan" as text) if origin is float:
            return float(text)
        case (origin, plain) if origin in (int, bool, str) and type(plain) is origin:
            return plain
    raise ValueError(f"no {kind} is described by {data!r:.80}")


def _unpack_dataclass(kind: Any, data: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Return an object of a dataclass, all its fields given."""
    names = [field.name for field in fields(kind)]
    if not isinstance(data, dict) or data.keys() != {*names}:
        raise ValueError(f"no {kind.__name__} is described by {data!r:.80}")
    hints = get_type_hints(kind)
    return kind(**{name: unpack(hints[name], data[name], arrays) for name in names})
