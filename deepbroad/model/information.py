"""Scores of tuples of code columns: what they tell about the class, and what only they tell."""

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal, get_args

import numpy as np

from deepbroad.kernels.information import new_workspace, sum_tuples
from deepbroad.kernels.threads import Threads, split_range
from deepbroad.model.sample import Sample, observe

Criterion = Literal["cmi", "chi2"]

# Information about parts of tuples is kept from call to call while a list of all possible ones
# stays below 32 MB.
MAX_REMEMBERED = 1 << 22


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of tuples, in nats per row (chi2: per row).

    Parameters
    ----------
    relevance : ndarray of shape (n_terms,), float64
        I(x_α; y), less its expected value under independence.
    gain : ndarray of shape (n_terms,), float64
        The criterion that tuples are ranked by.
    """

    relevance: np.ndarray
    gain: np.ndarray


class Scorer:
    """Scores tuples on one sample; for the definitions see `score_terms`."""

    def __init__(
        self,
        sample: Sample,
        cardinalities: np.ndarray,
        *,
        criterion: Criterion = "cmi",
        threads: Threads | None = None,
    ) -> None:
        if criterion not in get_args(Criterion):
            raise ValueError(f"criterion must be 'cmi' or 'chi2', got {criterion!r}")
        self.criterion = criterion
        self.cardinalities, self.n_columns = cardinalities, len(cardinalities)
        self._observations = observe(sample, cardinalities)
        self._threads = threads
        self._remembered: dict[int, np.ndarray] = {}

    def score(self, members: np.ndarray) -> Scores:
        """Score tuples of one order, fastest where neighbours differ in the last column alone."""
        if self.criterion == "chi2":
            return Scores(*self._measure(members, with_squares=True))
        relevance = self._measure(members)[0]
        if members.shape[1] == 1:
            return Scores(relevance, relevance)
        return Scores(relevance, relevance - self._best_part(members))

    @cached_property
    def column_relevance(self) -> np.ndarray:
        """I(x_i; y) of each single column, (n_columns,)."""
        return self._measure(np.arange(self.n_columns)[:, None])[0]

    def _best_part(self, members: np.ndarray) -> np.ndarray:
        """Return for each tuple max_i I(x_{α∖i}; y)."""
        depth = members.shape[1]
        if depth == 2:
            return self.column_relevance[members].max(axis=1)
        parts = np.concatenate([np.delete(members, i, axis=1) for i in range(depth)])
        return self._relevance_of_repeated(parts).reshape(depth, -1).max(axis=0)

    def _relevance_of_repeated(self, parts: np.ndarray) -> np.ndarray:
        """Return I(x_α; y) of tuples that are many times the same, each counted once."""
        depth = parts.shape[1]
        keys = tuple_keys(parts, self.n_columns)
        if self.n_columns**depth > MAX_REMEMBERED:
            _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
            return self._measure(parts[first])[0][inverse]
        if depth not in self._remembered:
            self._remembered[depth] = np.full(self.n_columns**depth, np.nan)
        known = self._remembered[depth]
        unknown = np.flatnonzero(np.isnan(known[keys]))
        new, first = np.unique(keys[unknown], return_index=True)
        known[new] = self._measure(parts[unknown[first]])[0]
        return known[keys]

    def _measure(
        self, members: np.ndarray, *, with_squares: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return I(x_α; y) and χ² less its degrees of freedom by N (empty unless asked for)."""
        totals, shown = np.zeros(len(members)), np.zeros(len(members), np.int64)
        squares = np.zeros(len(members) if with_squares else 0)
        class_totals = self._observations.class_totals
        weight = class_totals.sum()
        if weight == 0:
            return totals, squares
        self._sum(np.ascontiguousarray(members, np.int64), totals, shown, squares)
        freedom = (shown - 1) * (len(class_totals) - 1) / weight
        constant = weight * np.log(weight) - (class_totals * np.log(class_totals)).sum()
        relevance = (totals + constant) / weight - freedom / 2
        return relevance, squares - 1 - freedom if with_squares else squares

    def _sum(self, members: np.ndarray, *outputs: np.ndarray) -> None:
        """Run `sum_tuples` over ranges of tuples; no sum goes over several tuples."""

        def run(begin: int, end: int) -> None:
            parts = (array[begin:end] for array in outputs)
            workspace = new_workspace(self._observations)
            sum_tuples(self._observations, members[begin:end], workspace, *parts)

        if self._threads is None:
            run(0, len(members))
        else:
            ranges = split_range(len(members), 4 * self._threads.count)
            self._threads.run([partial(run, *bounds) for bounds in ranges])


def tuple_keys(tuples: np.ndarray, n_columns: int) -> np.ndarray:
    """Return one int64 per tuple: equal for equal tuples, and in their lexicographic order."""
    keys = tuples[:, 0].astype(np.int64)
    bound = n_columns
    for column in tuples.T[1:]:
        if bound * n_columns >= 2**63:
            different, keys = np.unique(keys, return_inverse=True)
            bound = len(different)
        keys = keys * n_columns + column
        bound *= n_columns
    return keys


def score_terms(
    sample: Sample,
    members: np.ndarray,
    cardinalities: np.ndarray,
    *,
    criterion: Criterion = "cmi",
    threads: Threads | None = None,
) -> Scores:
    """Score tuples of n code columns by what they tell about the class.

    With I(x_α; y) the mutual information in the sample less (R − 1)(C − 1) / 2N, which is what it
    would show if x_α told nothing (R joint values and C classes occur, N is the total weight), the
    gain of α is

    - ``"cmi"``: I(x_α; y) − max_i I(x_{α∖i}; y), which is the least of the conditional
      informations I(x_i; y | x_{α∖i}): what no part of the tuple tells; for n = 1 it is I(x; y);
    - ``"chi2"``: Pearson's χ² of x_α against y, less its degrees of freedom, by N.

    Parameters
    ----------
    sample : Sample
        Rows of weight 0, and those with a code that is not below its cardinality, are left out.
    members : ndarray of shape (n_terms, n)
        Tuples of the same order; in lexicographic order they are scored fastest.
    cardinalities : ndarray of shape (n_columns,)
    criterion : {"cmi", "chi2"}
    threads : Threads, optional
        Never changes a bit of the scores.

    Examples
    --------
    >>> codes = np.array([[0, 0, 1, 1] * 25, [0, 1, 0, 1] * 25, [0, 0, 0, 0] * 25], np.uint8)
    >>> sample = Sample(codes, codes[0] ^ codes[1], None, 2)
    >>> score_terms(sample, np.array([[0, 1], [0, 2]]), np.array([2, 2, 1])).gain.round(3)
    array([ 0.683, -0.005])
    """
    scorer = Scorer(sample, cardinalities, criterion=criterion, threads=threads)
    return scorer.score(np.asarray(members))
