"""What runs exported models in tests: databases, onnxruntime, and plain Python for JSON."""

import bisect
import datetime
import math
import sqlite3

import numpy as np
import pyarrow as pa
import pytest

import deepbroad

EPOCH = datetime.datetime(1970, 1, 1)


def run_sqlite(model, table, name="rows"):
    """Return (labels, probabilities) that SQLite finds for an Arrow table."""
    script = deepbroad.export(model, to="sql", dialect="sqlite", table=name)
    table = _number_rows(table)
    database = sqlite3.connect(":memory:")
    columns = ", ".join('"' + c.replace('"', '""') + '"' for c in table.column_names)
    database.execute(f'CREATE TABLE "{name.replace(chr(34), chr(34) * 2)}" ({columns})')
    marks = ", ".join("?" * table.num_columns)
    rows = [tuple(map(_plain, row)) for row in zip(*table.to_pydict().values(), strict=True)]
    database.executemany(
        f'INSERT INTO "{name.replace(chr(34), chr(34) * 2)}" VALUES ({marks})', rows
    )
    database.executescript(script.setup)
    return _split(model, database.execute(script.query).fetchall())


def run_duckdb(model, table, name="rows"):
    """Return (labels, probabilities) that DuckDB finds for an Arrow table."""
    duckdb = pytest.importorskip("duckdb")
    script = deepbroad.export(model, to="sql", dialect="duckdb", table=name)
    table = _number_rows(table)
    with duckdb.connect() as database:
        database.register("arrow_rows", table)
        quoted = name.replace('"', '""')
        database.execute(f'CREATE TABLE "{quoted}" AS SELECT * FROM arrow_rows')
        database.execute(script.setup)
        return _split(model, database.execute(script.query).fetchall())


def run_onnx(model, table):
    """Return (labels, probabilities) that onnxruntime finds for an Arrow table."""
    pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    data = deepbroad.export(model, to="onnx").SerializeToString()
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    feeds = {}
    for given in session.get_inputs():
        values = table[given.name].to_pylist()
        if given.type == "tensor(string)":
            column = np.array(["" if value is None else value for value in values], object)
        else:
            column = np.array([_number(value) for value in values])
        feeds[given.name] = column[:, None]
    label, probabilities = session.run(None, feeds)
    return label.tolist(), probabilities


def run_json(data, table):
    """Return (labels, probabilities) by the rules that `deepbroad.export.json` documents."""
    rows = zip(*table.to_pydict().values(), strict=True)
    names = table.column_names
    probabilities = [_score_row(data, dict(zip(names, row, strict=True))) for row in rows]
    labels = [data["classes"][p.index(max(p))] for p in probabilities]
    return labels, np.array(probabilities)


def _score_row(data, row):
    codes = [_code(column, row[column["attribute"]]) for column in data["columns"]]
    sums = [0.0] * len(data["intercept"])
    for term in data["terms"]:
        own = [codes[place] for place in term["columns"]]
        if None in own:
            continue
        effects = {tuple(at): scores for at, scores in term["effects"]}
        found = effects.get(tuple(own), term["otherwise"])
        sums = [a + b for a, b in zip(sums, found, strict=True)]
    if data["rescaling"] is not None:
        factor = data["rescaling"][codes.count(None)]
        sums = [factor * s for s in sums]
    scores = [0.0, *(a + b for a, b in zip(data["intercept"], sums, strict=True))]
    odds = [math.exp(score - max(scores)) for score in scores]
    return [o / sum(odds) for o in odds]


def _code(column, value):
    if isinstance(value, datetime.date):
        value = _number(value)
    if value is None or value != value:
        return column["unknown"]
    if column["kind"] == "number":
        return bisect.bisect_right(column["cuts"], value)
    return column["values"].index(value) if value in column["values"] else column["unknown"]


def _number(value):
    if value is None:
        return math.nan
    if isinstance(value, datetime.date):
        midnight = datetime.datetime(value.year, value.month, value.day)
        return (midnight - EPOCH) / datetime.timedelta(microseconds=1)
    return float(value)


def _plain(value):
    """Return a value as SQLite takes it."""
    if isinstance(value, datetime.date):
        return value.isoformat()
    return value


def _number_rows(table):
    """Add a number to each row, since databases need not keep their order."""
    return table.append_column("own number", pa.array(range(table.num_rows)))


def _split(model, rows):
    n = len(model.classes_)
    rows = sorted(rows, key=lambda row: row[-n - 2])
    return [row[-n - 1] for row in rows], np.array([row[-n:] for row in rows], float)


def assert_agrees(found, model, table, tolerance=1e-5):
    """Labels and probabilities are those of Python."""
    labels, probabilities = found
    expected = model.predict_proba(table)
    np.testing.assert_allclose(probabilities, expected, rtol=0, atol=tolerance)
    np.testing.assert_allclose(np.sum(probabilities, axis=1), 1.0, atol=1e-6)
    # Two classes that are as probable may change places by rounding.
    ranked = np.sort(expected, axis=1)
    clear = ranked[:, -1] - ranked[:, -2] > 1e-4
    # SQLite has 0 and 1 for booleans.
    kind = bool if model.classes_.dtype == bool else None
    np.testing.assert_array_equal(np.array(labels, kind)[clear], model.predict(table)[clear])
