"""What a fit will need, told before it starts."""

from dataclasses import dataclass
from math import comb

from deepbroad.data.source import Source
from deepbroad.engine.calibration import costs_for
from deepbroad.engine.footprint import Footprint
from deepbroad.engine.memory import format_bytes
from deepbroad.engine.workload import Workload
from deepbroad.model.cost import TYPICAL
from deepbroad.model.plan import Plan


@dataclass(frozen=True)
class Estimate:
    """What a fit will need.

    Attributes
    ----------
    depth : int
        Attributes of the deepest tuples; where the depth is chosen, that of the deepest choice.
    rows, terms, cells : int
        Training rows (identical ones once, where that saves much), tuples of attributes, and
        joint values of all tuples.
    lookups, fused_lookups : int
        Table look-ups per row before and after fusion.
    bytes : int
        Memory that the fit takes beside its input.
    seconds_per_pass : float
        Time of one evaluation of the fit: a pass over the rows, and the solver's own work.
    """

    depth: int
    rows: int
    terms: int
    cells: int
    lookups: int
    fused_lookups: int
    bytes: int
    seconds_per_pass: float

    def __str__(self) -> str:
        return (
            f"{self.rows:,} rows, {self.terms:,} terms up to n={self.depth} "
            f"with {self.cells:,} cells, "
            f"{self.lookups:,} look-ups per row fused into {self.fused_lookups:,}, "
            f"about {format_bytes(self.bytes)} of memory and "
            f"{format_seconds(self.seconds_per_pass)} per pass"
        )


def format_seconds(seconds: float) -> str:
    """Return a time as people read it."""
    if seconds < 1:
        return f"{seconds * 1e3:.0f} ms" if seconds >= 0.01 else f"{seconds * 1e3:.2g} ms"
    return f"{seconds:,.0f} s" if seconds >= 10 else f"{seconds:.1f} s"


def estimate_fit(source: Source, plan: Plan, *, history: int, n_threads: int) -> Estimate:
    """Return what a fit will need under a plan; `history` is 0 for a model that only counts."""
    work = Workload.of(source, plan, solved=True)
    costs = costs_for(lambda costs: work.seconds(costs, n_threads))
    size = Footprint.of(source, plan, work.parameters / source.n_classes)
    return Estimate(
        depth=int(plan.terms.orders.max()),
        rows=source.n_rows,
        terms=len(plan.terms),
        cells=plan.terms.n_cells,
        lookups=len(plan.terms),
        fused_lookups=plan.n_tables + round(work.sets),
        bytes=int(size.total(history)),
        seconds_per_pass=work.seconds(costs, n_threads),
    )


def estimate_unlisted(source: Source, n: int, *, history: int, n_threads: int) -> Estimate:
    """Return about what a fit of all tuples would need where they are too many to list."""
    n_terms = comb(len(source.cardinalities), n)
    size = Footprint.unlisted(
        source.cardinalities, n, rows=source.n_rows, n_classes=source.n_classes
    )
    work = Workload(
        rows=source.n_rows,
        n_scores=source.n_classes - 1,
        item=4,
        tables=int(size.terms),
        entries=int(size.entries),
        streamed=size.entries,
        cleared=size.cells,
        runs=size.terms,
        steps=int(size.terms),
        parameters=size.reached * source.n_classes,
    )
    return Estimate(
        depth=n,
        rows=source.n_rows,
        terms=n_terms,
        cells=int(size.cells),
        lookups=n_terms,
        fused_lookups=n_terms,
        bytes=int(size.total(history)),
        seconds_per_pass=work.seconds(TYPICAL, n_threads),
    )


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
