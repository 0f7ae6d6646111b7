"""Evaluations that LR² and DBL² need to reach nearly the same training loss.

Both fit the training half with the paper's λ = 0.01. "Training loss" is the objective F that each
minimises (data term plus penalty, per row), as `evaluation_curve_` records it at every evaluation
of loss and gradient, line searches included. The threshold is 1.01 × the larger of the two final
losses, which both reach; the figure is LR²'s count over DBL²'s. The paper claims more than 1.

    python benchmarks/convergence.py
    python benchmarks/convergence.py --only nursery
"""

import argparse
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from common import report, split
from sklearn.exceptions import ConvergenceWarning

from deepbroad import DBLClassifier, LRClassifier

DATA = ("poker-hand", "connect-4", "letter", "nursery")
MAX_ITER = 2000
# The paper's own solver: with preconditioning, LR² would have part of what DBL² brings along.
SOLVER: dict[str, Any] = {"solver": "lbfgs-plain", "max_iter": MAX_ITER, "tol": 1e-6}


def count_evaluations(curve: Sequence[float], threshold: float) -> int:
    """Return how many evaluations it took until the loss was at most `threshold`."""
    return int(np.argmax(np.asarray(curve) <= threshold)) + 1


def compare(name: str) -> None:
    """Fit both models on one data set and print the ratio of their counts."""
    data = split(name)
    models: dict[str, Any] = {
        "LR²": LRClassifier(n=2, alpha=1e-2, **SOLVER),
        "DBL²": DBLClassifier.paper(2).set_params(**SOLVER),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for model in models.values():
            model.fit(data.X_train, data.y_train)
    threshold = 1.01 * max(model.loss_curve_[-1] for model in models.values())
    counts = {
        label: count_evaluations(model.evaluation_curve_, threshold)
        for label, model in models.items()
    }
    for label, model in models.items():
        note = ", stopped by max_iter" if model.n_iter_ >= MAX_ITER else ""
        print(
            f"{name}, {label}: {counts[label]} evaluations to {threshold:.6f}; "
            f"final {model.loss_curve_[-1]:.6f} after {model.n_evaluations_}{note}"
        )
    ratio = counts["LR²"] / counts["DBL²"]
    report(f"{name}, evaluations of LR² over DBL²", f"{ratio:.2f}", "> 1", ratio > 1)


def main() -> None:
    """Compare on the chosen data sets."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=DATA, help="run one data set")
    only = parser.parse_args().only
    for name in [only] if only else DATA:
        compare(name)


if __name__ == "__main__":
    main()
