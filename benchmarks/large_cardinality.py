"""DBL² on tables with columns of thousands of values, beside LightGBM and CatBoost.

Every model trains on the same half and is measured on the other, in a process of its own: error,
RMSE and log loss, seconds of the fit, and the peak of the resident set over the process's whole
life (imports, both halves of the data and the prediction included). Ours has `memory_limit="4GiB"`
and must stay below that peak in all. The peers have their default arguments and get categories
natively: columns of pandas categories (LightGBM) and `cat_features` (CatBoost); numbers stay
numbers. Making their data frames is not timed; encoding ours is. All use 2 threads.

`encounter_id` of diabetes130 has a value of its own in every row, so that no model can learn
anything from it but the training rows by heart; it is left out unless `--identifiers` is given.

    pip install -r benchmarks/requirements.txt
    python benchmarks/large_cardinality.py
    python benchmarks/large_cardinality.py --datasets movielens100k --models dbl lightgbm
"""

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import NamedTuple

from common import THREADS, Split, report, split
from peer_models import Fitted, fit_catboost, fit_lightgbm
from process import GIBIBYTE, Outcome, run_in_child
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from deepbroad import DBLClassifier
from deepbroad.measures import Measures, measure

DATA = ("amazon-employee-access", "movielens100k", "diabetes130", "sba-loans")
IDENTIFIERS = {"diabetes130": ["encounter_id"]}
LIMIT = 4 * GIBIBYTE
HEADER = (
    f"{'data':<24}{'model':<14}{'error':>8}{'RMSE':>8}{'log loss':>10}{'fit s':>9}{'peak GiB':>10}"
)


class Figures(NamedTuple):
    """What one process sends back."""

    measures: Measures
    seconds: float
    note: str


def fit_ours(model: DBLClassifier, data: Split, max_iter: int | None) -> Fitted:
    """Fit one of our models after a fit of one iteration, uncounted, that loads the kernels.

    Which kernels there are to load, and to compile on a fresh machine, depends on the widths of
    codes and on the kinds of tables, so that the first fit is to the same rows.
    """
    warnings.simplefilter("ignore", ConvergenceWarning)
    model.set_params(n_jobs=THREADS, memory_limit="4GiB")
    if max_iter is not None:
        model.set_params(max_iter=max_iter)
    clone(model).set_params(max_iter=1).fit(data.X_train, data.y_train)
    start = perf_counter()
    model.fit(data.X_train, data.y_train)
    seconds = perf_counter() - start
    note = f"{model.status_} after {model.n_iter_} iterations"
    return Fitted(model.classes_, model.predict_proba(data.X_test), seconds, note)


def fit_dbl(data: Split, max_iter: int | None) -> Fitted:
    """Fit DBL² with strengths of our choice."""
    return fit_ours(DBLClassifier(n=2), data, max_iter)


def fit_paper(data: Split, max_iter: int | None) -> Fitted:
    """Fit DBL² with the paper's settings."""
    return fit_ours(DBLClassifier.paper(2), data, max_iter)


def fit_peer(fit: Callable[..., Fitted], data: Split, max_iter: int | None) -> Fitted:
    """Fit a peer with all threads."""
    return fit(data, THREADS, max_iter)


class Model(NamedTuple):
    """A side of the comparison."""

    label: str
    fit: Callable[[Split, int | None], Fitted]
    is_ours: bool = False


MODELS = {
    "dbl": Model("DBL²", fit_dbl, is_ours=True),
    "paper": Model("DBL² (paper)", fit_paper, is_ours=True),
    "lightgbm": Model("LightGBM", partial(fit_peer, fit_lightgbm)),
    "catboost": Model("CatBoost", partial(fit_peer, fit_catboost)),
}


def run(name: str, model: str, max_iter: int | None, identifiers: bool) -> Figures:
    """Fit and measure one model in this process."""
    data = split(name)
    if not identifiers and name in IDENTIFIERS:
        kept = (X.drop_columns(IDENTIFIERS[name]) for X in (data.X_train, data.X_test))
        data = data._replace(**dict(zip(("X_train", "X_test"), kept, strict=True)))
    fitted = MODELS[model].fit(data, max_iter)
    measures = measure(
        data.y_test, fitted.probabilities, classes=fitted.classes, labels=data.labels
    )
    return Figures(measures, fitted.seconds, fitted.note)


def print_row(name: str, model: Model, outcome: Outcome) -> None:
    """Print what one model did on one data set, or how it ended."""
    start = f"{name:<24}{model.label:<14}"
    if outcome.status != "done":
        print(f"{start}{outcome.status}: {outcome.message}", flush=True)
        return
    found, seconds, note = outcome.value
    figures = f"{found.error:>8.4f}{found.rmse:>8.4f}{found.log_loss:>10.4f}{seconds:>9.1f}"
    print(f"{start}{figures}{outcome.peak_gibibytes:>10}   {note}", flush=True)


def main() -> None:
    """Run every chosen model on every chosen data set, then print our peaks beside the target."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", choices=DATA, default=DATA, metavar="NAME")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS, metavar="MODEL")
    parser.add_argument("--max-iter", type=int, help="iterations of ours and trees of theirs")
    parser.add_argument("--identifiers", action="store_true", help="keep encounter_id")
    parser.add_argument("--timeout", type=float, help="seconds for each model")
    chosen = parser.parse_args()
    print(HEADER)
    outcomes = {}
    for name in chosen.datasets:
        for model in chosen.models:
            arguments = (name, model, chosen.max_iter, chosen.identifiers)
            outcome = run_in_child(run, *arguments, timeout=chosen.timeout)
            outcomes[name, model] = outcome
            print_row(name, MODELS[model], outcome)
    for (name, model), outcome in outcomes.items():
        if MODELS[model].is_ours:
            done = outcome.status == "done"
            found = f"{outcome.peak_gibibytes} GiB" if done else outcome.status
            reached = done and outcome.peak <= LIMIT
            report(f"{name}, {MODELS[model].label}, peak", found, "≤ 4 GiB", reached)


if __name__ == "__main__":
    main()
