"""Whether rare tuples should back off to their parts: AnJE and DBL² by what smoothing pulls to.

θ = (#_{x_α,y} + m·q) / (#_y + m), where q is

- uniform: 1/|x_α|, as in the paper and in the library;
- singles: the product of the smoothed (m = 1) probabilities of the single values given y;
- pairs (n = 3): the geometric mean of all partitions of the triple, A2JE's, of pairs that are
  themselves backed off to singles.

AnJE is computed here in plain NumPy, for each m, and with the m of least leave-one-out log loss on
up to 2,000 training rows ("chosen"). A3JE is left out where its counts would take much memory. DBL²
has the paper's settings; q changes its scale and start. Two folds as in `peers.py`. Prints error
and log loss of each data set, evaluations to converge, and wins-draws-losses (equal at four
decimals) against uniform, m = 1, with sign tests.

    python benchmarks/backoff.py
    python benchmarks/backoff.py --models A2JE --datasets car nursery
"""

import argparse
import warnings
from functools import cache, partial
from itertools import combinations
from math import comb, prod
from typing import Any

import numpy as np
from backoff_start import BackedOffDBL
from common import Split
from engine_side import encode
from peer_report import tally
from peers import FOLDS, split_fold
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning

from deepbroad import DBLClassifier
from deepbroad.measures import measure

# fmt: off
DATA = (
    "lymphography", "hepatitis", "glass", "heart-cleveland", "primary-tumor", "house-votes-84",
    "breast-cancer-wisconsin", "balance-scale", "crx", "pima", "tic-tac-toe", "vowel", "led",
    "german", "cmc", "yeast", "car", "segment", "kr-vs-kp", "abalone", "nettalk", "page-blocks",
    "mushroom", "nursery", "sign", "pendigits", "magic", "letter",
)
# fmt: on
MODELS = {"A2JE": 2, "A3JE": 3, "DBL2": 2}
SMOOTHINGS = (1.0, 5.0, 20.0, 100.0)
STARTS = (1.0, 5.0, 20.0)
BASE = "uniform 1"
LEFT_OUT_ROWS = 2_000
MOST_COUNTS = 50_000_000

Figures = dict[str, tuple[float, ...]]  # of each variant: error, log loss and more


class Neighbours:
    """Rows to classify, and how often training rows have their joint values with each class.

    `codes` are (columns, rows); a never-seen value has the code V_i. With `own`, the classes of
    rows that are training rows themselves, each is taken out of the counts that classify it.
    """

    def __init__(
        self, train: np.ndarray, labels: np.ndarray, codes: np.ndarray,
        sizes: np.ndarray, own: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        self.train, self.labels, self.codes, self.sizes, self.own = train, labels, codes, sizes, own
        self.n_classes = int(labels.max()) + 1
        self.n_rows = codes.shape[1]
        self.unseen = codes >= sizes[:, None]
        self.counts = cache(self._counts)
        self.part = cache(self.log_theta)

    def _counts(self, columns: tuple[int, ...]) -> np.ndarray:
        """Return the counts of the joint values on some columns, (n_rows, C)."""
        radices = [int(self.sizes[c]) + 1 for c in columns]
        keys = np.ravel_multi_index(tuple(self.train[list(columns)]), radices)
        seen, place = np.unique(keys, return_inverse=True)
        table = np.zeros((len(seen) + 1, self.n_classes), np.float32)
        np.add.at(table, (place, self.labels), 1)
        wanted = np.ravel_multi_index(tuple(self.codes[list(columns)]), radices)
        found = np.searchsorted(seen, wanted).clip(max=len(seen) - 1)
        return self._without_own(table[np.where(seen[found] == wanted, found, len(seen))])

    def _without_own(self, counts: np.ndarray) -> np.ndarray:
        if self.own is not None:
            counts[np.arange(self.n_rows), self.own] -= 1
        return counts

    @property
    def class_counts(self) -> np.ndarray:
        """#_y as each row sees it, (n_rows, C)."""
        counts = np.bincount(self.labels, minlength=self.n_classes)
        return self._without_own(np.tile(counts.astype(np.float64), (self.n_rows, 1)))

    def log_theta(self, columns: tuple[int, ...], to: str, m: float) -> np.ndarray:
        """Return log θ of the rows' joint values on some columns, (n_rows, C)."""
        q: Any = 1.0 / prod(int(self.sizes[c]) for c in columns)
        if to != "uniform":
            size = 1 if to == "singles" else len(columns) - 1
            below = ("uniform", 1.0) if size == 1 else (to, m)
            logs = sum(self.part(part, *below) for part in combinations(columns, size))
            q = np.exp(logs / comb(len(columns) - 1, size - 1))
        return np.log(self.counts(columns) + m * q) - np.log(self.class_counts + m)

    def probabilities(self, n: int, to: str, m: float) -> np.ndarray:
        """Return AnJE's P(y|x), (n_rows, C); tuples with a never-seen value are left out."""
        a = len(self.sizes)
        total = np.zeros((self.n_rows, self.n_classes))
        for columns in combinations(range(a), n):
            known = ~self.unseen[list(columns)].any(axis=0)
            total += np.where(known[:, None], self.log_theta(columns, to, m), 0.0)
        left = a - self.unseen.sum(axis=0)
        total /= np.array([max(1, comb(max(k - 1, 0), n - 1)) for k in left])[:, None]
        counts = self.class_counts
        priors = (counts + 1 / self.n_classes) / (counts.sum(axis=1, keepdims=True) + 1)
        return softmax(np.log(priors) + total, axis=1)


def judge_joint(data: Split, n: int) -> Figures | None:
    """Return error and log loss of AnJE by each q and m; None where counts take much memory."""
    classes, labels = np.unique(data.y_train, return_inverse=True)
    train, test, sizes = encode(data.X_train, data.y_train, data.X_test)
    if comb(len(sizes), n) * test.shape[1] * len(classes) > MOST_COUNTS:
        return None
    measured = partial(measure, classes=classes, labels=data.labels)
    rows = np.random.default_rng(0).permutation(len(labels))[:LEFT_OUT_ROWS]
    tested = Neighbours(train, labels, test, sizes)
    trained = Neighbours(train, labels, train[:, rows], sizes, own=labels[rows])
    found: Figures = {}
    for to in ("uniform", "singles", "pairs") if n == 3 else ("uniform", "singles"):
        held_out = {}
        for m in SMOOTHINGS:
            result = measured(data.y_test, tested.probabilities(n, to, m))
            found[f"{to} {m:g}"] = result.error, result.log_loss
            own = measured(data.y_train[rows], trained.probabilities(n, to, m))
            held_out[m] = own.log_loss
        found[f"{to} chosen"] = found[f"{to} {min(held_out, key=held_out.__getitem__):g}"]
    return found


def judge_start(data: Split) -> Figures:
    """Return error, log loss and evaluations of DBL² by each q and m of its scale and start."""
    models: dict[str, DBLClassifier] = {BASE: DBLClassifier.paper(2)}
    for m in STARTS:
        models[f"singles {m:g}"] = BackedOffDBL.paper(2).backing_off(m)
    found: Figures = {}
    for variant, model in models.items():
        model.fit(data.X_train, data.y_train)
        probabilities = model.predict_proba(data.X_test)
        result = measure(data.y_test, probabilities, classes=model.classes_, labels=data.labels)
        found[variant] = result.error, result.log_loss, float(model.n_evaluations_)
    return found


def judge(name: str, model: str) -> Figures | None:
    """Return the figures of each variant of a model, means over the folds."""
    folds = []
    for fold in range(FOLDS):
        data = split_fold(name, fold)
        found = judge_start(data) if model == "DBL2" else judge_joint(data, MODELS[model])
        if found is None:
            return None
        folds.append(found)
    return {v: tuple(np.mean([found[v] for found in folds], axis=0)) for v in folds[0]}


def print_tallies(model: str, found: list[Figures]) -> None:
    """Print wins, draws and losses of each variant against the library's smoothing."""
    for place, what in enumerate(("error", "log loss", "evaluations")[: len(found[0][BASE])]):
        print(f"\n{model}, {what}: wins-draws-losses against {BASE}, {len(found)} data sets\n")
        for variant in found[0]:
            if variant != BASE:
                pairs = [(figures[variant][place], figures[BASE][place]) for figures in found]
                ratios = [(ours + 1e-3) / (theirs + 1e-3) for ours, theirs in pairs]
                mean = np.exp(np.mean(np.log(ratios)))
                print(f"{variant:16} {tally(pairs)!s:24} geometric mean of ratios {mean:.3f}")


def main() -> None:
    """Print the figures of each data set, then the tallies of each model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", metavar="NAME", default=DATA)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    chosen = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    for model in chosen.models:
        kept = []
        for name in chosen.datasets:
            found = judge(name, model)
            if found is None:
                continue
            if not kept:
                print(
                    f"\n| {model}: error / log loss{' / evaluations' * (model == 'DBL2')} | "
                    + " | ".join(found)
                    + " |"
                )
                print("|---" * (len(found) + 1) + "|")
            figures = (" / ".join(f"{f:.4g}" for f in figures) for figures in found.values())
            print(f"| {name} | " + " | ".join(figures) + " |", flush=True)
            kept.append(found)
        if kept:
            print_tallies(model, kept)


if __name__ == "__main__":
    main()
