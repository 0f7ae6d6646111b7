"""DBL³ with the paper's settings on wide or long tables, within 12 GiB.

Half of the rows train and half test (seed 0). Each data set has a process of its own, which prints
what the fit is estimated to need, then fits, and prints what it took: terms that were kept (where
the fit screens them), iterations and evaluations of loss and gradient, seconds per evaluation
(from the first iteration on, the solver's own work included) and of the whole fit (encoding and
planning included), the peak of the process's resident set, and error and RMSE on the test half.
Progress goes to stderr. After `--timeout` seconds a fit is stopped and what it has reached is
measured; a process that has not come to an end after twice that time and a minute is killed.

    python benchmarks/depth_three.py
    python benchmarks/depth_three.py --datasets connect-4 --max-iter 20 --timeout 300
    python benchmarks/depth_three.py --datasets poker-hand --tol 1e-7
"""

import argparse
import sys
import warnings
from math import comb
from time import perf_counter
from typing import Any, NamedTuple

from common import THREADS, Split, find_few, report, split
from process import GIBIBYTE, Outcome, run_in_child
from sklearn.exceptions import ConvergenceWarning
from watch import Watch

from deepbroad import DBLClassifier
from deepbroad.measures import Measures, measure

DATA = ("covertype", "census-income-kdd", "connect-4", "musk2", "kddcup99-10pct", "poker-hand")
LIMIT = 12 * GIBIBYTE
# Of a fit: libraries and both halves of the data take the rest.
FIT_LIMIT = "11.5GiB"
WARM_UP_ROWS_PER_CLASS = 50


class Figures(NamedTuple):
    """What one process sends back."""

    terms: int
    all_terms: int
    iterations: int
    evaluations: int
    seconds_per_evaluation: float
    estimated_seconds: float
    seconds: float
    status: str
    measures: Measures


def make_model(**options: Any) -> DBLClassifier:
    """Return DBL³ with the paper's settings."""
    model = DBLClassifier.paper(3)
    return model.set_params(n_jobs=THREADS, memory_limit=FIT_LIMIT, **options)


def print_estimate(name: str, data: Split) -> float:
    """Print what the fit will need and return its seconds per pass.

    They are not known (NaN) if the fit needs more than the machine's memory. It is tried all the
    same: it may do with fewer terms.
    """
    start = perf_counter()
    try:
        estimate = make_model().estimate(data.X_train, data.y_train)
    except MemoryError as error:
        print(f"{name}: no estimate: {error}", flush=True)
        return float("nan")
    print(f"{name}: {estimate} (estimated in {perf_counter() - start:.1f} s)", flush=True)
    return estimate.seconds_per_pass


def run(name: str, max_iter: int, tol: float, timeout: float | None) -> Figures:
    """Estimate, fit and measure in this process."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    data = split(name)
    few = find_few(data.y_train, WARM_UP_ROWS_PER_CLASS)
    # Of a few columns, since the kernels are the same and the terms of all would take their time.
    X_few = data.X_train.select(data.X_train.column_names[:6]).take(few)
    make_model(max_iter=1).fit(X_few, data.y_train[few])

    estimated_seconds = print_estimate(name, data)
    watch = Watch(name, timeout=timeout)
    model = make_model(max_iter=max_iter, tol=tol, callbacks=[watch])
    model.fit(data.X_train, data.y_train)
    seconds = watch.elapsed
    probabilities = model.predict_proba(data.X_test)
    all_terms = comb(data.X_train.num_columns, model.n)
    kept = getattr(model, "terms_", None)
    return Figures(
        terms=all_terms if kept is None else len(kept),
        all_terms=all_terms,
        iterations=model.n_iter_,
        evaluations=model.n_evaluations_,
        seconds_per_evaluation=watch.seconds_per_evaluation,
        estimated_seconds=estimated_seconds,
        seconds=seconds,
        status=model.status_,
        measures=measure(data.y_test, probabilities, classes=model.classes_, labels=data.labels),
    )


def print_outcome(name: str, outcome: Outcome) -> None:
    """Print what a fit took and reached, or how it ended, and its peak beside the target."""
    if outcome.status == "done":
        found: Figures = outcome.value
        ratio = found.seconds_per_evaluation / found.estimated_seconds
        print(
            f"{name}: {found.status} after {found.iterations} iterations and "
            f"{found.evaluations} evaluations of {found.seconds_per_evaluation:.3f} s "
            f"({ratio:.1f}x the estimate), {found.terms:,} of {found.all_terms:,} terms, "
            f"fit {found.seconds:.1f} s\n"
            f"{name}: error {found.measures.error:.4f}, RMSE {found.measures.rmse:.4f}"
        )
    else:
        print(f"{name}: {outcome.status}: {outcome.message}")
    reached = outcome.status == "done" and outcome.peak <= LIMIT
    found_peak = f"{outcome.peak_gibibytes} GiB, {outcome.status}"
    report(f"{name}, n=3, peak", found_peak, "≤ 12 GiB, done", reached)
    sys.stdout.flush()


def main() -> None:
    """Run the chosen data sets one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", choices=DATA, default=DATA, metavar="NAME")
    parser.add_argument("--max-iter", type=int, default=100, help="iterations, default 100")
    parser.add_argument("--tol", type=float, default=DBLClassifier().tol, help="of the solver")
    parser.add_argument("--timeout", type=float, help="seconds for each fit, default none")
    chosen = parser.parse_args()
    for name in chosen.datasets:
        last = None if chosen.timeout is None else 60 + 2 * chosen.timeout
        outcome = run_in_child(run, name, chosen.max_iter, chosen.tol, chosen.timeout, timeout=last)
        print_outcome(name, outcome)


if __name__ == "__main__":
    main()
