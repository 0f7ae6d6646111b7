"""How good a model's probabilities are on some rows, as plain data for a page."""

from typing import Any

import numpy as np
from sklearn.metrics import (
    average_precision_score,
    precision_recall_curve,
    roc_auc_score,
    roc_curve,
)

from deepbroad.measures import measure
from deepbroad.report.scored_rows import ScoredRows

# Points of a curve, and bins of a reliability diagram.
MOST_POINTS = 200
BINS = 10


def measure_rows(rows: ScoredRows, n_classes: int) -> dict[str, dict[str, float]]:
    """Return the measures of a model, and of one that always says how frequent the classes are."""
    numbers = np.arange(n_classes)
    shares = np.bincount(rows.y, minlength=n_classes) / len(rows)
    constant = np.broadcast_to(shares, rows.probabilities.shape)
    found = {
        "this model": measure(rows.y, rows.probabilities, classes=numbers)._asdict(),
        "class frequencies alone": measure(rows.y, constant, classes=numbers)._asdict(),
    }
    if is_binary(rows):
        found["this model"]["AUC"] = float(roc_auc_score(rows.y, rows.probabilities[:, 1]))
        found["class frequencies alone"]["AUC"] = 0.5
    return found


def is_binary(rows: ScoredRows) -> bool:
    """Tell whether there are two classes, and rows of both."""
    return rows.probabilities.shape[1] == 2 and len(np.unique(rows.y)) == 2


def count_confusions(rows: ScoredRows, shown: np.ndarray, n_classes: int) -> np.ndarray:
    """Return how many rows of each shown class (down) are predicted as each (across).

    If not all classes are shown, the others are one more row and column.
    """
    place = np.full(n_classes, len(shown))
    place[shown] = np.arange(len(shown))
    size = len(shown) + (len(shown) < n_classes)
    counts = np.zeros((size, size), np.int64)
    np.add.at(counts, (place[rows.y], place[rows.predicted]), 1)
    return counts


def reliability(happened: np.ndarray, p: np.ndarray) -> dict[str, Any]:
    """Return how often something happened where its probability was said to be about p.

    Bins are of equal width. Each that has rows comes as [mean p, share that happened, low, high,
    rows], low and high being Wilson's interval of 95 %. "gap" is the mean of |mean p - share| over
    rows, the expected calibration error.
    """
    own = np.minimum((p * BINS).astype(np.int64), BINS - 1)
    rows = np.bincount(own, minlength=BINS)
    some = rows > 0
    n = rows[some]
    said = np.bincount(own, p, BINS)[some] / n
    share = np.bincount(own, happened, BINS)[some] / n
    z = 1.959964
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    bins = np.column_stack([said, share, middle - half, middle + half]).round(4).tolist()
    return {
        "bins": [[*bin_, int(count)] for bin_, count in zip(bins, n, strict=True)],
        "gap": float(np.abs(said - share) @ n / len(p)),
    }


def reliabilities(rows: ScoredRows, shown: np.ndarray, names: list[str]) -> list[dict[str, Any]]:
    """Return the reliability of the most probable class, and of each shown class."""
    top = rows.probabilities.max(axis=1)
    found = [{"name": "most probable class", **reliability(rows.predicted == rows.y, top)}]
    for place, name in zip(shown.tolist(), names, strict=True):
        p = rows.probabilities[:, place]
        found.append({"name": name, **reliability(rows.y == place, p)})
    return found


def trace_curves(rows: ScoredRows) -> dict[str, Any] | None:
    """Return ROC and precision-recall curves of the second of two classes; None for others."""
    if not is_binary(rows):
        return None
    p = rows.probabilities[:, 1]
    false, true, _ = roc_curve(rows.y, p)
    precision, recall, _ = precision_recall_curve(rows.y, p)
    return {
        "roc": thin(np.column_stack([false, true])),
        "area": float(roc_auc_score(rows.y, p)),
        "pr": thin(np.column_stack([recall, precision])[::-1]),
        "precision": float(average_precision_score(rows.y, p)),
        "share": float(np.mean(rows.y)),
    }


def thin(points: np.ndarray, most: int = MOST_POINTS) -> list[list[float]]:
    """Return some points of a curve, evenly spread along it, the first and the last among them."""
    if len(points) > most:
        steps = np.abs(np.diff(points / np.ptp(points, axis=0).clip(1e-12), axis=0)).sum(axis=1)
        along = np.concatenate([[0.0], np.cumsum(steps)])
        wanted = np.linspace(0, along[-1], most)
        places = np.minimum(np.searchsorted(along, wanted), len(points) - 1)
        points = points[np.unique(np.concatenate([[0], places, [len(points) - 1]]))]
    found: list[list[float]] = points.round(5).tolist()
    return found
