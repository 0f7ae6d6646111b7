"""The error on poker hands as training data grows: the runs behind the paper's first figure.

The paper shows naive Bayes and KDB with k = 5; DBL² and DBL³ are added. Each point is kept in a
file as soon as it is measured, so that the runs may be stopped and go on.
"""

import json
import os
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from deepbroad.datasets import HANDS, poker_hand
from deepbroad.experiments.methods import METHODS
from deepbroad.measures import measure

FILE = "learning-curves.json"
SIZES = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
QUICK_SIZES = (100, 1_000, 10_000)
MODELS = ("NB", "KDB5", "DBL2", "DBL3")
_TEST_ROWS = 100_000
_TEST_SEED = 1_000_003
_MOST_REPEATS = 5
_ROWS_TO_REPEAT = 100_000


class Point(NamedTuple):
    """Losses of one model trained on `n_train` hands; `repeat` numbers the samples of that size."""

    method: str
    n_train: int
    repeat: int
    error: float
    rmse: float
    log_loss: float


def run_learning_curves(
    out: Path,
    *,
    sizes: Sequence[int] = SIZES,
    models: Sequence[str] = MODELS,
    test_rows: int = _TEST_ROWS,
    progress: Callable[[int, int], None] | None = None,
) -> list[Point]:
    """Measure every model on growing samples, small ones several times, and keep the points.

    Parameters
    ----------
    out : Path
        Folder of the file of points; those in it are not measured again.
    sizes : sequence of int
        Numbers of training hands.
    models : sequence of str
        Names of methods.
    test_rows : int
        Hands to measure on, drawn apart.
    progress : callable, optional
        Called after each point with the number of points that are done and of all.

    Returns
    -------
    points : list of Point
        All that the file holds.
    """
    points = read_learning_curves(out)
    known = {point[:3] for point in points}
    wanted = [
        (name, size, repeat)
        for size in sizes
        for repeat in range(repeats_of(size))
        for name in models
    ]
    todo = [key for key in wanted if key not in known]
    for done, (name, size, repeat) in enumerate(todo, start=len(wanted) - len(todo)):
        points.append(_measure_point(name, size, repeat, test_rows))
        _write(out, points)
        if progress is not None:
            progress(done + 1, len(wanted))
    return points


def repeats_of(size: int) -> int:
    """Give how many samples of a size are drawn: five of small ones, one of large ones.

    >>> [repeats_of(size) for size in (100, 30_000, 1_000_000)]
    [5, 3, 1]
    """
    return max(1, min(_MOST_REPEATS, _ROWS_TO_REPEAT // size))


def read_learning_curves(out: Path) -> list[Point]:
    """Read the points that are there."""
    path = out / FILE
    if not path.exists():
        return []
    return [Point(**point) for point in json.loads(path.read_text(encoding="utf-8"))]


def _measure_point(name: str, size: int, repeat: int, test_rows: int) -> Point:
    """Train one model on one sample and measure it."""
    X, y = poker_hand(size, seed=repeat, return_X_y=True)
    X_test, y_test = poker_hand(test_rows, seed=_TEST_SEED, return_X_y=True)
    model = METHODS[name].create()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    labels = np.arange(len(HANDS))
    found = measure(y_test, model.predict_proba(X_test), classes=model.classes_, labels=labels)
    return Point(name, size, repeat, *found)


def _write(out: Path, points: Sequence[Point]) -> None:
    """Write all points, so that the file is whole at any time."""
    out.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(json.dumps(point._asdict()) for point in points)
    part = out / f"{FILE}.part"
    part.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    os.replace(part, out / FILE)
