"""How databases write what the scoring query needs; knows nothing of models."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from math import isfinite
from typing import TypeVar

Item = TypeVar("Item")

# Rows of one INSERT.
CHUNK = 500


class Dialect:
    """Standard SQL; the methods and names below are all that databases differ in.

    Expressions go in and out as text. `column` is always a qualified, quoted name.
    """

    name = ""
    text_type = "TEXT"
    float_type = "DOUBLE PRECISION"
    primary_key = " PRIMARY KEY"
    has_arrays = True
    array = "ARRAY[{}]::BIGINT[]"
    max_columns = 1500

    def quote(self, name: str) -> str:
        """Return an identifier."""
        if not name:
            raise ValueError(
                "SQL has no table and no column without a name. Name the columns before the fit, "
                "or leave such a one, often an index of pandas, out: deepbroad fit ... --drop ''"
            )
        return '"' + _check(name).replace('"', '""') + '"'

    def text(self, value: str) -> str:
        """Return a literal."""
        return "'" + _check(value).replace("'", "''") + "'"

    def number(self, value: float) -> str:
        """Return a literal in double precision."""
        if not isfinite(value):
            return self.infinity(value > 0)
        text = repr(float(value))
        # Without an exponent DuckDB would take it for a decimal of some few digits.
        return text if "e" in text else f"{text}e0"

    def infinity(self, positive: bool) -> str:
        """Return the literal of an infinity."""
        return f"CAST('{'' if positive else '-'}Infinity' AS {self.float_type})"

    def read_text(self, column: str) -> str:
        """Return a column as text."""
        return f"CAST({column} AS {self.text_type})"

    def read_number(self, column: str) -> str:
        """Return a column in double precision, NULL where it is NaN."""
        return f"NULLIF(CAST({column} AS {self.float_type}), CAST('NaN' AS {self.float_type}))"

    def read_time(self, column: str, quantity: str) -> str:
        """Return a date, time of day or duration in microseconds."""
        return f"CAST(EXTRACT(EPOCH FROM {column}) * 1000000 AS {self.float_type})"

    def greatest(self, items: Sequence[str]) -> str:
        """Return the largest of some numbers."""
        return f"GREATEST({', '.join(items)})"

    def insert_numbers(self, table: str, rows: Iterable[Sequence[str]]) -> Iterator[str]:
        """Yield the statements that put rows of numbers into a table."""
        return insert_rows(table, (f"({', '.join(row)})" for row in rows))


class PostgreSQL(Dialect):
    """PostgreSQL, from version 12."""

    name = "postgresql"


class DuckDB(Dialect):
    """DuckDB."""

    name = "duckdb"
    text_type = "VARCHAR"
    float_type = "DOUBLE"
    primary_key = ""  # its hash join needs none, and rows go in faster
    array = "CAST([{}] AS BIGINT[])"

    def insert_numbers(self, table: str, rows: Iterable[Sequence[str]]) -> Iterator[str]:
        """Yield statements that each read thousands of rows from one text.

        DuckDB looks at each literal of an INSERT: 18 s for 268,000 rows, and 3 s this way.
        """
        for chunk in batched(rows, 20_000):
            text = ";".join(" ".join(row) for row in chunk)
            fields = ", ".join(f"a[{i + 1}]" for i in range(len(chunk[0])))
            lines = f"UNNEST(string_split('{text}', ';'))"
            yield (
                f"INSERT INTO {table} SELECT {fields}\n"
                f"FROM (SELECT string_split({lines}, ' ') AS a)"
            )

    def read_number(self, column: str) -> str:
        """Return a column in double precision, NULL where it is NaN or no number."""
        number = f"TRY_CAST({column} AS DOUBLE)"
        return f"CASE WHEN NOT isnan({number}) THEN {number} END"

    def read_time(self, column: str, quantity: str) -> str:
        """Return a date, time of day or duration in microseconds."""
        return f"CAST(epoch_us({column}) AS DOUBLE)"


class SQLite(Dialect):
    """SQLite, from version 3.38 with its mathematical functions."""

    name = "sqlite"
    float_type = "REAL"
    has_arrays = False
    max_columns = 1900

    def infinity(self, positive: bool) -> str:
        """Return the literal of an infinity: a number that is too large."""
        return f"{'' if positive else '-'}9e999"

    def read_text(self, column: str) -> str:
        """Return a column as text that differs in case if letters do."""
        return f"CAST({column} AS TEXT) COLLATE BINARY"

    def read_number(self, column: str) -> str:
        """Return a column in double precision; NULL for text without a digit, such as '?'."""
        strange = f"typeof({column}) IN ('text', 'blob') AND {column} NOT GLOB '*[0-9]*'"
        return f"CASE WHEN NOT ({strange}) THEN CAST({column} AS REAL) END"

    def read_time(self, column: str, quantity: str) -> str:
        """Return a date or time of day, which is text in SQLite, in microseconds."""
        if quantity == "duration":
            raise ValueError("SQLite has no durations; fit on numbers, such as their seconds.")
        midnight = "2440587.5" if quantity == "datetime" else "2451544.5"  # of 1970, of 2000
        # Days as a double are exact to some 40 microseconds, and times here to milliseconds.
        return f"ROUND((julianday({column}) - {midnight}) * 86400000) * 1000"

    def greatest(self, items: Sequence[str]) -> str:
        """Return the largest of some numbers; a function has at most 127 arguments."""
        return fold(items, lambda some: f"MAX({', '.join(some)})", 100)


DIALECTS: dict[str, Dialect] = {
    dialect.name: dialect for dialect in (DuckDB(), PostgreSQL(), SQLite())
}


def fold(items: Sequence[str], join: Callable[[Sequence[str]], str], width: int) -> str:
    """Join expressions by at most so many at a time, so that no expression is too deep."""
    while len(items) > 1:
        items = [
            join(items[i : i + width]) if len(items[i : i + width]) > 1 else items[i]
            for i in range(0, len(items), width)
        ]
    return items[0]


def insert_rows(table: str, rows: Iterable[str]) -> Iterator[str]:
    """Yield the statements that put rows into a table, some hundred at a time."""
    for chunk in batched(rows, CHUNK):
        yield f"INSERT INTO {table} VALUES\n" + ",\n".join(chunk)


def batched(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield items in lists of a size, the last of which may be shorter."""
    left = iter(items)
    while batch := list(islice(left, size)):
        yield batch


def _check(text: str) -> str:
    """Return text that SQL can hold; ValueError for other."""
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise ValueError(f"SQL cannot hold the text {text!r:.60}; change it before the fit.")
    return text
