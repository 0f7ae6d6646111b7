"""Models in the languages of other systems: SQL, ONNX and JSON."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

FORMATS = ("sql", "onnx", "json")


def export(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    to: str = "sql",
    dialect: str = "duckdb",
    table: str | Sequence[str] = "rows",
    prefix: str = "deepbroad",
) -> Any:
    """Write a fitted model so that it predicts without Python.

    Probabilities agree with `predict_proba` to 1e-5, also for missing values and for values that
    training never saw.

    Parameters
    ----------
    model : AnJEClassifier, DBLClassifier, LRClassifier, KDBClassifier or TANClassifier
        Fitted.
    path : str, os.PathLike or None, default=None
        The file to write, in place of an older one; None to return the model instead.
    to : {"sql", "onnx", "json"}, default="sql"
        - "sql": a script of tables that hold the model, and at its end one SELECT that gives each
          row of `table` its ``prediction`` and the probability of each class, ``"P(label)"``,
          beside its own columns and a number. NULL is missing.
        - "onnx": a graph of standard operators. Each attribute that the model looks at is an input
          of shape [N, 1] under its name: text as strings, missing being the empty string; anything
          else in double precision, missing being NaN, booleans 0 and 1, and dates, times and
          durations in microseconds (since 1970, since midnight). Outputs are ``label`` and
          ``probabilities``. Needs the extra ``onnx``.
        - "json": plain data, which `deepbroad.export.json` documents.
    dialect : {"duckdb", "postgresql", "sqlite"}, default="duckdb"
        For SQL: the database. PostgreSQL from version 12; SQLite from 3.38, with its mathematical
        functions.
    table : str or sequence of str, default="rows"
        For SQL: the table or view to score, or the names of its schema and itself.
    prefix : str, default="deepbroad"
        For SQL: what the names of the model's tables begin with.

    Returns
    -------
    exported : SqlScript, onnx.ModelProto, dict or None
        The model if `path` is None. A script has the parts ``setup`` and ``query``.

    Raises
    ------
    TypeError
        If the model is no sum of tables, as AnDE is not.
    ImportError
        If "onnx" is asked for and not installed.

    See Also
    --------
    deepbroad.save : Files from which Python reads the model back.

    Examples
    --------
    >>> import sqlite3, deepbroad
    >>> X = [["sunny", "hot"], ["sunny", "cool"], ["rain", "cool"], ["rain", "hot"]]
    >>> model = deepbroad.AnJEClassifier(n=2).fit(X, ["no", "yes", "yes", "no"])
    >>> script = deepbroad.export(model, to="sql", dialect="sqlite", table="weather")
    >>> database = sqlite3.connect(":memory:")
    >>> _ = database.execute("CREATE TABLE weather (x0 TEXT, x1 TEXT)")
    >>> _ = database.execute("INSERT INTO weather VALUES ('rain', 'cool')")
    >>> _ = database.executescript(script.setup)
    >>> [row[3] for row in database.execute(script.query)]
    ['yes']
    """
    from deepbroad.export.effects import Effects

    if to not in FORMATS:
        raise ValueError(f"to must be one of {', '.join(FORMATS)}; got {to!r}.")
    effects = Effects.of(model)
    if to == "sql":
        from deepbroad.export.sql import write_sql

        script = write_sql(effects, dialect=dialect, table=table, prefix=prefix)
        return script if path is None else _write(path, str(script).encode())
    if to == "json":
        from deepbroad.export.json import dump_json, write_json

        data = write_json(effects)
        return data if path is None else _write(path, dump_json(data))
    from deepbroad.export.onnx import write_onnx

    graph = write_onnx(effects)
    return graph if path is None else _write(path, graph.SerializeToString())


def _write(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file, whole or not at all."""
    from deepbroad.engine.tensor_file import write_atomically

    target = Path(os.path.realpath(path))  # a link stays a link
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {str(target.parent)!r} to write to.")
    write_atomically(target, lambda file: file.write(data))
