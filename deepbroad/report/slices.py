"""Where a model is weak: values and bins of single attributes whose rows it predicts worse."""

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm

from deepbroad.data.code_column import CodeColumn, NumberColumn
from deepbroad.report.scored_rows import ScoredRows

# A number is cut into so many bins at most where it has several resolutions.
MOST_BINS = 8
FEWEST_ROWS = 20
SIGNIFICANCE = 0.05


class Slice(NamedTuple):
    """The rows that have one value of an attribute.

    Parameters
    ----------
    attribute, value : str
    rows : int
    loss, error : float
        Mean logarithmic loss and share of wrong predictions.
    expected : float
        The share of wrong predictions that the model's own probabilities promise.
    excess : float
        By how much these rows raise the mean loss of all rows.
    p : float
        How probable a loss so much above that of the other rows is by chance, times how many
        slices were looked at (Bonferroni), at most 1.
    """

    attribute: str
    value: str
    rows: int
    loss: float
    error: float
    expected: float
    excess: float
    p: float


def find_weak_slices(encoding: Any, rows: ScoredRows) -> tuple[list[Slice], int]:
    """Return the slices that are worse than chance explains, and how many were looked at.

    The one that costs most comes first. The test is Welch's, one-sided, of the mean loss within
    against that outside.
    """
    found: list[Slice] = []
    losses, wrong = rows.losses, rows.predicted != rows.y
    doubt = 1 - rows.probabilities.max(axis=1)
    for place, name in enumerate(encoding.names):
        owned = np.flatnonzero(encoding.attributes == place)
        i = choose_resolution(encoding.columns, owned)
        names = [*encoding.value_names(i), "never seen"]
        found += _slices_of(name, names, rows.codes[i], losses, wrong, doubt)
    n_tests = len(found)
    corrected = [one._replace(p=min(1.0, one.p * n_tests)) for one in found]
    weak = [one for one in corrected if one.p < SIGNIFICANCE and one.excess > 0]
    return sorted(weak, key=lambda one: -one.excess), n_tests


def choose_resolution(columns: tuple[CodeColumn, ...], owned: np.ndarray) -> int:
    """Return the finest code column of an attribute that has few bins, if it is a number."""
    few = [
        int(i)
        for i in owned
        if not isinstance(columns[i], NumberColumn) or columns[i].n_values <= MOST_BINS
    ]
    return few[-1] if few else int(owned[0])


def _slices_of(
    attribute: str,
    names: list[str],
    codes: np.ndarray,
    losses: np.ndarray,
    wrong: np.ndarray,
    doubt: np.ndarray,
) -> list[Slice]:
    """Return the slices of one attribute that have rows enough; p is not yet corrected."""
    size, n = len(names), len(codes)
    count = np.bincount(codes, minlength=size)
    total, squares = (np.bincount(codes, values, size) for values in (losses, np.square(losses)))
    n_wrong, n_doubt = (np.bincount(codes, values, size) for values in (wrong, doubt))
    sum_all, squares_all = losses.sum(), np.square(losses).sum()
    found = []
    for value in np.flatnonzero((count >= FEWEST_ROWS) & (n - count >= FEWEST_ROWS)):
        k, rest = count[value], n - count[value]
        inside, outside = total[value] / k, (sum_all - total[value]) / rest
        spread = max(0.0, squares[value] / k - inside**2) / (k - 1)
        spread += max(0.0, (squares_all - squares[value]) / rest - outside**2) / (rest - 1)
        z = (inside - outside) / np.sqrt(spread) if spread > 0 else 0.0
        found.append(
            Slice(
                attribute,
                names[value],
                int(k),
                float(inside),
                float(n_wrong[value] / k),
                float(n_doubt[value] / k),
                float((total[value] - k * sum_all / n) / n),
                float(norm.sf(z)),
            )
        )
    return found
