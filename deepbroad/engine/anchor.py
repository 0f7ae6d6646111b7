"""What makes dual ascent fast where strengths are weak: an anchor that scores are pulled to.

With the penalty ½ κ Σ λ_j (β_j - a_j)² added, strengths are 1 + κ times as large, so that sweeps
close the gap fast; once the anchor a is where the scores are, the penalty is nothing. So the anchor
goes after the scores, sweep by sweep, and beyond them by some of their latest change.

References
----------
Lin, Mairal and Harchaoui, A universal catalyst for first-order optimization, 2015.
"""

from functools import partial

import numpy as np

from deepbroad.kernels.anchor import (
    LEAST_PULL,
    choose_momentum,
    choose_pull,
    measure_terms,
    move_anchor,
)
from deepbroad.kernels.threads import Threads, split_range

# The pull κ to begin with: at most this, and this share of a row's Σ 1/λ, since strong strengths
# need none.
FIRST_PULL, SHARE = 3.0, 0.25
# Numbers for which threads are worth their start.
WORTH = 1 << 16


class Anchor:
    """An anchor for the scores of a dual.

    Parameters
    ----------
    shape : tuple of int
        Of the scores: cells, and lanes.
    bounds : integer array of shape (terms + 1,)
        Where the cells of each term begin.
    n_classes : int

    Attributes
    ----------
    point, before : ndarray of shape (n_cells, W), float32
        The anchor, and the scores when it moved last.
    strength : ndarray of shape (terms,)
        λ.
    pull : float
        κ; 0 until `begin`.
    moves : int
        How often it moved since.
    """

    def __init__(
        self, shape: tuple[int, ...], bounds: np.ndarray, n_classes: int, threads: Threads
    ) -> None:
        self.point, self.before = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        self.strength = np.zeros(len(bounds) - 1)
        self.pull, self.moves = 0.0, 0
        self._bounds, self._n_classes, self._threads = bounds, n_classes, threads

    def begin(self, scores: np.ndarray, softness: float) -> None:
        """Start at scores that follow from beliefs alone; `softness` is Σ ω/λ of a row."""
        self.pull = self.pull or first_pull(softness)
        self.moves = 0
        self.point[:] = self.before[:] = scores

    def gap(self, scores: np.ndarray) -> float:
        """Return by how much F, less its dual, is larger than the rows tell: ½ κ² Σ λ (β - a)²."""
        squares = np.empty(len(self._bounds) - 1)
        parts = split_range(len(squares), self._threads.count)
        self._threads.run(
            [
                partial(measure_terms, scores, self.point, self._bounds, *part, self._n_classes,
                        squares)
                for part in parts
            ],
            worth=scores.size > WORTH,
        )  # fmt: skip
        return 0.5 * self.pull**2 * float(self.strength @ squares)

    def move(self, scores: np.ndarray, by_beliefs: float, by_anchor: float) -> None:
        """Go after the scores; both parts of the latest gap tell which pull is best."""
        old, self.pull = self.pull, choose_pull(self.pull, by_beliefs, by_anchor)
        momentum = choose_momentum(self.pull, self.moves)
        self.moves += 1
        flat = [array.reshape(-1) for array in (scores, self.point, self.before)]
        self._threads.run(
            [
                partial(move_anchor, *(array[a:b] for array in flat), old, self.pull, momentum)
                for a, b in split_range(scores.size, self._threads.count)
            ],
            worth=scores.size > WORTH,
        )


def first_pull(softness: float) -> float:
    """Return the pull of a first ascent; `softness` is Σ ω/λ of a row."""
    return max(min(FIRST_PULL, SHARE * softness), LEAST_PULL)
