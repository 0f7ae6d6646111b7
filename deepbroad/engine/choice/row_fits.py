"""Fits of one set of tables to all validation folds, in the space of rows: for few rows.

Where rows are few, how often any two share a cell says all about them that a penalised model can
learn. A fit then takes as long as one with as many features as there are rows, however many tables
the model has.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from math import inf
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from deepbroad.engine.choice.dealing import DealtRows
from deepbroad.engine.choice.fits import HeldLosses, Traces, draw_residuals, find_margins
from deepbroad.engine.row_newton import CLASS_VARIANCE, find_offsets
from deepbroad.kernels.newton import fit_rows, solve_rows
from deepbroad.kernels.similarity import (
    blend_kernels,
    compare_rows,
    mirror,
    number_cells,
    sum_tables,
)
from deepbroad.kernels.threads import Threads, split_range
from deepbroad.model.terms import NONE, Terms

# Share of the training loss that the last Newton step may promise, and steps at most.
TOLERANCE, STEPS = 2e-2, 40
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
    inverse : ndarray of shape (n_tables, K)
        1/λ of each table.
    duals : ndarray of shape (K, C - 1, n)
        0 for rows that a fold holds out.
    scores, shares : ndarray of shape (K, C - 1, n)
        Of all rows.
    """

    inverse: np.ndarray
    duals: np.ndarray
    scores: np.ndarray
    shares: np.ndarray


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
        # Rows that a fold trains on come first.
        self._order = [np.argsort(own == 0, kind="stable") for own in self._weights]
        self._trained = [int(np.count_nonzero(own)) for own in self._weights]
        self._offsets = [
            find_offsets(self._labels, own, self.n_classes).astype(np.float32)
            for own in self._weights
        ]
        # K of each fold, between the rows that it trains on and all rows.
        self._kernels = [np.empty((count, n_rows), np.float32) for count in self._trained]
        self._cells = np.empty((len(terms), n_rows), np.int16)
        self._counts = np.empty(len(terms), np.int64)
        self._run_tables(
            number_cells, source.codes, np.where(terms.members == NONE, -1, terms.members),
            terms.cardinalities, int(terms.spaces.max()), own=(self._cells, self._counts),
        )  # fmt: skip
        self._sums: list[KernelSum] = []
        nothing = np.zeros((self.n_folds, n_scores, n_rows), np.float32)
        scores = nothing + np.array(self._offsets)[:, :, None]
        inverse = np.zeros(present.shape, np.float32)
        self.point = RowPoint(inverse, nothing, scores, nothing)
        self._compared: np.ndarray | None = None
        self.products = np.zeros(self.n_folds, np.int64)

    def minimise(self, strength: np.ndarray, known: float = inf) -> HeldLosses:
        """Fit with strengths (n_tables,), going on from the point; return the held-out losses."""
        inverse = np.where(self.present, 1.0 / strength[:, None], 0.0).astype(np.float32)
        self._compare(inverse)
        shape = self.point.duals.shape
        point = RowPoint(inverse, *(np.zeros(shape, np.float32) for _ in range(3)))
        self.threads.run([partial(self._fit_fold, k, point) for k in range(self.n_folds)])
        self.point = point
        margins = find_margins(self.point.scores.transpose(2, 0, 1), self._labels)
        return HeldLosses.of(self.losses, self.rows.held, margins)

    def _fit_fold(self, k: int, into: RowPoint) -> None:
        """Fit one fold from the duals of the point."""
        order, count = self._order[k], self._trained[k]
        used = order[:count]
        duals = np.ascontiguousarray(self.point.duals[k][:, used])
        scores, shares = np.empty((2, len(duals), len(order)), np.float32)
        fit_rows(
            self._kernels[k], self._labels[used], self._weights[k, used], self._offsets[k], duals,
            scores, shares, TOLERANCE, STEPS, self.products[k : k + 1],
        )  # fmt: skip
        into.duals[k][:, used] = duals
        into.scores[k][:, order] = scores
        into.shares[k][:, order] = shares

    @property
    def losses(self) -> np.ndarray:
        """Log loss of each row under the model of each fold, (n, K)."""
        scores = np.zeros((self.n_folds, self.n_classes, len(self._labels)))
        scores[:, 1:] = self.point.scores
        own = scores[:, self._labels, np.arange(len(self._labels))]
        found: np.ndarray = (logsumexp(scores, axis=1) - own).T
        return found

    def held_shares(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return rows, folds and probabilities (n, C) of all held-out rows."""
        rows, folds = np.nonzero(self.rows.held)
        shares = self.point.shares[folds, :, rows].astype(np.float64)
        first = np.maximum(1.0 - shares.sum(axis=1), 0.0)
        return rows, folds, np.column_stack([first, shares])

    def variances(self) -> np.ndarray:
        """Return the squares of what tables add to the scores, summed over rows, (n_tables, K)."""
        nothing = np.zeros_like(self.point.duals)
        return self._sum_tables(nothing, nothing)[:, :, 3]

    def carry(self, other: "RowFits") -> None:
        """Go on from the duals of another fit."""
        self.point = self.point._replace(duals=other.point.duals)

    def traces(self, draws: np.ndarray) -> Traces:
        """Return what the evidence knows of each table; as `CellFits.traces` does."""
        self._compare(self.point.inverse)
        probes = np.zeros_like(self.point.duals)
        image = np.zeros_like(probes)
        self.threads.run(
            [partial(self._probe_fold, k, draws, probes, image) for k in range(self.n_folds)]
        )
        # Conjugate gradients end where K' times the residual is small: where K is flat, x may be
        # far off yet. Its image is not, and gives x = e - W K'x.
        sums = self._sum_tables(probes - self._curve(image), probes).sum(axis=1)
        counts = np.maximum(self.present.sum(axis=1), 1)
        return Traces(*(sums[:, :3] / counts[:, None]).T)

    def _probe_fold(self, k: int, draws: np.ndarray, probes: np.ndarray, image: np.ndarray) -> None:
        """Write a fold's probe e, and K'x for the x with (I + W K') x = e."""
        used = self._order[k][: self._trained[k]]
        shares, weights = self.point.shares[k][:, used], self._weights[k, used]
        drawn = draw_residuals(shares.T, draws[used]) * np.sqrt(weights)[:, None]
        own = np.ascontiguousarray(drawn.T, np.float32)
        found, seen = np.empty_like(own), np.empty_like(own)
        probes[k][:, used] = own
        solve_rows(
            self._kernels[k], shares, weights, own, found, seen, PROBE_TOLERANCE, PROBE_STEPS
        )
        image[k][:, used] = seen

    def _curve(self, image: np.ndarray) -> np.ndarray:
        """Return W times vectors, ω (p u - p Σ p u)."""
        shares = self.point.shares
        mean = (shares * image).sum(axis=1, keepdims=True)
        found: np.ndarray = self._weights[:, None] * shares * (image - mean)
        return found

    def _sum_tables(self, solved: np.ndarray, probes: np.ndarray) -> np.ndarray:
        """Return the sums of `deepbroad.kernels.similarity.sum_tables`."""
        inverse, duals, _, shares = self.point
        curved = self._weights[:, None] * shares * (1.0 - shares)
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

    def _compare(self, inverse: np.ndarray) -> None:
        """Let K of each fold be that of its tables; folds of the same tables share what it has."""
        if inverse is self._compared:
            return
        columns = [np.ascontiguousarray(column) for column in inverse.T]
        distinct = {column.tobytes(): column for column in columns}
        if len(self._sums) != len(distinct):
            self._sums = [KernelSum(self._cells, self.threads) for _ in distinct]
        blends = {
            key: known.find(column)
            for known, (key, column) in zip(self._sums, distinct.items(), strict=True)
        }
        parts = self.threads.count if len(inverse) * len(self._labels) >= WORTH_THREADS else 1
        self.threads.run(
            [
                partial(blend_kernels, *blends[column.tobytes()], np.float32(CLASS_VARIANCE),
                        self._order[k], *rows, self._kernels[k])
                for k, column in enumerate(columns)
                for rows in split_range(self._trained[k], parts)
            ]
        )  # fmt: skip
        self._compared = inverse


class Part(NamedTuple):
    """What some tables give to K: `kernel` for the 1/λ that `inverse` has, 0 for other tables."""

    inverse: np.ndarray
    kernel: np.ndarray

    def factor_of(self, inverse: np.ndarray) -> np.float32 | None:
        """Return by what its own 1/λ are multiplied in others; None if not all by the same."""
        own = self.inverse > 0
        if not own.any():
            return np.float32(1.0)
        ratios = inverse[own] / self.inverse[own]
        factor = np.float32(np.median(ratios))
        return factor if np.allclose(ratios, factor, rtol=SAME, atol=0.0) else None


class Blend(NamedTuple):
    """K without class terms: the sum of two kernels times their factors, none of them negative."""

    kernel: np.ndarray
    factor: np.float32
    other: np.ndarray
    times: np.float32


class KernelSum:
    """K as the sum of what two sets of tables give, found from what was found before.

    Strengths of a set of tables change by one common factor most of the time: then no rows are
    compared anew. Nothing is ever subtracted, so that K keeps its digits.
    """

    def __init__(self, cells: np.ndarray, threads: Threads) -> None:
        self._cells, self._threads = cells, threads
        n_tables, n_rows = cells.shape
        self._latest = np.zeros(n_tables, np.float32)
        nothing = Part(self._latest, np.zeros((n_rows, n_rows), np.float32))
        self._parts = [nothing, nothing]

    def find(self, inverse: np.ndarray) -> Blend:
        """Return K for 1/λ of each table."""
        covered = sum((part.inverse > 0) for part in self._parts)
        factors = [part.factor_of(inverse) for part in self._parts]
        if None in factors or np.any((inverse > 0) > covered):
            self._divide(inverse)
            factors = [np.float32(1.0), np.float32(1.0)]
        self._latest = inverse
        (first, second), (one, two) = self._parts, factors
        return Blend(first.kernel, one, second.kernel, two)  # type: ignore[arg-type]

    def _divide(self, inverse: np.ndarray) -> None:
        """Part the tables whose 1/λ changed as most have from the others."""
        known = (self._latest > 0) & (inverse > 0)
        ratios = np.divide(inverse, self._latest, out=np.zeros_like(inverse), where=known)
        common = np.median(ratios[known]) if known.any() else np.float32(0.0)
        alike = known & np.isclose(ratios, common, rtol=SAME, atol=0.0)
        self._parts = [
            Part(own, self._sum(own))
            for own in (np.where(alike, inverse, 0.0), np.where(alike, 0.0, inverse))
        ]

    def _sum(self, inverse: np.ndarray) -> np.ndarray:
        """Return what tables give."""
        kernel = np.zeros((self._cells.shape[1],) * 2, np.float32)
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
