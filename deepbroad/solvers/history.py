"""The pairs of steps and gradient changes that L-BFGS remembers, and the direction they give."""

from collections.abc import Callable

import numpy as np

from deepbroad.kernels.history import (
    advance,
    combine_pairs,
    form_pair,
    multiply_pairs,
    weigh_pairs,
)
from deepbroad.solvers.chunks import Chunks


class History:
    """The last pairs, and the inner products of all of them with each other and the gradient.

    The direction follows from the inner products and one weighted sum, so that an iteration reads
    the pairs twice. Shapes are those of `deepbroad.kernels.history`.

    Parameters
    ----------
    size, length : int
        Pairs to keep, and their length.
    scaling : ndarray
        κ of u = κ·z, empty for 1; of the dtype of the pairs.
    """

    def __init__(self, size: int, length: int, scaling: np.ndarray, chunks: Chunks) -> None:
        self.scaling, self.chunks = scaling, chunks
        # Pages of slots that are not yet in use take no memory.
        self.pairs = np.empty((size, 2, length), scaling.dtype)
        self.order = np.empty(0, np.int64)
        self.gram = np.zeros((2 * size + 1, 2 * size + 1))
        self.gradient_norm = np.inf  # largest |κ·g|

    @property
    def squared_gradient(self) -> float:
        """‖κ·g‖²."""
        return float(self.gram[-1, -1])

    @property
    def used(self) -> np.ndarray:
        """The slots of the pairs that have ever been in use."""
        return self.pairs[: int(self.order.max(initial=-1)) + 1]

    def restore(self, pairs: np.ndarray, order: np.ndarray, gram: np.ndarray) -> None:
        """Go on with what another history had; full pairs are taken over, not copied."""
        if gram.shape != self.gram.shape or pairs.shape[1:] != self.pairs.shape[1:]:
            raise ValueError(
                f"The state holds pairs of shape {pairs.shape[1:]} and a history of "
                f"{len(gram) // 2}; this search has {self.pairs.shape[1:]} and "
                f"{len(self.pairs)}."
            )
        if pairs.shape == self.pairs.shape:
            self.pairs = np.require(pairs, self.pairs.dtype, ["C", "W"])
        else:
            self.pairs[: len(pairs)] = pairs
        self.order, self.gram = np.array(order, np.int64), np.array(gram, np.float64)

    def forget(self) -> None:
        """Drop all pairs."""
        self.order = self.order[:0]

    def meet(self, gradient: np.ndarray, fresh: np.ndarray) -> None:
        """Copy the fresh gradient over the old one, without a pair."""

        def copy(low: int, high: int) -> None:
            gradient[low:high] = fresh[low:high]

        self._multiply(copy, gradient)

    def learn(
        self, step: float, direction: np.ndarray, gradient: np.ndarray, fresh: np.ndarray
    ) -> None:
        """Add the pair of a step along a direction, and copy the fresh gradient over the old."""
        slot = self._claim_slot()
        moves, changes, scaling = self.pairs[slot, 0], self.pairs[slot, 1], self.scaling

        def move(low: int, high: int) -> None:
            at = slice(low, high)
            form_pair(
                moves[at], changes[at], scaling[at], step, direction[at], gradient[at], fresh[at]
            )
            gradient[at] = fresh[at]

        products = self._multiply(move, gradient, is_new=True)
        a, b = 2 * slot, 2 * slot + 1
        for row, product in ((a, products[1]), (b, products[2])):
            self.gram[row, :-1] = self.gram[:-1, row] = product[:-2]
        least = np.finfo(self.pairs.dtype).eps * np.sqrt(self.gram[a, a] * self.gram[b, b])
        if not self.gram[a, b] > least:
            # Rounded to the precision of the pairs it shows no curvature.
            self.order = self.order[:-1]

    def point(
        self,
        gradient: np.ndarray,
        direction: np.ndarray,
        step: float,
        u: np.ndarray,
        trial: np.ndarray,
    ) -> float:
        """Write the direction, and u + step·direction as the trial; return the slope."""
        weights = weigh_pairs(self.gram, self.order)

        def combine(low: int, high: int) -> float:
            slope = combine_pairs(
                low, high, self.pairs, self.order, weights, gradient, self.scaling, direction
            )
            advance(u[low:high], direction[low:high], step, trial[low:high])
            return float(slope)

        return sum(self.chunks.each(combine))

    def _claim_slot(self) -> int:
        """Return a free slot, or that of the oldest pair, as the newest in order."""
        order = self.order.tolist()
        if len(order) == len(self.pairs):
            slot = order.pop(0)
        else:
            slot = min(set(range(len(self.pairs))) - set(order))
        self.order = np.array([*order, slot], np.int64)
        return slot

    def _multiply(
        self, prepare: Callable[[int, int], None], gradient: np.ndarray, *, is_new: bool = False
    ) -> np.ndarray:
        """Prepare each chunk and multiply its pairs; the products with the gradient are kept."""
        shape = (3, len(self.gram) + 1)

        def multiply(low: int, high: int) -> np.ndarray:
            prepare(low, high)
            products = np.empty(shape)
            multiply_pairs(
                low, high, self.pairs, self.order, is_new, gradient, self.scaling, products
            )
            return products

        parts = self.chunks.each(multiply)
        self.gradient_norm = max(float(part[0, -1]) for part in parts)
        sums: np.ndarray = np.sum(parts, axis=0)
        self.gram[-1] = self.gram[:, -1] = sums[0, :-1]
        return sums
