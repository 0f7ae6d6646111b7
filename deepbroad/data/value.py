"""The identity of one categorical value: what equals what, in which order, by which name.

An identity is a plain, hashable Python value. Two values are the same category exactly if their
identities are equal, in training, at prediction and after a round trip through JSON.
"""

import datetime
import decimal
from typing import Any, TypeAlias

import numpy as np

# str, bytes, bool, int and float stand for themselves, so that 1 == 1.0 == True as in Python;
# anything else is a tuple whose first entry names its sort: ("datetime", microseconds), ...
Identity: TypeAlias = str | bytes | bool | int | float | tuple[Any, ...]

_EPOCH = datetime.datetime(1970, 1, 1)
_EPOCH_UTC = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MICROSECOND = datetime.timedelta(microseconds=1)
TIMES = ("datetime", "instant", "duration", "time")


class NestedValue(TypeError):
    """A value of some kind that holds several; who knows its column says more."""

    def __str__(self) -> str:
        # The words are those of NumPy, which scikit-learn's checks look for.
        return f"argument must be a string or a number, not of {self.args[0]}"


def identify(value: Any) -> Identity | None:
    """Return the identity of `value`, or None if it is missing (None, NaN, NaT, NA).

    Decimals are the int or float that they print as; dates are their midnight; values of types
    that JSON cannot hold (intervals, periods, enumerations, ...) are their type and their text.
    """
    kind = type(value)
    if kind is str or kind is int or kind is bool:
        return value
    if value is None or kind.__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, np.generic):
        return _identify_scalar(value)
    if isinstance(value, float | decimal.Decimal):
        return _identify_float(value)
    if isinstance(value, str | bytes | int):
        return _as_plain(value)
    if isinstance(value, datetime.date | datetime.timedelta | datetime.time):
        return _identify_time(value)
    if isinstance(value, complex):
        raise ValueError(f"Complex data not supported\n{value!r}\n")
    if isinstance(value, list | tuple | dict | set | frozenset | bytearray | np.ndarray):
        raise NestedValue(f"type {kind.__name__!r}")
    return ("other", f"{kind.__module__}.{kind.__qualname__}", str(value))


def sort_key(identity: Identity) -> tuple[str, Any]:
    """Return a key that orders all identities: by sort (numbers together), then by value."""
    if isinstance(identity, tuple):
        return identity[0], identity[1:]
    if isinstance(identity, str | bytes):
        return type(identity).__name__, identity
    return "number", identity


def name_value(identity: Identity) -> str:
    """Return `identity` as a person would write it."""
    if isinstance(identity, tuple):
        sort, *rest = identity
        return name_time(rest[0], sort) if sort in TIMES else str(rest[-1])
    if isinstance(identity, bytes):
        return identity.decode("utf-8", errors="backslashreplace")
    if isinstance(identity, float):
        return f"{identity:g}" if float(f"{identity:g}") == identity else repr(identity)
    return str(identity)


def name_time(microseconds: float, sort: str) -> str:
    """Return a date, a duration or a time of day as text, without needless zeros."""
    if not np.isfinite(microseconds):
        return str(microseconds)
    whole = int(microseconds)
    if sort == "duration":
        return str(np.timedelta64(whole, "us").item())
    text = str(np.datetime64(whole, "us"))
    date, _, time = text.partition("T")
    time = time.removesuffix(".000000")
    if sort == "time":
        return time
    return date if time == "00:00:00" else f"{date} {time}"


def to_json(identity: Identity) -> Any:
    """Return a JSON value from which `from_json` makes an equal identity."""
    if isinstance(identity, bytes):
        return {"bytes": identity.hex()}
    if isinstance(identity, float) and not np.isfinite(identity):
        return {"float": repr(identity)}  # JSON has no infinity
    if isinstance(identity, tuple):
        sort, *rest = identity
        return {sort: rest if sort == "other" else rest[0]}
    return identity


def from_json(data: Any) -> Identity:
    """Return the identity that `to_json` wrote; ValueError if it cannot have written `data`."""
    if isinstance(data, float) and not np.isfinite(data):
        raise ValueError(f"not a finite number: {data!r}")
    if isinstance(data, str | bool | int | float):
        return data
    match list(data.items()) if isinstance(data, dict) else None:
        case [("bytes", str(text))]:
            return bytes.fromhex(text)
        case [("float", "inf" | "-inf" as text)]:
            return float(text)
        case [(str(sort), float(number))] if sort in TIMES and np.isfinite(number):
            return (sort, number)
        case [("other", [str(kind), str(text)])]:
            return ("other", kind, text)
    raise ValueError(f"not a categorical value: {data!r:.80}")


def to_object(identity: Identity) -> Any:
    """Return a Python object of this identity; a date for what is one."""
    if not isinstance(identity, tuple):
        return identity
    sort, number = identity[0], identity[1]
    if sort == "duration":
        return datetime.timedelta(microseconds=number)
    if sort == "datetime":
        return _EPOCH + datetime.timedelta(microseconds=number)
    if sort == "instant":
        return _EPOCH_UTC + datetime.timedelta(microseconds=number)
    if sort == "time":
        return (_EPOCH + datetime.timedelta(microseconds=number)).time()
    raise ValueError(f"no object can be made of {identity!r:.80}")


def _as_plain(value: str | bytes | int) -> Identity:
    """Return a subclass of a plain type (np.str_, IntEnum, ...) as that plain type itself."""
    # Not str(value): a subclass may print as something else than it equals.
    if isinstance(value, str):
        return str.__str__(value)
    return bytes(value) if isinstance(value, bytes) else int.__int__(value)


def _identify_float(value: float | decimal.Decimal) -> Identity | None:
    """Return a whole number as int (2.0 is then called "2"), NaN as missing."""
    if value.is_nan() if isinstance(value, decimal.Decimal) else value != value:
        return None
    number = float(value)
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _identify_scalar(value: np.generic) -> Identity | None:
    """Return the identity of a NumPy scalar."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        if np.isnat(value):
            return None
        sort, unit = ("datetime", "M8[ns]") if value.dtype.kind == "M" else ("duration", "m8[ns]")
        in_unit = value.astype(unit) if value.dtype == unit else value.astype(unit[:3] + "us]")
        number = int(in_unit.astype(np.int64))
        return (sort, number / 1000 if value.dtype == unit else float(number))
    if isinstance(value, np.void):
        raise NestedValue("a structured type")
    return identify(value.item())


def _identify_time(value: Any) -> Identity:
    """Return a date, time or duration of the standard library (or of pandas) in microseconds."""
    if isinstance(value, datetime.timedelta):
        return ("duration", float(value / _MICROSECOND))
    if isinstance(value, datetime.time):
        seconds = (value.hour * 60 + value.minute) * 60 + value.second
        return ("time", float(seconds * 1_000_000 + value.microsecond))
    if not isinstance(value, datetime.datetime):
        value = datetime.datetime(value.year, value.month, value.day)
    if value.tzinfo is not None:
        return ("instant", float((value - _EPOCH_UTC) / _MICROSECOND))
    return ("datetime", float((value - _EPOCH) / _MICROSECOND))
