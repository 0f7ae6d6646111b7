"""Tables of wins, draws and losses from the rows of `peers.py`."""

from typing import Any, NamedTuple

import numpy as np
from common import geometric_mean, load
from peer_models import categorical_names
from scipy.stats import binomtest

OURS = "dbl"
DECIMALS = 4
# Of which `never much worse` is asked, and by how much at most: a share, or nats.
FEWEST_ROWS = 200
MUCH = (0.10, 0.01)
SIMPLE = ("a1je", "dbl1")

Rows = dict[tuple[str, int, str], dict[str, Any]]


class Tally(NamedTuple):
    """Wins, draws and losses of one model against another, and the sign test's p."""

    wins: int
    draws: int
    losses: int

    @property
    def p(self) -> float:
        """Two-tailed binomial, draws left out."""
        decided = self.wins + self.losses
        return float(binomtest(self.wins, decided).pvalue) if decided else 1.0

    def __str__(self) -> str:
        return f"{self.wins}-{self.draws}-{self.losses}, p = {self.p:.3g}"


def mean_of(rows: Rows, name: str, model: str, what: str) -> float:
    """Return the mean over the folds that are done, NaN if none is."""
    found = [row[what] for (data, _, m), row in rows.items() if (data, m) == (name, model)
             and row["status"] == "done"]  # fmt: skip
    return float(np.mean(found)) if found else float("nan")


def tally(pairs: list[tuple[float, float]]) -> Tally:
    """Count wins, draws and losses of pairs (ours, theirs), lower being better."""
    ours, theirs = np.round(np.array(pairs).reshape(-1, 2).T, DECIMALS)
    return Tally(
        int((ours < theirs).sum()), int((ours == theirs).sum()), int((ours > theirs).sum())
    )


def is_categorical(name: str) -> bool:
    """Tell whether a data set has no numeric attribute."""
    X = load(name, rows=10)[0]
    return categorical_names(X) == X.column_names


def shared_folds(rows: Rows, name: str, model: str, what: str = "log_loss") -> list[int]:
    """Return the folds of which ours and another model both have a figure."""
    return [fold for fold in range(10) if all(
        what in rows.get((name, fold, m), {}) for m in (OURS, model))]  # fmt: skip


def compare(rows: Rows, names: list[str], model: str, what: str) -> list[tuple[float, float]]:
    """Return pairs (ours, theirs) of means over shared folds, for data sets that have such."""
    pairs = []
    for name in names:
        folds = shared_folds(rows, name, model, what)
        if folds:
            pairs.append(tuple(
                float(np.mean([rows[name, fold, m][what] for fold in folds]))
                for m in (OURS, model)))  # fmt: skip
    return pairs


def print_report(rows: Rows, names: list[str]) -> None:
    """Print the figures of each data set, then the tallies, times and the worst cases."""
    models = sorted({model for _, _, model in rows}, key=lambda m: (m != OURS, m))
    names = [name for name in names if any(data == name for data, _, _ in rows)]
    for what in ("log_loss", "error"):
        print(f"\nTest {what}\n")
        print("| data set | " + " | ".join(models) + " |")
        print("|---" * (len(models) + 1) + "|")
        for name in names:
            figures = [mean_of(rows, name, model, what) for model in models]
            print(f"| {name} | " + " | ".join(f"{figure:.4f}" for figure in figures) + " |")
    groups = {
        "all": names,
        "categorical": [name for name in names if is_categorical(name)],
        "others": [name for name in names if not is_categorical(name)],
    }
    for what in ("log_loss", "error"):
        print(f"\n{what} of {OURS}: wins-draws-losses, two-tailed sign test\n")
        print("| against | " + " | ".join(groups) + " |")
        print("|---" * (len(groups) + 1) + "|")
        for model in models[1:]:
            cells = [str(tally(compare(rows, chosen, model, what))) for chosen in groups.values()]
            print(f"| {model} | " + " | ".join(cells) + " |")
    print("\nSeconds of a fit, theirs over ours: geometric mean\n")
    for model in models[1:]:
        pairs = compare(rows, names, model, "seconds")
        ratios = [theirs / ours for ours, theirs in pairs]
        if ratios:
            print(f"| {model} | {geometric_mean(ratios):.2f} | {len(ratios)} data sets |")
    print_worst(rows, names)


def print_worst(rows: Rows, names: list[str]) -> None:
    """Print where ours is much worse than the better of A1JE and DBL¹."""
    print(f"\nMuch worse than A1JE or DBL¹ (sets with {FEWEST_ROWS} training rows):\n")
    found = 0
    for name in names:
        training_rows = load(name)[1].size // 2
        pairs = [pair for m in SIMPLE for pair in compare(rows, [name], m, "log_loss")]
        much = [(ours, best) for ours, best in pairs if ours > best + max(MUCH[0] * best, MUCH[1])]
        if training_rows >= FEWEST_ROWS and much:
            ours, best = min(much, key=lambda pair: pair[1])
            print(f"| {name} | {ours:.4f} | {best:.4f} |")
            found += 1
    print(f"{found} data sets")
