"""Bias and variance of a method on a data set, from the predictions that its rows hold."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from deepbroad.experiments.rows import test_rows
from deepbroad.experiments.statistics import Decomposition, decompose_error

Row = Mapping[str, Any]


def decompose_rows(rows: Sequence[Row]) -> Decomposition:
    """Split the mean error of whole rounds of one method on one data set, see `decompose_error`.

    Parameters
    ----------
    rows : sequence of mappings
        Rows of finished trials; with both folds of each round, they test every row of the data
        set once in each round.
    """
    truth = np.zeros(rows[0]["n_rows"], dtype=np.int16)
    votes = np.zeros((rows[0]["n_rows"], rows[0]["n_classes"]), dtype=np.uint8)
    for row in rows:
        tested = test_rows(dict(row))
        truth[tested] = row["actual"]
        votes[tested, row["predicted"]] += 1
    return decompose_error(truth, votes)
