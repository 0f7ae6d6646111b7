"""The one SELECT that scores the rows of a table."""

from collections.abc import Sequence
from typing import NamedTuple

from deepbroad.export.cells import Cells
from deepbroad.export.coding import Coding
from deepbroad.export.dialects import Dialect, fold
from deepbroad.export.effects import Effects
from deepbroad.export.plain import plain_labels

# exp(-700) is the least that all databases can tell from 0; PostgreSQL has an error for less.
LEAST_EXPONENT = "-700.0"
MAX_NAME = 63  # bytes; PostgreSQL cuts longer names


class Query(NamedTuple):
    """What all parts of a query need."""

    dialect: Dialect
    table: str  # quoted
    prefix: str
    coding: Coding

    def name(self, what: str) -> str:
        """Return the name of a table of the model, or of a step of the query."""
        return self.dialect.quote(f"{self.prefix}_{what}")


def write_query(query: Query, effects: Effects, cells: Cells) -> str:
    """Return the query: number the rows, read, code, add up effects, and take the softmax.

    Each step is materialised, since some databases would else compute an expression anew wherever
    the next step names it.
    """
    steps = {
        "rows": _number_rows(query),
        "read": _read(query, effects),
        "coded": _code(query, effects),
        **(_add_by_arrays if query.dialect.has_arrays else _add_by_list)(query, effects, cells),
        "scores": _score(query, effects),
        "best": _find_best(query, effects),
        "odds": _exponentiate(query, effects),
        "total": _add_odds(query, effects),
    }
    parts = [f"{query.name(name)} AS MATERIALIZED (\n{step}\n)" for name, step in steps.items()]
    return "WITH " + ", ".join(parts) + "\n" + _divide(query, effects)


def _number_rows(query: Query) -> str:
    row = query.name("row")
    return f"  SELECT ROW_NUMBER() OVER () AS {row}, t.* FROM {query.table} t"


def _read(query: Query, effects: Effects) -> str:
    """Select each attribute that terms use, as its values are compared."""
    by_attribute = {effects.columns[c].attribute: effects.columns[c] for c in effects.used}
    reads = [f"t.{query.name('row')} AS r"]
    for attribute, column in by_attribute.items():
        source = f"t.{query.dialect.quote(column.name)}"
        reads.append(f"{query.coding.read(column, source)} AS x{attribute}")
    return f"  SELECT {_lines(reads)}\n  FROM {query.name('rows')} t"


def _code(query: Query, effects: Effects) -> str:
    """Select the code of each code column that terms use."""
    codes = ["t.r"]
    for c in effects.used:
        column = effects.columns[c]
        codes.append(f"{query.coding.code(c, column, f't.x{column.attribute}')} AS c{c}")
    return f"  SELECT {_lines(codes)}\n  FROM {query.name('read')} t"


def _add_by_arrays(query: Query, effects: Effects, cells: Cells) -> dict[str, str]:
    """Add up effects by a join of rows with the table of terms, and of both with effects."""
    depth = cells.members.shape[1]
    key = " + ".join(["m.base", *(f"a.codes[m.place_{j}] * m.stride_{j}" for j in range(depth))])
    codes = query.dialect.array.format(", ".join(f"t.c{c}" for c in effects.used))
    sums = [f"SUM(e.score_{k}) AS s{k}" for k in range(1, effects.n_scores + 1)]
    return {
        "arrays": f"  SELECT t.r, {codes} AS codes\n  FROM {query.name('coded')} t",
        "sums": (
            f"  SELECT {_lines(['a.r', *sums])}\n"
            f"  FROM {query.name('arrays')} a\n"
            f"  CROSS JOIN {query.name('terms')} m\n"
            f"  JOIN {query.name('effects')} e ON e.cell = {key}\n"
            "  GROUP BY a.r"
        ),
    }


def _add_by_list(query: Query, effects: Effects, cells: Cells) -> dict[str, str]:
    """Add up effects by a look-up for each item of a row's list of cells.

    For SQLite: half the time of a join, which would sort all pairs of rows and terms, too.
    """
    keys = []
    for members, strides, base in zip(
        cells.members.tolist(), cells.strides.tolist(), cells.bases.tolist(), strict=True
    ):
        # A stride of 0 counts too: the sum is NULL where a value was never seen.
        steps = dict(zip(members[::-1], strides[::-1], strict=True))
        keys.append("(" + " + ".join([str(base), *(f"t.c{c}*{k}" for c, k in steps.items())]) + ")")
    sums = [f"SUM(e.score_{k})" for k in range(1, effects.n_scores + 1)]
    parts = [f"json_array({', '.join(sums[i : i + 100])})" for i in range(0, len(sums), 100)]
    return {
        "sums": (
            f"  SELECT t.r, (SELECT json_array({', '.join(parts)})\n"
            f"    FROM (VALUES {', '.join(keys) or '(NULL)'}) k\n"
            f"    CROSS JOIN {query.name('effects')} e WHERE e.cell = k.column1) AS s\n"
            f"  FROM {query.name('coded')} t"
        )
    }


def _score(query: Query, effects: Effects) -> str:
    """Select the score of each class but the first, whose score is 0."""
    number = query.dialect.number
    factor = ""
    if effects.rescaling is not None:
        # What never-seen values leave of the evidence is made up for.
        tests = [f"CASE WHEN t.c{c} IS NULL THEN 1 ELSE 0 END" for c in effects.used]
        cases = [f"WHEN {k} THEN {number(f)}" for k, f in enumerate(effects.rescaling.tolist())]
        factor = f" * CASE {fold(tests, _plus, 100)} {' '.join(cases)} END"
    scores = ["t.r"]
    for k, intercept in enumerate(effects.intercept.tolist(), 1):
        found = f"s.s{k}"
        if not query.dialect.has_arrays:
            found = f"json_extract(s.s, '$[{(k - 1) // 100}][{(k - 1) % 100}]')"
        scores.append(f"{number(intercept)} + COALESCE({found}, 0){factor} AS s{k}")
    return (
        f"  SELECT {_lines(scores)}\n  FROM {query.name('coded')} t\n"
        f"  LEFT JOIN {query.name('sums')} s ON s.r = t.r"
    )


def _find_best(query: Query, effects: Effects) -> str:
    zero = query.dialect.number(0.0)
    best = query.dialect.greatest([zero, *(f"t.s{k}" for k in range(1, effects.n_scores + 1))])
    return f"  SELECT t.*, {best} AS best FROM {query.name('scores')} t"


def _exponentiate(query: Query, effects: Effects) -> str:
    """Select the odds of each class against the best."""
    greatest = query.dialect.greatest
    differences = ["- t.best", *(f"t.s{k} - t.best" for k in range(1, effects.n_scores + 1))]
    odds = [f"EXP({greatest([LEAST_EXPONENT, d])}) AS o{k}" for k, d in enumerate(differences)]
    return f"  SELECT {_lines(['t.*', *odds])}\n  FROM {query.name('best')} t"


def _add_odds(query: Query, effects: Effects) -> str:
    odds = [f"t.o{k}" for k in range(len(effects.classes))]
    return f"  SELECT t.*, {fold(odds, _plus, 100)} AS total FROM {query.name('odds')} t"


def _divide(query: Query, effects: Effects) -> str:
    """Select what the whole query returns."""
    sql = query.dialect
    labels = [_literal(sql, label) for label in plain_labels(effects.labels)]
    cases = [f"WHEN p.best <= 0 THEN {labels[0]}"]
    cases += [f"WHEN p.s{k} = p.best THEN {label}" for k, label in enumerate(labels) if k]
    chosen = ["t.*", f"CASE {' '.join(cases)} END AS prediction"]
    names = name_probabilities([str(label) for label in effects.labels])
    chosen += [f"p.o{k} / p.total AS {sql.quote(name)}" for k, name in enumerate(names)]
    return (
        f"SELECT {_lines(chosen)}\nFROM {query.name('rows')} t\n"
        f"JOIN {query.name('total')} p ON p.r = t.{query.name('row')}\n"
        f"ORDER BY t.{query.name('row')}"
    )


def name_probabilities(labels: Sequence[str]) -> list[str]:
    """Return a name for each column of probabilities; databases ignore case and cut long names."""
    names: list[str] = []
    taken: set[str] = set()
    for k, label in enumerate(labels):
        name = f"P({label})"
        if len(name.encode("utf-8", "replace")) > MAX_NAME or name.lower() in taken:
            name = f"P({label:.8}, class {k})"
        taken.add(name.lower())
        names.append(name)
    return names


def _literal(sql: Dialect, label: bool | int | str) -> str:
    """Return a class label."""
    if isinstance(label, str):
        return sql.text(label)
    return str(label).upper()


def _plus(items: Sequence[str]) -> str:
    return "(" + " + ".join(items) + ")"


def _lines(items: Sequence[str]) -> str:
    """Return the columns of a SELECT, one a line."""
    return ",\n    ".join(items)
