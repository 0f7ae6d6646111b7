"""SQL gives the probabilities of Python, whatever is in the table."""

import sqlite3

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings

import deepbroad
from deepbroad import AnDEClassifier, AnJEClassifier, LRClassifier
from deepbroad.export.dialects import DIALECTS, fold
from deepbroad.export.query import name_probabilities
from tests.export.engines import assert_agrees, run_duckdb, run_sqlite
from tests.export.small_models import compact_model, cut_model, fitted, nested_model

ENGINES = {"duckdb": run_duckdb, "sqlite": run_sqlite}
each_engine = pytest.mark.parametrize("run", ENGINES.values(), ids=list(ENGINES))


@each_engine
@settings(max_examples=40)
@given(case=fitted())
def test_probabilities_are_those_of_python(run, case):
    assert_agrees(run(case.model, case.table), case.model, case.table)


@each_engine
def test_compact_tables_use_the_shared_cell(run):
    model, table = compact_model()
    assert_agrees(run(model, table), model, table)


@each_engine
def test_the_table_may_have_any_name_and_other_columns(run):
    table = pa.table({"x": ["a", "b", "a", "b"], "z": [1.0, 2.0, 3.0, 4.0]})
    model = AnJEClassifier(n=1).fit(table, [0, 1, 0, 1])
    wide = pa.table({"id": [7, 8, 9, 6], "z": table["z"], "r": [0] * 4, "x": table["x"]})
    found = run(model, wide, name='my "rows"; --')
    assert_agrees(found, model, wide.select(["x", "z"]))


@each_engine
def test_a_number_on_a_cut_is_in_the_bin_above(run):
    model, table = cut_model()
    assert_agrees(run(model, table), model, table)


@each_engine
def test_several_resolutions_of_a_number_are_all_looked_up(run):
    model, table = nested_model()
    assert_agrees(run(model, table), model, table)


@each_engine
def test_many_classes_need_no_deep_expression(run):
    y = np.arange(600) % 150
    table = pa.table({"x": pa.array((y % 7).astype(str)), "z": pa.array((y % 11).astype(str))})
    model = AnJEClassifier(n=1).fit(table, y)
    assert_agrees(run(model, table), model, table)


@each_engine
def test_extreme_scores_neither_overflow_nor_underflow(run):
    table = pa.table({f"x{i}": ["a", "b"] * 3 for i in range(40)})
    model = AnJEClassifier(n=1, smoothing=1e-9).fit(table, [0, 1] * 3)
    assert_agrees(run(model, table), model, table)


TIMES = {
    "moment": pa.array([0, 1, 2, 10**9, 10**9 + 1, None], pa.timestamp("s")),
    "day": pa.array([0, 1, 18_000, 18_001, 20_000, None], pa.date32()),
    "hour": pa.array([0, 3600, 7200, 7260, 86_000, None], pa.time32("s")),
    "wait": pa.array([1, 5, 60, 3600, 86_400, None], pa.duration("s")),
}


@pytest.mark.parametrize("categorical", [False, True], ids=["bins", "categories"])
@pytest.mark.parametrize("name", TIMES)
def test_times_are_read_by_duckdb(name, categorical):
    values = TIMES[name].slice(0, 5)
    table = pa.table({name: pa.concat_arrays([values] * 4)})
    y = [0, 0, 1, 1, 0] * 4
    model = AnJEClassifier(n=1, categorical_features=[name] if categorical else None).fit(table, y)
    scored = pa.table({name: TIMES[name]})
    assert_agrees(run_duckdb(model, scored), model, scored)
    assert np.ptp(model.predict_proba(scored)[:, 0]) > 0.1


def test_times_are_text_in_sqlite():
    moments = ["2001-09-09 01:46:40", "2001-09-09 01:46:40.250", "2001-09-10", "1969-12-31"]
    hours = ["00:00:00", "01:30:00", "12:00", "23:59:59.500"]
    table = pa.table(
        {
            "moment": pa.array(np.array(moments * 3, "M8[ms]")),
            "hour": pa.array([0, 5_400_000, 43_200_000, 86_399_500] * 3, pa.time32("ms")),
        }
    )
    model = AnJEClassifier(n=1, categorical_features=["moment", "hour"])
    model.fit(table, [0, 1, 1, 0] * 3)
    script = deepbroad.export(model, to="sql", dialect="sqlite")
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE rows (moment TEXT, hour TEXT)")
    database.executemany("INSERT INTO rows VALUES (?, ?)", zip(moments, hours, strict=True))
    database.executescript(script.setup)
    found = [row[-2:] for row in database.execute(script.query)]
    np.testing.assert_allclose(found, model.predict_proba(table.slice(0, 4)), atol=1e-5)


def test_sqlite_tells_letters_of_different_case_apart():
    table = pa.table({"x": ["a", "A"] * 5})
    model = AnJEClassifier(n=1).fit(table, [0, 1] * 5)
    script = deepbroad.export(model, to="sql", dialect="sqlite")
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE rows (x TEXT COLLATE NOCASE)")
    database.executemany("INSERT INTO rows VALUES (?)", [("a",), ("A",)])
    database.executescript(script.setup)
    assert [row[2] for row in database.execute(script.query)] == [0, 1]


def test_sqlite_has_no_durations():
    table = pa.table({"wait": pa.array([1, 5, 60, 3600], pa.duration("s"))})
    model = AnJEClassifier(n=1).fit(table, [0, 0, 1, 1])
    with pytest.raises(ValueError, match="SQLite has no durations"):
        deepbroad.export(model, to="sql", dialect="sqlite")


def test_more_classes_than_columns_are_refused():
    y = np.arange(1600)
    model = AnJEClassifier(n=1).fit(pa.table({"x": (y % 3).astype(str)}), y)
    with pytest.raises(ValueError, match="1,600 classes"):
        deepbroad.export(model, to="sql", dialect="postgresql")


def test_numbers_of_sqlite_may_be_text():
    table = pa.table({"z": [1.0, 2.0, 3.0, None] * 5})
    y = [0, 0, 1, 1] * 5
    model = LRClassifier(n=1).fit(table, y)
    script = deepbroad.export(model, to="sql", dialect="sqlite")
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE rows (z TEXT)")
    database.executemany("INSERT INTO rows VALUES (?)", [("1",), ("3.0",), ("?",), ("",), (None,)])
    database.executescript(script.setup)
    found = [row[-1] for row in database.execute(script.query)]
    expected = model.predict_proba(pa.table({"z": [1.0, 3.0, None, None, None]}))[:, 1]
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_a_script_can_be_run_twice():
    model, _ = compact_model()
    script = deepbroad.export(model, to="sql", dialect="sqlite")
    database = sqlite3.connect(":memory:")
    for _ in range(2):
        database.executescript(script.setup)
    names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    assert sorted(name for (name,) in names) == ["deepbroad_effects", "deepbroad_values"]


def test_a_file_holds_tables_and_query(tmp_path):
    model, _ = compact_model()
    path = tmp_path / "model.sql"
    options = {"to": "sql", "dialect": "postgresql", "table": ("public", "rows"), "prefix": "m"}
    assert deepbroad.export(model, path, **options) is None
    script = deepbroad.export(model, **options)
    assert path.read_text() == str(script)
    assert '"public"."rows"' in script.query
    assert 'CREATE TABLE "m_effects"' in script.setup


@pytest.mark.parametrize("dialect", DIALECTS)
def test_text_that_sql_cannot_hold_is_refused(dialect):
    model = AnJEClassifier(n=1).fit(pa.table({"x": ["a\0b", "c"]}), [0, 1])
    with pytest.raises(ValueError, match="SQL cannot hold the text"):
        deepbroad.export(model, to="sql", dialect=dialect)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_column_or_table_without_a_name_is_refused(dialect):
    model = AnJEClassifier(n=1).fit(pa.table({"": ["a", "b"]}), [0, 1])
    with pytest.raises(ValueError, match="without a name"):
        deepbroad.export(model, to="sql", dialect=dialect)
    model = AnJEClassifier(n=1).fit(pa.table({"x": ["a", "b"]}), [0, 1])
    with pytest.raises(ValueError, match="without a name"):
        deepbroad.export(model, to="sql", dialect=dialect, table="")


def test_values_that_look_the_same_are_refused():
    X = np.array([[1], ["1"], ["b"], [1]], dtype=object)
    model = AnJEClassifier(n=1).fit(X, [0, 1, 0, 1])
    with pytest.raises(ValueError, match="differ in type alone"):
        deepbroad.export(model, to="sql")


@pytest.mark.parametrize(
    ("options", "message"),
    [({"to": "cobol"}, "sql, onnx, json"), ({"dialect": "oracle"}, "duckdb, postgresql, sqlite")],
)
def test_unknown_targets_are_refused_with_those_there_are(options, message):
    model = AnJEClassifier(n=1).fit([["a"], ["b"]], [0, 1])
    with pytest.raises(ValueError, match=message):
        deepbroad.export(model, **options)


@pytest.mark.parametrize("to", ["sql", "onnx", "json"])
def test_a_model_that_is_no_sum_is_refused(to):
    model = AnDEClassifier(n=1).fit([["a", "p"], ["b", "q"]], [0, 1])
    with pytest.raises(TypeError, match="no sum of tables"):
        deepbroad.export(model, to=to)


def test_folding_keeps_all_items_in_order():
    items = [str(i) for i in range(1001)]
    folded = fold(items, lambda some: "(" + "+".join(some) + ")", 7)
    assert folded.replace("(", "").replace(")", "") == "+".join(items)


def test_names_of_probabilities_differ_for_every_database():
    names = name_probabilities(["a", "A", "ü" * 40, "ü" * 41, "a, class 1"])
    assert len({name.lower() for name in names}) == 5
    assert max(len(name.encode()) for name in names) <= 63
    assert names[0] == "P(a)"
