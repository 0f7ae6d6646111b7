"""One effect of a purified model: what some attributes add to log odds only together."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from deepbroad.model.joint_scores import DenseScores, JointScores, average
from deepbroad.model.scores import MAX_DENSE


@dataclass(frozen=True, eq=False)
class Effect:
    r"""A function of the codes of some columns, whose mean over each of them is 0.

    It is :math:`\prod_i (1 - E_i)\, g = \sum_{T \subseteq S} (-1)^{|S \setminus T|} E[g|x_T]`: one
    array, or parts over subsets of the columns, so that a large g may stay a list of cells.

    Attributes
    ----------
    attributes : tuple of int
        Ascending.
    columns : tuple of int
        The code column of each attribute, the finest that bears on the effect.
    variance : array of shape (K,)
        The mean of its squares.
    """

    attributes: tuple[int, ...]
    columns: tuple[int, ...]
    variance: np.ndarray
    _shape: tuple[int, ...]
    _parts: tuple[tuple[tuple[int, ...], JointScores], ...]  # axes of each part, and the part

    @classmethod
    def of(
        cls,
        attributes: tuple[int, ...],
        columns: tuple[int, ...],
        scores: JointScores,
        weights: Sequence[np.ndarray],
    ) -> "Effect":
        """Return the effect that scores have beyond all their means."""
        axes = tuple(range(len(columns)))
        if isinstance(scores, DenseScores):
            centred = DenseScores(centre(scores.values, weights))
            variance = centred.square(weights)
            return cls(attributes, columns, variance, scores.shape, ((axes, centred),))
        parts: list[tuple[tuple[int, ...], JointScores]] = []
        variance = np.zeros(scores.values.shape[1])
        for order in range(len(axes) + 1):
            sign = (-1) ** (len(axes) - order)
            for kept in combinations(axes, order):
                part = scores if kept == axes else scores.mean(kept, weights)
                # Parts of a product distribution are nested means, so their squares telescope.
                variance += sign * part.square([weights[axis] for axis in kept])
                parts.append((kept, part if sign > 0 else part.negated()))
        return cls(attributes, columns, np.maximum(variance, 0.0), scores.shape, tuple(parts))

    @property
    def shape(self) -> tuple[int, ...]:
        """V of each axis."""
        return tuple(size - 1 for size in self._shape)

    def at(self, codes: np.ndarray) -> np.ndarray:
        """Return what the effect adds to the log odds of rows, (n_rows, K).

        `codes` has all code columns of the rows, never-seen values (code V) included.
        """
        return self.of_values(codes[list(self.columns)])

    def of_values(self, codes: np.ndarray) -> np.ndarray:
        """Return the effect of joint values, (n, K), given the codes of its own columns, (k, n)."""
        total = np.zeros((codes.shape[1], len(self.variance)))
        for axes, part in self._parts:
            total += part.at(codes[list(axes)])
        return total

    def table(self) -> np.ndarray:
        """Return the effect of all joint values that training could see, (V_1, ..., V_k, K)."""
        if np.prod(self.shape, dtype=np.float64) > MAX_DENSE:
            raise ValueError(
                f"The table has {np.prod(self.shape, dtype=np.float64):,.0f} cells; read those of "
                "joint values that training saw with `to_arrow`."
            )
        total = np.zeros((*self._shape, len(self.variance)))
        for axes, part in self._parts:
            if len(axes) == len(self.columns):
                part.added_to(total)
            else:
                total += spread_axes(part, axes, self._shape)
        return total[tuple(slice(size) for size in self.shape)]

    def cells(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the codes of cells that the model has, (k, n), and their effects, (n, K).

        All joint values, or where the model keeps a list those that training saw; on others the
        effect is that of what they have in common with these.
        """
        whole = self._parts[-1][1]
        if isinstance(whole, DenseScores):
            codes = np.indices(self.shape).reshape(len(self.shape), -1)
        else:
            codes = whole.codes
            codes = codes[:, (codes < np.array(self.shape)[:, None]).all(axis=0)]
        return codes, self.of_values(codes)


def centre(values: np.ndarray, weights: Sequence[np.ndarray]) -> np.ndarray:
    """Return an array less its weighted means over each of its axes but the last."""
    for axis, weight in enumerate(weights):
        values = values - np.expand_dims(average(values, axis, weight), axis)
    return values


def spread_axes(part: JointScores, axes: Sequence[int], shape: Sequence[int]) -> np.ndarray:
    """Return scores of some axes as an array that goes with arrays of all."""
    own = [size if axis in axes else 1 for axis, size in enumerate(shape)]
    values = np.zeros((*part.shape, part.values.shape[-1]))
    part.added_to(values)
    return values.reshape(*own, -1)
