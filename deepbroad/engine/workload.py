"""What one evaluation of a fit has to do, counted from its plan, and how long that takes."""

from dataclasses import dataclass

import numpy as np

from deepbroad.data.source import BLOCK_ROWS, Source
from deepbroad.engine.fused import WORTH_THREADS
from deepbroad.engine.passes import MIN_ROWS
from deepbroad.engine.planning import ITEM_LOOKUP, mean_sets, pass_dtype, sample_codes
from deepbroad.kernels.expansion import INNER, JOINT, OUTER
from deepbroad.kernels.vector import lane_count
from deepbroad.model.cost import Costs
from deepbroad.model.plan import Plan
from deepbroad.model.terms import NONE, Terms

# Terms whose cells are counted in a sample of rows, to tell how many cells rows reach.
SAMPLE_TERMS = 64


@dataclass(frozen=True)
class Workload:
    """Counts of the work of an evaluation.

    Attributes
    ----------
    rows, n_scores, item : int
        Rows, scores of each, and bytes of one number.
    tables, entries : int
        Look-ups per row, and entries of all tables.
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
    entries: int
    streamed: float
    cleared: float
    runs: float
    steps: int
    sets: float = 0.0
    parameters: float = 0.0

    @classmethod
    def of(cls, source: Source, plan: Plan, *, solved: bool) -> "Workload":
        """Count the work of an evaluation; a model that is not `solved` has one pass, a count."""
        steps = plan.program.steps
        each = steps[:, OUTER] * steps[:, JOINT]
        runs, streamed = float(each.sum()), float((each * steps[:, INNER]).sum())
        entries, sets = plan.n_entries, 0.0
        sample = sample_codes(source)
        if plan.items is not None:
            entries += plan.items.n_entries
            sets = mean_sets(sample, plan.items.columns, plan.items.common, plan.items.depth)
            # A cell is added to the entries of all subsets of its items.
            added = float(plan.terms.sizes[plan.items.chosen].sum()) * 2.0**plan.items.depth
            runs, streamed = runs + added, streamed + added
        reached = count_reached(sample, plan.terms, source.n_rows) if solved else 0.0
        return cls(
            rows=source.n_rows,
            n_scores=source.n_classes - 1,
            item=pass_dtype(plan, source.n_rows).itemsize,
            tables=plan.n_tables,
            entries=entries,
            streamed=streamed,
            cleared=float(plan.terms.n_cells),
            runs=runs,
            steps=len(steps),
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
            + costs.softmax(self.n_scores, item=self.item)
        )
        building = float(
            costs.build(self.streamed, width, cells=self.cleared, runs=self.runs, steps=self.steps)
        )
        blocks = -(-self.rows // BLOCK_ROWS)
        nanoseconds = costs.evaluation
        # Each kind of work is handed to threads twice: forward and back.
        for work, shared, hand_overs in (
            (scoring, self.rows * tables > MIN_ROWS, 2 * blocks),
            (building, self.streamed > WORTH_THREADS, 2),
            (costs.vectors(self.parameters), self.parameters > MIN_ROWS, 0),
        ):
            parallel = shared and n_threads > 1
            nanoseconds += work / (n_threads if parallel else 1)
            nanoseconds += costs.hand_over * hand_overs * parallel
        return nanoseconds * 1e-9


def count_reached(sample: np.ndarray, terms: Terms, rows: int) -> float:
    """Estimate how many cells some of the `rows` rows reach, from a sample of them.

    Compact terms know. Of the others a few are looked at, and all are taken to be alike in the
    share of the cells that rows could reach at most.
    """
    known = float(terms.sizes[terms.is_compact].sum())
    dense = np.flatnonzero(~terms.is_compact)
    bounds = np.minimum(terms.sizes[dense], rows).astype(float)
    if not len(dense) or not sample.shape[1]:
        return known + float(bounds.sum())
    chosen = np.arange(len(dense))
    if len(dense) > SAMPLE_TERMS:
        chosen = np.random.default_rng(0).choice(len(dense), SAMPLE_TERMS, replace=False)
    found = np.array([estimate_distinct(sample, terms, int(dense[c]), rows) for c in chosen])
    found = np.minimum(found, bounds[chosen]).sum()
    return known + float(found / bounds[chosen].sum() * bounds.sum())


def estimate_distinct(sample: np.ndarray, terms: Terms, term: int, rows: int) -> float:
    """Estimate how many joint values of a term all rows show (Chao's estimator, 1984)."""
    members = terms.members[term]
    joint = np.zeros(sample.shape[1], np.int64)
    for column in members[members != NONE]:
        joint = joint * int(terms.cardinalities[column]) + sample[column]
    counts = np.bincount(joint, minlength=1)
    distinct = float(np.count_nonzero(counts))
    if sample.shape[1] < rows:
        once, twice = float(np.sum(counts == 1)), float(np.sum(counts == 2))
        distinct += once**2 / (2.0 * max(twice, 1.0))
    return distinct
