"""The rows that a choice looks at, dealt into validation folds.

Which rows are drawn, and which fold holds them out, follows from the seed and from what the rows
are: neither their order nor whether a row comes three times or once with weight 3 changes it.
"""

from typing import NamedTuple

import numpy as np

from deepbroad.data.source import ArraySource, Source
from deepbroad.data.weights import are_whole
from deepbroad.engine.merging import find_identical, merge_identical
from deepbroad.kernels.rows import hash_rows

# More rows of a source that is not in memory are drawn than looked at: identical ones are merged.
SPARE = 2
# Scores of all folds that a row has together at most, and scores of all rows: many classes have
# fewer folds, and fewer rows.
MOST_LANES = 32
MOST_SCORES = 250_000
# Scores of a row in two folds from which passes may take long, and look-ups of a pass, in vectors
# of scores, that are not too many.
MANY_LANES, VECTOR, MOST_LOOKUPS = 9, 16, 1e7
# Pairs that a model has, about, where many do not show anything.
TYPICAL_PAIRS = 150
# Rows that are looked at where passes over many would take long: they are fitted in their space.
FEWER_ROWS = 2_000


class DealtRows(NamedTuple):
    """Distinct rows and their weights in each of K folds.

    Attributes
    ----------
    source : ArraySource
        Rows of code columns, without weights.
    held : ndarray of shape (n_rows, K), float32
        The weight of a row among those that a fold holds out.
    trained : ndarray of shape (n_rows, K), float32
        Its weight among the others.
    total : float
        The weight of all rows that these were drawn from.
    unit : float
        What weights were divided by: 1 where they count rows, else their mean.
    counts_rows : bool
        Whether weights do.
    """

    source: ArraySource
    held: np.ndarray
    trained: np.ndarray
    total: float
    unit: float
    counts_rows: bool

    @property
    def n_folds(self) -> int:
        """K."""
        return self.held.shape[1]


class Merged(NamedTuple):
    """Distinct rows, their weights in a unit, and whether these count rows: then the unit is 1."""

    rows: ArraySource
    weights: np.ndarray
    unit: float
    is_whole: bool


def deal_rows(source: Source, count: int, most_folds: int, seed: int) -> DealtRows:
    """Draw rows of about `count` in weight and deal them into folds.

    The fewer rows there are, the more folds, from 2 up to `most_folds`: all folds together train on
    about a quarter of `count`.
    """
    by_rows, count = count / 4, limit_rows(source, count)
    merged, weights, unit, is_whole = merge_all(source, count, seed)
    keys = key_rows(merged, seed)
    drawn = draw_copies(weights, keys, count, is_whole=is_whole)
    order = np.argsort(keys, kind="stable")
    order = order[drawn[order] > 0]
    rows, drawn = merged.take(order), drawn[order]
    total = float(drawn.sum())
    by_lanes = MOST_LANES // (rows.n_classes - 1)
    most_folds = min(most_folds, round(by_rows / max(total, 1.0)), by_lanes)
    n_folds = max(2, most_folds)
    held = hold_out(rows.labels, drawn, n_folds, is_whole=is_whole)
    if not held.any():
        # No class has two rows: there is nothing better to judge by than what is trained.
        held = np.repeat(drawn[:, None] / n_folds, n_folds, axis=1)
        drawn = drawn + drawn / n_folds
    plain = ArraySource(
        rows.codes, rows.labels, rows.n_classes, rows.cardinalities, attributes=rows.attributes
    )
    trained = (drawn[:, None] - held).astype(np.float32)
    is_all = isinstance(source, ArraySource) and source.resident
    whole = float(weights.sum()) if is_all else float(source.n_weighted)
    return DealtRows(plain, held.astype(np.float32), trained, whole, unit, is_whole)


def limit_rows(source: Source, count: int) -> int:
    """Return how many rows to look at, at most `count`: many classes or columns have fewer."""
    lanes = 2 * (source.n_classes - 1)
    count = min(count, MOST_SCORES // lanes)
    if lanes < MANY_LANES:
        return count
    n_columns, n_features = len(source.attributes), len(np.unique(source.attributes))
    pairs = min(n_features * (n_features - 1) / 2, TYPICAL_PAIRS)
    tables = n_columns * (1.0 + pairs / n_features)
    bearable = MOST_LOOKUPS / (tables * -(-lanes // VECTOR))
    return min(count, int(bearable) if bearable > 2 * FEWER_ROWS else FEWER_ROWS)


def merge_all(source: Source, count: int, seed: int) -> Merged:
    """Return distinct rows in memory with their weights."""
    rows = source if isinstance(source, ArraySource) and source.resident else None
    if rows is None or rows.n_weighted < rows.n_rows:
        rows = source.draw(SPARE * count if rows is None else source.n_rows,
                           np.random.default_rng(seed))  # fmt: skip
    identical = find_identical(rows)
    merged = rows if identical is None else merge_identical(rows, identical)
    weights = np.ones(merged.n_rows) if merged.weights is None else merged.weights
    given = np.ones(1) if rows.weights is None else rows.weights
    is_whole = bool(are_whole(given))
    unit = 1.0 if is_whole else float(given.mean())
    return Merged(merged, weights / unit, unit, is_whole)


def key_rows(rows: ArraySource, seed: int) -> np.ndarray:
    """Return a random number in [0, 1) for each row, by its content and the seed."""
    hashes = np.empty(rows.n_rows, np.uint64)
    hash_rows(rows.codes, rows.labels, hashes)
    # The finaliser of splitmix64: neighbouring seeds give keys that have nothing in common.
    x = hashes + np.uint64(int(seed) * 0x9E3779B97F4A7C15 % (1 << 64))
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((x ^ (x >> np.uint64(31))) >> np.uint64(11)) / float(1 << 53)


def draw_copies(weights: np.ndarray, keys: np.ndarray, count: int, *, is_whole: bool) -> np.ndarray:
    """Return the weight of each row in a sample of about `count` in weight."""
    share = count / max(float(weights.sum()), 1.0)
    if share >= 1.0:
        return weights
    if not is_whole:
        return np.where(keys < share, weights, 0.0)
    expected = weights * share
    return np.floor(expected) + (keys < expected - np.floor(expected))


def hold_out(labels: np.ndarray, drawn: np.ndarray, n_folds: int, *, is_whole: bool) -> np.ndarray:
    """Return the weight that each fold holds out of each row, (n_rows, K).

    The copies of a class go to one fold after the other. A class of a single row is always trained:
    held out, it would only tell that it was never seen.
    """
    held = np.zeros((len(drawn), n_folds))
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        copies = drawn[rows] if is_whole else np.ones(len(rows))
        first = np.cumsum(copies) - copies
        if copies.sum() < 2:
            continue
        turn = (np.arange(n_folds) - first[:, None]) % n_folds
        dealt = copies[:, None] // n_folds + (turn < (copies % n_folds)[:, None])
        held[rows] = dealt if is_whole else dealt * drawn[rows][:, None]
    return held
