"""What a pass costs on this machine, for estimates of time alone: plans go by typical costs.

Costs are measured once, per thread with all cores at work, and kept in the user's cache folder.
"""

from collections.abc import Callable
from functools import cache
from threading import Lock

import numpy as np
from numpy.typing import ArrayLike

from deepbroad.engine.cost_cache import load_costs, store_costs
from deepbroad.engine.probes import Stopwatch, time_evaluations
from deepbroad.kernels.threads import Threads
from deepbroad.model.cost import (
    ENTRY_BYTES,
    PARAMETERS,
    SCORES,
    TABLE_BYTES,
    TYPICAL,
    Costs,
)

# Passes shorter than this are not worth measuring the machine for.
WORTH_SECONDS = 0.05
# Times that everything is measured, and what takes a few milliseconds, which one neighbour spoils.
ROUNDS = 3
SHORT_ROUNDS = 12

_lock = Lock()


def costs_for(seconds: Callable[[Costs], float]) -> Costs:
    """Return the costs to tell a pass's time by, given its seconds as a function of costs.

    A small pass never has the machine measured; it uses what an earlier one left in the cache.
    """
    if seconds(TYPICAL) > WORTH_SECONDS:
        return machine_costs()
    return load_costs() or TYPICAL


def machine_costs() -> Costs:
    """Return the costs on this machine: those of the cache, or measured now and kept."""
    with _lock:
        return _costs_of_process()


@cache
def _costs_of_process() -> Costs:
    """Load or measure, once per process also where nothing can be kept."""
    costs = load_costs()
    if costs is None:
        try:
            costs = measure_costs()
        except MemoryError:  # the fit itself may need far less than the largest table here
            return TYPICAL
        store_costs(costs)
    return costs


def measure_costs() -> Costs:
    """Measure all costs with every thread that this process may use; about a second."""
    with Threads() as threads:
        watch = Stopwatch(threads)
        step, run, number, cleared = least(watch.building)
        lookups = least(
            lambda: [[watch.lookup(size, entry) for size in TABLE_BYTES] for entry in ENTRY_BYTES]
        )
        softmaxes = least(lambda: [watch.softmax(n) for n in SCORES], SHORT_ROUNDS)
        evaluation = float(least(lambda: time_evaluations(threads, values=2), SHORT_ROUNDS))
        # What evaluations take beyond the fixed part goes with the parameters: few rows look up
        # few entries.
        parameters = tuple(
            max(time_evaluations(threads, values=n // 8) - evaluation, 0.0) / n for n in PARAMETERS
        )
        hand_over = float(least(watch.hand_over, SHORT_ROUNDS))
    return Costs(
        # A larger table is never faster; only noise makes dips.
        lookups=tuple(tuple(curve) for curve in np.maximum.accumulate(lookups, axis=1).tolist()),
        step=float(step),
        run=float(run),
        number=float(number),
        cleared=float(cleared),
        softmaxes=tuple(softmaxes.tolist()),
        parameters=parameters,
        evaluation=evaluation,
        hand_over=hand_over,
    )


def least(measure: Callable[[], ArrayLike], rounds: int = ROUNDS) -> np.ndarray:
    """Return the least of several rounds of measurements: neighbours are noisy for a while."""
    return np.min([np.asarray(measure(), float) for _ in range(rounds)], axis=0)
