"""A whole fit of DBL² on poker-hand against scikit-learn's, to the same test log loss.

Ours is `DBLClassifier.paper(2).fit` on the table of categories as it is: encoding, planning,
counting and all iterations are timed. The target is the log loss of that model on the test half.

Theirs is `LogisticRegression(solver="lbfgs", C=100)` on a ready float32 CSR matrix of the one-hot
pairs; building the matrix is not timed. C = 1/λ is the same penalty of 0.01 on LR². It runs once
to its end while the coefficients after every iteration are kept, which costs it nothing to speak
of. Then the test log loss of each is computed, untimed, and k is the first iteration that reaches
the target. Because L-BFGS is deterministic, a fit with max_iter=k takes that very path; such fits
are timed in turn with ours, and the figure is the median of the ratios. If scikit-learn never
reaches the target, k is the iteration of its best test log loss and the ratio is a lower bound.

    python benchmarks/fit_speed.py
    python benchmarks/fit_speed.py --rows 100000 --repeats 5
"""

import argparse
import warnings
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np
from common import REPEATS, OneHot, Split, alternate, encode_categories, report, split
from numpy.typing import NDArray
from scipy import optimize, sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from deepbroad import DBLClassifier
from deepbroad.measures import measure

TARGET = 20


def fit_theirs(matrix: sparse.csr_matrix, y: NDArray[Any], max_iter: int) -> LogisticRegression:
    """Fit scikit-learn's model; that it stops at `max_iter` is meant."""
    # The tolerance is on the gradient's largest entry; the default stops before good losses.
    model = LogisticRegression(solver="lbfgs", C=100.0, tol=1e-7, max_iter=max_iter)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(matrix, y)


def record_path(
    matrix: sparse.csr_matrix, y: NDArray[Any], max_iter: int
) -> tuple[LogisticRegression, list[NDArray[np.float32]]]:
    """Fit scikit-learn's model and keep its coefficients after every iteration."""
    path: list[NDArray[np.float32]] = []
    minimize = optimize.minimize

    def record(*arguments: Any, **options: Any) -> Any:
        options["callback"] = lambda x: path.append(x.astype(np.float32))
        return minimize(*arguments, **options)

    with patch("scipy.optimize.minimize", record):
        model = fit_theirs(matrix, y, max_iter)
    return model, path


def find_iteration(
    model: LogisticRegression,
    path: list[NDArray[np.float32]],
    matrix: sparse.csr_matrix,
    data: Split,
    target: float,
) -> tuple[int, float]:
    """Return the first iteration whose test log loss reaches `target`, else the best, and it."""
    best, best_loss = 0, np.inf
    for iteration, flat in enumerate(path, start=1):
        # scikit-learn keeps the classes of one feature together, the intercept last.
        coefficients = flat.reshape((model.classes_.size, -1), order="F")
        model.coef_, model.intercept_ = coefficients[:, :-1], coefficients[:, -1]
        probabilities = model.predict_proba(matrix)
        loss = measure(data.y_test, probabilities, classes=model.classes_).log_loss
        if loss < best_loss:
            best, best_loss = iteration, loss
        if loss <= target:
            break
    return best, best_loss


def main() -> None:
    """Find the iterations that scikit-learn needs, then time both sides in turn."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, help="hands, default 1,025,010")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="timed rounds, default 5")
    parser.add_argument("--max-iter", type=int, default=1000, help="scikit-learn's, default 1000")
    chosen = parser.parse_args()
    data = split("poker-hand", rows=chosen.rows)
    ours = DBLClassifier.paper(2).fit(data.X_train, data.y_train)
    target = measure(data.y_test, ours.predict_proba(data.X_test), classes=ours.classes_).log_loss
    print(f"DBL²: test log loss {target:.5f} after {ours.n_iter_} iterations")

    codes = encode_categories(data.X_train)
    one_hot = OneHot(codes, n=2)
    train, test = one_hot.transform(codes), one_hot.transform(encode_categories(data.X_test))
    theirs, path = record_path(train, data.y_train, chosen.max_iter)
    needed, loss = find_iteration(theirs, path, test, data, target)
    reached = loss <= target
    print(
        f"scikit-learn: test log loss {loss:.5f} after {needed} of {len(path)} iterations"
        + ("" if reached else ", its best: it never reaches ours, so the ratio is a lower bound")
    )
    timing = alternate(
        lambda: DBLClassifier.paper(2).fit(data.X_train, data.y_train),
        lambda: fit_theirs(train, data.y_train, needed),
        repeats=chosen.repeats,
    )
    print(f"medians {median(timing.ours):.2f} s and {median(timing.theirs):.2f} s")
    found = f"{'' if reached else '≥ '}{timing.ratio:.1f}x ({timing.spread})"
    report("poker-hand, fit, n=2", found, f"≥ {TARGET}x", timing.ratio >= TARGET)


if __name__ == "__main__":
    main()
