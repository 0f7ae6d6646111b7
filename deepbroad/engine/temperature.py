"""Log odds from scores that are none: one factor, fitted to the scores of held-out rows.

P(y|x) = softmax(τ·s(x)). A fit on the rows that were not held out gives the scores, τ minimises
their log loss, and the fit on all rows is multiplied by it, class terms included: what comes is a
model like any other, and nothing else needs to know.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from deepbroad.data.source import ArraySource, Source
from deepbroad.engine.finished_fold import FinishedFold
from deepbroad.engine.journal import NO_JOURNAL, Journal
from deepbroad.engine.passes import score_source
from deepbroad.engine.training import Training
from deepbroad.kernels.rows import hash_rows
from deepbroad.model.family import Family
from deepbroad.model.loss import Loss
from deepbroad.model.scores import ScoreTables
from deepbroad.solvers import DualFirst, Solution, Solver
from deepbroad.solvers.solver import Callback

# A fold has a fifth of the rows of every class.
FOLDS = 5
# One fold is held out; with fewer rows all are in turn, so that each row has a held-out score.
ENOUGH_ROWS = 2500
# Between these τ is looked for.
SMALLEST, LARGEST = 1e-3, 1e3
# Weights that differ by less than this part of the largest from multiples of a number are taken
# for them, if none is there more often than this.
ROUNDING, MOST_REPEATS = 1e-9, 1e6
# What a journal calls the fit on all rows.
WHOLE = "whole"


class Fit(NamedTuple):
    """A fitted model whose scores are log odds, how its solver ended, and its temperature τ."""

    tables: ScoreTables
    solution: Solution
    temperature: float


def fit_log_odds(
    training: Training,
    family: Family,
    solver: Solver | DualFirst,
    loss: Loss,
    *,
    callbacks: Sequence[Callback] = (),
    warm: ScoreTables | None = None,
    rows: Source | None = None,
    journal: Journal = NO_JOURNAL,
) -> Fit:
    """Return the model that minimises the objective, multiplied by a temperature if it needs one.

    That is fitted to held-out scores, which the solver comes to first. It is fitted to the training
    rows' own scores where θ is not smoothed, since then the rest of the rows may give none, and is
    1 if every class has but one row. A fit that is stopped among the held-out ones returns theirs.
    Which rows are held out depends on their codes in `rows`, else on those of the plan's groups.
    """
    if loss.is_likelihood:
        journal.begin(WHOLE)
        fitted = training.discriminative(
            family, solver, callbacks=callbacks, warm=warm, loss=loss, journal=journal
        )
        return Fit(*fitted, 1.0)
    sample = Sample()
    splits = bool(training.smoothing) or not family.generative
    folds = hold_out(rows if isinstance(rows, ArraySource) else training.rows) if splits else []
    for number, held in enumerate(folds):
        name = f"fold {number}"
        if (done := journal.recall(name, FinishedFold)) is not None:
            sample.add(done.scores, training, held)
            warm = done.tables(training.plan) if warm is None else warm
            continue
        journal.begin(name)
        part, solution = training.reweighted(
            row_weights(training.rows) - held.weights
        ).discriminative(family, solver, callbacks=callbacks, loss=loss, journal=journal)
        scores = sample.score(part, training, held)
        if solution.status in ("stopped", "interrupted"):
            temperature = sample.temperature()
            return Fit(part.scaled(temperature), solution, temperature)
        # Not for the next fold: a fit that starts from scores of its held-out rows knows them.
        journal.note(name, FinishedFold.of(scores, part if warm is None else None))
        warm = replace(part, scale=None) if warm is None else warm
        del part
    journal.begin(WHOLE)
    tables, solution = training.discriminative(
        family, solver, callbacks=callbacks, warm=warm, loss=loss, journal=journal
    )
    if not splits:
        sample.score(tables, training, Held(row_weights(training.rows), training.rows.n_rows))
    temperature = sample.temperature()
    return Fit(tables.scaled(temperature), solution, temperature)


class Held(NamedTuple):
    """The weight of each row that is held out, 0 for most, and how many rows that are."""

    weights: np.ndarray
    n_rows: int


class Sample:
    """Scores of rows that took no part in their fit."""

    def __init__(self) -> None:
        self._scores: list[np.ndarray] = []
        self._labels: list[np.ndarray] = []
        self._weights: list[np.ndarray] = []
        self._n_rows = 0

    def score(self, tables: ScoreTables, training: Training, held: Held) -> np.ndarray:
        """Score the rows that are held out by tables that were fitted to the rest, and add them."""
        scores = score_source(training.rows, tables, held.weights > 0, training.threads)
        self.add(scores, training, held)
        return scores

    def add(self, scores: np.ndarray, training: Training, held: Held) -> None:
        """Add the rows that are held out, given their scores."""
        rows = held.weights > 0
        if scores.shape != (np.count_nonzero(rows), training.rows.n_classes - 1):
            raise ValueError(f"scores of shape {scores.shape} are not those of the held-out rows")
        self._scores.append(scores)
        self._labels.append(training.rows.labels[rows])
        self._weights.append(held.weights[rows])
        self._n_rows += held.n_rows

    def temperature(self) -> float:
        """Return the temperature that suits all of them best, 1 if there are none."""
        if not self._n_rows:
            return 1.0
        return fit_temperature(
            np.concatenate(self._scores),
            np.concatenate(self._labels),
            np.concatenate(self._weights),
            chance=1.0 / (self._n_rows + 1),
        )


def fit_temperature(
    scores: np.ndarray, labels: np.ndarray, weights: np.ndarray, chance: float
) -> float:
    """Return the τ > 0 that minimises Σ ω·loss of softmax(τ·scores), scores (N, C - 1).

    A share `chance` of each row counts as of a class drawn at random: one row in N + 1. Without
    that, scores that are never wrong would have a τ beyond all bounds.
    """
    n_rows, n_classes = len(scores), scores.shape[1] + 1
    full = np.zeros((n_rows, n_classes))
    full[:, 1:] = scores
    own = full[np.arange(n_rows), labels]
    slope = float(weights @ ((1.0 - chance) * own + chance * full.mean(axis=1)))

    def loss(log_temperature: float) -> float:
        factor = np.exp(log_temperature)
        return float(weights @ logsumexp(factor * full, axis=1)) - factor * slope

    found = minimize_scalar(
        loss,
        bounds=(np.log(SMALLEST), np.log(LARGEST)),
        method="bounded",
        options={"xatol": 1e-4},
    )
    return float(np.exp(found.x))


def row_weights(source: ArraySource) -> np.ndarray:
    """Return the weights of rows, ones if none are given."""
    return np.ones(source.n_rows) if source.weights is None else source.weights


def hold_out(source: ArraySource) -> list[Held]:
    """Return what is held out, fold by fold.

    That is every fifth row of a class, in the order of the rows' hashes: neither their own order
    nor the merging of identical ones matters. A class of a single row keeps it.
    """
    count = count_repeats(source)
    hashes = np.empty(source.n_rows, np.uint64)
    hash_rows(source.codes, source.labels, hashes)
    order = np.lexsort((hashes, source.labels))
    # Rows are numbered class by class, repeated ones as often as they are there.
    totals = np.bincount(source.labels, count, minlength=source.n_classes).astype(np.int64)
    ends = np.cumsum(count[order]) - (np.cumsum(totals) - totals)[source.labels[order]]
    starts = ends - count[order]
    folds = []
    for fold in range(FOLDS if totals.sum() < ENOUGH_ROWS else 1):
        # How many of the numbers from start to end leave the remainder `fold`.
        number = np.empty(source.n_rows, np.int64)
        number[order] = (ends - fold - 1) // FOLDS - (starts - fold - 1) // FOLDS
        number[totals[source.labels] < 2] = 0
        # Exactly 1 where all are held out: then nothing of the row's weight must be left.
        share = number / np.maximum(count, 1)
        if number.any():
            folds.append(Held(share * row_weights(source), int(number.sum())))
    return folds


def count_repeats(source: ArraySource) -> np.ndarray:
    """Return how often each row is there: 0 for a weight of 0, more than once for merged ones.

    Where rows were merged, weights are counts, or in each class multiples of the class's weight; if
    not, the rows had weights of their own, and each is there once.
    """
    weights, labels = row_weights(source), source.labels
    count = (weights > 0).astype(np.int64)
    if source.n_given == source.n_rows:
        return count
    for c in range(source.n_classes):
        rows = np.flatnonzero((labels == c) & (weights > 0))
        unit = find_unit(weights[rows])
        if unit:
            count[rows] = np.rint(weights[rows] / unit)
    return count


def find_unit(weights: np.ndarray) -> float:
    """Return the largest number that all weights are multiples of, but for rounding; 0 if none."""
    unit, largest = 0.0, weights.max(initial=0.0)
    for weight in np.unique(weights):
        remainder = float(weight)
        while remainder > ROUNDING * largest:
            unit, remainder = remainder, abs(unit - remainder * np.rint(unit / remainder))
        if unit * MOST_REPEATS < largest:
            return 0.0
    return unit
