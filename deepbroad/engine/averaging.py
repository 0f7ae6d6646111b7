"""Scores and probabilities of rows under averaged dependence estimators (AnDE)."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from deepbroad.engine.fused import FusedTables
from deepbroad.engine.scoring import CHUNK
from deepbroad.kernels.dependence import NOTHING, Joints, Lookups, average_rows
from deepbroad.kernels.lookup import score_rows
from deepbroad.kernels.softmax import probability_rows
from deepbroad.kernels.threads import Threads, split_range
from deepbroad.kernels.vector import lane_count, lanes_for
from deepbroad.model.groups import encode_groups
from deepbroad.model.lifts import JointCounts, list_children
from deepbroad.model.scores import ScoreTables

# Up to so many numbers, tables are in double precision.
PRECISE = 1_000_000


@dataclass(frozen=True, eq=False)
class Level:
    """The tables of AkDE: parent sets of k columns, these with a child, and single columns."""

    parents: FusedTables
    enough: np.ndarray
    tables: FusedTables
    joints: Joints
    singles: FusedTables


class AveragedScorer:
    """Scores rows of code columns by AnDE; builds the tables of a level when it is needed.

    Parameters
    ----------
    model : ScoreTables
        Counts in the place of scores, of all tuples of up to n + 1 columns.
    n : int
        How many columns a parent set has.
    smoothing : float
        m.
    min_count : float
        A parent set whose values have less weight in training is left out. Where none is left,
        A(n-1)DE answers.
    """

    def __init__(self, model: ScoreTables, n: int, *, smoothing: float, min_count: float) -> None:
        self.model, self.n = model, n
        self.smoothing, self.min_count = smoothing, min_count
        self.counts = JointCounts(model.plan, model.class_scores, model.scores, smoothing)
        self.counts.check(min(n + 1, len(model.plan.terms.cardinalities)))
        self.width = lane_count(model.n_classes)
        self._levels: dict[int, Level] = {}

    def __getstate__(self) -> dict[str, object]:
        # Pickles hold the counts; tables are built again when they are first needed.
        return {"args": (self.model, self.n), "options": (self.smoothing, self.min_count)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        smoothing, min_count = state["options"]
        self.__init__(*state["args"], smoothing=smoothing, min_count=min_count)  # type: ignore[misc]

    def scores(self, codes: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """Return the scores of classes 1.. relative to class 0, (n_rows, C - 1)."""
        n_classes = self.model.n_classes
        scores = np.empty((codes.shape[1], n_classes - 1))

        def task(first: int, last: int) -> None:
            for low in range(first, last, CHUNK):
                rows = slice(low, min(low + CHUNK, last))
                scored = self._score(codes[:, rows])
                scores[rows] = scored[:, 1:n_classes] - scored[:, :1]

        self._prepare()
        with Threads(n_jobs) as threads:
            ranges = split_range(codes.shape[1], threads.count, CHUNK)
            threads.run([lambda r=r: task(*r) for r in ranges])  # type: ignore[misc]
        return scores

    def probabilities(self, codes: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """Return P(y|x), (n_rows, C), float64."""
        n_scores, rows = self.model.n_classes - 1, codes.shape[1]
        width = lane_count(n_scores)
        values = np.zeros((rows, width))
        values[:, :n_scores] = self.scores(codes, n_jobs)
        probabilities = np.empty((rows, n_scores + 1))
        probability_rows(values.reshape(-1), 0, rows, n_scores, probabilities, lanes_for(width))
        return probabilities

    @cached_property
    def _naive(self) -> FusedTables:
        """Log θ of single values, for naive Bayes."""
        return self._build(1, self.counts.log_likelihoods(1), np.dtype(np.float64))

    def _build(self, order: int, cells: np.ndarray, dtype: np.dtype) -> FusedTables:
        """Return the tables of one order from its cells (n_cells, k), by columns."""
        width = lane_count(cells.shape[1])
        tables = FusedTables(self.counts.plan_of(order), width, dtype, Threads(1))
        tables.cells.reshape(-1, width)[:, : cells.shape[1]] = cells
        tables.build()
        return tables

    def _prepare(self) -> None:
        """Build what every row needs, before threads would."""
        if self.n:
            self._level(self.n)
        else:
            _ = self._naive

    def _level(self, k: int) -> Level:
        """Return the tables of AkDE, k from 1."""
        if k not in self._levels:
            self._levels[k] = self._build_level(k)
        return self._levels[k]

    def _build_level(self, k: int) -> Level:
        counts = self.counts
        single = np.dtype(np.float32)
        precise = counts.plan.terms.n_cells * self.width <= PRECISE
        dtype = np.dtype(np.float64) if precise else single
        parents = self._build(k, counts.lifts(k), dtype)
        enough = self._build(k, counts.enough(k, self.min_count)[:, None], single).entries > 0
        more = k < len(counts.plan.terms.cardinalities)
        tables = self._build(k + 1, counts.lifts(k + 1), dtype) if more else parents
        joints = list_children(parents.plan, tables.plan if more else None)
        singles = self._build(1, counts.log_likelihoods(1), dtype)
        return Level(parents, enough, tables, joints, singles)

    def _score(self, codes: np.ndarray) -> np.ndarray:
        """Return the padded scores (n_rows, width) of a chunk, float64."""
        base = np.zeros(self.width)
        base[: self.model.n_classes] = self.counts.log_priors
        naive = look_up(self._naive, codes)
        values = np.empty(codes.shape[1] * self.width)
        score_rows(
            naive.codes, 0, codes.shape[1], naive.places, base, naive.entries, values,
            lanes_for(self.width),
        )  # fmt: skip
        scores = values.reshape(-1, self.width)
        left = np.arange(codes.shape[1])
        for k in range(self.n, 0, -1):
            sums = self._average(k, codes[:, left])
            served = sums[:, 0] > NOTHING
            scores[left[served]] += sums[served]
            left = left[~served]
            if not len(left):
                break
        return scores

    def _average(self, k: int, codes: np.ndarray) -> np.ndarray:
        """Return the log of the sum of AkDE's sub-models' ratios to naive Bayes, (n_rows, width).

        `NOTHING` where no parent set has been seen often enough.
        """
        level, rows = self._level(k), codes.shape[1]
        cardinalities = self.counts.plan.terms.cardinalities
        known = np.count_nonzero(codes < cardinalities[:, None], axis=0) - k
        values = np.empty(rows * self.width, level.tables.entries.dtype)
        average_rows(
            0, rows, look_up(level.parents, codes), level.enough, level.joints,
            look_up(level.tables, codes), look_up(level.singles, codes), known, values,
            lanes_for(self.width),
        )  # fmt: skip
        return values.reshape(rows, self.width)


def look_up(tables: FusedTables, codes: np.ndarray) -> Lookups:
    """Return rows coded for tables by columns, together with these."""
    joint, _ = encode_groups(tables.plan.groups, codes)
    return Lookups(joint, tables.plan.index, tables.entries)
