"""Depth: a poker hand hides from single cards and shows in pairs of them.

python examples/poker_hands.py [ROWS]
"""

import sys

from deepbroad import AnJEClassifier, LRClassifier
from deepbroad.datasets import poker_hand

rows = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
X, y = poker_hand(rows, seed=0, return_X_y=True)
half = rows // 2
train, test = X.slice(0, half), X.slice(half)

for n in (1, 2):
    for model in (AnJEClassifier(n=n), LRClassifier(n=n)):
        model.fit(train, y[:half])
        error = 1 - model.score(test, y[half:])
        print(f"{type(model).__name__:15} n = {n}: {len(model.terms_):3} tuples, error {error:.4f}")
