"""What one evaluation of a fit has to do, counted from its plan, and how long that takes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from deepbroad.data.source import BLOCK_ROWS, Source
from deepbroad.engine.fused import WORTH_THREADS as WORTH_BUILDING
from deepbroad.engine.passes import LOSS_LOOKUPS, MIN_ROWS, pass_dtype
from deepbroad.engine.sampling import MAX_SPACE, estimate_seen, mean_sets, sample_codes
from deepbroad.engine.scatter import WORTH_THREADS
from deepbroad.kernels.expansion import INNER, JOINT, OUTER
from deepbroad.kernels.vector import lane_count
from deepbroad.model.cost import TYPICAL, Costs
from deepbroad.model.groups import Group, encode_groups
from deepbroad.model.plan import Plan
from deepbroad.model.planner import SAMPLE_ROWS
from deepbroad.model.terms import Terms
from deepbroad.solvers.lbfgs import SMALL

# Terms whose cells are counted in a sample of rows, to tell how many cells rows reach.
SAMPLE_TERMS = 1024
# Rows times terms, and codes of rows, that are looked at for that where rows are many: a fraction
# of a second, and little memory.
SAMPLE_WORK = 50_000_000
SAMPLE_CODES = 1 << 22
# Compact groups whose codes are looked at likewise, and the share of rows with a code of their own
# up to which a sample tells how many there are.
SAMPLE_GROUPS = 128
MOST_UNKNOWN = 0.25
# How many times dearer the look-up of a set of items is than one in a fused table.
ITEM_LOOKUP = 2.5
# Nanoseconds of a set beside its look-ups, forward and back: to number it, one after the other.
# It is what counts where tables are small; with look-ups alone, fits to sets of items of cmc, crx,
# chess and sonar took 3 to 5 times as long as estimated, and fused tables would have been faster.
ITEM_WORK = 12.0
# Building them adds each cell to the entries of all subsets of its items, each found by its number
# and far from the last: so many runs, and numbers written, of a fused table take as long.
ITEM_RUNS, ITEM_NUMBERS = 3.3, 9.0
# Each kind of work is measured alone and at its best; together, as `benchmarks/estimates.py` finds
# in the median of its fits, they take this many times as long. What an evaluation takes beside
# them is measured in a fit as it is.
WHOLE = 1.5
# That of parameters is measured with the solver's pairs in double precision; beyond SMALL they are
# in single, and take half as long to read.
SINGLE_PAIRS = 0.5


@dataclass(frozen=True)
class Workload:
    """Counts of the work of an evaluation.

    Attributes
    ----------
    rows, n_scores, item : int
        Rows, scores of each, and bytes of one number.
    tables : int
        Look-ups per row.
    entries : float
        Entries of all tables that rows go to again and again: rare ones are few of the look-ups.
    streamed, cleared, runs, steps : float
        Items that building writes, cells that it sums into, contiguous runs, and steps.
    sets : float
        Sets of items per row, where rows are scored by these.
    parameters : float
        Numbers that the solver moves, 0 where there is none.
    """

    rows: int
    n_scores: int
    item: int
    tables: int
    entries: float
    streamed: float
    cleared: float
    runs: float
    steps: int
    sets: float = 0.0
    parameters: float = 0.0

    @classmethod
    def of(cls, source: Source, plan: Plan, *, solved: bool) -> "Workload":
        """Count the work of an evaluation; a model that is not `solved` has one pass, a count."""
        runs, streamed = count_building(plan)
        sample = sample_codes(source)
        entries, sets = count_frequent(plan, sample), 0.0
        if plan.items is not None:
            entries += plan.items.n_entries
            sets = mean_sets(sample, plan.items.columns, plan.items.common, plan.items.depth)
            added = float(plan.terms.sizes[plan.items.chosen].sum()) * 2.0**plan.items.depth
            runs, streamed = runs + ITEM_RUNS * added, streamed + ITEM_NUMBERS * added
        reached = count_reached(source, plan.terms) if solved else 0.0
        return cls(
            rows=source.n_rows,
            n_scores=source.n_classes - 1,
            item=pass_dtype(plan, source.n_rows).itemsize,
            tables=plan.n_tables,
            entries=entries,
            streamed=streamed,
            cleared=float(plan.terms.n_cells),
            runs=runs,
            steps=len(plan.program.steps),
            sets=sets,
            parameters=reached * source.n_classes,
        )

    def seconds(self, costs: Costs, n_threads: int) -> float:
        """Return the time of one evaluation."""
        width = lane_count(self.n_scores)
        tables = self.tables + self.sets
        lookup = float(costs.lookup(self.entries, width, tables=max(tables, 1.0), item=self.item))
        scoring = self.rows * (
            (self.tables + ITEM_LOOKUP * self.sets) * lookup
            + ITEM_WORK * self.sets
            + costs.softmax(self.n_scores, item=self.item)
        )
        building = float(
            costs.build(self.streamed, width, cells=self.cleared, runs=self.runs, steps=self.steps)
        )
        vectors = costs.vectors(self.parameters)
        if self.parameters > SMALL:
            vectors *= SINGLE_PAIRS
        blocks = -(-self.rows // BLOCK_ROWS)
        nanoseconds = 0.0
        # Each kind of work is handed to threads twice: forward and back.
        for work, shared, hand_overs in (
            (scoring, self.rows * (tables + LOSS_LOOKUPS) > WORTH_THREADS, 2 * blocks),
            (building, self.streamed > WORTH_BUILDING, 2),
            (vectors, self.parameters > MIN_ROWS, 0),
        ):
            parallel = shared and n_threads > 1
            nanoseconds += work / (n_threads if parallel else 1)
            nanoseconds += costs.hand_over * hand_overs * parallel
        return (costs.evaluation + WHOLE * nanoseconds) * 1e-9


def typical_work(
    plan: Plan, n_scores: int, dtype: np.dtype, n_parameters: int
) -> tuple[float, float]:
    """Return the nanoseconds of an evaluation for each row, and beside its rows.

    By counts at typical costs, so that what is chosen by them is the same on any machine.
    """
    width, item = lane_count(n_scores), dtype.itemsize
    lookup = TYPICAL.lookup(plan.n_entries, width, tables=max(plan.n_tables, 1), item=item)
    per_row = plan.n_tables * float(lookup) + TYPICAL.softmax(n_scores, item=item)
    runs, streamed = count_building(plan)
    building = TYPICAL.build(
        streamed, width, cells=plan.terms.n_cells, runs=runs, steps=len(plan.program.steps)
    )
    return per_row, TYPICAL.evaluation + float(building) + TYPICAL.vectors(n_parameters)


def count_frequent(plan: Plan, sample: np.ndarray) -> float:
    """Return how many entries tables would have if they were all looked up equally often.

    A group of columns then has exp(H) codes, H being the entropy of those that rows have. Some
    compact ones are looked at, and all are taken to be alike in the share of their codes.
    """
    frequent = np.array([float(group.size) for group in plan.groups] + [1.0])
    if sample.shape[1]:
        dense = tuple(group for group in plan.groups if not group.compact)
        codes, missing = encode_groups(dense, sample)
        if not missing.all():
            frequent[: len(dense)] = [
                spread_counts(np.bincount(column[~missing])) for column in codes
            ]
        frequent[len(dense) : -1] *= share_frequent(plan.groups[len(dense) :], sample)
    return float(frequent[plan.supports].prod(axis=1).sum())


def share_frequent(compact: Sequence[Group], sample: np.ndarray) -> float:
    """Return the share of the codes of compact groups that rows go to again and again.

    Where much of the weight is on codes that the sample shows once, it shows too few of them, and
    all are taken to be frequent.
    """
    chosen = compact[:: -(-len(compact) // SAMPLE_GROUPS) or 1]
    total = found = 0.0
    for group in chosen:
        counts = np.unique(group.key_rows(sample), return_counts=True)[1]
        known = np.count_nonzero(counts == 1) <= MOST_UNKNOWN * sample.shape[1]
        total += group.size
        found += min(spread_counts(counts), group.size) if known else group.size
    return found / total if total else 1.0


def spread_counts(counts: np.ndarray) -> float:
    """Return exp(H) of the frequencies of codes."""
    total = counts.sum()
    return float(total * np.exp(-xlogy(counts, counts).sum() / total))


def count_building(plan: Plan) -> tuple[float, float]:
    """Return the contiguous runs, and the items, that building fused tables writes."""
    steps = plan.program.steps
    each = steps[:, OUTER] * steps[:, JOINT]
    return float(each.sum()), float((each * steps[:, INNER]).sum())


def count_reached(source: Source, terms: Terms) -> float:
    """Estimate how many cells some row reaches.

    Compact terms know. Of the others some are looked at, and all are taken to be alike in the
    share of the cells that rows could reach at most.
    """
    known = float(terms.sizes[terms.is_compact].sum())
    dense = np.flatnonzero(~terms.is_compact & (terms.spaces <= MAX_SPACE))
    if not len(dense):
        return known + float(np.minimum(terms.sizes, source.n_rows)[~terms.is_compact].sum())
    bounds = np.minimum(terms.sizes[dense], source.n_rows).astype(float)
    chosen = np.arange(len(dense))
    if len(dense) > SAMPLE_TERMS:
        chosen = np.random.default_rng(0).choice(len(dense), SAMPLE_TERMS, replace=False)
    most = min(SAMPLE_WORK // len(chosen), SAMPLE_CODES // len(terms.cardinalities))
    rows = max(SAMPLE_ROWS, most)
    found = estimate_seen(terms, dense[chosen], source, rows=rows).sum()
    return known + float(found / bounds[chosen].sum() * bounds.sum())
