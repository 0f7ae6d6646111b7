"""A callback that watches a fit from outside: seconds per evaluation, progress, an early stop."""

import sys
from dataclasses import dataclass, field
from time import perf_counter

from deepbroad import Progress


@dataclass
class Watch:
    """Callback of a fit.

    Parameters
    ----------
    name : str, optional
        Print every iteration to stderr under this name.
    iterations : int, optional
        Stop the fit after so many.
    timeout : float, optional
        Stop the fit so many seconds after the watch was made.
    """

    name: str | None = None
    iterations: int | None = None
    timeout: float | None = None
    began: float = field(default_factory=perf_counter)
    first: Progress | None = None
    last: Progress | None = None

    def __call__(self, progress: Progress) -> bool:
        """Take note of an iteration; True stops the fit."""
        self.first, self.last = self.first or progress, progress
        if self.name is not None:
            print(
                f"{self.name}: iteration {progress.iteration} of {progress.max_iter}, "
                f"{progress.evaluations} evaluations, loss {progress.loss:.6f}, "
                f"{self.elapsed:.0f} s",
                file=sys.stderr,
                flush=True,
            )
        is_enough = self.iterations is not None and progress.iteration >= self.iterations
        is_late = self.timeout is not None and self.elapsed > self.timeout
        return is_enough or is_late

    @property
    def elapsed(self) -> float:
        """Seconds since the watch was made."""
        return perf_counter() - self.began

    @property
    def seconds_per_evaluation(self) -> float:
        """Mean over the evaluations of loss and gradient, the solver's own work included.

        The evaluation at the start, which warms up, is left out; NaN if there was no other.
        """
        if self.first is None or self.last is None:
            return float("nan")
        evaluations = self.last.evaluations - self.first.evaluations
        seconds = self.last.seconds - self.first.seconds
        return seconds / evaluations if evaluations else float("nan")
