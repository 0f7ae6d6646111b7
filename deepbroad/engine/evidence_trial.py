"""Whether cells had better score by their counts: a trial on held-out rows, where it may pay."""

from collections.abc import Sequence
from time import perf_counter

import numpy as np

from deepbroad.data.source import ArraySource, Source
from deepbroad.engine.evidence import (
    evidence_bytes,
    fit_evidence,
    has_evidence,
    held_out_loss,
)
from deepbroad.engine.planning import Planner, group_part
from deepbroad.engine.strength_search import Trial
from deepbroad.engine.validation import train_without
from deepbroad.kernels.threads import Threads
from deepbroad.model.family import Family
from deepbroad.model.strengths import UNADAPTED, Strengths
from deepbroad.model.terms import Terms

# Share of the pairs that must have more joint values than there are rows: in tables of fewer, cells
# have rows enough to learn their scores.
SPARSE = 0.1
# Evaluations that a fit takes, and seconds for each byte of it, about.
EVALUATIONS = 80
SECONDS_PER_BYTE = 1e-9


def is_sparse(source: Source, terms: Terms, room: float) -> bool:
    """Tell whether rows are in memory, unweighted, few enough, and show few of the joint values.

    Parameters
    ----------
    source : Source
        All rows, identical ones not merged.
    room : float
        Bytes that a fit may compute with.
    """
    if not isinstance(source, ArraySource) or not source.resident or source.is_weighted:
        return False
    if evidence_bytes(source.n_rows, len(terms), source.n_classes) > room:
        return False
    pairs = terms.spaces[terms.orders == 2]
    return len(pairs) > 0 and float(np.mean(pairs > source.n_rows)) >= SPARSE


def try_evidence(
    sample: ArraySource,
    terms: Terms,
    family: Family,
    held: Sequence[np.ndarray],
    strengths: Strengths,
    *,
    smoothing: float,
    deadline: float,
    seed: int,
    threads: Threads,
) -> Trial | str:
    """Return how cells that score by their counts do, or why that was not tried.

    Parameters
    ----------
    sample : ArraySource
        Rows of code columns, identical ones not merged.
    held : sequence of integer arrays
        The rows that each fold holds out.
    strengths : Strengths
        Those that learned scores would have, for the record.
    deadline : float
        The `perf_counter` at which the trial is to have ended.
    """
    size = evidence_bytes(sample.n_rows, len(terms), sample.n_classes)
    needed = len(held) * EVALUATIONS * SECONDS_PER_BYTE * size
    if perf_counter() + needed > deadline:
        return "time"
    plan = Planner(sample, terms, threads=threads).cheapest()
    loss, passes = 0.0, 0
    for rows in held:
        training = train_without(sample, rows, plan, smoothing=smoothing, threads=threads)
        if not has_evidence(training):
            return "items"
        tables, solution = fit_evidence(training, family, seed=seed)
        if solution.status == "interrupted":
            # The solver keeps what it has; a choice that was interrupted has nothing to keep.
            raise KeyboardInterrupt
        judged = group_part(sample.take(rows), plan, threads)
        loss += held_out_loss(tables, judged, threads) * len(rows)
        passes += len(solution.evaluation_curve)
    mean = loss / sum(len(rows) for rows in held)
    return Trial(strengths, UNADAPTED, mean, passes, by_counts=True, folds=len(held))
