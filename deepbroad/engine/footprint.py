"""How many bytes a fit takes, phase by phase; each line is an array that some module allocates."""

from dataclasses import dataclass
from math import comb

import numpy as np

from deepbroad.data.source import BLOCK_ROWS, Source
from deepbroad.engine.fused import most_builders
from deepbroad.engine.passes import pass_dtype
from deepbroad.engine.sampling import MAX_SAMPLE, mean_sets, sample_codes
from deepbroad.engine.scatter import plan_sums
from deepbroad.kernels.expansion import STEP_WIDTH
from deepbroad.kernels.vector import lane_count
from deepbroad.model.groups import DIRECT_KEYS, Group, code_dtype, count_slots
from deepbroad.model.plan import Plan
from deepbroad.model.planner import SAMPLE_ROWS
from deepbroad.model.terms import Terms
from deepbroad.solvers.lbfgs import SMALL

# What a fit of next to nothing takes: Python objects, names of values, buffers of threads.
FLOOR = 190_000
# Vectors of numbers that reading and discretising a column, or hashing rows, holds at a time.
COLUMN_VECTORS = 6
# Bytes that reading files takes whatever is in them, and copies of a batch of rows on the way.
READING = 64_000_000
BATCH_COPIES = 3
# Bytes of kernels, names and what reading leaves, which limits of fits from files count as well.
LOADED = 90_000_000
# Copies of a sample of the rows that planning works on.
SAMPLE_COPIES = 5
# Threads that are taken to build tables, each in room of its own: no plan depends on how many.
BUILDERS = 2
# The solver's point, its gradient, and both of the next trial, in double precision.
SOLVER_VECTORS = 4


@dataclass(frozen=True)
class Footprint:
    """The sizes that the memory of a fit follows from.

    Attributes
    ----------
    given, rows, columns, n_classes, terms, depth : float
        Of the training table and the model; rows are those left of the given ones after merging.
    cells, reached : float
        Cells of all terms, and those that some row reaches.
    entries, item_entries : float
        Of fused and compact tables, and of sets of items.
    held : float
        Bytes of the rows as the plan codes them, and of what finds these codes.
    listed : float
        Bytes of the lists of terms and steps.
    scratch : float
        Items of room to build tables in.
    item, whole : int
        Bytes of a number in tables, and of a count.
    summed, beside : int
        Bytes of a sum over rows in tables, and of one of cells beside them, if there is.
    resident : bool
        Whether rows are in memory; those in files take that of some blocks only.
    code : int
        Bytes of a code in a code column.
    """

    given: float
    rows: float
    columns: float
    n_classes: int
    terms: float
    depth: int
    cells: float
    reached: float
    entries: float
    item_entries: float
    held: float
    listed: float
    scratch: float
    item: int
    whole: int
    summed: int
    beside: int
    resident: bool = True
    code: int = 1

    @classmethod
    def of(cls, source: Source, plan: Plan, reached: float) -> "Footprint":
        """Measure a plan, `reached` of whose cells some row reaches."""
        rows, terms = source.n_rows, plan.terms
        coded = len(plan.groups) * code_dtype(plan.groups).itemsize
        entries = plan.n_entries
        items = 0.0
        item_rows = 0.0
        if plan.items is not None:
            items = plan.items.n_entries
            # Sets of one item at most are the items and the empty set.
            own = plan.items.columns, plan.items.common
            item_rows = 8.0 + 4.0 * (mean_sets(sample_codes(source), *own, depth=1) - 1.0)
        dtype = pass_dtype(plan, rows)
        item = dtype.itemsize
        sums = plan_sums(plan, rows, lane_count(source.n_classes - 1), dtype, exact=False)
        depth = terms.members.shape[1]
        finding = sum(index_bytes(group) for group in plan.groups if not group.is_identity)
        return cls(
            given=source.n_given,
            rows=rows,
            columns=len(terms.cardinalities),
            n_classes=source.n_classes,
            terms=len(terms),
            depth=depth,
            cells=terms.n_cells,
            reached=reached,
            entries=entries,
            item_entries=items,
            held=(rows if source.resident else 0) * (coded + item_rows + 10.0) + finding,
            listed=listed_bytes(len(terms), depth, plan.n_tables),
            scratch=float(plan.program.scratch) * most_builders(plan, BUILDERS),
            item=item,
            whole=4 if rows < 2**24 else 8,
            summed=sums.dtype.itemsize,
            beside=8 if sums.rounded == "spans" else 0,
            resident=source.resident,
            code=code_bytes(source.cardinalities),
        )

    @classmethod
    def unlisted(
        cls, cardinalities: np.ndarray, n: int, *, rows: int, n_classes: int
    ) -> "Footprint":
        """Guess from the cardinalities alone what all tuples of n columns take, unfused."""
        terms = float(comb(len(cardinalities), n))
        cells = count_cells(cardinalities, n)
        reached = min(cells, rows * terms)
        return cls(
            rows, rows, len(cardinalities), n_classes, terms, n, min(cells, reached + terms),
            reached, reached, 0.0, rows * (len(cardinalities) + 10.0),
            listed_bytes(terms, n, terms), 0.0, 4, 4, 4, 0, code=code_bytes(cardinalities),
        )  # fmt: skip

    @classmethod
    def bare(cls, source: Source, terms: Terms, reached: float) -> "Footprint":
        """Measure the least that a model of these terms takes: cells that rows reach, no more."""
        depth = terms.members.shape[1]
        columns = len(terms.cardinalities)
        return cls(
            source.n_given, source.n_rows, columns, source.n_classes, len(terms), depth,
            reached, reached, 0.0, 0.0, 0.0, listed_bytes(len(terms), depth, 0), 0.0, 4, 4, 4, 0,
            source.resident, code_bytes(source.cardinalities),
        )  # fmt: skip

    @property
    def encoding(self) -> float:
        """Bytes while columns are read, discretised and coded, and rows merged."""
        if self.resident:
            return self.given * (self.code * self.columns + 8.0 * COLUMN_VECTORS)
        return READING + min(self.given, BLOCK_ROWS) * 8.0 * self.columns * BATCH_COPIES

    @property
    def planning(self) -> float:
        """Bytes while samples of the rows are looked at."""
        sample = min(self.rows, SAMPLE_ROWS, MAX_SAMPLE / self.columns)
        return self.code * self.columns * SAMPLE_COPIES * sample + self._coded + self.listed

    @property
    def _coded(self) -> float:
        """Bytes of the rows in code columns."""
        return self.rows * self.code * self.columns if self.resident else 0.0

    @property
    def counts(self) -> float:
        """Bytes of the counts, which stay."""
        return self.whole * self.cells * self.n_classes

    @property
    def counting(self) -> float:
        """Bytes while rows are counted, beside what is held."""
        lanes = lane_count(self.n_classes)
        block = min(self.rows, BLOCK_ROWS)
        numbers = self.cells + self.entries + self.item_entries + self.scratch + block
        return lanes * (8.0 * numbers + self.beside * self.cells) + self.counts

    def solving(self, history: int) -> float:
        """Bytes while a solver that remembers so many pairs works, beside what is held."""
        parameters = self.reached * self.n_classes
        remembered = 4 if parameters > SMALL else 8
        lanes = lane_count(self.n_classes - 1)
        block = min(self.rows, BLOCK_ROWS)
        return (
            self.counts
            + 4 * self.reached
            + parameters * (8 * SOLVER_VECTORS + (2 * history + 2) * remembered)
            + parameters * 3 * self.item  # scale and curvature
            + lanes * (self.cells + self.entries + self.scratch) * (self.item + self.summed)
            + lanes * self.cells * self.beside
            + lanes * self.item_entries * 16
            + block * (lanes * self.item + 16)
        )

    @property
    def finishing(self) -> float:
        """Bytes while the fitted scores are written, beside what is held."""
        parameters = self.reached * self.n_classes
        return (
            self.counts + parameters * (8 + self.item) + 3 * self.item * self.cells * self.n_classes
        )

    @property
    def unavoidable(self) -> float:
        """Bytes of a fit before any plan is made."""
        return FLOOR + max(self.encoding, self.planning - self.listed)

    def total(self, history: int) -> float:
        """Bytes of the fit at its largest; `history` is 0 for a model that only counts."""
        phases = [self.counting]
        if history:
            phases += [self.solving(history), self.finishing]
        else:
            phases.append(self.counts + 3 * self.item * self.cells * self.n_classes)
        planned = self._coded + self.held + self.listed + max(phases)
        if not self.resident:
            planned += LOADED
        return max(self.unavoidable, FLOOR + max(self.planning, planned))


def index_bytes(group: Group) -> float:
    """Return the bytes of the keys of a group and of what finds a key among them."""
    if group.n_keys <= DIRECT_KEYS:
        return 8.0 * len(group.keys) + 4.0 * group.n_keys
    return 8.0 * len(group.keys) + 12.0 * count_slots(len(group.keys))


def code_bytes(cardinalities: np.ndarray) -> int:
    """Return the bytes of a code: all columns have those of the one with most values."""
    return int(np.min_scalar_type(int(np.max(cardinalities, initial=1))).itemsize)


def listed_bytes(terms: float, depth: int, tables: float) -> float:
    """Return the bytes of the list of terms, their sizes and offsets, and the steps of tables."""
    return 8.0 * (terms * (2 * depth + 4) + tables * (3 * depth + STEP_WIDTH + 2))


def count_cells(cardinalities: np.ndarray, n: int) -> float:
    """Return how many cells all tuples of n columns have: e_n of the cardinalities."""
    sums = np.zeros(n + 1)
    sums[0] = 1.0
    for v in np.asarray(cardinalities, float):
        sums[1:] += v * sums[:-1]
    return float(sums[n])
