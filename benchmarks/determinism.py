"""Whether threads, load and process change a model, bit for bit.

Ten models of all kinds are fitted to generated rows in four ways: with one thread, with two, with
two beside two busy processes, and with two in a fresh process. Printed is a hash of the scores (log
probabilities of rows that were not trained on) of the first way; the others must give the same
bits, else the largest difference of a probability is shown. The last column fits `recipe_` of the
first way again, to the same rows, which must give the same bits as well; models whose strengths are
given have no recipe.

    python benchmarks/determinism.py
    python benchmarks/determinism.py --only numbers weights --rows 1000
"""

import argparse
import hashlib
import multiprocessing
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from process import run_in_child

from deepbroad import DBLClassifier
from deepbroad.datasets import poker_hand

ROWS = 6_000
TEST_ROWS = 1_000
BUSY_PROCESSES = 2
MISSING_SHARE = 0.1


class Generated(NamedTuple):
    """Rows, their classes and, for some, their weights."""

    X: Any
    y: NDArray[Any]
    weights: NDArray[np.float64] | None = None


def draw_categories(rows: int, *, classes: int = 2, values: int = 5) -> Generated:
    """Draw 10 columns of text; pairs of columns decide the class, with noise."""
    random = np.random.default_rng(1)
    codes = random.integers(values, size=(rows, 10))
    effect = random.normal(size=(3, values, values, classes))
    scores = sum(effect[i, codes[:, 2 * i], codes[:, 2 * i + 1]] for i in range(3))
    y = np.argmax(2 * scores + random.gumbel(size=scores.shape), axis=1)
    return Generated(pd.DataFrame(codes).astype(str).add_prefix("c"), y)


def draw_numbers(rows: int) -> Generated:
    """Draw 8 columns of numbers; a product and a threshold decide among 3 classes, with noise."""
    random = np.random.default_rng(2)
    x = random.normal(size=(rows, 8))
    signal = x[:, 0] * x[:, 1] + (x[:, 2] > 0.7) + 0.3 * random.normal(size=rows)
    return Generated(pd.DataFrame(x).add_prefix("x"), np.digitize(signal, [-0.3, 0.8]))


def draw_mixed(rows: int) -> Generated:
    """Draw categories and numbers, a tenth of all missing."""
    text, numbers = draw_categories(rows, classes=3), draw_numbers(rows)
    X = pd.concat([text.X.iloc[:, :6], numbers.X.iloc[:, :4]], axis=1)
    gaps = np.random.default_rng(3).random(X.shape) < MISSING_SHARE
    return Generated(X.mask(gaps), np.where(text.y > 0, text.y, numbers.y))


def draw_weighted(rows: int) -> Generated:
    """Draw mixed rows with weights that are no whole numbers."""
    found = draw_mixed(rows)
    return found._replace(weights=np.random.default_rng(4).gamma(2.0, size=rows))


def draw_identifiers(rows: int) -> Generated:
    """Draw columns of which each value has a few rows, as users and streets have."""
    random = np.random.default_rng(5)
    codes = random.integers(max(rows // 5, 2), size=(rows, 3))
    leaning = random.normal(size=codes.max() + 1)
    score = leaning[codes[:, 0]] + leaning[codes[:, 1]] + 0.5 * random.normal(size=rows)
    few = pd.DataFrame(random.integers(4, size=(rows, 2))).add_prefix("few")
    X = pd.concat([pd.DataFrame(codes).add_prefix("id"), few], axis=1).astype(str)
    return Generated(X, (score > 0).astype(int))


def draw_hands(rows: int) -> Generated:
    """Draw poker hands, five times as many rows: a choice looks at a sample of them."""
    X, y = poker_hand(rows=5 * rows, seed=0, return_X_y=True)
    return Generated(X.to_pandas(), np.asarray(y))


class Kind(NamedTuple):
    """A model and the rows that it is fitted to."""

    draw: Callable[[int], Generated]
    arguments: dict[str, Any]


GIVEN = {"n": 2, "alpha": [1.0, 3.0]}
KINDS = {
    "categories": Kind(draw_categories, {}),
    "numbers": Kind(draw_numbers, {}),
    "mixed": Kind(draw_mixed, {}),
    "classes": Kind(lambda rows: draw_categories(rows, classes=12), {}),
    "weights": Kind(draw_weighted, {}),
    "identifiers": Kind(draw_identifiers, {}),
    "hands": Kind(draw_hands, {}),
    "given": Kind(draw_mixed, GIVEN),
    "sgd": Kind(draw_mixed, GIVEN | {"solver": "sgd", "max_iter": 10}),
    "hinge": Kind(draw_numbers, GIVEN | {"loss": "squared_hinge"}),
}


class Scores(NamedTuple):
    """Log probabilities of the test rows, and the recipe where there is one."""

    values: NDArray[Any]
    recipe: Any = None

    @property
    def hash(self) -> str:
        """The beginning of a hash of all bits."""
        return hashlib.sha256(np.ascontiguousarray(self.values).tobytes()).hexdigest()[:12]


def fit(name: str, rows: int, threads: int, recipe: Any = None) -> Scores:
    """Fit one model in this process and score the rows that are left."""
    warnings.simplefilter("ignore")
    kind = KINDS[name]
    data = kind.draw(rows + TEST_ROWS)
    train = slice(0, len(data.y) - TEST_ROWS)
    arguments = kind.arguments if recipe is None else {"recipe": recipe}
    model = DBLClassifier(**arguments, n_jobs=threads)
    weights = None if data.weights is None else data.weights[train]
    model.fit(data.X.iloc[train], data.y[train], sample_weight=weights)
    scores = model.predict_log_proba(data.X.iloc[train.stop :])
    return Scores(scores, model.recipe_ if has_recipes() and not kind.arguments else None)


def has_recipes() -> bool:
    """Tell whether this version of deepbroad has recipes."""
    return "recipe" in DBLClassifier().get_params()


@contextmanager
def busy_processes() -> Iterator[None]:
    """Keep other processes computing meanwhile."""
    context = multiprocessing.get_context("spawn")
    others = [context.Process(target=compute_forever, daemon=True) for _ in range(BUSY_PROCESSES)]
    for other in others:
        other.start()
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.join()


def compute_forever() -> None:
    """Take all of a core until killed."""
    while True:
        sum(range(100_000))


def fit_elsewhere(name: str, rows: int, threads: int) -> NDArray[Any] | str:
    """Fit one model in a fresh process; return its scores, or what went wrong."""
    outcome = run_in_child(fit_values, name, rows, threads)
    return outcome.value if outcome.status == "done" else f"{outcome.status}: {outcome.message}"


def fit_values(name: str, rows: int, threads: int) -> NDArray[Any]:
    """Return the scores alone, which pickle."""
    return fit(name, rows, threads).values


def compare(first: NDArray[Any], other: NDArray[Any] | str) -> str:
    """Say whether scores have the same bits, or how far apart the probabilities are."""
    if isinstance(other, str):
        return other
    if first.shape == other.shape and first.tobytes() == other.tobytes():
        return "equal"
    if first.shape != other.shape:
        return "other shape"
    return f"differs {np.abs(np.exp(first) - np.exp(other)).max():.1e}"


def check(name: str, rows: int) -> tuple[str, list[str]]:
    """Fit one model in all ways; return the hash of the first and what became of the others."""
    first = fit(name, rows, 1)
    found = [compare(first.values, fit(name, rows, 2).values)]
    with busy_processes():
        found.append(compare(first.values, fit(name, rows, 2).values))
    found.append(compare(first.values, fit_elsewhere(name, rows, 2)))
    if first.recipe is not None:
        found.append(compare(first.values, fit(name, rows, 2, first.recipe).values))
    else:
        found.append("none")
    return first.hash, found


def main() -> None:
    """Print a line for each model; leave with 1 if any bit differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=KINDS, default=list(KINDS), metavar="NAME")
    parser.add_argument("--rows", type=int, default=ROWS, help="training rows")
    chosen = parser.parse_args()
    if not has_recipes():
        print("DBLClassifier has no parameter recipe in this version: recipes are not compared.")
    columns = ("2 threads", "beside others", "other process", "recipe again")
    print(f"{'model':<14}{'1 thread':<14}" + "".join(f"{column:<17}" for column in columns))
    reached = True
    for name in chosen.only:
        first, found = check(name, chosen.rows)
        print(f"{name:<14}{first:<14}" + "".join(f"{each:<17}" for each in found), flush=True)
        reached &= all(each in ("equal", "none") for each in found)
    print("all equal" if reached else "MISSED: some bits differ")
    sys.exit(not reached)


if __name__ == "__main__":
    main()
