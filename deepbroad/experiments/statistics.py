"""The paper's statistics, and those that reviewers ask for today: numbers in, numbers out.

Bias and variance, the sign test, win-draw-loss and geometric means are the paper's; ranks with
Friedman, Nemenyi and Wilcoxon-Holm go beyond it. Nothing here may know of rows, files or methods.
"""

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

DECIMALS = 4
SIGNIFICANT = 0.05


class Decomposition(NamedTuple):
    """Kohavi and Wolpert's two parts of the mean error, see `decompose_error`."""

    bias: float
    variance: float


class WinDrawLoss(NamedTuple):
    """On how many data sets one method has the lower, the same and the higher value."""

    wins: int
    draws: int
    losses: int

    @property
    def p(self) -> float:
        """Give the sign test's p of these wins and losses."""
        return sign_test(self.wins, self.losses)

    @property
    def total(self) -> int:
        """Give the number of data sets compared."""
        return sum(self)

    def __str__(self) -> str:
        return "/".join(map(str, self))


class Friedman(NamedTuple):
    """Friedman's test that all methods rank alike."""

    statistic: float
    p: float


def decompose_error(truth: ArrayLike, votes: ArrayLike) -> Decomposition:
    """Split the mean error into Kohavi and Wolpert's squared bias and variance.

    With P(c) the share of a row's predictions that say c, each row being its own x,

    - bias² = ½ Σ_c (1[y = c] − P(c))²,
    - variance = ½ (1 − Σ_c P(c)²),

    averaged over rows, so that bias² + variance is the mean error, the mean of 1 − P(y).

    Parameters
    ----------
    truth : array-like of int of shape (N,)
        Code of each row's class.
    votes : array-like of int of shape (N, C)
        How often each row was predicted to be of each class; at least once in all.

    Returns
    -------
    decomposition : Decomposition
        Named tuple of bias (squared) and variance.

    Examples
    --------
    One row of class 0, predicted 0, 0, 0, 1 and 1:

    >>> found = decompose_error([0], [[3, 2]])
    >>> round(found.bias, 4), round(found.variance, 4)
    (0.16, 0.24)
    """
    y = np.asarray(truth)
    counts = np.asarray(votes, dtype=np.float64)
    totals = counts.sum(axis=1)
    if not totals.all():
        raise ValueError("Every row needs at least one prediction.")
    p_truth = counts[np.arange(y.size), y] / totals
    squares = np.einsum("rc,rc->r", counts, counts) / totals**2
    # Σ_c (1[y=c] − P(c))² = 1 − 2 P(y) + Σ_c P(c)²
    bias = 0.5 * np.mean(1.0 - 2.0 * p_truth + squares)
    return Decomposition(float(bias), float(0.5 * np.mean(1.0 - squares)))


def sign_test(wins: int, losses: int) -> float:
    """Give the two-tailed binomial p of wins against losses, draws left out; 1 without either."""
    return float(stats.binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0


def count_wins(ours: ArrayLike, theirs: ArrayLike, *, decimals: int = DECIMALS) -> WinDrawLoss:
    """Count where `ours` is lower, equal or higher; equal means equal at `decimals` decimals.

    >>> str(count_wins([0.1, 0.20001, 0.4], [0.2, 0.20004, 0.3]))
    '1/1/1'
    """
    difference = _round(ours, decimals) - _round(theirs, decimals)
    wins, losses = int(np.sum(difference < 0)), int(np.sum(difference > 0))
    return WinDrawLoss(wins, difference.size - wins - losses, losses)


def average_ratio(values: ArrayLike, reference: ArrayLike, *, added: ArrayLike = 0.0) -> float:
    """Give the geometric mean of values / reference, with `added` to both.

    The paper divides by DBL²; 1/(2N) is added to losses, since some are 0.

    >>> average_ratio([2.0, 8.0], [1.0, 1.0])
    4.0
    """
    logarithms = np.log(np.add(values, added)) - np.log(np.add(reference, added))
    return float(np.exp(np.mean(logarithms)))


def average_ranks(values: ArrayLike, *, decimals: int = DECIMALS) -> NDArray[np.float64]:
    """Rank methods on each data set (1 is the lowest, equals share) and average over data sets.

    Parameters
    ----------
    values : array-like of shape (data sets, methods)
        Losses; equal at `decimals` decimals is a draw.
    decimals : int, default=4
        See above.

    Returns
    -------
    ranks : ndarray of float64 of shape (methods,)
        Average rank of each method.
    """
    ranks = stats.rankdata(_round(values, decimals), axis=1)
    return np.asarray(ranks.mean(axis=0), dtype=np.float64)


def friedman_test(values: ArrayLike, *, decimals: int = DECIMALS) -> Friedman:
    """Test whether at least three methods rank alike; `values` as in `average_ranks`."""
    rounded = _round(values, decimals)
    if np.all(rounded == rounded[:, :1]):
        return Friedman(0.0, 1.0)
    found = stats.friedmanchisquare(*rounded.T)
    return Friedman(float(found.statistic), float(found.pvalue))


def nemenyi_distance(n_methods: int, n_datasets: int, *, alpha: float = SIGNIFICANT) -> float:
    """Give the difference of average ranks from which two of all methods differ significantly.

    CD = q sqrt(k(k + 1) / (6 N)), q being the studentised range of k methods over √2 (Nemenyi;
    Demšar 2006).
    """
    q = stats.studentized_range.ppf(1.0 - alpha, n_methods, np.inf) / np.sqrt(2.0)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6.0 * n_datasets)))


def compare_pairs(values: ArrayLike, *, decimals: int = DECIMALS) -> NDArray[np.float64]:
    """Test every pair of methods by Wilcoxon's signed ranks, with Holm's correction.

    Parameters
    ----------
    values, decimals
        As in `average_ranks`.

    Returns
    -------
    p : ndarray of float64 of shape (methods, methods)
        Corrected p of each pair; symmetric, 1 on the diagonal.
    """
    rounded = _round(values, decimals)
    n_methods = rounded.shape[1]
    pairs = list(combinations(range(n_methods), 2))
    found = correct_holm([_test_wilcoxon(rounded[:, i] - rounded[:, j]) for i, j in pairs])
    p = np.ones((n_methods, n_methods))
    for (i, j), value in zip(pairs, found, strict=True):
        p[i, j] = p[j, i] = value
    return p


def correct_holm(p: ArrayLike) -> NDArray[np.float64]:
    """Correct p values of several tests by Holm's procedure.

    >>> correct_holm([0.01, 0.04, 0.03]).round(4).tolist()
    [0.03, 0.06, 0.06]
    """
    given = np.asarray(p, dtype=np.float64)
    order = np.argsort(given, kind="stable")
    factors = np.arange(given.size, 0, -1)
    corrected = np.empty_like(given)
    corrected[order] = np.minimum(np.maximum.accumulate(given[order] * factors), 1.0)
    return corrected


def _round(values: ArrayLike, decimals: int) -> NDArray[np.float64]:
    """Round values, so that those equal at `decimals` decimals are equal."""
    return np.asarray(np.round(np.asarray(values, dtype=np.float64), decimals), dtype=np.float64)


def _test_wilcoxon(differences: NDArray[np.float64]) -> float:
    """Give Wilcoxon's two-tailed p; 1 where nothing differs."""
    # Rounded numbers subtract to 1e-17 and not 0, which would be a rank of its own.
    differences = np.round(differences, DECIMALS + 4)
    if not differences.any():
        return 1.0
    return float(stats.wilcoxon(differences, zero_method="zsplit").pvalue)
