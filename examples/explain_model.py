"""What a model learned, and why it says what it says of a row. Pictures need the extra `report`.

python examples/explain_model.py [ROWS]
"""

import sys

import numpy as np
from survey import draw_survey

from deepbroad import DBLClassifier

rows = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
table = draw_survey(rows)
X, y = table.drop_columns("income"), table["income"].to_numpy()
model = DBLClassifier(n=2).fit(X, y)

explanation = model.explain()
print("most important effects:")
for effect in explanation.importances.slice(0, 5).to_pylist():
    print(f"  {effect['effect']:16} {effect['importance']:.3f}  ({effect['share']:.0%})")

rows_explained = model.explain(X.slice(0, 3))
print("\nthe first row, effect by effect:")
for effect in rows_explained.to_arrow(row=0).slice(0, 5).to_pylist():
    print(f"  {effect['values']:40} {effect['log odds of high']:+.3f}")
difference = rows_explained.of_class("low").sum(axis=1) - model.decision_function(X.slice(0, 3))
print(f"\nthey sum to its log odds: off by {np.abs(difference).max():.0e}")

try:
    explanation.plot().savefig("importances.png")
    explanation.plot("work", "hours", label="high").savefig("work-hours.png")
    rows_explained.plot(row=0, label="high").savefig("row.png")
    print("wrote importances.png, work-hours.png and row.png")
except ImportError as error:
    print(error)
