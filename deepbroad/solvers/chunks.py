"""Long vectors in fixed chunks, so that threads can share them and never change a sum."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from deepbroad.solvers.solver import Runner

# Numbers per chunk: work of about half a millisecond, and few enough to stay in the last cache.
CHUNK = 65_536

Range = tuple[int, int]


class Chunks:
    """The ranges that 0..length is cut into, whoever works on them.

    Parameters
    ----------
    length : int
        Length of the vectors.
    threads : Runner, optional
        Who shares the chunks; by default the calling thread has them all.
    size : int
        Numbers per chunk.
    """

    def __init__(self, length: int, threads: Runner | None = None, size: int = CHUNK) -> None:
        self.ranges = [(low, min(low + size, length)) for low in range(0, max(length, 1), size)]
        self._threads = threads if threads is not None and len(self.ranges) > 1 else None

    def each(self, work: Callable[[int, int], Any]) -> list[Any]:
        """Return what `work` returns for the range of each chunk, in their order."""
        if self._threads is None:
            return [work(low, high) for low, high in self.ranges]
        results: list[Any] = [None] * len(self.ranges)

        def share(first: int, stop: int) -> None:
            for i in range(first, stop):
                results[i] = work(*self.ranges[i])

        bounds = np.linspace(0, len(results), min(self._threads.count, len(results)) + 1)
        cuts = bounds.astype(int).tolist()
        self._threads.run([partial(share, *pair) for pair in pairwise(cuts)])
        return results
