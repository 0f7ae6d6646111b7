"""Area under the ROC curve of the default DBLClassifier and the peers, 5 folds, two classes.

The folds are stratified and the same for all (seed 0); every fit has a process of its own. Printed
are the means over the folds, and the folds on which ours is ahead.

    pip install -r benchmarks/requirements.txt
    python benchmarks/auc.py
    python benchmarks/auc.py --dataset adult --models dbl lightgbm
"""

import argparse

import numpy as np
from common import THREADS, Split, load
from peers import MODELS, stratified_folds
from process import run_in_child
from sklearn.metrics import roc_auc_score

FOLDS = 5


def run(name: str, fold: int, model: str, threads: int) -> tuple[float, float]:
    """Return the area of one model on one fold, and the seconds of its fit."""
    X, y, labels = load(name)
    held = stratified_folds(y, FOLDS) == fold
    train, test = np.flatnonzero(~held), np.flatnonzero(held)
    data = Split(X.take(train), y[train], X.take(test), y[test], labels)
    fitted = MODELS[model](data, threads)
    positive = fitted.classes[1]
    return float(roc_auc_score(data.y_test == positive, fitted.probabilities[:, 1])), fitted.seconds


def main() -> None:
    """Run the chosen models on all folds and print the means."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", default="amazon-employee-access")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=["dbl", "catboost"])
    parser.add_argument("--threads", type=int, default=THREADS)
    parser.add_argument("--timeout", type=float, default=900.0)
    chosen = parser.parse_args()
    areas: dict[str, list[float]] = {}
    for model in chosen.models:
        for fold in range(FOLDS):
            arguments = (chosen.dataset, fold, model, chosen.threads)
            outcome = run_in_child(run, *arguments, timeout=chosen.timeout)
            area, seconds = outcome.value or (float("nan"), float("nan"))
            areas.setdefault(model, []).append(area)
            print(f"{model:<12}{fold} {outcome.status:<8}{area:.4f} {seconds:8.1f} s", flush=True)
    for model, found in areas.items():
        ahead = int((np.array(areas[chosen.models[0]]) > np.array(found)).sum())
        print(f"{model:<12} mean {np.mean(found):.4f}; {chosen.models[0]} ahead on {ahead} folds")


if __name__ == "__main__":
    main()
