"""Fits of one set of tables to all validation folds, in the space of cells: for many rows."""

from collections.abc import Sequence
from itertools import pairwise
from math import inf
from typing import NamedTuple

import numpy as np

from deepbroad.engine.cell_newton import CellNewton
from deepbroad.engine.choice.dealing import DealtRows
from deepbroad.engine.choice.fits import HeldLosses, Traces, draw_residuals, find_margins
from deepbroad.engine.lane_passes import FLOAT, Vector
from deepbroad.engine.planning import Planner, group_part
from deepbroad.kernels.threads import Threads
from deepbroad.model.terms import NONE, Terms

# Tables that a fold does not have are held at 0.
ABSENT = 1e9
# Share of the training loss that the last Newton step may promise.
TOLERANCE = 2e-2
# Steps in a row that make a fit worse, after which it has no hope.
WORSE = 3
# For a probe, conjugate gradients end with a step that brings less than this share of the mean of
# all so far.
PROBED = 0.2


class CellPoint(NamedTuple):
    """A fit to each fold: scores, and λ of each reached cell in each fold (n_reached, K)."""

    scores: Vector
    strength: np.ndarray


class CellFits:
    """Models of the same tables, each fitted to the training rows of a fold.

    Parameters
    ----------
    rows : DealtRows
    terms : Terms
        Tables of code columns.
    present : bool array of shape (n_tables, K)
        Which tables the model of each fold has; may change between fits.
    """

    def __init__(
        self, rows: DealtRows, terms: Terms, present: np.ndarray, threads: Threads
    ) -> None:
        self.rows, self.threads, self.present = rows, threads, present
        self.n_classes, self.n_folds = rows.source.n_classes, rows.n_folds
        lanes = rows.source.with_classes(rows.n_folds * (self.n_classes - 1) + 1)
        plan = Planner(lanes, terms, compact=False, threads=threads).tabled()
        grouped = group_part(rows.source, plan, threads)
        self._newton = CellNewton(grouped, plan, rows.trained, threads)
        self._passes = self._newton.passes
        self._labels = self._passes.labels.astype(np.int64)
        self.terms, self.n_lanes = self._passes.terms, self._passes.n_lanes
        strength = self._spread_strength(np.ones(len(terms)))
        self.point = self._at = CellPoint(self._newton.point, strength)

    @property
    def products(self) -> int:
        """How many passes fits have taken."""
        return self._passes.count

    def minimise(self, strength: np.ndarray, known: float = inf) -> HeldLosses:
        """Fit with strengths (n_tables,), going on from the point; return the held-out losses.

        A fit ends early where steps make it ever worse than a `known` held-out loss.
        """
        self._leave_out_absent()
        self._refresh()
        self._newton.strength = self._spread_strength(strength)
        losses = [known] * WORSE

        def is_hopeless() -> bool:
            losses.append(self._held_losses().mean)
            latest = losses[-1 - WORSE :]
            return latest[1] > known and all(low < high for low, high in pairwise(latest))

        self._newton.minimise(TOLERANCE, is_enough=None if known == inf else is_hopeless)
        self.point = self._at = CellPoint(self._newton.point, self._newton.strength)
        return self._held_losses()

    def _held_losses(self) -> HeldLosses:
        """Return the losses of held-out rows where fits are."""
        scores = self._newton.row_scores.reshape(len(self._labels), self.n_folds, -1)
        return HeldLosses.of(
            self._passes.losses, self.rows.held, find_margins(scores, self._labels)
        )

    def _leave_out_absent(self) -> None:
        """Let a point score nothing by tables that folds do not have."""
        absent = np.repeat(~self.present, self.n_classes - 1, axis=1)[self._passes.table_of]
        if self.point.scores.cells[absent].any():
            scores = self.point.scores.copy()
            scores.cells[absent] = 0.0
            self.point = self.point._replace(scores=scores)

    def _spread_strength(self, strength: np.ndarray) -> np.ndarray:
        """Return λ of each reached cell in each fold, (n_reached, K)."""
        by_fold = np.where(self.present, strength[:, None], ABSENT)
        return np.ascontiguousarray(by_fold[self._passes.table_of], FLOAT)

    def _refresh(self) -> None:
        """Let scores, shares, losses and values be those of the point."""
        self._newton.strength = self.point.strength
        if self.point is self._at:
            self._newton.refresh()
        else:
            self._newton.go_to(self.point.scores)
            self._at = self.point

    @property
    def losses(self) -> np.ndarray:
        """Log loss of each row under the model of each fold, (n, K)."""
        self._refresh()
        return self._passes.losses

    def held_shares(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return rows, folds and probabilities (n, C) of all held-out rows."""
        self._refresh()
        rows, folds = np.nonzero(self.rows.held)
        by_fold = self._passes.shares.reshape(len(self._passes.labels), self.n_folds, -1)
        shares = by_fold[rows, folds]
        first = np.maximum(1.0 - shares.sum(axis=1, dtype=np.float64), 0.0)
        return rows, folds, np.column_stack([first, shares])

    def variances(self) -> np.ndarray:
        """Return the squares of what tables add to the scores, summed over rows, (n_tables, K)."""
        cells = self.point.scores.cells
        squares = (cells * self._centred(cells)).reshape(len(cells), self.n_folds, -1).sum(axis=2)
        return np.column_stack([self._by_table(self._passes.weights * each) for each in squares.T])

    def carry(self, other: "CellFits") -> None:
        """Go on from the scores that another fit has for the tables that both have."""
        point = self.point.scores.copy()
        self.point = self.point._replace(scores=point)
        point.classes[:] = other.point.scores.classes
        into, cells = point.cells, other.point.scores.cells
        known = {_key(members): t for t, members in enumerate(other.terms.members)}
        for table, members in enumerate(self.terms.members):
            source = known.get(_key(members))
            if source is not None:
                own = slice(self._passes.bounds[table], self._passes.bounds[table + 1])
                into[own] = other._scores_of(source, members, cells)[
                    self._passes.reached[own] - self.terms.offsets[table]
                ]

    def _scores_of(self, table: int, members: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """Return the scores of all cells of a table, its axes in the order of `members`."""
        low, high = self._passes.bounds[table], self._passes.bounds[table + 1]
        found = np.zeros((self.terms.sizes[table], self.n_lanes), FLOAT)
        found[self._passes.reached[low:high] - self.terms.offsets[table]] = cells[low:high]
        own = self.terms.members[table].tolist()
        wanted = [own.index(m) for m in members.tolist() if m != NONE]
        order = len(wanted)
        shape = [*self.terms.shapes[table][:order], self.n_lanes]
        return found.reshape(shape).transpose(*wanted, order).reshape(-1, self.n_lanes)

    # The evidence.

    def traces(self, draws: np.ndarray) -> Traces:
        """Return what the evidence knows of each table under the latest fit."""
        self._refresh()
        curved = self._passes.curvature()
        scale = self._newton.scale(curved)
        diagonal = curved.cells / scale.cells
        self._passes.values[:, : self.n_lanes] = self._draw_residuals(draws)
        right = self._passes.gather()
        solved, _ = self._newton.solve(right, scale, PROBED)
        cells = self.point.scores.cells
        counts = np.maximum(self.present.sum(axis=1), 1)
        sums = (solved.cells * right.cells, diagonal, cells * self._centred(cells))
        return Traces(*(self._by_table(each.sum(axis=1)) / counts for each in sums))

    def _draw_residuals(self, draws: np.ndarray) -> np.ndarray:
        """Return √ω (1[y*] - p) of each row in each fold."""
        shares = self._passes.shares.reshape(len(draws), self.n_folds, -1)
        found = np.stack([draw_residuals(own, draws) for own in shares.transpose(1, 0, 2)], axis=1)
        residuals = found * np.sqrt(self.rows.trained)[:, :, None]
        return residuals.reshape(len(draws), -1)

    def _centred(self, cells: np.ndarray) -> np.ndarray:
        """Return δ - Σδ/C of the scores of each fold: the penalty's gradient for λ = 1."""
        by_fold = cells.reshape(len(cells), self.n_folds, -1)
        whole = by_fold.sum(axis=2, keepdims=True) / self.n_classes
        return (by_fold - whole).reshape(cells.shape)

    def _by_table(self, values: np.ndarray) -> np.ndarray:
        return np.bincount(self._passes.table_of, values, len(self.terms))


def _key(members: Sequence[int]) -> tuple[int, ...]:
    """Return the code columns of a table, whatever the order of its axes."""
    return tuple(sorted(int(m) for m in members if m != NONE))
