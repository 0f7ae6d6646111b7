"""Prediction of DBL² on the test half of poker-hand: rows per second, and against scikit-learn.

Two inputs: codes that are encoded already, and a pandas data frame of strings. The peer of both is
`LogisticRegression.predict_proba` on a ready float32 CSR matrix of the one-hot pairs (its
coefficients are from one iteration; their values do not matter for speed). Sides are timed in
turn; the figures are medians.

    python benchmarks/predict_speed.py
"""

import argparse
import warnings
from statistics import median

from common import Alternation, OneHot, alternate, encode_categories, report, split
from engine_side import predict_from_codes
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from deepbroad import DBLClassifier

MILLION = 1_000_000


def print_speed(what: str, rows: int, timing: Alternation, target: int) -> None:
    """Print rows per second beside the target, and the ratio to scikit-learn."""
    speed = rows / median(timing.ours) / MILLION
    found = f"{speed:.1f} million rows/s"
    report(f"poker-hand, n=2, {what}", found, f"≥ {target} million", speed >= target)
    print(f"  scikit-learn on its ready matrix takes {timing.ratio:.1f}x ({timing.spread}) as long")


def main() -> None:
    """Time both inputs in turn with scikit-learn."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, help="hands, default 1,025,010")
    parser.add_argument("--repeats", type=int, default=7, help="timed rounds, default 7")
    chosen = parser.parse_args()
    data = split("poker-hand", rows=chosen.rows)
    model = DBLClassifier.paper(2).fit(data.X_train, data.y_train)

    codes = encode_categories(data.X_train)
    one_hot = OneHot(codes, n=2)
    matrix = one_hot.transform(encode_categories(data.X_test))
    peer = LogisticRegression(max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        peer.fit(one_hot.transform(codes), data.y_train)

    frame = data.X_test.to_pandas().astype(str)
    inputs = (
        ("from codes", predict_from_codes(data.X_train, data.y_train, data.X_test, n=2), 20),
        ("from a frame of strings", lambda: model.predict_proba(frame), 1),
    )
    for what, ours, target in inputs:
        timing = alternate(ours, lambda: peer.predict_proba(matrix), repeats=chosen.repeats)
        print_speed(what, data.y_test.size, timing, target)


if __name__ == "__main__":
    main()
