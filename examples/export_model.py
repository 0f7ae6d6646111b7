"""Models that predict without Python: one SQL query, run here in SQLite, and plain JSON.

python examples/export_model.py [ROWS]
"""

import sqlite3
import sys

import numpy as np
from survey import draw_survey

import deepbroad
from deepbroad import DBLClassifier

rows = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000
table = draw_survey(rows)
X, y = table.drop_columns("income"), table["income"].to_numpy()
model = DBLClassifier(n=2).fit(X, y)

script = deepbroad.export(model, to="sql", dialect="sqlite", table="people")
database = sqlite3.connect(":memory:")
database.execute("CREATE TABLE people (age REAL, education TEXT, work TEXT, hours REAL, region)")
some = X.slice(0, 100)
values = [tuple(row.values()) for row in some.to_pylist()]
database.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?)", values)
database.executescript(script.setup)
cursor = database.execute(script.query)
names = [column[0] for column in cursor.description]
found = np.array([row[names.index("P(high)")] for row in cursor])
expected = model.predict_proba(some)[:, list(model.classes_).index("high")]
print(f"SQLite and Python differ by {np.abs(found - expected).max():.0e} at most")

deepbroad.export(model, "people.json", to="json")
deepbroad.export(model, "people.sql", to="sql", dialect="duckdb", table="people")
print("wrote people.json and people.sql")
