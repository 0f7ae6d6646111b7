"""ARFF files, which Weka and OpenML have: attributes with their types, then lines of values."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa

from deepbroad.data.file_formats import TableFile

# A value, bare or in quotes of either kind, and the comma or the end after it.
_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_VALUE = re.compile(rf"""\s*({_QUOTED}|[^,]*?)\s*(,|$)""")
_ATTRIBUTE = re.compile(rf"""@attribute\s+({_QUOTED}|[^\s'"]\S*)\s+(.+)""", re.IGNORECASE)
_NUMBERS = ("numeric", "real", "integer")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


class ArffTable(TableFile):
    """An ARFF file: numbers are numbers; nominal values, texts and dates are text, "?" is missing.

    Sparse data, which stand in braces, are refused.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with self._open() as file:
            self._types, _ = _read_header(file, path)

    @property
    def names(self) -> list[str]:
        """All columns."""
        return list(self._types)

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """Read some columns."""
        places = [self.names.index(name) for name in columns]
        with self._open() as file:
            _, line_number = _read_header(file, self)
            lines = _data_lines(file, line_number)
            while batch := list(islice(lines, rows)):
                values = [self._split(line, number) for number, line in batch]
                yield pa.table(
                    {
                        name: self._column(name, [row[place] for row in values])
                        for name, place in zip(columns, places, strict=True)
                    }
                )

    def _open(self) -> TextIO:
        return open(str(self.path), encoding="utf-8", errors="replace")

    def _split(self, line: str, number: int) -> list[str | None]:
        """Return the values of a line."""
        if line.startswith("{"):
            raise ValueError(f"{self}: line {number} is sparse ARFF. Convert it to a dense file")
        values = split_values(line)
        if len(values) != len(self._types):
            raise ValueError(
                f"{self}: line {number} has {len(values)} values for {len(self._types)} "
                "attributes. Correct the file"
            )
        return values

    def _column(self, name: str, values: list[str | None]) -> pa.Array:
        """Return values as what the header says that they are."""
        if self._types[name] == pa.string():
            return pa.array(values, pa.string())
        try:
            return pa.array([None if v is None else float(v) for v in values], pa.float64())
        except ValueError as error:
            raise ValueError(f"{self}: attribute {name!r} is numeric, but: {error}") from None


def split_values(line: str) -> list[str | None]:
    """Return the values of a line, None where they are missing.

    >>> split_values("1.5, 'a, b', ?, '?'")
    ['1.5', 'a, b', None, '?']
    """
    found: list[str | None] = []
    begin = 0
    while match := _VALUE.match(line, begin):
        found.append(None if match[1] == "?" else _unquote(match[1]))
        begin = match.end()
        if match[2] != ",":
            break
    return found if match else []


def _unquote(text: str) -> str:
    """Return a text without the quotes around it and the backslashes within."""
    if len(text) < 2 or text[0] not in "'\"" or text[-1] != text[0]:
        return text
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), text[1:-1])


def _read_header(file: TextIO, path: Any) -> tuple[dict[str, pa.DataType], int]:
    """Return the attributes with their types, and how many lines the header has."""
    types: dict[str, pa.DataType] = {}
    for number, line in enumerate(file, 1):
        word = line.strip()
        if word.lower().startswith("@data"):
            if not types:
                break
            return types, number
        found = _ATTRIBUTE.match(word)
        if found:
            name, kind = _unquote(found[1]), found[2].strip().lower()
            if name in types:
                raise ValueError(f"column names must differ: {path} has {name!r} twice")
            types[name] = pa.float64() if kind.split()[0] in _NUMBERS else pa.string()
        elif word and not word.startswith("%") and not word.lower().startswith("@relation"):
            raise ValueError(f"{path} is no ARFF file: line {number} is {word[:60]!r}")
    raise ValueError(f"{path} is no ARFF file: it has no attributes, or no @data after them")


def _data_lines(file: TextIO, begin: int) -> Iterator[tuple[int, str]]:
    """Yield lines with their numbers, comments and empty ones left out."""
    for number, line in enumerate(file, begin + 1):
        word = line.strip()
        if word and not word.startswith("%"):
            yield number, word
