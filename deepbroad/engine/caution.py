"""Stronger strengths that held-out rows cannot tell from the best ones.

The best of many trials looks better than it is, the more so the fewer rows there are, and too weak
strengths cost more than too strong ones: a model that is sure of itself and wrong pays for it in
log loss. So strengths grow as long as that costs no more than chance would explain, as in the
one-standard-error rule of Breiman, Friedman, Olshen and Stone (1984).
"""

from dataclasses import replace
from math import sqrt
from time import perf_counter

import numpy as np

from deepbroad.engine.strength_search import FIRST, loss_level
from deepbroad.engine.validation import Validation

FACTORS = (1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0)
# Standard errors by which the loss may rise. More helps where a model is overconfident (sonar) and
# costs where classes follow exactly from the attributes (balance-scale).
ERRORS = 0.5


def find_caution(
    validation: Validation, strength: np.ndarray, loss: float, deadline: float
) -> float:
    """Return the factor, at least 1, by which strengths may grow.

    Parameters
    ----------
    validation : Validation
        Its folds, or groups of the rows of its one, tell what is chance.
    strength : ndarray of shape (n_terms,)
        The best strengths, whose held-out loss is `loss`.
    deadline : float
        The `perf_counter` after which nothing more is tried.
    """
    found = 1.0
    if perf_counter() >= deadline:
        return found
    solver = replace(FIRST, tol=FIRST.tol * loss_level(loss))
    best = validation.losses(strength, solver)
    for factor in FACTORS:
        if perf_counter() >= deadline:
            break
        rise = validation.losses(strength * factor, solver) - best
        if rise.mean() > ERRORS * rise.std(ddof=1) / sqrt(len(best)):
            break
        found = factor
    return found
