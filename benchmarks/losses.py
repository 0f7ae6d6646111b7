"""DBL² by each loss: error, RMSE, log loss and time to fit, beside the log loss's.

Two folds, stratified, as in `peers.py`. Tables and strength (1) are the same for all three; the
squared hinge fits twice or more, for its temperature. Ratios of times are of one run each.

    python benchmarks/losses.py
    python benchmarks/losses.py --datasets car nursery --alpha 0.1 --depth 1
"""

import argparse
import warnings
from time import perf_counter
from typing import Any

import numpy as np
from common import THREADS
from peers import FOLDS, split_fold
from sklearn.exceptions import ConvergenceWarning

from deepbroad import DBLClassifier
from deepbroad.measures import measure

DATA = ("car", "nursery", "adult", "connect-4", "tic-tac-toe", "splice", "vowel", "letter")
LOSSES = ("log_loss", "mse", "squared_hinge")


def fit_folds(name: str, **parameters: Any) -> tuple[np.ndarray, float]:
    """Return error, RMSE and log loss, means over the folds, and the seconds of the fits."""
    found, seconds = [], 0.0
    for fold in range(FOLDS):
        data = split_fold(name, fold)
        model = DBLClassifier(orders="exact", bins="mdl", **parameters)
        began = perf_counter()
        model.fit(data.X_train, data.y_train)
        seconds += perf_counter() - began
        probabilities = model.predict_proba(data.X_test)
        found.append(
            measure(data.y_test, probabilities, classes=model.classes_, labels=data.labels)
        )
    return np.mean(found, axis=0), seconds


def main() -> None:
    """Print a line per data set and loss."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", metavar="NAME", default=DATA)
    parser.add_argument("--alpha", type=float, default=1.0)
    parser.add_argument("--depth", type=int, default=2)
    parser.add_argument("--threads", type=int, default=THREADS)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(f"{'':12}{'':15}{'error':>8}{'RMSE':>8}{'log loss':>10}{'time':>8}")
    for name in chosen.datasets:
        given = {"n": chosen.depth, "alpha": chosen.alpha, "n_jobs": chosen.threads}
        # Uncounted: they compile, or load, the kernels.
        for loss in LOSSES:
            fit_folds(name, **given, loss=loss, max_iter=2)
        base = 0.0
        for loss in LOSSES:
            (error, rmse, log_loss), seconds = fit_folds(name, **given, loss=loss)
            base = base or seconds
            print(
                f"{name:12}{loss:15}{error:8.4f}{rmse:8.4f}{log_loss:10.4f}{seconds / base:7.1f}x",
                flush=True,
            )


if __name__ == "__main__":
    main()
