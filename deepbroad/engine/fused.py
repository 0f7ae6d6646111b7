"""The tables of a plan in memory: built from cells, summed back into cells, over threads."""

from itertools import pairwise

import numpy as np

from deepbroad.engine.items import ItemTables
from deepbroad.kernels.expansion import INNER, JOINT, OUTER, expand_steps, marginalise_steps
from deepbroad.kernels.threads import Threads
from deepbroad.kernels.vector import lanes_for
from deepbroad.model.plan import Plan

# Below this many streamed items, handing work to threads costs more than it saves.
WORTH_THREADS = 50_000


class FusedTables:
    """Cells and entries of a plan, both flat arrays with `width` numbers each.

    `items` has the entries of terms that items serve, if the plan has such.

    Parameters
    ----------
    plan : Plan
        Groups, tables and the program that builds them.
    width : int
        Numbers per cell and per entry.
    dtype : dtype
        float32 or float64.
    """

    def __init__(self, plan: Plan, width: int, dtype: np.dtype, threads: Threads) -> None:
        self.plan = plan
        self.width = width
        self.threads = threads
        self.cells = np.zeros(plan.terms.n_cells * width, dtype)
        self.entries = np.zeros(plan.n_entries * width, dtype)
        self.items = None
        if plan.items is not None:
            self.items = ItemTables(plan.items, self.cells, width, threads)
        program = plan.program
        steps = program.steps
        work = np.cumsum(steps[:, OUTER] * steps[:, JOINT] * steps[:, INNER])
        parts = most_builders(plan, threads.count) if work.size and work[-1] > WORTH_THREADS else 1
        self._ranges = split_tables(program.table_steps, work, parts) if work.size else []
        self._scratch = [np.empty(program.scratch * width, dtype) for _ in self._ranges]

    def build(self) -> None:
        """Fill the entries from the cells."""
        self._run(expand_steps)
        if self.items is not None:
            self.items.build()

    def reduce(self) -> None:
        """Fill the cells with the sums of the entries that they feed."""
        self._run(marginalise_steps)
        if self.items is not None:
            self.items.reduce()

    def clear(self) -> None:
        """Set all entries to zero."""
        self.entries[:] = 0
        if self.items is not None:
            self.items.clear()

    def _run(self, kernel) -> None:  # type: ignore[no-untyped-def]
        program = self.plan.program
        lanes = lanes_for(self.width)

        def task(first: int, last: int, scratch: np.ndarray):  # type: ignore[no-untyped-def]
            steps = program.steps[first:last]
            return lambda: kernel(
                steps, program.maps, self.cells, self.entries, scratch, lanes, self.width
            )

        self.threads.run([task(*r, s) for r, s in zip(self._ranges, self._scratch, strict=True)])


def most_builders(plan: Plan, n_threads: int) -> int:
    """Return how many threads build tables: all the room that they do it in stays half of these."""
    scratch = plan.program.scratch
    return n_threads if not scratch else max(1, min(n_threads, plan.n_entries // (2 * scratch)))


def split_tables(table_steps: np.ndarray, work: np.ndarray, parts: int) -> list[tuple[int, int]]:
    """Split the steps into at most `parts` ranges of whole tables with about equal work."""
    done = work[table_steps[1:] - 1]
    goals = work[-1] * np.arange(1, parts) / parts
    cuts = np.searchsorted(done, goals, side="left") + 1
    bounds = np.unique(np.concatenate([[0], table_steps[cuts], [table_steps[-1]]]))
    return [(int(a), int(b)) for a, b in pairwise(bounds)]
