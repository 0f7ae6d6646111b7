"""From a mixed table to probabilities: nothing is prepared, nothing is tuned.

python examples/first_model.py [ROWS]
"""

import sys

from survey import draw_survey

import deepbroad
from deepbroad import AnJEClassifier, DBLClassifier
from deepbroad.measures import measure

rows = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
table = draw_survey(rows)
X, y = table.drop_columns("income"), table["income"].to_numpy()
half = rows // 2
train, test = X.slice(0, half), X.slice(half)

model = DBLClassifier()
print("before:", model.estimate(train, y[:half]))
model.fit(train, y[:half])
print(model.recipe_)
for name, fitted in {
    "DBL": model,
    "naive Bayes": AnJEClassifier(n=1).fit(train, y[:half]),
}.items():
    found = measure(y[half:], fitted.predict_proba(test), classes=fitted.classes_)
    print(f"{name:12} error {found.error:.4f}  log loss {found.log_loss:.4f}")

deepbroad.save(model, "survey.dbl")
print("again:", deepbroad.load("survey.dbl").predict(test.slice(0, 5)))
