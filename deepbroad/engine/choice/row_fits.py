"""Fits of one set of tables to all validation folds, in the space of rows: for few rows.

Where rows are few, how often any two share a cell says all about them that a penalised model can
learn. A fit then takes as long as one with as many features as there are rows, however many tables
the model has.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from deepbroad.engine.choice.dealing import DealtRows
from deepbroad.engine.choice.fits import HeldLosses, Traces, draw_residuals
from deepbroad.engine.row_newton import CLASS_VARIANCE, find_offsets
from deepbroad.kernels.newton import fit_rows, solve_rows
from deepbroad.kernels.similarity import compare_rows, mirror, number_cells, sum_tables
from deepbroad.kernels.threads import Threads, split_range
from deepbroad.model.terms import NONE, Terms

# Share of the objective that the last Newton step may promise, and steps at most.
TOLERANCE, STEPS = 1e-3, 40
# By how much the residual of a probe falls, and products at most.
PROBE_TOLERANCE, PROBE_STEPS = 0.03, 60
# Strengths that differ by no more than this share are the same.
SAME = 1e-5
# Comparisons from which work is shared out to threads.
WORTH_THREADS = 1 << 19


class RowPoint(NamedTuple):
    """A fit to each fold.

    Attributes
    ----------
    duals : ndarray of shape (K, C - 1, n)
    inverse : ndarray of shape (n_tables, K)
        1/λ of each table.
    kernels : list of ndarray of shape (n, n)
    """

    duals: np.ndarray
    inverse: np.ndarray
    kernels: list[np.ndarray]


class RowFits:
    """Models of the same tables, each fitted to the training rows of a fold.

    It does what `deepbroad.engine.choice.cell_fits.CellFits` does.
    """

    def __init__(
        self, rows: DealtRows, terms: Terms, present: np.ndarray, threads: Threads
    ) -> None:
        self.rows, self.terms, self.present, self.threads = rows, terms, present, threads
        source = rows.source
        self.n_classes, self.n_folds = source.n_classes, rows.n_folds
        n_rows, n_scores = source.n_rows, source.n_classes - 1
        self._labels = source.labels.astype(np.int64)
        self._weights = np.ascontiguousarray(rows.trained.T, np.float32)
        self._used = [np.flatnonzero(weights) for weights in self._weights]
        self._offsets = [
            find_offsets(self._labels, own, self.n_classes).astype(np.float32)
            for own in self._weights
        ]
        self._scores = np.zeros((self.n_folds, n_scores, n_rows), np.float32)
        self._shares = np.zeros_like(self._scores)
        self._cells = np.empty((len(terms), n_rows), np.int16)
        self._counts = np.empty(len(terms), np.int64)
        self._run_tables(
            number_cells, source.codes, np.where(terms.members == NONE, -1, terms.members),
            terms.cardinalities, int(terms.spaces.max()), own=(self._cells, self._counts),
        )  # fmt: skip
        self._sums: list[KernelSum] = []
        inverse = np.zeros(present.shape, np.float32)
        self.point = self._at = RowPoint(np.zeros_like(self._scores), inverse, [])
        self.products = np.zeros(self.n_folds, np.int64)

    def minimise(self, strength: np.ndarray) -> HeldLosses:
        """Fit with strengths (n_tables,), going on from the point; return the held-out losses."""
        inverse = np.where(self.present, 1.0 / strength[:, None], 0.0).astype(np.float32)
        self._fit(RowPoint(self.point.duals.copy(), inverse, self._compare(inverse)))
        return HeldLosses.of(self.losses, self.rows.held)

    def _fit(self, point: RowPoint, steps: int = STEPS) -> None:
        """Let the point be where Newton steps from it end, with its scores and shares."""
        self.threads.run(
            [
                partial(
                    fit_rows, point.kernels[k], self._labels, self._weights[k], self._used[k],
                    self._offsets[k], point.duals[k], self._scores[k], self._shares[k],
                    TOLERANCE, steps, self.products[k : k + 1],
                )
                for k in range(self.n_folds)
            ]
        )  # fmt: skip
        self.point = self._at = point

    def _refresh(self) -> None:
        """Let scores and shares be those of the point."""
        if self.point is not self._at:
            self._fit(self.point, steps=0)

    @property
    def losses(self) -> np.ndarray:
        """Log loss of each row under the model of each fold, (n, K)."""
        self._refresh()
        scores = np.zeros((self.n_folds, self.n_classes, len(self._labels)))
        scores[:, 1:] = self._scores
        own = scores[:, self._labels, np.arange(len(self._labels))]
        found: np.ndarray = (logsumexp(scores, axis=1) - own).T
        return found

    def held_shares(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return rows, folds and probabilities (n, C) of all held-out rows."""
        self._refresh()
        rows, folds = np.nonzero(self.rows.held)
        shares = self._shares[folds, :, rows].astype(np.float64)
        first = np.maximum(1.0 - shares.sum(axis=1), 0.0)
        return rows, folds, np.column_stack([first, shares])

    def variances(self) -> np.ndarray:
        """Return the squares of what tables add to the scores, summed over rows, (n_tables, K)."""
        self._refresh()
        nothing = np.zeros_like(self._scores)
        return self._sum_tables(nothing, nothing)[:, :, 3]

    def carry(self, other: "RowFits") -> None:
        """Go on from the duals of another fit."""
        self.point = self.point._replace(duals=other.point.duals)

    def traces(self, draws: np.ndarray) -> Traces:
        """Return what the evidence knows of each table; as `CellFits.traces` does."""
        self._refresh()
        probes = np.zeros_like(self._scores)
        for k, used in enumerate(self._used):
            drawn = draw_residuals(self._shares[k][:, used].T, draws[used])
            probes[k][:, used] = (drawn * np.sqrt(self._weights[k, used])[:, None]).T
        found, image, rest = np.empty_like(probes), np.empty_like(probes), probes.copy()
        self.threads.run(
            [
                partial(
                    solve_rows, self.point.kernels[k], self._shares[k], self._weights[k],
                    self._used[k], rest[k], found[k], image[k], PROBE_TOLERANCE, PROBE_STEPS,
                )
                for k in range(self.n_folds)
            ]
        )  # fmt: skip
        # Conjugate gradients end where K' times the residual is small: where K is flat, x may be
        # far off yet. Its image is not, and gives x = e - W K'x.
        sums = self._sum_tables(probes - self._curve(image), probes).sum(axis=1)
        counts = np.maximum(self.present.sum(axis=1), 1)
        return Traces(*(sums[:, :3] / counts[:, None]).T)

    def _curve(self, image: np.ndarray) -> np.ndarray:
        """Return W times vectors, ω (p u - p Σ p u)."""
        shares = self._shares
        mean = (shares * image).sum(axis=1, keepdims=True)
        found: np.ndarray = self._weights[:, None] * shares * (image - mean)
        return found

    def _sum_tables(self, solved: np.ndarray, probes: np.ndarray) -> np.ndarray:
        """Return the sums of `deepbroad.kernels.similarity.sum_tables`."""
        duals, inverse, _ = self.point
        curved = self._weights[:, None] * self._shares * (1.0 - self._shares)
        parts = [mix(solved), probes, mix(duals), duals, curved]
        values = np.ascontiguousarray(np.stack(parts).transpose(3, 1, 0, 2), np.float32)
        weights = self.rows.trained.mean(axis=1, dtype=np.float32)
        found = np.zeros((len(self.terms), self.n_folds, 4))
        self._run_tables(sum_tables, self._cells, self._counts, values, weights, inverse,
                         own=(found,))  # fmt: skip
        return found

    def _run_tables(self, kernel: Callable[..., None], *arguments: Any, own: Sequence[Any]) -> None:
        """Run a kernel over ranges of tables."""
        work = len(self.terms) * self.rows.source.n_rows
        parts = self.threads.count if work >= WORTH_THREADS else 1
        ranges = split_range(len(self.terms), parts)
        self.threads.run([partial(kernel, *arguments, low, high, *own) for low, high in ranges])

    def _compare(self, inverse: np.ndarray) -> list[np.ndarray]:
        """Return K of each fold; folds of the same tables share it."""
        columns = [np.ascontiguousarray(column) for column in inverse.T]
        distinct = {column.tobytes(): column for column in columns}
        if len(self._sums) != len(distinct):
            self._sums = [KernelSum(self._cells, self.threads) for _ in distinct]
        kernels = {
            key: known.find(column)
            for known, (key, column) in zip(self._sums, distinct.items(), strict=True)
        }
        return [kernels[column.tobytes()] for column in columns]


class KernelSum:
    """K as the sum of what tables give, found from what was found before.

    Strengths of many tables change by one common factor most of the time: then K of these is the
    one known times the factor, and rows are compared in the other tables alone.
    """

    def __init__(self, cells: np.ndarray, threads: Threads) -> None:
        self._cells, self._threads = cells, threads
        n_tables, n_rows = cells.shape
        self._inverse = np.zeros(n_tables, np.float32)
        self._kernel = np.zeros((n_rows, n_rows), np.float32)
        self._change, self._difference = self._inverse, self._kernel

    def find(self, inverse: np.ndarray) -> np.ndarray:
        """Return K for 1/λ of each table."""
        known = self._inverse > 0
        factor = np.float32(np.median(inverse[known] / self._inverse[known])) if known.any() else 0
        change = inverse - factor * self._inverse
        change[np.abs(change) <= SAME * inverse] = 0.0
        if 2 * np.count_nonzero(change) > len(inverse):
            self._inverse, self._kernel = inverse, self._sum(inverse)
            factor, change = np.float32(1.0), np.zeros_like(inverse)
        found = factor * self._kernel
        found += np.float32(CLASS_VARIANCE)
        if change.any():
            largest = int(np.argmax(np.abs(change)))
            times = change[largest] / (self._change[largest] or np.float32(np.inf))
            if not np.allclose(change, times * self._change, rtol=SAME):
                self._change, self._difference, times = change, self._sum(change), 1.0
            found += np.float32(times) * self._difference
        return found

    def _sum(self, inverse: np.ndarray) -> np.ndarray:
        """Return what tables give."""
        kernel = np.zeros_like(self._kernel)
        tables = np.flatnonzero(inverse)
        n_rows = len(kernel)
        parts = self._threads.count if len(tables) * n_rows * n_rows >= WORTH_THREADS else 1
        # The lower half: equal shares of it have ever fewer rows.
        bounds = np.rint(n_rows * np.sqrt(np.arange(parts + 1) / parts)).astype(int).tolist()
        self._threads.run(
            [
                partial(compare_rows, self._cells, tables, inverse, low, high, kernel)
                for low, high in pairwise(bounds)
            ]
        )
        mirror(kernel)
        return kernel


def mix(vectors: np.ndarray) -> np.ndarray:
    """Return a + Σ_c a_c of vectors (K, C - 1, n)."""
    found: np.ndarray = vectors + vectors.sum(axis=1, keepdims=True)
    return found
