"""How much columns tell about the class, and about each other beside it: plain mutual information.

Unlike the scores of `deepbroad.model.information`, nothing is taken off for chance, as structures
of Bayesian networks are defined by the information in the sample itself.
"""

from functools import partial
from math import comb
from typing import NamedTuple

import numpy as np
from scipy.special import xlogy

from deepbroad.data.source import Source
from deepbroad.kernels.information import Observations, new_workspace, sum_tuples
from deepbroad.kernels.threads import Threads
from deepbroad.model.sample import Sample, observe, sample_rows


class Dependence(NamedTuple):
    """Mutual information of code columns, in nats.

    Parameters
    ----------
    relevance : array of shape (n_columns,), float64
        I(x_i; y).
    conditional : array of shape (n_columns, n_columns), float64
        I(x_i; x_j | y), symmetric, 0 on the diagonal.
    """

    relevance: np.ndarray
    conditional: np.ndarray


def measure_dependence(
    sample: Sample, cardinalities: np.ndarray, threads: Threads | None = None
) -> Dependence:
    """Measure all columns and all pairs of them.

    With S_u = Σ n_u·log n_u over the values of u, and N the total weight,

        N·I(x_i; y) = S_iy − S_i − S_y + S    and    N·I(x_i; x_j | y) = S_ijy − S_iy − S_jy + S_y.

    Parameters
    ----------
    sample : Sample
        Rows of weight 0, and those with a code that is not below its cardinality, are left out.
    cardinalities : ndarray of shape (n_columns,)
    threads : Threads, optional
        Never changes a bit.

    Examples
    --------
    >>> codes = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 0, 1]], np.uint8)
    >>> found = measure_dependence(Sample(codes, codes[2], None, 2), np.array([2, 2, 2]))
    >>> found.relevance.round(3)
    array([0.   , 0.   , 0.693])
    >>> found.conditional[0].round(3)
    array([0.   , 0.693, 0.   ])
    """
    n_columns = len(cardinalities)
    rows = observe(sample, cardinalities)
    weight = rows.class_totals.sum()
    conditional = np.zeros((n_columns, n_columns))
    if weight == 0:
        return Dependence(np.zeros(n_columns), conditional)
    columns = range(n_columns)
    alone = np.array([sum_logs(count_codes(rows, i)) for i in columns])
    by_class = sum_joint_logs(rows, n_columns) + alone
    of_class = sum_logs(rows.class_totals)

    def measure_column(j: int) -> None:
        joint = sum_joint_logs(label_by(rows, j), j) + alone[:j]
        conditional[j, :j] = (joint - by_class[:j] - by_class[j] + of_class) / weight

    (threads or Threads(1)).run([partial(measure_column, j) for j in columns])
    relevance = (by_class - alone - of_class + sum_logs(weight)) / weight
    return Dependence(relevance, conditional + conditional.T)


def dependence_of(source: Source, threads: Threads) -> Dependence:
    """Measure a source: all its rows or, where pairs would take too long, a sample of them."""
    sample = sample_rows(source, comb(len(source.cardinalities), 2))
    return measure_dependence(sample, source.cardinalities, threads)


def count_codes(rows: Observations, column: int) -> np.ndarray:
    """Return the weight of the rows of each code of a column."""
    weights = rows.weights if len(rows.weights) else None
    return np.bincount(rows.codes[column], weights, int(rows.cardinalities[column]))


def sum_logs(counts: np.ndarray | float) -> float:
    """Return Σ n·log n."""
    return float(xlogy(counts, counts).sum())


def label_by(rows: Observations, column: int) -> Observations:
    """Return the rows with a label for each pair of a code of a column and a class."""
    n_classes = len(rows.class_totals)
    labels = rows.codes[column].astype(np.int32) * np.int32(n_classes) + rows.labels
    return rows._replace(
        labels=labels, class_totals=np.zeros(int(rows.cardinalities[column]) * n_classes)
    )


def sum_joint_logs(rows: Observations, n_columns: int) -> np.ndarray:
    """Return Σ n_xl·log n_xl − Σ n_x·log n_x of each of the first columns x and the labels l."""
    totals, shown = np.zeros(n_columns), np.zeros(n_columns, np.int64)
    members = np.arange(n_columns)[:, None]
    sum_tuples(rows, members, new_workspace(rows), totals, shown, np.empty(0))
    return totals
