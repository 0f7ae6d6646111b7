"""How a CSV file is written, seen from its first lines: separators, decimals, encoding."""

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

_SNIFFED = 2**16
_QUOTED = re.compile(r'"[^"]*"')
_DECIMAL = re.compile(r"[+-]?\d+([.,])\d+")


class Dialect(NamedTuple):
    """What stands between values, and between the whole and the fraction of a number."""

    delimiter: str = ","
    decimal_point: str = "."


def sniff_dialect(path: Path) -> Dialect:
    """Return how a file, compressed or not, is written.

    Values are separated by tabs in .tsv files; in others by commas unless the header has none, but
    semicolons or tabs. Decimals have points unless semicolons separate values and all decimals of
    the first rows have commas. ValueError for what is in UTF-16.
    """
    if ".tsv" in path.suffixes:
        return Dialect("\t")
    with pa.input_stream(str(path), compression="detect") as stream:
        start = stream.read(_SNIFFED)
    if start.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise wrong_encoding(path, "utf-16")
    head = start.decode("utf-8", errors="replace")
    lines = [line for line in head.splitlines() if line.strip()]
    header = _QUOTED.sub("", lines[0]) if lines else ""
    delimiter = max(";\t", key=header.count)
    if "," in header or delimiter not in header:
        return Dialect()
    return Dialect(delimiter, _find_point(lines[1:]) if delimiter == ";" else ".")


def wrong_encoding(path: Any, likely: str) -> ValueError:
    """Return the error of a file that is not in UTF-8."""
    return ValueError(
        f"{path} is not in UTF-8. Convert it, for instance by: iconv -f {likely} -t utf-8"
    )


def _find_point(lines: list[str]) -> str:
    """Return what the decimals of values between semicolons have, a point if in doubt."""
    values = (value.strip(' "') for line in lines for value in line.split(";"))
    points = {found[1] for value in values if (found := _DECIMAL.fullmatch(value))}
    return "," if points == {","} else "."
