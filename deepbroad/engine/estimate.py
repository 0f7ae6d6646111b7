"""What a fit will need, told before it starts."""

from dataclasses import dataclass
from math import comb

import numpy as np

from deepbroad.data.source import BLOCK_ROWS, Source
from deepbroad.engine.memory import format_bytes
from deepbroad.engine.planning import pass_dtype
from deepbroad.kernels.expansion import INNER, JOINT, OUTER
from deepbroad.kernels.vector import lane_count
from deepbroad.model.cost import build_cost, lookup_cost, softmax_cost
from deepbroad.model.plan import Plan
from deepbroad.model.planner import symmetric_sums

# Beside its history SciPy's L-BFGS-B works on 5 vectors; the objective and the search on 6 more.
SOLVER_VECTORS = 11


@dataclass(frozen=True)
class Estimate:
    """What a fit will need.

    Attributes
    ----------
    rows, terms, cells : int
        Training rows, tuples of attributes, and joint values of all tuples.
    lookups, fused_lookups : int
        Table look-ups per row before and after fusion.
    bytes : int
        Memory that the fit takes beside its input.
    seconds_per_pass : float
        Time of one pass over the rows with all threads, by the cost model.
    """

    rows: int
    terms: int
    cells: int
    lookups: int
    fused_lookups: int
    bytes: int
    seconds_per_pass: float

    def __str__(self) -> str:
        return (
            f"{self.rows:,} rows, {self.terms:,} terms with {self.cells:,} cells, "
            f"{self.lookups:,} look-ups per row fused into {self.fused_lookups:,}, "
            f"about {format_bytes(self.bytes)} of memory and "
            f"{self.seconds_per_pass * 1e3:.2g} ms per pass"
        )


def estimate_fit(
    source: Source, plan: Plan, *, solves: bool, history: int, n_threads: int
) -> Estimate:
    """Return what counting, and solving if the model `solves`, will need under a plan."""
    terms, n_classes, rows = plan.terms, source.n_classes, source.n_rows
    cells, entries = terms.n_cells, plan.n_entries
    block = min(rows, BLOCK_ROWS)
    counted, scored = lane_count(n_classes), lane_count(n_classes - 1)
    # The plan's codes, and the labels and weights that go with them.
    held = rows * (len(plan.groups) * 2 + 10)
    counting = 8 * counted * (cells + entries + block)
    item = pass_dtype(plan, rows).itemsize
    if solves:
        parameters = min(cells, rows * len(terms)) * n_classes
        solving = (
            8 * counted * cells  # the counts stay
            + parameters * (8 * (2 * history + SOLVER_VECTORS) + 2 * item)
            + scored * ((item + 8) * cells + (2 * item + 8) * entries + item * block)
            + 2 * item * cells * n_classes  # the fitted scores and their scale
        )
    else:
        solving = 8 * counted * cells + (16 + 2 * item) * cells * n_classes
    steps = plan.program.steps
    items = float((steps[:, OUTER] * steps[:, JOINT] * steps[:, INNER]).sum())
    nanoseconds = (
        rows * (plan.n_tables * float(lookup_cost(entries, scored)))
        + rows * softmax_cost(n_classes - 1)
        + build_cost(items, scored)
    )
    return Estimate(
        rows=rows,
        terms=len(terms),
        cells=cells,
        lookups=len(terms),
        fused_lookups=plan.n_tables,
        bytes=int(held + max(counting, solving)),
        seconds_per_pass=nanoseconds * 1e-9 / n_threads,
    )


def least_bytes(cardinalities: np.ndarray, n: int, n_classes: int, *, solves: bool) -> float:
    """Return a lower bound of a fit's memory from cardinalities alone, without listing tuples."""
    values = np.asarray(cardinalities, float)
    powers = np.array([np.sum(values**k) for k in range(1, n + 1)])
    cells = float(symmetric_sums(powers, n)[n])
    per_cell = 8.0 * n_classes * (2 if solves else 1)
    return cells * per_cell + 8.0 * n * comb(len(values), n)


def refuse(needed: float, limit: int, alternatives: dict[int, float]) -> MemoryError:
    """Return the error of a fit that would not fit, saying which smaller n would."""
    fitting = {n: size for n, size in alternatives.items() if size <= limit}
    advice = "Use fewer or coarser columns, restrict the tuples with `terms`"
    if fitting:
        n = max(fitting)
        advice = f"n={n} would need about {format_bytes(fitting[n])}. Or use fewer columns"
    return MemoryError(
        f"This fit needs about {format_bytes(needed)} and memory_limit allows "
        f"{format_bytes(limit)}. {advice}, or raise memory_limit."
    )
