"""Threads that run kernels over disjoint ranges; kernels release the GIL."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from types import TracebackType

import numba

Task = Callable[[], object]


def thread_count(n_jobs: int | None) -> int:
    """Return how many threads `n_jobs` asks for: None and -1 mean all that this process may use."""
    # Numba's own setting follows CPU affinity, NUMBA_NUM_THREADS and joblib's limit for workers.
    available = int(numba.config.NUMBA_NUM_THREADS)
    if n_jobs is None:
        return available
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0:
        raise ValueError(
            f"n_jobs must be None or an integer other than 0, got {n_jobs!r}; "
            "None and -1 use every available core."
        )
    return n_jobs if n_jobs > 0 else max(1, available + 1 + n_jobs)


class Threads:
    """A pool that lives as long as a `with` block, so that no thread outlives a fit or a fork."""

    def __init__(self, n_jobs: int | None = None) -> None:
        self.count = thread_count(n_jobs)
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> "Threads":
        if self.count > 1:
            self._pool = ThreadPoolExecutor(self.count, thread_name_prefix="deepbroad")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            # After an error, such as Ctrl-C, what has not begun is not waited for.
            self._pool.shutdown(cancel_futures=error is not None)
            self._pool = None

    def run(self, tasks: Sequence[Task], *, worth: bool = True) -> None:
        """Run all tasks and wait; the first exception is raised.

        Tasks that are not `worth` the threads are run one after the other where they are.
        """
        if self._pool is None or len(tasks) <= 1 or not worth:
            for task in tasks:
                task()
            return
        # The calling thread works too, instead of waiting.
        futures = [self._pool.submit(task) for task in tasks[1:]]
        tasks[0]()
        for future in futures:
            future.result()


def split_range(length: int, parts: int, step: int = 1) -> list[tuple[int, int]]:
    """Split 0..length into at most `parts` ranges that start at multiples of `step`."""
    steps = -(-length // step)
    parts = max(1, min(parts, steps))
    bounds = [steps * i // parts * step for i in range(parts)] + [length]
    return [(a, b) for a, b in pairwise(bounds) if a < b]
