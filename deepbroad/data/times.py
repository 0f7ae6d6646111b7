"""Arrow's dates, times and durations as numbers: microseconds since the epoch or midnight."""

from typing import Literal

import numpy as np
import pyarrow as pa

_PER_UNIT = {"s": 1e6, "ms": 1e3, "us": 1.0}
_DAY = 86_400e6


def time_quantity(kind: pa.DataType) -> Literal["datetime", "instant", "duration", "time"] | None:
    """Return what an Arrow type measures, None if it is not a time.

    An instant is a date and time of a known zone.
    """
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return "instant"
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return "datetime"
    if pa.types.is_duration(kind):
        return "duration"
    if pa.types.is_time(kind):
        return "time"
    return None


def epoch_microseconds(values: pa.Array | pa.ChunkedArray) -> np.ndarray:
    """Return times as float64 microseconds, NaN where missing.

    Microseconds, because float64 holds them exactly for 285 years around 1970: the same instant
    is the same number whether the table stores days, seconds or nanoseconds.
    """
    kind = values.type
    missing = values.is_null()
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        values = values.cast(pa.int32())
    whole = np.asarray(values.cast(pa.int64()).fill_null(0).to_numpy())
    if pa.types.is_date32(kind):
        numbers = whole * _DAY
    elif pa.types.is_date64(kind):
        numbers = whole * _PER_UNIT["ms"]
    elif kind.unit == "ns":
        # Split first: nanoseconds since 1970 do not fit into float64's 53 bits.
        numbers = (whole // 1000).astype(np.float64)
        numbers += (whole % 1000) / 1000
    else:
        numbers = whole * _PER_UNIT[kind.unit]
    numbers[np.asarray(missing)] = np.nan
    return numbers
