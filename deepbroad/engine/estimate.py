"""What a fit will need, told before it starts."""

from dataclasses import dataclass
from math import comb
from typing import NamedTuple

import numpy as np

from deepbroad.data.source import BLOCK_ROWS, Source
from deepbroad.engine.calibration import costs_for
from deepbroad.engine.memory import format_bytes
from deepbroad.engine.planning import must_be_compact, pass_dtype
from deepbroad.engine.workload import Workload
from deepbroad.kernels.expansion import STEP_WIDTH
from deepbroad.kernels.vector import lane_count
from deepbroad.model.plan import Plan
from deepbroad.model.terms import Terms

# Beside its history SciPy's L-BFGS-B works on 5 vectors; the objective and the search on 6 more.
SOLVER_VECTORS = 11
# More tuples than this are not listed to be measured.
MAX_LISTED = 5_000_000


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
        Time of one evaluation of the fit: a pass over the rows, and the solver's own work.
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


class Sizes(NamedTuple):
    """What the memory of a fit depends on."""

    rows: int
    n_classes: int
    n_groups: int
    n_terms: int
    cells: float
    entries: float


def fit_bytes(sizes: Sizes, item: int, history: int) -> float:
    """Return the memory of a fit: counting, then solving where the solver remembers anything.

    `item` is the bytes of one number in the tables.
    """
    rows, n_classes, n_groups, n_terms, cells, entries = sizes
    block = min(rows, BLOCK_ROWS)
    counted, scored = lane_count(n_classes), lane_count(n_classes - 1)
    # The plan's codes, and the labels and weights that go with them.
    held = rows * (n_groups * (4 if entries > 2**16 else 2) + 10)
    counting = 8 * counted * (cells + entries + block)
    solving = 8 * counted * cells + (16 + 2 * item) * cells * n_classes
    if history:
        parameters = min(cells, float(rows) * n_terms) * n_classes
        solving = (
            8 * counted * cells  # the counts stay
            + parameters * (8 * (2 * history + SOLVER_VECTORS) + 2 * item)
            + scored * ((item + 8) * cells + (2 * item + 8) * entries + (item + 1) * block)
            + 2 * item * cells * n_classes  # the fitted scores and their scale
        )
    return held + max(counting, solving)


def estimate_fit(source: Source, plan: Plan, *, history: int, n_threads: int) -> Estimate:
    """Return what a fit will need under a plan; `history` is 0 for a model that only counts."""
    terms, n_classes, rows = plan.terms, source.n_classes, source.n_rows
    cells, entries = terms.n_cells, plan.n_entries
    sizes = Sizes(rows, n_classes, len(plan.groups), len(terms), cells, entries)
    work = Workload.of(source, plan, solved=history > 0)
    costs = costs_for(lambda costs: work.seconds(costs, n_threads))
    return Estimate(
        rows=rows,
        terms=len(terms),
        cells=cells,
        lookups=len(terms),
        fused_lookups=plan.n_tables,
        bytes=int(fit_bytes(sizes, pass_dtype(plan, rows).itemsize, history)),
        seconds_per_pass=work.seconds(costs, n_threads),
    )


def unfused_bytes(
    cardinalities: np.ndarray, n: int, *, rows: int, n_classes: int, history: int
) -> float:
    """Return the memory of a fit without fusion, from cardinalities alone."""
    n_terms = comb(len(cardinalities), n)
    # The list of tuples itself, its steps and its offsets.
    listed = 8.0 * (2 * n + STEP_WIDTH + 4) * n_terms
    if n_terms > MAX_LISTED:
        return listed + 8.0 * n_terms * n_classes  # a cell each, at the very least
    terms = Terms.of_order(n, cardinalities)
    is_compact = must_be_compact(terms, rows)
    cells = float(np.where(is_compact, np.minimum(terms.spaces, rows + 1), terms.spaces).sum())
    n_groups = len(cardinalities) + int(is_compact.sum())
    sizes = Sizes(rows, n_classes, n_groups, n_terms, cells, cells)
    return fit_bytes(sizes, 4, history) + listed


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
