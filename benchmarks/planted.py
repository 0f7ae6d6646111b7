"""A class that only k attributes together decide: their sum mod 3, among 12 of 3 values each.

200,000 rows (seed 0), half train and half test. Depth k must learn it, depth k - 1 cannot: any
k - 1 of the attributes tell nothing about the class.

    python benchmarks/planted.py
"""

import warnings

import numpy as np
import pyarrow as pa
from common import report
from sklearn.exceptions import ConvergenceWarning

from deepbroad import DBLClassifier

ROWS, ATTRIBUTES, VALUES = 200_000, 12, 3


def main() -> None:
    """Print the test error of depths k - 1 and k for k = 4 and 5."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    codes = np.random.default_rng(0).integers(0, VALUES, (ROWS, ATTRIBUTES))
    X = pa.table({f"a{i}": codes[:, i].astype(str) for i in range(ATTRIBUTES)})
    half = ROWS // 2
    for k in (4, 5):
        y = codes[:, :k].sum(axis=1) % VALUES
        for n in (k - 1, k):
            model = DBLClassifier(n=n, alpha=1.0, max_iter=100).fit(X.slice(0, half), y[:half])
            error = 1 - model.score(X.slice(half), y[half:])
            target, met = ("< 0.05", error < 0.05) if n == k else ("near 0.667", error > 0.6)
            report(f"planted k={k}, n={n}, error", f"{error:.4f}", target, met)


if __name__ == "__main__":
    main()
