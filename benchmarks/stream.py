"""One pass of partial_fit over a table in batches, against a fit to all its rows.

Half of the rows train, in random order, and half test (seed 0). For each data set and model it
prints the log loss on the test half of the fit, of the stream and of a fit to the first batch
alone, their ratio to that of the fit, the error of fit and stream, and the seconds of both. Cut
points of numbers are those of the first batch in a stream, which costs some sets more than the
rest: poker-hand and connect-4 have no numbers.

    python benchmarks/stream.py
    python benchmarks/stream.py --datasets connect-4 --batches 100
"""

import argparse
import warnings
from time import perf_counter

import numpy as np
from common import THREADS, Split, split
from sklearn.base import clone

from deepbroad import AnJEClassifier, DBLClassifier, LRClassifier

DATA = {"connect-4": 10.0, "poker-hand": 1.0, "adult": 30.0}
BATCHES = 20


def log_loss(model, data: Split) -> float:
    """Return the mean of -log P of the classes of the test half; a class unknown has 1e-6."""
    proba, known = model.predict_proba(data.X_test), {c: i for i, c in enumerate(model.classes_)}
    places = np.array([known.get(y, -1) for y in data.y_test])
    found = np.where(places >= 0, proba[np.arange(len(places)), places], 1e-6)
    return float(-np.log(np.maximum(found, 1e-15)).mean())


def run(name: str, alpha: float, batches: int) -> None:
    """Print a line for each model."""
    data = split(name)
    order = np.random.default_rng(0).permutation(len(data.y_train))
    parts = np.array_split(order, batches)
    classes = np.unique(data.y_train)
    for model in (
        AnJEClassifier(n=2, n_jobs=THREADS),
        DBLClassifier(n=2, alpha=alpha, orders="exact", n_jobs=THREADS),
        LRClassifier(n=2, alpha=alpha, n_jobs=THREADS),
    ):
        begin = perf_counter()
        whole = clone(model).fit(data.X_train, data.y_train)
        seconds = perf_counter() - begin
        first = clone(model).fit(data.X_train.take(parts[0]), data.y_train[parts[0]])
        stream, begin = clone(model), perf_counter()
        for rows in parts:
            stream.partial_fit(data.X_train.take(rows), data.y_train[rows], classes=classes)
        streamed = perf_counter() - begin
        losses = [log_loss(one, data) for one in (whole, stream, first)]
        errors = [1 - one.score(data.X_test, data.y_test) for one in (whole, stream)]
        print(
            f"{name:12} {type(model).__name__:15} log loss: fit {losses[0]:.4f}, "
            f"stream {losses[1]:.4f} (x{losses[1] / losses[0]:.3f}), "
            f"first batch {losses[2]:.4f} (x{losses[2] / losses[0]:.3f}); "
            f"error {errors[0]:.4f} and {errors[1]:.4f}; {seconds:.1f} s and {streamed:.1f} s",
            flush=True,
        )


def main() -> None:
    """Run the data sets that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="*", default=list(DATA))
    parser.add_argument("--batches", type=int, default=BATCHES)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in arguments.datasets:
        run(name, DATA.get(name, 10.0), arguments.batches)


if __name__ == "__main__":
    main()
