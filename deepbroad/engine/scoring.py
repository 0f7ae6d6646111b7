"""Scores and probabilities of rows of codes under a fitted model."""

from functools import cached_property
from typing import Any

import numpy as np

from deepbroad.engine.fused import FusedTables
from deepbroad.kernels.lookup import TILE, score_rows
from deepbroad.kernels.softmax import probability_rows
from deepbroad.kernels.threads import Threads, split_range
from deepbroad.kernels.vector import lane_count, lanes_for
from deepbroad.model.generative import evidence_rescaling
from deepbroad.model.groups import encode_groups
from deepbroad.model.plan import Plan
from deepbroad.model.scores import ScoreTables
from deepbroad.model.terms import NONE

# Rows coded and scored at a time by a thread.
CHUNK = 16 * TILE


class Scorer:
    """Scores rows of code columns; builds the fused tables once.

    A row whose joint value in some group no training row had is scored column by column instead,
    with the same result. A value never seen in training makes the tuples that hold it contribute
    nothing, which weakens the evidence; `rescale` makes up for that (`evidence_rescaling`). By
    measurement (`benchmarks/unseen_values.py`) that suits AnJE and harms fitted weights.
    """

    def __init__(self, model: ScoreTables, *, rescale: bool = False) -> None:
        self.model = model
        self.rescale = rescale
        self.n_scores = model.n_classes - 1
        self.width = lane_count(self.n_scores)
        self._dtype = model.scores.dtype
        class_scores, self._cells = model.relative()
        self._base = np.zeros(self.width, self._dtype)
        self._base[: self.n_scores] = class_scores

    def __getstate__(self) -> dict[str, object]:
        # Pickles hold the model; tables are built again when they are first needed.
        return {"model": self.model, "rescale": self.rescale}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["model"], rescale=state["rescale"])  # type: ignore[misc]

    @cached_property
    def _tables(self) -> FusedTables:
        """The plan's fused tables."""
        return self._build(self.model.plan)

    def _build(self, plan: Plan) -> FusedTables:
        tables = FusedTables(plan, self.width, self._dtype, Threads(1))
        tables.cells.reshape(-1, self.width)[:, : self.n_scores] = self._cells
        tables.build()
        return tables

    @cached_property
    def _column_tables(self) -> FusedTables:
        """One group per column, with room for never-seen values."""
        return self._build(self.model.plan.with_unseen())

    def scores(self, codes: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """Return the scores of classes 1.. relative to class 0, (n_rows, C - 1)."""
        values = np.empty(codes.shape[1] * self.width, self._dtype)
        self._run(codes, values, None, n_jobs)
        return values.reshape(-1, self.width)[:, : self.n_scores]

    def probabilities(self, codes: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """Return P(y|x), (n_rows, C), float64."""
        probabilities = np.empty((codes.shape[1], self.model.n_classes))
        self._run(codes, None, probabilities, n_jobs)
        return probabilities

    def _run(
        self,
        codes: np.ndarray,
        values: np.ndarray | None,
        probabilities: np.ndarray | None,
        n_jobs: int | None,
    ) -> None:
        """Fill `values` or `probabilities`, a chunk of rows at a time."""

        lanes = lanes_for(self.width)

        def task(first: int, last: int) -> None:
            for low in range(first, last, CHUNK):
                high = min(low + CHUNK, last)
                scored = self._score(codes[:, low:high])
                if values is not None:
                    values[low * self.width : high * self.width] = scored
                if probabilities is not None:
                    probability_rows(scored, low, high, self.n_scores, probabilities, lanes)

        with Threads(n_jobs) as threads:
            parts = threads.count if codes.shape[1] > CHUNK else 1
            ranges = split_range(codes.shape[1], parts, CHUNK)
            threads.run([lambda r=r: task(*r) for r in ranges])  # type: ignore[misc]

    def _score(self, codes: np.ndarray) -> np.ndarray:
        """Return the flat padded scores of a chunk."""
        values, missing = self._look_up(self._tables, codes, self._base)
        if self.rescale:
            missing |= self._count_unseen(codes) > 0
        if missing.any():
            rows = np.flatnonzero(missing)
            values.reshape(-1, self.width)[rows] = self._score_columns(codes[:, rows])
        return values

    def _look_up(
        self, tables: FusedTables, codes: np.ndarray, base: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the flat padded scores of rows, and which rows the tables have no code for."""
        plan, rows = tables.plan, codes.shape[1]
        joint, missing = encode_groups(plan.groups, codes)
        values = np.empty(rows * self.width, self._dtype)
        score_rows(joint, 0, rows, plan.index, base, tables.entries, values, lanes_for(self.width))
        if tables.items is not None:
            items, unknown = tables.items.items.rows(codes)
            tables.items.score(items, 0, rows, values)
            missing |= unknown
        return values, missing

    def _count_unseen(self, codes: np.ndarray) -> np.ndarray:
        """Return how many never-seen values each row has in columns that terms use."""
        used = self._used
        unseen = codes[used] >= self.model.plan.terms.cardinalities[used][:, None]
        return np.count_nonzero(unseen, axis=0)

    @cached_property
    def _used(self) -> np.ndarray:
        members = self.model.plan.terms.members
        return np.unique(members[members != NONE])

    def _score_columns(self, codes: np.ndarray) -> np.ndarray:
        """Return the padded scores (rows, width) of rows that some group has no code for."""
        values, _ = self._look_up(self._column_tables, codes, np.zeros_like(self._base))
        evidence = values.reshape(-1, self.width)
        if self.rescale:
            evidence *= self.rescaling(codes)[:, None]
        return evidence + self._base

    def rescaling(self, codes: np.ndarray) -> np.ndarray:
        """Return what the sum of the tables of each row is multiplied by, (n_rows,)."""
        if not self.rescale:
            return np.ones(codes.shape[1])
        depth = int(self.model.plan.terms.orders.max())
        return evidence_rescaling(len(self._used), depth, self._count_unseen(codes))
