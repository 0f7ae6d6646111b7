"""Short runs of the kernels and of a fit over made-up arrays, to learn what they cost here."""

from collections.abc import Sequence
from functools import partial
from time import get_clock_info, perf_counter_ns, process_time_ns

import numpy as np

from deepbroad.data.source import ArraySource
from deepbroad.engine.training import Training
from deepbroad.kernels.expansion import (
    INNER,
    JOINT,
    OUTER,
    OVERWRITE,
    SOURCE,
    STEP_WIDTH,
    TARGET,
    VALUES,
    expand_steps,
    marginalise_steps,
)
from deepbroad.kernels.lookup import TILE, TableIndex, scatter_rows, score_rows
from deepbroad.kernels.softmax import softmax_rows
from deepbroad.kernels.threads import Task, Threads, split_range
from deepbroad.kernels.vector import lane_count, lanes_for
from deepbroad.model.cost import TYPICAL
from deepbroad.model.family import Family
from deepbroad.model.groups import Group
from deepbroad.model.plan import Plan
from deepbroad.model.terms import Terms
from deepbroad.solvers import LBFGS, Progress

# The least of a few repeats counts: neighbours make a machine slower, never faster.
REPEATS = 2
ROWS = 16 * TILE
TABLES = 32
HAND_OVERS = 100
# The time that a process works does not count that in which others have the processor.
FINE_CLOCK = get_clock_info("process_time").resolution < 1e-6
# The solver's history is full after ten iterations; only what comes then is timed.
FULL = 10
ITERATIONS = 15
COLUMNS = 4
# What is found as the difference of two times has at least this share of what is typical: noise may
# leave nothing of it, and plans would take any amount of such work.
LEAST_SHARE = 0.2


def spent(threads: int) -> float:
    """Return a clock of the nanoseconds that this process worked, in all its threads."""
    return float(process_time_ns() if FINE_CLOCK else threads * perf_counter_ns())


class Stopwatch:
    """Times kernels with all threads, in nanoseconds of one thread per unit of work."""

    def __init__(self, threads: Threads) -> None:
        self.threads = threads
        self.random = np.random.default_rng(0)

    def time(self, tasks: Sequence[Task], units: float) -> float:
        """Return the nanoseconds per unit that all tasks take together."""
        least = float("inf")
        for _ in range(REPEATS):
            begin = spent(self.threads.count)
            self.threads.run(tasks)
            least = min(least, spent(self.threads.count) - begin)
        return least / units

    def hand_over(self) -> float:
        """Time how long threads take to receive nothing and to return it."""
        nothing: list[Task] = [lambda: None] * self.threads.count
        taken = []
        for _ in range(HAND_OVERS):
            begin = perf_counter_ns()
            self.threads.run(nothing)
            taken.append(perf_counter_ns() - begin)
        return float(np.quantile(taken, 0.1))

    def lookup(self, table_bytes: int, entry_bytes: int) -> float:
        """Time one look-up, forward and back, at random in tables of so many bytes in all."""
        width = entry_bytes // 4
        side = max(1, int((table_bytes / (TABLES * entry_bytes)) ** 0.5))
        codes = self.random.integers(side, size=(TABLES + 1, ROWS), dtype=np.uint16)
        members = np.stack([np.arange(TABLES), np.arange(1, TABLES + 1)], axis=1)
        strides = np.tile(np.array([side, 1]), (TABLES, 1))
        index = TableIndex(members, strides, np.arange(TABLES) * side**2)
        entries = np.ones(TABLES * side**2 * width, np.float32)
        values = np.zeros(ROWS * width, np.float32)
        base, lanes = np.zeros(width, np.float32), lanes_for(width)
        scoring = [
            partial(
                score_rows, codes, a, b, index, base, entries, values[a * width : b * width], lanes
            )
            for a, b in split_range(ROWS, self.threads.count, TILE)
        ]
        scattering = [
            partial(scatter_rows, codes, 0, ROWS, a, b, index, values, entries, lanes, width)
            for a, b in split_range(TABLES, self.threads.count)
        ]
        return self.time(scoring, ROWS * TABLES) + self.time(scattering, ROWS * TABLES)

    def building(self) -> tuple[float, float, float, float]:
        """Time a step, a run of numbers, a number, and the clearing of a cell's number."""
        # Shapes in which one of the four outweighs the rest.
        number = self._steps(64, joint=64, inner=128) / (64 * 128)
        run = self._steps(64, outer=32, values=8, joint=64) / (32 * 64) - number
        run = max(run, LEAST_SHARE * TYPICAL.run)
        cleared = self._steps(64, inner=4096) / 4096 - number
        cleared = max(cleared, LEAST_SHARE * TYPICAL.cleared)
        step = max(self._steps(1 << 13) - run - number - cleared, LEAST_SHARE * TYPICAL.step)
        return step, run, number, cleared

    def _steps(
        self, count: int, *, outer: int = 1, values: int = 1, joint: int = 1, inner: int = 1
    ) -> float:
        """Time one step of a shape, forward and back."""
        steps = np.zeros((count, STEP_WIDTH), np.int64)
        steps[:, [OUTER, VALUES, JOINT, INNER, OVERWRITE]] = outer, values, joint, inner, 1
        steps[:, SOURCE] = np.arange(count) * outer * values * inner
        steps[:, TARGET] = np.arange(count) * outer * joint * inner
        maps = (np.arange(joint) % values).astype(np.int32)
        cells = np.ones(count * outer * values * inner, np.float32)
        entries = np.ones(count * outer * joint * inner, np.float32)
        scratch = np.empty(1, np.float32)
        return sum(
            self.time(
                [
                    partial(kernel, steps[a:b], maps, cells, entries, scratch, lanes_for(1), 1)
                    for a, b in split_range(count, self.threads.count)
                ],
                count,
            )
            for kernel in (expand_steps, marginalise_steps)
        )

    def softmax(self, n_scores: int) -> float:
        """Time the loss and residuals of one row."""
        width = lane_count(n_scores)
        values = self.random.normal(size=ROWS * width).astype(np.float32)
        labels = self.random.integers(n_scores + 1, size=ROWS, dtype=np.uint8)
        weights, sums = np.ones(ROWS), np.empty((ROWS // TILE, 1 + n_scores))
        tasks = [
            partial(
                softmax_rows, values[a * width : b * width], a, b, labels, weights, n_scores,
                sums, lanes_for(width),
            )
            for a, b in split_range(ROWS, self.threads.count, TILE)
        ]  # fmt: skip
        return self.time(tasks, ROWS)


def time_evaluations(threads: Threads, values: int) -> float:
    """Return the nanoseconds of an evaluation in a fit of two classes to 4 columns of `values`.

    Those of all threads are added up. There are just enough rows to reach every value, so
    parameters and fixed costs outweigh them.
    """
    random = np.random.default_rng(0)
    codes = np.stack([random.permutation(values) for _ in range(COLUMNS)]).astype(np.uint16)
    cardinalities = np.full(COLUMNS, values)
    groups = tuple(Group.single(column, values) for column in range(COLUMNS))
    plan = Plan.of(Terms.of_order(1, cardinalities), groups)
    # Weights so unequal that the solver is not done before its history is full.
    source = ArraySource(
        codes,
        np.arange(values) % 2,
        n_classes=2,
        cardinalities=cardinalities,
        weights=np.exp(1.5 * random.normal(size=values)),
    )
    dtype = np.dtype(np.float32)
    training = Training(source, plan, smoothing=1.0, dtype=dtype, threads=threads)
    seen: list[tuple[float, int]] = []

    def watch(progress: Progress) -> None:
        seen.append((spent(threads.count), progress.evaluations))

    solver = LBFGS(max_iter=ITERATIONS, tol=0.0)
    training.discriminative(Family(generative=True, strength=0.01), solver, callbacks=[watch])
    nanoseconds, evaluations = np.diff(np.array(seen[min(FULL, len(seen) - 2) :]), axis=0).T
    return float(np.median(nanoseconds / np.maximum(evaluations, 1)))
