"""The tuples of attributes that tell most, for where all of them would take too long.

Each tuple is judged by what it tells about the class beyond its parts, on rows that the choice does
not hold out (in its first fold).
"""

from math import comb

import numpy as np

from deepbroad.data.source import ArraySource
from deepbroad.kernels.threads import Threads
from deepbroad.model.information import Scorer
from deepbroad.model.resolutions import Resolutions, choose_levels
from deepbroad.model.sample import Sample, sample_rows
from deepbroad.model.terms import list_tuples

# Tuples that are scored at most, and rows × tuples: a second or two.
MAX_SCORED = 50_000
ROW_BUDGET = 300_000_000
# Bins of a number, as a power of two, that show whether a tuple is worth its table.
MAX_LEVEL = 3


def draw_shortlist(
    source: ArraySource, held: np.ndarray, order: int, count: int, threads: Threads
) -> np.ndarray:
    """Return the tuples of `order` attributes that tell most, `count` at most, in order.

    Parameters
    ----------
    source : ArraySource
        Rows of code columns.
    held : integer array
        Rows that are not looked at.
    order, count : int
        Attributes of a tuple, and tuples.

    Returns
    -------
    ndarray of shape (k, order), int64
        Of all tuples that tell anything beyond their parts. Of many attributes, only those that
        tell most by themselves are looked at.
    """
    scorer = _score_others(source, held, order, threads)
    candidates = np.sort(np.argsort(-scorer.column_relevance, kind="stable")[: _most(order)])
    tuples = candidates[list_tuples(len(candidates), order)]
    gain = scorer.score(tuples).gain
    best = np.argsort(-gain, kind="stable")[:count]
    return tuples[np.sort(best[gain[best] > 0])]


def draw_tiled(
    source: ArraySource,
    held: np.ndarray,
    order: int,
    count: int,
    redundant: np.ndarray,
    threads: Threads,
) -> np.ndarray:
    """Return the tuples of the attributes that tell most, by themselves and in pairs.

    Parameters
    ----------
    source, held, order
        As for `draw_shortlist`.
    count : int
        Attributes.
    redundant : ndarray of shape (a, a), bool
        Pairs that no tuple is to have.

    Returns
    -------
    ndarray of shape (k, order), int64
        Those with two numbers at least: others have nothing to shift against each other.
    """
    scorer = _score_others(source, held, 2, threads)
    relevance = scorer.column_relevance
    candidates = np.sort(np.argsort(-relevance, kind="stable")[: _most(2)])
    pairs = candidates[list_tuples(len(candidates), 2)]
    gain = np.where(redundant[pairs[:, 0], pairs[:, 1]], 0.0, scorer.score(pairs).gain)
    told = np.maximum(relevance, 0.0)
    for side in pairs.T:
        np.add.at(told, side, np.maximum(gain, 0.0))
    best = np.sort(np.argsort(-told, kind="stable")[:count])
    tuples = best[list_tuples(len(best), order)] if len(best) >= order else np.empty((0, order))
    tuples = tuples.astype(np.int64)
    is_number = np.diff(Resolutions(source.attributes, source.cardinalities).firsts) > 1
    first, second = np.triu_indices(order, 1)
    is_lean = ~redundant[tuples[:, first], tuples[:, second]].any(axis=1)
    return tuples[is_lean & (is_number[tuples].sum(axis=1) > 1)]


def _score_others(source: ArraySource, held: np.ndarray, order: int, threads: Threads) -> Scorer:
    """Return what scores tuples of attributes on the rows that are not held out."""
    rest = np.ones(source.n_rows, bool)
    rest[held] = False
    resolutions = Resolutions(source.attributes, source.cardinalities)
    level = min(MAX_LEVEL, choose_levels(float(np.count_nonzero(rest)), order)[-1])
    columns = resolutions.columns_at(level)
    n_tuples = min(comb(len(columns), order), MAX_SCORED)
    drawn = sample_rows(source.take(np.flatnonzero(rest)), n_tuples, ROW_BUDGET)
    sample = Sample(drawn.codes[columns], drawn.labels, drawn.weights, drawn.n_classes)
    return Scorer(sample, source.cardinalities[columns], threads=threads)


def _most(order: int) -> int:
    """Return how many attributes have no more tuples than are scored."""
    number = order
    while comb(number + 1, order) <= MAX_SCORED:
        number += 1
    return number
