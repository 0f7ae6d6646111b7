"""Strengths that were found on some of the rows, carried over to all of them by a common factor.

Strengths are those of a prior, which more rows would not change if the prior were true; but effects
have heavier tails than a normal one, and with more rows weaker strengths do better.
"""

from dataclasses import replace
from math import sqrt
from time import perf_counter
from typing import NamedTuple

import numpy as np

from deepbroad.data.source import ArraySource
from deepbroad.engine.estimate import estimate_fit
from deepbroad.engine.planning import Planner
from deepbroad.engine.validation import Validation
from deepbroad.kernels.threads import Threads
from deepbroad.model.family import Family
from deepbroad.model.terms import Terms
from deepbroad.solvers import LBFGS

STEP = sqrt(10.0)
MOST_STEPS = 4
# Rows that are held out.
HELD_ROWS = 20_000
# A loss that is lower by less than this share is no better.
BETTER = 1e-3
# A fit that ends early looks better than its strengths are where they are weak (covertype), so that
# with time for fewer iterations than the least nothing is tried.
SOLVER = LBFGS(max_iter=200, tol=1e-5)
LEAST_ITERATIONS = 60


class Refinement(NamedTuple):
    """A factor for all strengths, and whether the clock had a part in it."""

    factor: float
    is_cut_short: bool


def find_factor(
    source: ArraySource,
    terms: Terms,
    family: Family,
    strength: np.ndarray,
    *,
    smoothing: float,
    min_count: float,
    deadline: float,
    random: np.random.Generator,
    threads: Threads,
) -> Refinement:
    """Return the factor, at most 1, by which strengths do best on held-out rows of a source.

    It is 1 where trying would take beyond the `deadline`, a `perf_counter`.
    """
    plan = Planner(source, terms, min_count=min_count, threads=threads).cheapest()
    estimate = estimate_fit(source, plan, history=SOLVER.history, n_threads=threads.count)
    # Of two fits at least.
    allowed = (deadline - perf_counter()) / (2 * estimate.seconds_per_pass)
    if allowed < LEAST_ITERATIONS:
        return Refinement(1.0, is_cut_short=True)
    is_cut_short = allowed < SOLVER.max_iter
    solver = replace(SOLVER, max_iter=int(min(allowed, SOLVER.max_iter)))
    rows = source.rows_of_weight
    held = np.sort(random.choice(rows, min(HELD_ROWS, len(rows) // 5), replace=False))
    validation = Validation(
        source, plan, family, [held], smoothing=smoothing, min_count=min_count, threads=threads
    )
    best, factor = validation.loss(strength, solver), 1.0
    for _ in range(MOST_STEPS):
        if perf_counter() > deadline:
            is_cut_short = True
            break
        loss = validation.loss(strength * (factor / STEP), solver)
        if loss >= best * (1.0 - BETTER):
            break
        best, factor = loss, factor / STEP
    return Refinement(factor, is_cut_short)
