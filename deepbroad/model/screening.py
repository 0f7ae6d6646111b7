"""Which tuples of columns a model that cannot have them all should have: the best by information.

All tuples are scored where that is possible. Where they are too many (`MAX_TUPLES`, `MAX_PAIRS`),
a beam search goes from pairs upwards: a heuristic, which finds a tuple only if a part of it has a
high gain as well (the parity of three columns is not found so).
"""

from collections.abc import Iterator
from itertools import chain, combinations, islice
from math import comb, isqrt

import numpy as np

from deepbroad.kernels.threads import Threads
from deepbroad.model.information import Criterion, Scorer, Scores, score_terms
from deepbroad.model.sample import ROW_BUDGET, Sample, sample_rows
from deepbroad.model.selection import Selection, descending, first_occurrences
from deepbroad.model.terms import Terms

__all__ = [
    "ROW_BUDGET",
    "Sample",
    "Scores",
    "choose_terms",
    "count_scored",
    "sample_rows",
    "score_terms",
]

# With at least 1,000 rows each, 20 million tuples take about 20 s on 2 cores.
MAX_PAIRS = 20_000_000
MAX_TUPLES = 5_000_000
MIN_WIDTH = 1_000
CHUNK = 1 << 18  # tuples that are listed at a time


def choose_terms(
    sample: Sample,
    n: int,
    cardinalities: np.ndarray,
    max_terms: int,
    *,
    criterion: Criterion = "cmi",
    threads: Threads | None = None,
) -> tuple[Terms, Scores]:
    """Return the `max_terms` best of all tuples of `n` columns, in lexicographic order.

    First every column of several values keeps its tuple of highest relevance I(x_α; y), in the
    order of that value while there is room, so that no single effect is lost; then tuples follow by
    gain (see `score_terms`). The first of equals is taken; threads do not matter.

    With at most `MAX_PAIRS` tuples of n ≤ 2 columns, or `MAX_TUPLES` of more, all are scored, and
    the choice is exact. Else pairs (of the most relevant columns, if all pairs are too many) are
    scored, those of highest gain are extended by each column, the best of these again, up to depth
    n; then "all tuples" above means those that were scored, and some columns may have none.

    Parameters
    ----------
    sample : Sample
        As many rows as `sample_rows` takes for `count_scored` tuples, or all.
    n : int
    cardinalities : ndarray of shape (n_columns,)
    max_terms : int
    criterion : {"cmi", "chi2"}
    threads : Threads, optional

    Examples
    --------
    >>> codes = np.random.default_rng(0).integers(2, size=(5, 400), dtype=np.uint8)
    >>> sample = Sample(codes, codes[1] ^ codes[3], None, 2)
    >>> terms, scores = choose_terms(sample, 2, np.full(5, 2), 1)
    >>> terms.tuple(0)
    (1, 3)
    """
    n_columns = len(cardinalities)
    if not 1 <= n <= n_columns:
        raise ValueError(f"n must be between 1 and the {n_columns} columns, got {n}")
    if max_terms < 1:
        raise ValueError(f"max_terms must be at least 1, got {max_terms}")
    scorer = Scorer(sample, cardinalities, criterion=criterion, threads=threads)
    selection = Selection(n, cardinalities, max_terms)
    for members in _candidates(scorer, n, max_terms):
        selection.add(members, scorer.score(members))
    chosen = selection.chosen()
    terms = Terms(chosen.members, np.asarray(cardinalities, np.int64))
    return terms, Scores(chosen.relevance, chosen.gain)


def count_scored(n_columns: int, n: int, max_terms: int) -> int:
    """Return how many tuples `choose_terms` scores at most."""
    if _is_exact(n_columns, n):
        return comb(n_columns, n)
    width = _beam_width(n_columns, max_terms)
    return comb(_paired_columns(n_columns), 2) + (n - 2) * width * n_columns


def _is_exact(n_columns: int, n: int) -> bool:
    """Whether all tuples are scored."""
    return n == 1 or comb(n_columns, n) <= (MAX_PAIRS if n == 2 else MAX_TUPLES)


def _beam_width(n_columns: int, max_terms: int) -> int:
    """How many tuples of each order below n are extended."""
    return max(1, min(max(max_terms, MIN_WIDTH), MAX_PAIRS // n_columns))


def _paired_columns(n_columns: int) -> int:
    """How many columns are paired with each other."""
    return min(n_columns, (1 + isqrt(1 + 8 * MAX_PAIRS)) // 2)


def _candidates(scorer: Scorer, n: int, max_terms: int) -> Iterator[np.ndarray]:
    """Yield chunks of tuples of order n, each in lexicographic order."""
    n_columns = scorer.n_columns
    if _is_exact(n_columns, n):
        yield from _all_tuples(np.arange(n_columns), n)
        return
    most_relevant = descending(scorer.column_relevance)[: _paired_columns(n_columns)]
    chunks = _all_tuples(np.sort(most_relevant), 2)
    width = _beam_width(n_columns, max_terms)
    for order in range(2, n):
        selection = Selection(order, scorer.cardinalities, width)
        for members in chunks:
            selection.add(members, scorer.score(members))
        chunks = _extensions(selection.by_gain(), n_columns)
    yield from chunks


def _all_tuples(columns: np.ndarray, n: int) -> Iterator[np.ndarray]:
    """Yield all tuples of n of the columns, in lexicographic order."""
    remaining = combinations(columns.tolist(), n)
    while True:
        flat = chain.from_iterable(islice(remaining, CHUNK))
        members = np.fromiter(flat, np.int64).reshape(-1, n)
        if not len(members):
            return
        yield members


def _extensions(parents: np.ndarray, n_columns: int) -> Iterator[np.ndarray]:
    """Yield each parent with each other column; a tuple may return in a later chunk."""
    step = max(1, CHUNK // n_columns)
    for begin in range(0, len(parents), step):
        some = np.repeat(parents[begin : begin + step], n_columns, axis=0)
        added = np.resize(np.arange(n_columns), len(some))[:, None]
        is_new = (some != added).all(axis=1)
        members = np.sort(np.concatenate([some, added], axis=1)[is_new], axis=1)
        yield members[first_occurrences(members)]
