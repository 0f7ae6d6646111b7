"""Cells that score by how many rows of each class they have: a candidate where rows share few.

Where categories have thousands of values, most joint values belong to a row or two, which is too
little to learn a score from; a few weights for each table then turn counts into scores
(`deepbroad.model.evidence`).
"""

import numpy as np
from scipy.special import logsumexp

from deepbroad.data.source import ArraySource, Source
from deepbroad.engine.choice.dealing import DealtRows
from deepbroad.engine.choice.fits import HeldLosses
from deepbroad.engine.evidence import evidence_bytes, fit_evidence, has_evidence
from deepbroad.engine.listing import has_many_terms, list_terms
from deepbroad.engine.passes import pass_dtype, score_source
from deepbroad.engine.planning import Planner, group_part
from deepbroad.engine.training import Training
from deepbroad.kernels.threads import Threads
from deepbroad.model.family import Family
from deepbroad.model.resolutions import LevelledTerms

# Share of the pairs that must have more joint values than there are rows.
SPARSE = 0.1
# Bytes that the fits may take.
ROOM = float(1 << 29)
DEPTH = 3


def list_counted(source: Source, n_rows: int) -> LevelledTerms | None:
    """Return the tables of a model by counts; None where rows are no case for it.

    Rows must be in memory, without weights, and show few of the joint values of pairs.
    """
    if not isinstance(source, ArraySource) or not source.resident or source.is_weighted:
        return None
    depth = min(DEPTH, len(np.unique(source.attributes)))
    while depth > 1 and has_many_terms(source, depth):
        depth -= 1
    tables = list_terms(source, depth, exact=False)
    pairs = tables.terms.spaces[tables.terms.orders == 2]
    if not len(pairs) or float(np.mean(pairs > source.n_rows)) < SPARSE:
        return None
    # The final fit is to all rows.
    size = evidence_bytes(max(source.n_rows, n_rows), len(tables.terms), source.n_classes)
    return tables if size <= ROOM else None


def held_losses_by_counts(
    rows: DealtRows, tables: LevelledTerms, *, smoothing: float, seed: int, threads: Threads
) -> HeldLosses | None:
    """Return the losses of the rows that the first fold holds out.

    None where the cells of single rows are not at hand.
    """
    plan = Planner(rows.source, tables.terms, threads=threads).cheapest()
    trained = np.repeat(np.arange(len(rows.trained)), rows.trained[:, 0].astype(np.int64))
    train = rows.source.take(trained)
    training = Training(
        group_part(train, plan, threads), plan, smoothing=smoothing,
        dtype=pass_dtype(plan, train.n_rows), threads=threads,
    )  # fmt: skip
    if not has_evidence(training):
        return None
    family = Family(generative=True, strength=0.0, by_score=True, backs_off=True)
    family = family.shared_out(tables.shares, 0.0)
    scores, solution = fit_evidence(training, family, seed=seed)
    if solution.status == "interrupted":
        raise KeyboardInterrupt
    held = np.flatnonzero(rows.held[:, 0] > 0)
    judged = group_part(rows.source.take(held), plan, threads)
    relative = score_source(judged, scores, np.ones(len(held), bool), threads).astype(np.float64)
    every = np.column_stack([np.zeros(len(held)), relative])
    own = every[np.arange(len(held)), judged.labels]
    losses = logsumexp(every, axis=1) - own
    return HeldLosses.of(losses[:, None], rows.held[held, :1])
