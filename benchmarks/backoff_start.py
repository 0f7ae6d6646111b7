"""DBL whose scale and start back tuples off to single values: a trial, for `backoff.py` alone."""

from functools import partial
from typing import Any, Self

import numpy as np

from deepbroad import DBLClassifier
from deepbroad.engine.training import Training
from deepbroad.model.generative import log_likelihoods


def log_parts(training: Training) -> np.ndarray:
    """Return the sum of log θ (m = 1) of each cell's single values, (n_cells, C).

    They come from a term's own counts. The joint values that share a cell share what probability
    the others leave.
    """
    terms, groups = training.plan.terms, training.plan.compact_groups
    found = np.zeros((terms.n_cells, training.source.n_classes))
    for term in range(len(terms)):
        cells = slice(int(terms.offsets[term]), int(terms.offsets[term + 1]))
        counts, logs = training.counts[cells].astype(np.float64), found[cells]
        if term in groups:
            digits, sizes = groups[term].digits, groups[term].cardinalities
        else:
            sizes = terms.cardinalities[list(terms.tuple(term))]
            digits = np.indices(sizes).reshape(len(sizes), -1)
        own = digits.shape[1]  # a compact term has one cell more, which others share
        for digit, size in zip(digits, sizes, strict=True):
            single = np.zeros((size, counts.shape[1]))
            np.add.at(single, digit, counts[:own])
            spaces = np.full(size, size)
            logs[:own] += log_likelihoods(single, training.class_counts, spaces, 1.0)[digit]
        if term in groups:
            rest = np.maximum(1 - np.exp(logs[:own]).sum(axis=0), 1e-9)
            logs[own] = np.log(rest / max(float(terms.spaces[term]) - own, 1.0))
    return found


def backed_off(
    training: Training, m: float, cells: np.ndarray | None = None, children: Any = None
) -> np.ndarray:
    """Do as `Training.log_likelihoods`, with θ = (#_{x_α,y} + m·q) / (#_y + m)."""
    which = slice(None) if cells is None else cells
    q = np.exp(log_parts(training)[which])
    found = np.log(training.counts[which] + m * q) - np.log(training.class_counts + m)
    return found.astype(training.dtype)


class BackedOffDBL(DBLClassifier):
    """DBL with log θ backed off to single values; `backing_off` sets m."""

    _m = 1.0

    def backing_off(self, m: float) -> Self:
        """Set the weight of the single values."""
        self._m = m
        return self

    def _fit_tables(self, training: Training, prepared: Any) -> Any:
        training.log_likelihoods = partial(backed_off, training, self._m)  # type: ignore[method-assign]
        return super()._fit_tables(training, prepared)
