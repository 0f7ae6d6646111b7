"""DBL² on sparse matrices: thousands of binary columns, few of them 1 in any row.

The class follows from four single columns and from three pairs, each pair deciding by whether its
two columns are equal, which neither tells alone. Those ten columns are 1 in half of the rows; the
rest, which tell nothing, share the other ones evenly. Rows are drawn afresh for the test, and the
Bayes error is known.

Two parts, each in a process of its own and through the public names only:

1. A fit to 20,000 × 5,000 with 1 % ones: estimate, seconds per evaluation and of the whole fit,
   peak of the resident set, and test error beside the Bayes error and that of scikit-learn's
   `LogisticRegression` on the single columns.
2. Seconds per row of an evaluation as the ones grow in 1,000 columns (10, 20 and 40 in a row), and
   as the columns grow with 20 ones per row (500, 1,000 and 2,000). An evaluation has a part that
   goes with the rows and one that goes with the parameters, four per pair of columns whatever the
   rows; so the time per row is the difference between an evaluation over nine times the rows and
   one over three times, divided by the difference in rows. (In fewer rows not all pairs are seen,
   so that the part of the parameters would grow as well.) That part is printed too.
   Fits are stopped after a few iterations; all cases take turns, the first evaluation of each fit
   is not counted, and the figures are medians over the rounds. Time per row must follow the ones
   and not the width.

    python benchmarks/sparse_wide.py
    python benchmarks/sparse_wide.py --rows 2000 --columns 200 --density 0.1   # a quick look
"""

import argparse
import sys
import warnings
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from common import THREADS, report
from numpy.typing import NDArray
from process import Outcome, run_in_child
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from watch import Watch

from deepbroad import DBLClassifier

SINGLES = (0, 1, 2, 3)
PAIRS = ((4, 5), (6, 7), (8, 9))
PLANTED = len(SINGLES) + 2 * len(PAIRS)
# At 1 % no two columns would meet often enough in 20,000 rows for anyone to learn from it.
PLANTED_DENSITY = 0.5
SINGLE_EFFECT, PAIR_EFFECT = 1.5, 2.0
ITERATIONS = 3
ROUNDS = 3
# Times the rows that evaluations are timed over.
FEWER, MORE = 3, 9
# Largest growth of the time, where the width and so the number of pairs grow by 4 and 16.
WIDTH_TARGET = 1.5
# Least growth, where the ones and so the pairs of ones grow by 4 and 16.
ONES_TARGET = 2.0


class Shape(NamedTuple):
    """Size of a matrix, and the mean number of ones in a row."""

    rows: int
    columns: int
    ones: float


class Sample(NamedTuple):
    """A matrix, its classes, and the error that the best of all classifiers makes on its rows."""

    X: sparse.csr_matrix
    y: NDArray[np.int64]
    bayes_error: float


class Figures(NamedTuple):
    """What the fit of the first part sends back."""

    seconds: float
    evaluations: int
    seconds_per_evaluation: float
    status: str
    error: float
    logistic_error: float
    bayes_error: float


def draw(shape: Shape, seed: int) -> Sample:
    """Draw rows and their classes."""
    rng = np.random.default_rng(seed)
    planted = rng.random((shape.rows, PLANTED)) < PLANTED_DENSITY
    density = (shape.ones - PLANTED * PLANTED_DENSITY) / (shape.columns - PLANTED)
    if not 0 <= density <= 1:
        sys.exit(f"{shape.ones:g} ones in {shape.columns} columns: the ten planted hold 5 of them.")
    noise = sparse.random_array(
        (shape.rows, shape.columns - PLANTED),
        density=density,
        format="csr",
        rng=rng,
        data_sampler=lambda size: np.ones(size),
    )
    log_odds = SINGLE_EFFECT * (2.0 * planted[:, SINGLES] - 1).sum(axis=1)
    for left, right in PAIRS:
        log_odds += PAIR_EFFECT * np.where(planted[:, left] == planted[:, right], 1, -1)
    p = 1 / (1 + np.exp(-log_odds))
    y = (rng.random(shape.rows) < p).astype(np.int64)
    X = sparse.csr_matrix(sparse.hstack([planted.astype(np.float64), noise]))
    return Sample(X, y, float(np.minimum(p, 1 - p).mean()))


def make_model(min_count: float, **options: Any) -> DBLClassifier:
    """Return the model of both parts."""
    return DBLClassifier(n=2, alpha=1.0, min_count=min_count, n_jobs=THREADS, **options)


def fit_planted(shape: Shape, min_count: float, max_iter: int | None) -> Figures:
    """Fit the planted rows in this process, and measure on fresh ones."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    train, test = draw(shape, seed=0), draw(shape, seed=1)
    few = draw(Shape(200, 2 * PLANTED, PLANTED), seed=2)
    make_model(min_count, max_iter=1).fit(few.X, few.y)
    print(f"fit: {make_model(min_count).estimate(train.X, train.y)}", flush=True)
    watch = Watch()
    model = make_model(min_count, callbacks=[watch])
    if max_iter is not None:
        model.set_params(max_iter=max_iter)
    model.fit(train.X, train.y)
    seconds = watch.elapsed
    logistic = LogisticRegression(max_iter=1000).fit(train.X, train.y)
    return Figures(
        seconds=seconds,
        evaluations=model.n_evaluations_,
        seconds_per_evaluation=watch.seconds_per_evaluation,
        status=model.status_,
        error=1 - model.score(test.X, test.y),
        logistic_error=1 - logistic.score(test.X, test.y),
        bayes_error=test.bayes_error,
    )


class Pace(NamedTuple):
    """Seconds of an evaluation per row, and those that rows do not matter to."""

    row: float
    fixed: float


def time_shapes(shapes: list[Shape], min_count: float, rounds: int) -> list[list[Pace]]:
    """Return the pace of an evaluation, (rounds, shapes), all shapes taking turns."""
    pairs = [
        [draw(shape._replace(rows=more * shape.rows), seed=0) for more in (FEWER, MORE)]
        for shape in shapes
    ]
    times: list[list[Pace]] = []
    for _ in range(1 + rounds):
        times.append([])
        for shape, samples in zip(shapes, pairs, strict=True):
            few, many = (time_evaluation(sample, min_count) for sample in samples)
            row = (many - few) / ((MORE - FEWER) * shape.rows)
            times[-1].append(Pace(row, few - row * FEWER * shape.rows))
    return times[1:]  # the first round warms up


def time_evaluation(sample: Sample, min_count: float) -> float:
    """Return the seconds of an evaluation in a fit of a few iterations."""
    watch = Watch(iterations=ITERATIONS)
    make_model(min_count, callbacks=[watch]).fit(sample.X, sample.y)
    return watch.seconds_per_evaluation


def print_fit(outcome: Outcome) -> None:
    """Print what the fit took and reached beside the targets."""
    if outcome.status != "done":
        print(f"fit: {outcome.message}")
        report("fit", outcome.status, "done", False)
        return
    found: Figures = outcome.value
    print(
        f"fit: {found.status} after {found.evaluations} evaluations of "
        f"{found.seconds_per_evaluation:.3f} s, {found.seconds:.1f} s in all, peak "
        f"{outcome.peak_gibibytes} GiB"
    )
    print(
        f"fit: error {found.error:.4f}; LogisticRegression on the single columns "
        f"{found.logistic_error:.4f}, Bayes {found.bayes_error:.4f}"
    )
    report("fit", "done", "done", True)


def print_growth(shapes: list[Shape], outcome: Outcome) -> None:
    """Print times per row, and how they grow with the ones (0 to 2) and the width (3 to 5)."""
    if outcome.status != "done":
        print(f"growth: {outcome.message}")
        report("growth", outcome.status, "done", False)
        return
    rounds: list[list[Pace]] = outcome.value
    for place, shape in enumerate(shapes):
        row = median(times[place].row for times in rounds)
        fixed = median(times[place].fixed for times in rounds)
        what = f"{shape.ones:g} ones in {shape.columns:,} columns"
        print(f"{what:<36}{row * 1e6:>10.2f} µs per row and evaluation, {fixed:.3f} s beside")
    ones = median(times[2].row / times[0].row for times in rounds)
    width = median(times[5].row / times[3].row for times in rounds)
    report("4x the ones, same width", f"{ones:.2f}x", f"≥ {ONES_TARGET}x", ones >= ONES_TARGET)
    report("4x the width, same ones", f"{width:.2f}x", f"≤ {WIDTH_TARGET}x", width <= WIDTH_TARGET)


def main() -> None:
    """Run both parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000, help="default 20,000")
    parser.add_argument("--columns", type=int, default=5_000, help="at most, default 5,000")
    parser.add_argument("--density", type=float, default=0.01, help="share of ones, default 0.01")
    parser.add_argument("--min-count", type=float, default=1, help="of our model, default 1")
    parser.add_argument("--max-iter", type=int, help="of the fit, default the model's own")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="timed rounds, default 3")
    parser.add_argument("--timeout", type=float, help="seconds for each part, default none")
    parser.add_argument("--only", choices=("fit", "growth"), help="run one part")
    chosen = parser.parse_args()
    rows, columns, min_count = chosen.rows, chosen.columns, chosen.min_count
    ones = columns * chosen.density
    if chosen.only != "growth":
        shape = Shape(rows, columns, ones)
        arguments = (shape, min_count, chosen.max_iter)
        print_fit(run_in_child(fit_planted, *arguments, timeout=chosen.timeout))
    if chosen.only != "fit":
        # A fifth of the columns: 5,000 of them have 100 million parameters, a fit takes minutes.
        shapes = [Shape(rows, columns // 5, ones * share) for share in (0.2, 0.4, 0.8)]
        shapes += [Shape(rows, columns // share, 0.4 * ones) for share in (10, 5)]
        shapes.append(Shape(rows, 2 * columns // 5, 0.4 * ones))
        arguments = (shapes, min_count, chosen.rounds)
        print_growth(shapes, run_in_child(time_shapes, *arguments, timeout=chosen.timeout))


if __name__ == "__main__":
    main()
