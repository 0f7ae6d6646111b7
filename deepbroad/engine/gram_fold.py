"""A fold that is fitted in the space of rows: fast where rows are few beside their terms."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from deepbroad.data.source import ArraySource
from deepbroad.engine.anchor import first_pull
from deepbroad.engine.dual import find_class_strength
from deepbroad.engine.fold import GAP, GROUPS, CellFold
from deepbroad.engine.gram import Gram
from deepbroad.kernels.gram import (
    GramPoint,
    GramRows,
    ascend_gram,
    gather_gram,
    measure_effects,
    sum_losses,
)
from deepbroad.model.generative import log_priors
from deepbroad.solvers import LBFGS

# Different orders of rows that sweeps take in turn, and sweeps at most.
ORDERS = 16
MOST_SWEEPS = 1_000


@dataclass(frozen=True, eq=False)
class Kept:
    """A fit to go back to: the arrays of its point, and 1/λ of each term, None before any."""

    point: list[np.ndarray]
    inverse: np.ndarray | None


class GramFold:
    """A fold whose fits are of the beliefs of rows (`deepbroad.engine.fold.Fold` has the methods).

    Parameters
    ----------
    gram : Gram
        Of all rows of the source.
    source : ArraySource
    held : integer array
        The rows that are held out.
    judged : integer array
        Those of them that count.
    by_cells : callable
        Makes the fold that serves where the Gram matrix would take longer, or an ascent comes to no
        end.
    """

    def __init__(
        self,
        gram: Gram,
        source: ArraySource,
        held: np.ndarray,
        judged: np.ndarray,
        smoothing: float,
        by_cells: Callable[[], CellFold],
    ) -> None:
        self._gram, self._judged, self._make_cells = gram, judged, by_cells
        self._cells: CellFold | None = None
        self._is_by_cells = False
        self._labels = source.labels.astype(np.int64)
        self._weights = np.ones(source.n_rows) if source.weights is None else source.weights
        self.held_weight = float(self._weights[judged].sum())
        is_trained = self._weights > 0
        is_trained[held] = False
        self._train = list_rows(is_trained, self._labels, self._weights, source.n_classes)
        self._point = start_point(self._train, source.n_rows, smoothing)
        self._inverse: np.ndarray | None = None

    def minimise(self, strength: np.ndarray, solver: LBFGS) -> int:
        """Fit with other strengths, (n_terms,); return how many passes that took."""
        matrix, sweeps = self._gram.find(strength), 0
        if matrix is not None:
            tol = GAP * solver.tol
            self._inverse, weights = self._gram.inverse(strength), self._train.weights
            softness = float(weights.mean()) * float(self._inverse.sum())
            self._point.pull[0] = self._point.pull[0] or first_pull(softness)
            gather_gram(matrix, self._train, self._point)
            held = find_class_strength(weights)
            sweeps, gap = ascend_gram(matrix, self._train, self._point, held, tol, MOST_SWEEPS)
            self._is_by_cells = gap > tol
        else:
            self._is_by_cells = True
        return sweeps + (self._by_cells().minimise(strength, solver) if self._is_by_cells else 0)

    def _by_cells(self) -> CellFold:
        if self._cells is None:
            self._cells = self._make_cells()
        return self._cells

    def held_loss(self) -> float:
        """Return Σ ω·loss of the held-out rows under the latest fit."""
        return self._by_cells().held_loss() if self._is_by_cells else self._loss_of(self._judged)

    def held_losses(self) -> list[float]:
        """Return the mean loss of each group of the held-out rows under the latest fit."""
        if self._is_by_cells:
            return self._by_cells().held_losses()
        groups = [self._judged[g::GROUPS] for g in range(GROUPS)]
        return [self._loss_of(rows) / float(self._weights[rows].sum()) for rows in groups]

    def _loss_of(self, rows: np.ndarray) -> float:
        self._fitted()
        return float(sum_losses(rows, self._labels, self._weights, self._point))

    def variances(self) -> np.ndarray:
        """Return the mean square of the scores of each term under the latest fit, (n_terms,)."""
        if self._is_by_cells:
            return self._by_cells().variances()
        cells, inverse = self._gram.cells, self._fitted()
        n_rows = cells.shape[1]
        coefficients, found = self._point.scores[:, n_rows:], np.empty(len(cells))
        room = np.zeros((n_rows, len(coefficients)))
        measure_effects(cells, inverse, self._train.rows, coefficients, room, found)
        return found

    def _fitted(self) -> np.ndarray:
        if self._inverse is None:
            raise AssertionError("a fold is judged after a fit")
        return self._inverse

    def keep(self) -> Kept:
        """Return where the latest fit is, for `go_back`."""
        return Kept([array.copy() for array in self._point], self._inverse)

    def go_back(self, kept: Kept) -> None:
        """Go back to a fit that was kept: the next one starts there."""
        self._is_by_cells, self._inverse = False, kept.inverse
        for array, old in zip(self._point, kept.point, strict=True):
            array[:] = old


def list_rows(
    is_trained: np.ndarray, labels: np.ndarray, weights: np.ndarray, n_classes: int
) -> GramRows:
    """Return the training rows, and the orders in which sweeps go through them."""
    rows = np.flatnonzero(is_trained)
    random = np.random.default_rng(0)
    return GramRows(
        rows=rows,
        labels=labels[rows],
        weights=weights[rows],
        orders=np.array([random.permutation(len(rows)) for _ in range(ORDERS)]),
        class_weights=np.bincount(labels[rows], weights[rows], n_classes),
    )


def start_point(train: GramRows, n_rows: int, smoothing: float) -> GramPoint:
    """Return where a first ascent starts: each row believes in its class, and scores are 0."""
    shape = len(train.class_weights) - 1, n_rows + len(train.rows)
    beliefs = np.zeros((len(train.rows), len(train.class_weights)))
    beliefs[np.arange(len(train.rows)), train.labels] = 1.0
    return GramPoint(
        scores=np.zeros(shape, np.float32),
        anchor=np.zeros(shape, np.float32),
        before=np.zeros(shape, np.float32),
        class_scores=log_priors(train.class_weights, smoothing),
        beliefs=beliefs,
        partitions=np.zeros(len(train.rows)),
        pull=np.zeros(1),
    )
