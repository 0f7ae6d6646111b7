"""A model as SQL: tables that hold its effects, and one query that scores the rows of a table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from deepbroad.export.cells import Cells
from deepbroad.export.coding import Coding
from deepbroad.export.dialects import DIALECTS, insert_rows
from deepbroad.export.effects import Effects
from deepbroad.export.query import Query, write_query


@dataclass(frozen=True)
class SqlScript:
    """SQL of a model.

    Attributes
    ----------
    setup : str
        Statements that make the tables of the model, in place of older ones; to be run once.
    query : str
        One SELECT. For each row of the table to score it returns the row's number, its own
        columns, the most probable class as ``prediction`` and the probability of each class.
    """

    setup: str
    query: str

    def __str__(self) -> str:
        return f"{self.setup}\n{self.query};\n"


def write_sql(
    effects: Effects,
    *,
    dialect: str = "duckdb",
    table: str | Sequence[str] = "rows",
    prefix: str = "deepbroad",
) -> SqlScript:
    """Return the tables and the query of a model in the SQL of a database.

    Parameters
    ----------
    effects : Effects
    dialect : {"duckdb", "postgresql", "sqlite"}
    table : str or sequence of str
        The table or view that the query scores; several names, such as schema and table, are
        joined by dots. It must have the attributes of the model by their names; others are kept.
    prefix : str
        What the names of the model's tables begin with.
    """
    if dialect not in DIALECTS:
        raise ValueError(f"dialect must be one of {', '.join(DIALECTS)}; got {dialect!r}.")
    sql = DIALECTS[dialect]
    cells = Cells.of(effects)
    if max(len(effects.classes), len(effects.used)) > sql.max_columns:
        raise ValueError(
            f"{dialect} has at most {sql.max_columns:,} columns, and this model has "
            f'{len(effects.used):,} and {len(effects.classes):,} classes; use to="onnx".'
        )
    names = [table] if isinstance(table, str) else list(table)
    query = Query(
        sql,
        ".".join(map(sql.quote, names)),
        prefix,
        Coding(sql, sql.quote(f"{prefix}_values")),
    )
    text = write_query(query, effects, cells)
    setup = [*_effects_table(query, cells, effects.n_scores), *_values_table(query)]
    if sql.has_arrays:
        setup += _terms_table(query, cells, effects.used)
    body = "".join(f"{statement};\n" for statement in ("BEGIN", *setup, "COMMIT"))
    return SqlScript(f"-- A model of deepbroad: its tables, then the query.\n{body}", text)


def _effects_table(query: Query, cells: Cells, n_scores: int) -> Iterator[str]:
    """Yield the statements of the long table of effects."""
    sql = query.dialect
    scores = [f"score_{c} {sql.float_type}" for c in range(1, n_scores + 1)]
    columns = [f"cell BIGINT{sql.primary_key}", *scores]
    if not sql.has_arrays:
        columns[0] = "cell INTEGER PRIMARY KEY"  # which is SQLite's own number of a row
    rows = (
        [str(cell), *map(_score, row)]
        for cell, row in zip(cells.cells.tolist(), cells.scores.tolist(), strict=True)
    )
    yield from _create(query, "effects", columns)
    yield from sql.insert_numbers(query.name("effects"), rows)


def _terms_table(query: Query, cells: Cells, used: list[int]) -> Iterator[str]:
    """Yield the statements of the table of terms: where their cells begin, and their columns."""
    depth = cells.members.shape[1]
    columns = ["base BIGINT", *(f"place_{j} INTEGER, stride_{j} BIGINT" for j in range(depth))]
    places = np.searchsorted(used, cells.members) + 1  # arrays of SQL begin at 1
    steps = np.stack([places, cells.strides], axis=2).reshape(len(places), 2 * depth)
    rows = (
        [str(base), *map(str, row)]
        for base, row in zip(cells.bases.tolist(), steps.tolist(), strict=True)
    )
    yield from _create(query, "terms", columns)
    yield from query.dialect.insert_numbers(query.name("terms"), rows)


def _values_table(query: Query) -> Iterator[str]:
    """Yield the statements of the table of values of large categories, if there are any."""
    values, sql = query.coding.values, query.dialect
    if not values:
        return
    columns = ["place INTEGER", f"text {sql.text_type}", f"number {sql.float_type}", "code INTEGER"]
    rows = (
        f"({place}, {sql.text(value)}, NULL, {code})"
        if isinstance(value, str)
        else f"({place}, NULL, {sql.number(value)}, {code})"
        for place, value, code in values
    )
    table = query.name("values")
    yield from _create(query, "values", columns)
    yield from insert_rows(table, rows)
    for kind in ("text", "number"):
        index = query.name(f"values_by_{kind}")
        yield f"CREATE INDEX {index} ON {table} (place, {kind})"


def _create(query: Query, name: str, columns: list[str]) -> Iterator[str]:
    """Yield the statements that make a table in place of an older one."""
    table = query.name(name)
    yield f"DROP TABLE IF EXISTS {table}"
    yield f"CREATE TABLE {table} ({', '.join(columns)})"


def _score(value: float) -> str:
    """Return a score with as many digits as probabilities can show."""
    return f"{value:.10e}"
