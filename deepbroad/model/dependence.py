"""How much columns tell about the class, and about each other beside it: plain mutual information.

Unlike the scores of `deepbroad.model.information`, nothing is taken off for chance, as structures
of Bayesian networks are defined by the information in the sample itself.
"""

from functools import partial
from math import comb
from typing import NamedTuple

import numpy as np

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

    With N·H(u | v) from one contingency table of u against v,

        I(x_i; y) = H(y) − H(y | x_i)    and    I(x_i; x_j | y) = H(x_j | y) − H(x_j | y, x_i).

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
    # The class is one column more: given it, columns take the place of labels in the tables.
    rows = observe(
        sample._replace(codes=np.vstack([sample.codes, sample.labels[None]])),
        np.append(cardinalities, sample.n_classes),
    )
    weight = rows.class_totals.sum()
    relevance, conditional = np.zeros(n_columns), np.zeros((n_columns, n_columns))
    if weight == 0:
        return Dependence(relevance, conditional)

    def measure_column(j: int) -> None:
        labelled = label_by(rows, j)
        both = np.column_stack([np.full(j, n_columns), np.arange(j)])
        alone = certainty(labelled, np.array([[n_columns]]))
        conditional[j, :j] = (certainty(labelled, both) - alone) / weight

    (threads or Threads(1)).run([partial(measure_column, j) for j in range(n_columns)])
    totals = rows.class_totals
    alone = (totals * np.log(totals)).sum() - weight * np.log(weight)
    relevance[:] = (certainty(rows, np.arange(n_columns)[:, None]) - alone) / weight
    return Dependence(relevance, conditional + conditional.T)


def dependence_of(source: Source, threads: Threads) -> Dependence:
    """Measure a source: all its rows or, where pairs would take too long, a sample of them."""
    sample = sample_rows(source, comb(len(source.cardinalities), 2))
    return measure_dependence(sample, source.cardinalities, threads)


def label_by(rows: Observations, column: int) -> Observations:
    """Return the rows with the codes of a column as their labels."""
    codes = rows.codes[column]
    weights = rows.weights if len(rows.weights) else None
    totals = np.bincount(codes, weights, int(rows.cardinalities[column]))
    return rows._replace(labels=codes.astype(np.int32), class_totals=totals.astype(np.float64))


def certainty(rows: Observations, members: np.ndarray) -> np.ndarray:
    """Return −N·H(label | x_α) of tuples of one order, (n_tuples,)."""
    totals, shown = np.zeros(len(members)), np.zeros(len(members), np.int64)
    sum_tuples(rows, members, new_workspace(rows), totals, shown, np.empty(0))
    return totals
