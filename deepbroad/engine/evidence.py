"""Fits of `Evidence`: its weights are learned on counts that leave out the rows they are for.

A row's own class is among the counts of its cells, and weights that were fitted to such counts
would trust them too much. So rows are dealt into folds, and each row sees the counts of the others;
the fitted weights then go with the counts of all rows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_matrix

from deepbroad.data.source import ArraySource
from deepbroad.engine.cell_list import CellList
from deepbroad.engine.training import Training
from deepbroad.model.evidence import (
    N_FREQUENCIES,
    N_LIFTS,
    Evidence,
    class_shares,
    frequencies,
    log_lifts,
)
from deepbroad.model.family import Family
from deepbroad.model.scores import ScoreTables
from deepbroad.solvers import LBFGS, Solution
from deepbroad.solvers.solver import Callback

# A cell's counts lack a twentieth of its rows at most: more folds change little.
FOLDS = 20
# λ of the weights, which are few; half or twice of it makes no difference.
STRENGTH = 100.0
# λ of the scores that single values have beside.
OWN_STRENGTH = 16.0
# Below this loss tolerances do not become smaller any more.
LEAST_LOSS = 0.003
# For a trial; tolerances are for a loss of 1 and become smaller with it. A long history takes two
# thirds of the passes of the usual ten pairs.
SOLVER = LBFGS(max_iter=150, tol=2e-5, history=30)


def loss_level(loss: float) -> float:
    """Return what the tolerance of a fit is multiplied by at a loss."""
    return min(1.0, max(loss, LEAST_LOSS))


def evidence_bytes(n_rows: float, n_terms: int, n_classes: int) -> float:
    """Return the bytes of what a fit computes with."""
    return 4.0 * n_rows * n_terms * (N_LIFTS * (n_classes - 1) + N_FREQUENCIES + 1)


def has_evidence(training: Training) -> bool:
    """Tell whether the cells of single rows are at hand, as a fit needs."""
    resident = isinstance(training.source, ArraySource) and training.source.resident
    return resident and training.plan.items is None


def fit_evidence(
    training: Training,
    family: Family,
    *,
    seed: int,
    solver: LBFGS = SOLVER,
    callbacks: Sequence[Callback] = (),
) -> tuple[ScoreTables, Solution]:
    """Return the model whose cells score by their counts, and how the solver got there.

    Parameters
    ----------
    training : Training
        Its weights, if any, are those of identical rows.
    family : Family
        Of a model whose unreached cells score 0; strengths do not matter.
    seed : int
        Deals the rows into folds.
    """
    source, plan, counts = training.rows, training.plan, training.counts
    rows = np.arange(source.n_rows)
    if source.weights is not None:
        rows = np.repeat(rows, source.weights.astype(np.int64))
    listed = CellList(source, rows, plan, training.reached, is_kept=True, threads=training.threads)
    cells, labels = next(listed.blocks()).cells, source.labels[rows]
    del listed
    terms, shares = plan.terms, class_shares(training.class_counts)
    bounds = np.searchsorted(training.reached, terms.offsets)
    # Terms are listed by their order.
    n_own = int(bounds[np.count_nonzero(terms.orders == 1)])
    objective = EvidenceObjective(cells, labels, shares, n_own, seed)
    del cells
    level = loss_level(objective(objective.start)[0])
    solution = replace(solver, tol=solver.tol * level).minimise(
        objective,
        objective.start,
        curvature=objective.curvature,
        callbacks=callbacks,
        threads=training.threads,
    )
    class_scores, of_lifts, of_frequencies, own = objective.split(solution.u)
    evidence = Evidence(of_lifts, of_frequencies, shares)
    scores = np.zeros(counts.shape, training.dtype)
    for term, (first, last) in enumerate(pairwise(bounds.tolist())):
        reached = training.reached[first:last]
        scores[reached] = evidence.scores(term, counts[reached])
    scores[training.reached[:n_own]] += own
    return training.scored(family, class_scores, scores), solution


def leave_out(cells: np.ndarray, labels: np.ndarray, C: int, seed: int) -> Iterator[np.ndarray]:
    """Yield for each term the counts, (n_rows, C), of rows' cells in the folds of other rows.

    `cells` (n_rows, n_terms) has the number of each row's cell, those of a term being next to each
    other.
    """
    fold = np.random.default_rng(seed).permutation(len(labels)) % FOLDS
    for column in cells.T:
        numbers = column.astype(np.int64) - int(column.min())
        size = int(numbers.max()) + 1
        whole = np.bincount(numbers * C + labels, minlength=size * C).reshape(size, C)
        keys = (numbers * FOLDS + fold) * C + labels
        own = np.bincount(keys, minlength=size * FOLDS * C).reshape(size, FOLDS, C)
        yield whole[numbers] - own[numbers, fold]


class EvidenceObjective:
    """F and its gradient: the mean log loss, and ½ λ Σ (w² + v²) + ½ λ' Σ β'² over F's rows.

    Parameters
    ----------
    cells : ndarray of shape (n_rows, n_terms)
        As `leave_out` has them.
    labels : ndarray of shape (n_rows,)
    shares : ndarray of shape (C,)
    n_own : int
        The first so many cells have scores β' of their own.
    seed : int
        Deals the rows into folds.
    """

    def __init__(
        self, cells: np.ndarray, labels: np.ndarray, shares: np.ndarray, n_own: int, seed: int
    ) -> None:
        (n_rows, n_terms), n_classes = cells.shape, len(shares)
        self._labels, self._shares = labels.astype(np.intp), shares
        self._n_terms, self._own = n_terms, one_hot(cells, n_own)
        # One matrix for each class but the first, relative to it: w is the same for all.
        self._lifts = np.empty((n_classes - 1, n_rows, n_terms * N_LIFTS), np.float32)
        self._frequencies = np.empty((n_rows, n_terms * N_FREQUENCIES), np.float32)
        for term, counts in enumerate(leave_out(cells, self._labels, n_classes, seed)):
            at = slice(term * N_LIFTS, (term + 1) * N_LIFTS)
            lifts = log_lifts(counts, shares).transpose(1, 0, 2)
            self._lifts[:, :, at] = lifts[1:] - lifts[0]
            at = slice(term * N_FREQUENCIES, (term + 1) * N_FREQUENCIES)
            self._frequencies[:, at] = frequencies(counts)
        n_weights = n_terms * (N_LIFTS + N_FREQUENCIES * n_classes)
        self._strength = np.repeat(
            [0.0, STRENGTH, OWN_STRENGTH], [n_classes, n_weights, n_own * n_classes]
        )

    @property
    def start(self) -> np.ndarray:
        """No evidence: the shares of classes."""
        start = np.zeros(len(self._strength))
        start[: len(self._shares)] = np.log(self._shares)
        return start

    @property
    def curvature(self) -> np.ndarray:
        """About the diagonal of the Hessian at the start."""
        spread = self._shares * (1.0 - self._shares)
        squares = np.array([np.einsum("rf,rf->f", each, each) for each in self._lifts])
        shared = np.einsum("rf,rf->f", self._frequencies, self._frequencies)
        found = [
            spread * len(self._labels),
            spread[1:] @ squares,
            np.outer(shared, spread).ravel(),
            np.outer(self._own.sum(axis=0), spread).ravel(),
        ]
        return (np.concatenate(found) + self._strength) / len(self._labels)

    def split(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return class scores (C,), w (n_terms, .), v (n_terms, ., C) and β' (n_own, C)."""
        n_terms, n_classes = self._n_terms, len(self._shares)
        sizes = [n_classes, n_terms * N_LIFTS, n_terms * N_FREQUENCIES * n_classes]
        classes, lifts, shared, own = np.split(u, np.cumsum(sizes))
        return (
            classes,
            lifts.reshape(n_terms, N_LIFTS),
            shared.reshape(n_terms, N_FREQUENCIES, n_classes),
            own.reshape(-1, n_classes),
        )

    def __call__(self, u: np.ndarray) -> tuple[float, np.ndarray]:
        """Return F(u) and its gradient."""
        n_rows, n_classes = len(self._labels), len(self._shares)
        classes, lifts, shared, own = self.split(u)
        of_lifts = lifts.astype(np.float32).ravel()
        of_shared = shared.astype(np.float32).reshape(-1, n_classes)
        scores = self._own @ own + self._frequencies @ of_shared + classes
        for c, each in enumerate(self._lifts, start=1):
            scores[:, c] += each @ of_lifts
        rows = np.arange(n_rows)
        scores -= scores.max(axis=1, keepdims=True)
        residuals = np.exp(scores)
        total = residuals.sum(axis=1, keepdims=True)
        loss = float(np.log(total).sum() - scores[rows, self._labels].sum())
        residuals /= total
        residuals[rows, self._labels] -= 1.0
        single = residuals.astype(np.float32)
        by_lifts = np.zeros(lifts.size)
        for c, each in enumerate(self._lifts, start=1):
            by_lifts += single[:, c] @ each
        by_shared = self._frequencies.T @ single
        by_own = self._own.T @ residuals
        found = [residuals.sum(axis=0), by_lifts, by_shared.ravel(), by_own.ravel()]
        pull = self._strength * u
        loss += 0.5 * float(pull @ u)
        return loss / n_rows, (np.concatenate(found) + pull) / n_rows


def one_hot(cells: np.ndarray, n_own: int) -> csr_matrix:
    """Return which of the first so many cells each row has, (n_rows, n_own) float64."""
    has_own = cells < n_own
    starts = np.concatenate([[0], np.cumsum(has_own.sum(axis=1))])
    columns = cells[has_own]
    return csr_matrix((np.ones(len(columns)), columns, starts), shape=(len(cells), n_own))
