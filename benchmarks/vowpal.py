"""`solver="sgd"` against Vowpal Wabbit: the same attributes, all pairs of them, the same passes.

Both get the training half with numbers cut by MDL (`MDLDiscretizer`, fitted on that half, not
timed). Vowpal Wabbit has its defaults but for a logistic loss, 2^24 weights, all pairs (beside
single values) and one model against the rest for each class; it reads a text file, and what is
timed is its passes over that, the first of which writes its cache. Ours are timed with encoding,
counting and planning, twice: with the automatic choice of strengths, whose losses are shown, and at
those that it chose, since no choice is part of the other side. `--alpha` gives them to both. One
strength for all data does not do: letter needs a hundredth of what suits adult.

    pip install -r benchmarks/requirements.txt
    python benchmarks/vowpal.py --datasets connect-4 adult
"""

import argparse
import tempfile
import warnings
from collections.abc import Iterable
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from common import split
from vowpalwabbit import Workspace

from deepbroad import DBLClassifier, MDLDiscretizer

DATA = ("connect-4", "adult", "letter")
PASSES = 10
BITS = 24
TINY = 1e-15
Strengths = tuple[float, ...] | str


def write_rows(path: Path, codes: pd.DataFrame, labels: Iterable[int]) -> None:
    """Write rows as Vowpal Wabbit reads them: `label | a0=3 a1=0 ...`."""
    # Spaces, colons and bars have a meaning there.
    plain = codes.replace(r"[\s:|]", "_", regex=True)
    texts = [f"a{i}=" + plain[c] for i, c in enumerate(plain.columns)]
    with path.open("w") as file:
        for label, values in zip(labels, zip(*texts, strict=True), strict=True):
            file.write(f"{label} | {' '.join(values)}\n")


def run_vowpal(
    train: pd.DataFrame, y: np.ndarray, test: pd.DataFrame, n_classes: int
) -> tuple[np.ndarray, float]:
    """Return the probabilities of test rows, and the seconds of the passes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        write_rows(path / "train", train, y + 1)
        write_rows(path / "test", test, np.ones(len(test), int))
        began = perf_counter()
        Workspace(
            f"-d {path}/train --cache_file {path}/cache -k --passes {PASSES} --holdout_off "
            f"--interactions :: -b {BITS} --oaa {n_classes} --loss_function logistic "
            f"--probabilities --quiet -f {path}/model"
        ).finish()
        seconds = perf_counter() - began
        Workspace(
            f"-d {path}/test -t -i {path}/model --probabilities --quiet -p {path}/found"
        ).finish()
        rows = [line.split() for line in (path / "found").read_text().splitlines() if line]
    # "1:0.2 2:0.8" in the order of the labels
    return np.array([[float(part.split(":")[1]) for part in row] for row in rows]), seconds


class Fit(NamedTuple):
    """Probabilities of test rows, the seconds of the fit, and its strengths by order."""

    probabilities: np.ndarray
    seconds: float
    strengths: Strengths


def run_ours(train: pd.DataFrame, y: np.ndarray, test: pd.DataFrame, strengths: Strengths) -> Fit:
    """Fit at given strengths, or at those that it chooses."""
    model = DBLClassifier(n=2, alpha=strengths, solver="sgd", max_iter=PASSES, bins="mdl")
    began = perf_counter()
    model.set_params(categorical_features=list(range(train.shape[1]))).fit(train, y)
    seconds = perf_counter() - began
    chosen = strengths if model.selection_ is None else tuple(model.selection_["alpha"])
    return Fit(model.predict_proba(test), seconds, chosen)


def cut_numbers(train: Any, y: np.ndarray, test: Any) -> list[pd.DataFrame]:
    """Return both tables as text, numbers by their bin."""
    tables = [train.to_pandas(), test.to_pandas()]
    numbers = tables[0].select_dtypes("number").columns
    if len(numbers):
        cutter = MDLDiscretizer().fit(tables[0][numbers], y)
        for table in tables:
            bins = pd.DataFrame(np.asarray(cutter.transform(table[numbers])), columns=numbers)
            table[numbers] = bins.astype(object)
    return [table.astype(object).fillna("?").astype(str) for table in tables]


def compare(name: str, strengths: Strengths) -> None:
    """Print a line of the table."""
    data = split(name)
    classes, y = np.unique(data.y_train, return_inverse=True)
    known = np.isin(data.y_test, classes)
    y_test = np.searchsorted(classes, data.y_test[known])
    train, test = cut_numbers(data.X_train, data.y_train, data.X_test.filter(known))
    # A first fit of few rows loads what is compiled.
    run_ours(train[:2000], y[:2000], test[:10], (1.0, 1.0))
    ours = run_ours(train, y, test, strengths)
    given = run_ours(train, y, test, ours.strengths)
    theirs, seconds = run_vowpal(train, y, test, len(classes))
    line = f"| {name} "
    for probabilities in (ours.probabilities, given.probabilities, theirs):
        own = np.clip(probabilities[np.arange(len(y_test)), y_test], TINY, 1.0)
        error = float((probabilities.argmax(axis=1) != y_test).mean())
        line += f"| {-np.log(own).mean():.4f} | {error:.4f} "
    print(line + f"| {seconds / ours.seconds:.1f} | {seconds / given.seconds:.1f} |", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=DATA)
    parser.add_argument("--alpha", nargs=2, type=float, help="by order, instead of a choice")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| data | SGD log loss | error | at its strengths | error | VW log loss | error | "
          "seconds of VW / SGD | at its strengths |")  # fmt: skip
    print("|" + "---|" * 9)
    for name in given.datasets:
        compare(name, "auto" if given.alpha is None else tuple(given.alpha))


if __name__ == "__main__":
    main()
