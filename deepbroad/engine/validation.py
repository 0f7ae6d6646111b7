"""Held-out loss of models that differ in their strengths: what an automatic choice goes by."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from deepbroad.data.source import ArraySource
from deepbroad.engine.fold import CellFold, Fold
from deepbroad.engine.gram import Gram, plan_gram
from deepbroad.engine.gram_fold import GramFold
from deepbroad.engine.merging import merge_rows
from deepbroad.engine.passes import pass_dtype
from deepbroad.engine.planning import group_part
from deepbroad.engine.training import Training
from deepbroad.kernels.threads import Threads
from deepbroad.model.family import Family
from deepbroad.model.plan import Plan
from deepbroad.model.strengths import Adaptation
from deepbroad.solvers import LBFGS

# Folds, and how often they are drawn anew, for so many rows at most.
FOLDS = ((300, 5, 2), (3_000, 5, 1))
SHARE_HELD = 5
# Folds that are too few to tell what is chance.
FEW_FOLDS = 2
# Bytes that the fits of all folds may compute with.
ROOM = float(1 << 29)


class Validation:
    """Folds of a source under one plan.

    Parameters
    ----------
    source : ArraySource
        Rows of code columns, identical ones not merged: those in both parts of a split are what a
        model will meet again.
    plan : Plan
        Made from all of these rows.
    family : Family
        Its strengths are given to `loss`.
    held : sequence of integer arrays
        The rows that each fold holds out.
    kinds : integer array of shape (n_terms,), optional
        As `deepbroad.engine.gram.Gram` has them. Without them folds are fitted by their cells.
    room : float
        Bytes that the fits of all folds may compute with.
    """

    def __init__(
        self,
        source: ArraySource,
        plan: Plan,
        family: Family,
        held: Sequence[np.ndarray],
        *,
        smoothing: float,
        min_count: float,
        threads: Threads,
        kinds: np.ndarray | None = None,
        room: float = ROOM,
    ) -> None:
        self.passes = 0
        self.orders = plan.terms.orders
        self._source, self._plan, self._family, self._threads = source, plan, family, threads
        self._smoothing, self._min_count = smoothing, min_count
        self._room = room / len(held)
        # Several folds are fitted side by side, each by one thread.
        self._own_threads = threads if len(held) == 1 else Threads(1)
        self._gram: Gram | None = None
        is_plain = min_count <= 1 and family.pulls_scores_to_zero
        if kinds is not None and is_plain and plan_gram(source, plan, kinds, room):
            self._gram = Gram(source, plan, kinds, self._room, threads)
        lonely = list_lonely(source)
        judged = [np.setdiff1d(rows, lonely) for rows in held]
        self.folds = [self._fold(np.union1d(rows, lonely), rows) for rows in judged if len(rows)]

    @property
    def is_precise(self) -> bool:
        """Whether fits converge however loose the tolerance of L-BFGS is."""
        return self._gram is not None

    def _fold(self, held: np.ndarray, judged: np.ndarray) -> Fold:
        """Return the fold that does not train some rows, and is judged by some of these."""
        by_cells = partial(self._cell_fold, held, judged)
        if self._gram is None:
            return by_cells()
        return GramFold(self._gram, self._source, held, judged, self._smoothing, by_cells)

    def _cell_fold(self, held: np.ndarray, judged: np.ndarray) -> CellFold:
        training = train_without(
            self._source, held, self._plan, smoothing=self._smoothing, min_count=self._min_count,
            threads=self._own_threads,
        )  # fmt: skip
        rows = group_part(self._source.take(judged), self._plan, self._own_threads)
        return CellFold(training, rows, self._family, self._room)

    def loss(self, strength: np.ndarray, solver: LBFGS) -> float:
        """Return the mean held-out loss of models of these strengths."""
        return self._mean(self._hold_out_alike(strength, solver))

    def losses(self, strength: np.ndarray, solver: LBFGS) -> np.ndarray:
        """Return the mean held-out loss of each fold; of groups of their rows if they are few.

        What is asked next starts where this did: a fit that goes on from another one, which had not
        quite converged, looks better than its strengths are.
        """
        kept = [fold.keep() for fold in self.folds]
        whole = self._hold_out_alike(strength, solver)
        if len(self.folds) <= FEW_FOLDS:
            found = [loss for fold in self.folds for loss in fold.held_losses()]
        else:
            found = [loss / fold.held_weight for loss, fold in zip(whole, self.folds, strict=True)]
        self._go_back(kept)
        return np.array(found)

    def adapted_loss(self, strength: np.ndarray, adaptation: Adaptation, solver: LBFGS) -> float:
        """Return the held-out loss where each fold adapts the strengths to its latest fit."""
        kept = [fold.keep() for fold in self.folds]
        adapted = [
            strength * adaptation.factors(fold.variances(), self.orders) for fold in self.folds
        ]
        losses = self._hold_out(adapted, solver)
        self._go_back(kept)
        return self._mean(losses)

    def _hold_out_alike(self, strength: np.ndarray, solver: LBFGS) -> list[float]:
        """Do as `_hold_out` with the same strengths in each fold."""
        if self._gram is not None:
            self._gram.prepare(strength)
        return self._hold_out([strength] * len(self.folds), solver)

    def _hold_out(self, strengths: Sequence[np.ndarray], solver: LBFGS) -> list[float]:
        """Fit to each fold with its strengths and return the sums of held-out losses."""
        passes, losses = [0] * len(self.folds), [0.0] * len(self.folds)

        def fit(k: int) -> None:
            passes[k] = self.folds[k].minimise(strengths[k], solver)
            losses[k] = self.folds[k].held_loss()

        self._threads.run([partial(fit, k) for k in range(len(self.folds))])
        self.passes += sum(passes)
        return losses

    def _go_back(self, kept: Sequence[np.ndarray | None]) -> None:
        """Start the next fits from parameters that were kept."""
        for fold, u in zip(self.folds, kept, strict=True):
            fold.go_back(u)

    def _mean(self, losses: list[float]) -> float:
        return sum(losses) / sum(fold.held_weight for fold in self.folds)


def list_lonely(source: ArraySource) -> np.ndarray:
    """Return the rows of classes that no other row has, if there are two others to tell apart.

    What a model says of a class that it never saw is chance, and costs more than all other rows;
    and one that is trained but never held out rewards those that never expect it.
    """
    has_weight = np.ones(source.n_rows, bool) if source.weights is None else source.weights > 0
    counts = np.bincount(source.labels[has_weight], minlength=source.n_classes)
    is_lonely = counts[source.labels] <= 1
    return np.flatnonzero(is_lonely) if np.count_nonzero(counts > 1) > 1 else np.empty(0, np.int64)


def train_without(
    source: ArraySource,
    held: np.ndarray,
    plan: Plan,
    *,
    smoothing: float,
    threads: Threads,
    min_count: float = 1,
) -> Training:
    """Return the training set of the rows that are not held out, identical ones merged."""
    rest = np.ones(source.n_rows, bool)
    rest[held] = False
    train = merge_rows(source.take(np.flatnonzero(rest)))
    return Training(
        group_part(train, plan, threads),
        plan,
        smoothing=smoothing,
        dtype=pass_dtype(plan, train.n_rows),
        threads=threads,
        min_count=min_count,
    )


def stratified_folds(
    labels: np.ndarray, n_folds: int, random: np.random.Generator
) -> list[np.ndarray]:
    """Return the rows of each fold; every class is spread evenly over them."""
    order = random.permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    fold = np.empty(len(labels), np.int64)
    fold[order] = (np.arange(len(labels)) + random.integers(n_folds)) % n_folds
    return [np.flatnonzero(fold == k) for k in range(n_folds)]


def draw_folds(sample: ArraySource, random: np.random.Generator) -> list[np.ndarray]:
    """Return the rows to hold out, fold by fold: more folds the fewer rows there are."""
    labels = sample.labels
    for most, folds, repeats in FOLDS:
        if len(labels) <= most:
            folds = max(2, min(folds, len(labels)))
            drawn = [stratified_folds(labels, folds, random) for _ in range(repeats)]
            return [rows for one in drawn for rows in one if 0 < len(rows) < len(labels)]
    held = stratified_folds(labels, SHARE_HELD, random)[0]
    # A class that no held-out row has would seem to be told apart by any model, the weaker the
    # strengths the better.
    values, firsts, counts = np.unique(labels, return_index=True, return_counts=True)
    unheld = (counts > 1) & ~np.isin(values, labels[held])
    return [np.sort(np.append(held, firsts[unheld]))]
