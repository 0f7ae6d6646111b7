"""The distribution under which effects are told apart: attributes independent of each other."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deepbroad.data.encoding import Encoding
from deepbroad.data.frequencies import finest_columns


@dataclass(frozen=True, eq=False)
class Marginals:
    """How probable each value of each attribute is, at each of its resolutions.

    Attributes
    ----------
    probabilities : tuple of float64 arrays
        For each code column one of shape (V + 1,) that sums to 1; the last entry, of a value that
        training never saw, is 0. A coarse bin has the probability of the finest bins in it.
    """

    probabilities: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, encoding: Encoding, counts: Sequence[np.ndarray]) -> "Marginals":
        """Return the distribution of counts, one array (V,) per attribute, by its finest codes."""
        finest = finest_columns(encoding.attributes)
        found = []
        for column, attribute in enumerate(encoding.attributes):
            fine = np.asarray(counts[attribute], np.float64)
            if not fine.sum() > 0:
                name = encoding.names[attribute]
                raise ValueError(f"No row has a value of {name!r} that the model knows.")
            bins = encoding.bins_within(column, int(finest[attribute]))
            size = int(encoding.cardinalities[column]) + 1
            found.append(np.bincount(bins, fine / fine.sum(), size))
        return cls(tuple(found))

    @classmethod
    def uniform(cls, encoding: Encoding) -> "Marginals":
        """Return the distribution in which all values of an attribute are equally probable."""
        finest = finest_columns(encoding.attributes)
        return cls.of(encoding, [np.ones(encoding.cardinalities[c]) for c in finest])
