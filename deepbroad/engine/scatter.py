"""Sums of rows' values by table entry: the same bit for bit however rows are parted.

Rows are added up in spans of `SPAN_ROWS`, the last of which has up to twice as many. Where there
are several, what each comes to is rounded to one quantum (`deepbroad.kernels.rounding`) before it
joins the others. So neither the parts that spans lie in nor the order in which parts are joined
makes a difference. Where tables are too large for that, the values of rows are rounded instead, and
added up in double precision; only where that would take much memory, sums depend on parts.
"""

from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from deepbroad.data.source import BLOCK_ROWS, SPAN_ROWS, ArraySource, Block, Source
from deepbroad.engine.fused import FusedTables
from deepbroad.kernels.lookup import TILE, scatter_rows
from deepbroad.kernels.rounding import move_rounded, quantum_of, round_numbers
from deepbroad.kernels.threads import Threads, split_range
from deepbroad.kernels.vector import lanes_for
from deepbroad.model.plan import Plan

# Look-ups, or numbers moved, from which work is handed to threads: to wake one takes as long as
# some ten thousands.
WORTH_THREADS = 1 << 16
# Tables up to this size may have sums in double precision.
EXACT_BYTES = 1 << 26
# With fewer tables than this, rows are split too, each part adding to a copy of its own.
MIN_SCATTER_TASKS = 4


class Whole(NamedTuple):
    """All rows that are added up, in however many parts: their number and their weight."""

    rows: int
    weight: float

    @classmethod
    def of(cls, source: Source, threads: Threads) -> "Whole":
        """Measure the rows of a source."""
        if not source.is_weighted:
            return cls(source.n_rows, float(source.n_rows))
        weight = source.reduce(sum_weights, join=np.add, threads=threads)
        return cls(source.n_rows, float(weight))


def sum_weights(part: ArraySource, threads: Threads) -> float:
    """Return the weight of a part."""
    return float(part.n_rows if part.weights is None else np.sum(part.weights, dtype=np.float64))


class SumPlan(NamedTuple):
    """The precision of the tables that rows are added up in, and what is rounded to the quantum."""

    dtype: np.dtype
    rounded: Literal["spans", "rows", "nothing"]


def plan_sums(plan: Plan, rows: int, width: int, dtype: np.dtype, *, exact: bool) -> SumPlan:
    """Return how values of a dtype are added up.

    If it is to be `exact`, in double precision where tables are small enough for that: the order of
    rows then makes next to no difference, which a solver would make a large one. So are many rows
    where tables are small against a block: each entry gets many of them, and it costs little. Rows
    of several spans are added up span by span where that is cheap against the span itself.
    """
    double = np.dtype(np.float64)
    items = 0 if plan.items is None else plan.items.n_entries
    is_small = (plan.terms.n_cells + plan.n_entries + items) * width * 8 <= EXACT_BYTES
    by_span = (plan.n_entries + items) * 8 <= SPAN_ROWS * plan.n_tables
    several = rows >= 2 * SPAN_ROWS
    if several and is_small and not by_span:
        return SumPlan(double, "rows")
    rounded: Literal["spans", "nothing"] = "spans" if several and by_span else "nothing"
    is_tiny = rows > BLOCK_ROWS and plan.n_entries * 8 <= BLOCK_ROWS * plan.n_tables
    return SumPlan(double if is_tiny or (exact and is_small) else dtype, rounded)


class Scatter:
    """Adds rows' values to the entries of all tables, block after block, and these into cells.

    Parameters
    ----------
    plan : Plan
    whole : Whole
        The rows of all parts: how they are added up does not depend on the part.
    width : int
        Values per row.
    dtype : dtype
        Of the values.
    exact : bool
        Whether sums are in double precision where that takes little memory.

    Attributes
    ----------
    cells : ndarray of shape (n_cells * width,)
        The sums, once `finish` was called.
    """

    def __init__(
        self,
        plan: Plan,
        whole: Whole,
        width: int,
        dtype: np.dtype,
        threads: Threads,
        *,
        exact: bool = False,
    ) -> None:
        sums = plan_sums(plan, whole.rows, width, dtype, exact=exact)
        self.tables = FusedTables(plan, width, sums.dtype, threads)
        self._by_span, self._by_row = sums.rounded == "spans", sums.rounded == "rows"
        self.cells = np.zeros(self.tables.cells.size) if self._by_span else self.tables.cells
        small = plan.n_entries * 8 <= min(whole.rows, BLOCK_ROWS)
        copies = -(-MIN_SCATTER_TASKS // max(plan.n_tables, 1)) if small else 1
        self._copies = [np.zeros_like(self.tables.entries) for _ in range(copies - 1)]
        self._quantum, self._threads = quantum_of(whole.weight), threads
        # Rows of the span so far, and rows to come.
        self._added, self._left = 0, 0

    @property
    def nbytes(self) -> int:
        """Bytes of the tables and the sums."""
        tables = self.tables
        entries = (1 + len(self._copies)) * tables.entries.nbytes
        return entries + tables.cells.nbytes + self.cells.nbytes * self._by_span

    def start(self, rows: int) -> None:
        """Start from zero; so many rows will be added, in full blocks but for the last."""
        self._clear_tables()
        self.cells[:] = 0
        self._left = rows

    def add(self, block: Block, values: np.ndarray) -> None:
        """Add the values (rows * width) of a block of rows, which may be rounded."""
        if self._by_row:
            self._run_ranges(round_numbers, values)
        plan, width = self.tables.plan, self.tables.width
        codes, rows = block.codes, len(block.labels)
        if self.tables.items is not None and block.items is not None:
            self.tables.items.add(block.items, values)
        worth = rows * plan.n_tables > WORTH_THREADS
        parts = self._threads.count if worth else 1
        lanes = lanes_for(width)
        copies = [self.tables.entries, *self._copies]
        tasks = [
            partial(
                scatter_rows, codes, start, stop, first, last, plan.index,
                values[start * width :], copy, lanes, width,
            )
            for copy, (start, stop) in zip(
                copies, split_range(rows, len(copies), TILE), strict=False
            )
            for first, last in split_range(plan.n_tables, parts)
        ]  # fmt: skip
        self._threads.run(tasks, worth=worth)
        self._added += rows
        self._left -= rows
        if self._by_span and self._added >= SPAN_ROWS <= self._left:
            self._end_span()

    def finish(self) -> None:
        """Let `cells` have the sums over all rows."""
        if not self._by_span:
            self._reduce()
        elif self._added:
            self._end_span()

    def _end_span(self) -> None:
        """Move the sums of a span to those before it."""
        self._reduce()
        self._run_ranges(move_rounded, self.tables.cells, self.cells)
        self._clear_tables()

    def _run_ranges(self, kernel: Callable[..., None], *arrays: np.ndarray) -> None:
        """Run a kernel that rounds over all numbers of its arrays."""
        size = arrays[0].size
        ranges = split_range(size, self._threads.count if size > WORTH_THREADS else 1)
        self._threads.run([partial(kernel, a, b, *arrays, self._quantum) for a, b in ranges])

    def _reduce(self) -> None:
        """Fill the cells of the tables with the sums of their entries."""
        for copy in self._copies:
            self.tables.entries += copy
        self.tables.reduce()

    def _clear_tables(self) -> None:
        """Set all entries to zero where they are not."""
        if self._added:
            self._added = 0
            self.tables.clear()
            for copy in self._copies:
                copy[:] = 0
