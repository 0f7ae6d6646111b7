"""How long a fit may still take, from the losses that it has reported."""

from collections.abc import Sequence
from math import inf, log

# Iterations that a rate of decrease is taken from, twice.
WINDOW = 8


def remaining_iterations(losses: Sequence[float], tol: float, most: int) -> float:
    """Return about how many iterations are left, `inf` if nothing can be said yet.

    The decrease of the loss per iteration shrinks by about the same factor over time; the fit ends
    when it comes to tol·max(loss, 1).

    Parameters
    ----------
    losses : sequence of float
        The loss after each iteration, the start first.
    tol : float
    most : int
        Iterations that are left at most.

    Examples
    --------
    >>> remaining_iterations([1 + 0.5**k for k in range(17)], 2.0**-21, 500)
    10.0
    """
    if len(losses) <= 2 * WINDOW:
        return inf
    before = (losses[-1 - 2 * WINDOW] - losses[-1 - WINDOW]) / WINDOW
    now = (losses[-1 - WINDOW] - losses[-1]) / WINDOW
    enough = tol * max(abs(losses[-1]), 1.0)
    if now <= enough:
        return 0.0
    if before <= now or enough <= 0:
        return float(most)
    rate = log(before / now) / WINDOW
    return float(min(most, round(log(now / enough) / rate)))
