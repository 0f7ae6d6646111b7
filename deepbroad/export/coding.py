"""SQL expressions that turn the columns of a table into codes; NULL is a value never seen."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from deepbroad.data.code_column import CodeColumn, NumberColumn
from deepbroad.export.dialects import Dialect
from deepbroad.export.plain import Plain, plain_values

# Beyond so many values of a category, a look-up in the table of values is faster than a CASE.
MAX_CASE = 50


@dataclass
class Coding:
    """Makes the expressions of codes, and gathers the values that a table must hold.

    Attributes
    ----------
    dialect : Dialect
    values_table : str
        Its quoted name.
    values : list of tuples
        Its rows: the number of the code column, the value as text or as a number, its code.
    """

    dialect: Dialect
    values_table: str
    values: list[tuple[int, str | float, int]] = field(default_factory=list)

    def read(self, column: CodeColumn, source: str) -> str:
        """Return the expression of an attribute as it is compared, NULL where it is missing."""
        reading = plain_values(column).reading
        if reading in ("text", "boolean"):
            return self.dialect.read_text(source)
        if reading == "number":
            return self.dialect.read_number(source)
        return self.dialect.read_time(source, reading)

    def code(self, place: int, column: CodeColumn, value: str) -> str:
        """Return the expression of the code of what `read` made of an attribute."""
        unknown = str(column.unknown) if column.missing else "NULL"
        if isinstance(column, NumberColumn):
            bins = self._bins(value, column.cuts.tolist(), 0)
            return f"CASE WHEN {value} IS NULL THEN {unknown} ELSE {bins} END"
        plain = plain_values(column)
        if not plain.values:
            return unknown
        if plain.reading == "boolean":
            return self._boolean(value, plain, unknown)
        if len(plain.values) <= MAX_CASE:
            cases = " ".join(
                f"WHEN {self._literal(known)} THEN {code}"
                for code, known in enumerate(plain.values)
            )
            return f"CASE {value} {cases} ELSE {unknown} END"
        self.values += [(place, one, code) for code, one in enumerate(plain.values)]
        kind = "v.text" if plain.reading == "text" else "v.number"
        found = f"SELECT v.code FROM {self.values_table} v WHERE v.place = {place}"
        return f"COALESCE(({found} AND {kind} = {value}), {unknown})"

    def _bins(self, value: str, cuts: Sequence[float], first: int) -> str:
        """Return how many of `cuts` are <= a value, plus `first`, by halves."""
        if not cuts:
            return str(first)
        middle = len(cuts) // 2
        below = self._bins(value, cuts[:middle], first)
        above = self._bins(value, cuts[middle + 1 :], first + middle + 1)
        cut = self.dialect.number(cuts[middle])
        return f"CASE WHEN {value} < {cut} THEN {below} ELSE {above} END"

    def _boolean(self, value: str, plain: Plain, unknown: str) -> str:
        """Return the code of a boolean, which databases have as true, t or 1."""
        cases = []
        for code, known in enumerate(plain.values):
            for name in ("true", "t", "1") if known else ("false", "f", "0"):
                cases.append(f"WHEN '{name}' THEN {code}")
        return f"CASE LOWER({value}) {' '.join(cases)} ELSE {unknown} END"

    def _literal(self, value: str | float) -> str:
        """Return a value of a category."""
        if isinstance(value, str):
            return self.dialect.text(value)
        return self.dialect.number(value)
