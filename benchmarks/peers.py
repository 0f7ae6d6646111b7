"""The default DBLClassifier against default and tuned gradient boosting, EBM and random forests.

Two folds, stratified and the same for every model (seed 0). Each fit has a process of its own with
a time limit; its row (error, RMSE, log loss, seconds) is added to a file of JSON lines, and a row
that is there already is not computed again. Without `--report-only` the missing rows are computed;
then tables of wins, draws and losses with sign tests are printed. A draw is a log loss that is
equal at four decimals.

    pip install -r benchmarks/requirements.txt
    python benchmarks/peers.py --rows peers.jsonl
    python benchmarks/peers.py --rows peers.jsonl --datasets car nursery --models dbl lightgbm
    python benchmarks/peers.py --rows peers.jsonl --report-only
    python benchmarks/peers.py --rows peers.jsonl --report-only --folds 1 --before before.jsonl
"""

import argparse
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from common import (
    THREADS,
    Split,
    append_line,
    geometric_mean,
    list_data_sets,
    load,
    read_lines,
)
from numpy.typing import NDArray
from peer_models import PEERS, Fitted, categorical_names, timed
from peer_report import print_report, tally
from process import run_in_child
from sklearn.base import clone

from deepbroad import AnJEClassifier, DBLClassifier, MDLDiscretizer
from deepbroad.measures import measure

MOST_ROWS = 70_000
FOLDS = 2


def fit_ours(model: Any, data: Split, threads: int) -> Fitted:
    """Fit one of our models after a fit, uncounted, that loads the kernels."""
    warnings.simplefilter("ignore")
    model.set_params(n_jobs=threads)
    first = clone(model)
    if isinstance(model, DBLClassifier) and model.alpha == "auto":
        # One iteration of the same kind of model: a choice would only take longer.
        n = min(2, data.X_train.num_columns)
        first.set_params(n=n, alpha=[1.0] * n, max_iter=1)
    first.fit(data.X_train, data.y_train)
    found, seconds = timed(model, data.X_train, data.y_train, data.X_test)
    chosen = getattr(model, "selection_", None)
    return Fitted(model.classes_, found, seconds, "" if chosen is None else str(chosen))


def fit_forest(data: Split, threads: int, *, raw: bool) -> Fitted:
    """Fit a random forest of 100 trees, to MDL codes as the paper does or to raw numbers."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.preprocessing import OrdinalEncoder

    train, test = data.X_train.to_pandas(), data.X_test.to_pandas()
    text = categorical_names(data.X_train)
    numbers = [name for name in train.columns if name not in text]
    if not raw and numbers:
        discretizer = MDLDiscretizer().fit(train[numbers], data.y_train)
        for X in (train, test):
            X[numbers] = np.asarray(discretizer.transform(X[numbers]))
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    if text:
        train[text] = codes.fit_transform(train[text].astype(object))
        test[text] = codes.transform(test[text].astype(object))
    model = RandomForestClassifier(100, n_jobs=threads, random_state=0)
    found, seconds = timed(model, train, data.y_train, test)
    return Fitted(model.classes_, found, seconds)


MODELS: dict[str, Callable[[Split, int], Fitted]] = {
    "dbl": lambda data, threads: fit_ours(DBLClassifier(), data, threads),
    "dbl-mdl": lambda data, threads: fit_ours(DBLClassifier(bins="mdl"), data, threads),
    "a1je": lambda data, threads: fit_ours(AnJEClassifier(1), data, threads),
    "dbl1": lambda data, threads: fit_ours(DBLClassifier.paper(1), data, threads),
    "dbl2": lambda data, threads: fit_ours(DBLClassifier.paper(2), data, threads),
    "forest": lambda data, threads: fit_forest(data, threads, raw=False),
    "forest-raw": lambda data, threads: fit_forest(data, threads, raw=True),
    **PEERS,
}


def stratified_folds(y: NDArray[Any], folds: int = FOLDS, seed: int = 0) -> NDArray[np.int64]:
    """Return the fold of each row; every class is spread evenly."""
    order = np.random.default_rng(seed).permutation(y.size)
    order = order[np.argsort(y[order], kind="stable")]
    fold = np.empty(y.size, np.int64)
    fold[order] = np.arange(y.size) % folds
    return fold


def split_fold(name: str, fold: int) -> Split:
    """Return one fold of a data set as the test part and the rest as the training part."""
    X, y, labels = load(name)
    held = stratified_folds(y) == fold
    train, test = np.flatnonzero(~held), np.flatnonzero(held)
    return Split(X.take(train), y[train], X.take(test), y[test], labels)


def run(name: str, fold: int, model: str, threads: int) -> dict[str, Any]:
    """Fit and measure one model in this process."""
    data = split_fold(name, fold)
    fitted = MODELS[model](data, threads)
    found = measure(data.y_test, fitted.probabilities, classes=fitted.classes, labels=data.labels)
    return {**found._asdict(), "seconds": fitted.seconds, "note": fitted.note}


def read_rows(path: Path) -> dict[tuple[str, int, str], dict[str, Any]]:
    """Return the rows of a file of JSON lines by data set, fold and model."""
    return {(row["data"], row["fold"], row["model"]): row for row in read_lines(path)}


def compute(
    names: Iterable[str],
    models: Iterable[str],
    path: Path,
    *,
    folds: Sequence[int],
    threads: int,
    timeout: float,
) -> None:
    """Add the rows that are missing."""
    done = read_rows(path)
    for model in models:
        for name in names:
            for fold in folds:
                if (name, fold, model) in done:
                    continue
                began = perf_counter()
                outcome = run_in_child(run, name, fold, model, threads, timeout=timeout)
                row = {"data": name, "fold": fold, "model": model, "status": outcome.status}
                row |= outcome.value or {"note": outcome.message[:200]}
                append_line(path, row)
                loss = row.get("log_loss", np.nan)
                took = perf_counter() - began
                print(
                    f"{name:<26}{fold} {model:<15}{outcome.status:<8}{loss:8.4f}{took:8.1f} s",
                    flush=True,
                )
                if outcome.status == "timeout":
                    break


def print_before(
    rows: dict[tuple[str, int, str], dict[str, Any]],
    before: dict[tuple[str, int, str], dict[str, Any]],
    names: Iterable[str],
    folds: Sequence[int],
) -> None:
    """Print the test log loss of ours over that of another version, 1/(2N) added to both."""
    pairs = []
    for name in names:
        for key in ((name, fold, "dbl") for fold in folds):
            both = rows.get(key, {}), before.get(key, {})
            if all(row.get("status") == "done" for row in both):
                pad = 0.5 / len(split_fold(name, key[1]).y_test)
                pairs.append((both[0]["log_loss"] + pad, both[1]["log_loss"] + pad))
    ratio = geometric_mean(ours / theirs for ours, theirs in pairs)
    print(f"\nLog loss over that of {len(pairs)} rows before: {ratio:.3f}, {tally(pairs)}")


def main() -> None:
    """Compute the rows that are missing, then print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=Path, required=True, help="file of JSON lines")
    parser.add_argument("--datasets", nargs="+", metavar="NAME")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--folds", nargs="+", type=int, default=list(range(FOLDS)))
    parser.add_argument("--threads", type=int, default=THREADS)
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds of each fit")
    parser.add_argument("--report-only", action="store_true")
    parser.add_argument("--before", type=Path, help="rows of another version of ours")
    chosen = parser.parse_args()
    names = chosen.datasets or list_data_sets(MOST_ROWS)
    if not chosen.report_only:
        compute(
            names,
            chosen.models,
            chosen.rows,
            folds=chosen.folds,
            threads=chosen.threads,
            timeout=chosen.timeout,
        )
    rows = read_rows(chosen.rows)
    print_report({key: row for key, row in rows.items() if key[1] in chosen.folds}, names)
    if chosen.before is not None:
        print_before(rows, read_rows(chosen.before), names, chosen.folds)


if __name__ == "__main__":
    main()
