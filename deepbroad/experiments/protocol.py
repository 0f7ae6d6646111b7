"""The protocol: rounds of two folds, drawn from a seed and the same for all methods."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FOLDS = 2

Split = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True)
class Protocol:
    """How rows are divided.

    Parameters
    ----------
    rounds : int, default=5
        How often the rows are divided in two; each half is the test part once.
    seed : int, default=0
        Seed of the draws.
    stratified : bool, default=False
        Whether every class is halved too. The paper does not say; published code of its authors
        draws halves at random, which is the default here.
    """

    rounds: int = 5
    seed: int = 0
    stratified: bool = False


def folds(
    n_rows: int,
    labels: NDArray[Any] | None,
    round: int,
    seed: int = 0,
    stratified: bool = False,
) -> tuple[Split, Split]:
    """Divide rows in two halves and return (training rows, test rows) of both folds.

    Parameters
    ----------
    n_rows : int
        How many rows there are.
    labels : array of shape (n_rows,) or None
        Their classes; needed if `stratified`.
    round : int
        Number of the round; each has a division of its own.
    seed, stratified
        As in `Protocol`.

    Examples
    --------
    >>> [(train.tolist(), test.tolist()) for train, test in folds(5, None, round=0)]
    [([0, 4], [1, 2, 3]), ([1, 2, 3], [0, 4])]
    """
    order = np.random.default_rng([seed, round]).permutation(n_rows)
    if stratified:
        if labels is None:
            raise ValueError("Stratified folds need the labels.")
        codes = np.unique(labels, return_inverse=True)[1]
        order = order[np.argsort(codes[order], kind="stable")]
    first, second = np.sort(order[::FOLDS]), np.sort(order[1::FOLDS])
    return (second, first), (first, second)
