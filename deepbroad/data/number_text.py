"""Texts that may say numbers: which of them do, and which would lose something by it."""

from enum import IntEnum

import pyarrow as pa
import pyarrow.compute as pc

_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
# What a whole number prints as, if int64 surely holds it.
_PLAIN = r"^(0|-?[1-9]\d{0,17})$"
# 007 is another code than 7, and float64 would round so many digits.
_CODE = r"^[+-]?(0\d+|\d{19,})$"
_PADDED = r"^\s*[+-]?0\d+\s*$"
_LONG = r"\d{16}"  # as 2^53 has


class Spelling(IntEnum):
    """What texts can be read as without any two becoming one; the larger, the less."""

    WHOLE = 0
    NUMBER = 1
    TEXT = 2


def read_numbers(texts: pa.ChunkedArray, decimal_point: str = ".") -> pa.ChunkedArray:
    """Return the numbers that texts say, missing where they say none.

    >>> read_numbers(pa.chunked_array([["1", " 2.5 ", "?", "-3e2", None]])).to_pylist()
    [1.0, 2.5, None, -300.0, None]
    """
    plain = _trim(texts, decimal_point)
    return _only(plain, pc.match_substring_regex(plain, _NUMBER)).cast(pa.float64())


def read_whole_numbers(texts: pa.ChunkedArray, decimal_point: str = ".") -> pa.ChunkedArray:
    """Return the whole numbers that texts say, missing where they say none or are codes.

    >>> read_whole_numbers(pa.chunked_array([["7", "8.0", "007", "1.5", None]])).to_pylist()
    [7, 8, None, None, None]
    """
    plain = _trim(texts, decimal_point)
    exact = _only(plain, pc.match_substring_regex(plain, _PLAIN)).cast(pa.int64())
    if exact.null_count == plain.null_count:
        return exact
    is_code = pc.match_substring_regex(plain, _CODE)
    numbers = read_numbers(_only(plain, pc.invert(is_code)))
    is_whole = pc.and_(pc.equal(pc.floor(numbers), numbers), pc.less(pc.abs(numbers), 2.0**53))
    whole = pc.if_else(is_whole, numbers, pa.scalar(None, pa.float64())).cast(pa.int64())
    return pc.coalesce(exact, whole)


def spelling_of(texts: pa.Array | pa.ChunkedArray, decimal_point: str = ".") -> Spelling:
    """Return as what texts can be read, whole numbers if there are none.

    >>> [spelling_of(pa.array(texts)).name for texts in (["7", "10"], ["7", "1.5"], ["7", "007"])]
    ['WHOLE', 'NUMBER', 'TEXT']
    """
    plain = _trim(texts.drop_null(), decimal_point)
    others = plain.filter(pc.invert(pc.match_substring_regex(plain, _PLAIN)))
    if not len(others):
        return Spelling.WHOLE
    is_code = pc.any(pc.match_substring_regex(others, _CODE)).as_py()
    is_number = pc.all(pc.match_substring_regex(others, _NUMBER)).as_py()
    return Spelling.NUMBER if is_number and not is_code else Spelling.TEXT


def has_padded(texts: pa.Array) -> bool:
    """Tell whether a whole number among texts begins with a needless zero.

    >>> has_padded(pa.array(["0", "10", None])), has_padded(pa.array(["10", "07"]))
    (False, True)
    """
    return bool(pc.any(pc.match_substring_regex(texts, _PADDED)).as_py())


def has_long(texts: pa.Array) -> bool:
    """Tell whether a whole number among texts may be beyond what float64 holds exactly."""
    return bool(pc.any(pc.match_substring_regex(texts, _LONG)).as_py())


def _trim(texts: pa.ChunkedArray, decimal_point: str) -> pa.ChunkedArray:
    """Return texts without space around them, and with a point for whatever decimals have."""
    plain = pc.utf8_trim_whitespace(texts.cast(pa.string()))
    return plain if decimal_point == "." else pc.replace_substring(plain, decimal_point, ".")


def _only(texts: pa.ChunkedArray, kept: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return those texts that are kept, missing in place of the others."""
    return pc.if_else(kept, texts, pa.scalar(None, pa.string()))
