"""How often training rows had each value of an attribute: all that a model keeps of their counts.

It takes a number per value, so that a model can say how its effects are spread without its rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from deepbroad.data.encoding import Encoding
from deepbroad.data.source import ArraySource, Source
from deepbroad.kernels.threads import Threads


@dataclass(frozen=True, eq=False)
class Frequencies:
    """The weight of the rows that have each value, attribute by attribute.

    Attributes
    ----------
    counts : tuple of float64 arrays
        For each attribute one of shape (V,), V being the cardinality of its finest code column.
        Rows whose value is unknown to the encoding do not count.
    """

    counts: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, source: Source, threads: Threads) -> "Frequencies":
        """Count the rows of a source."""
        finest = finest_columns(source.attributes)
        counts = source.reduce(count_values, finest, join=add_counts, threads=threads)
        return cls(tuple(counts))

    @classmethod
    def of_codes(cls, codes: np.ndarray, encoding: Encoding) -> "Frequencies":
        """Count rows of codes, of shape (n_columns, n_rows)."""
        labels = np.zeros(codes.shape[1], np.uint8)
        return cls.of(encoding.as_source(codes, labels, None, 1), Threads(1))

    @classmethod
    def from_flat(cls, flat: np.ndarray, encoding: Encoding) -> "Frequencies":
        """Return what `flat` made one array of."""
        sizes = encoding.cardinalities[finest_columns(encoding.attributes)]
        if flat.shape != (sizes.sum(),) or not np.isfinite(flat).all() or (flat < 0).any():
            raise ValueError("frequencies must be a number, 0 or more, for each value")
        return cls(tuple(np.split(flat, np.cumsum(sizes)[:-1])))

    @property
    def flat(self) -> np.ndarray:
        """All counts in one array, attribute after attribute."""
        return np.concatenate(self.counts)

    def joined(self, maps: Sequence[np.ndarray], other: "Frequencies") -> "Frequencies":
        """Return the counts of these rows and others, whose encoding may know more values.

        `maps` has for each attribute the codes of the others that its codes became.
        """
        counts = [there.copy() for there in other.counts]
        for here, codes, there in zip(self.counts, maps, counts, strict=True):
            there[codes[: len(here)]] += here
        return Frequencies(tuple(counts))


def finest_columns(attributes: np.ndarray) -> np.ndarray:
    """Return the last code column of each attribute, given the attribute of each code column."""
    return np.flatnonzero(np.diff(attributes, append=attributes[-1] + 1))


def count_values(part: ArraySource, columns: np.ndarray, threads: Threads) -> list[np.ndarray]:
    """Return the weight of the rows of a part that have each value of some code columns."""
    counts = [np.zeros(part.cardinalities[c]) for c in columns]

    def count(place: int, column: int) -> None:
        for block in part.blocks():
            found = np.bincount(block.codes[column], block.weights, len(counts[place]) + 1)
            counts[place] += found[: len(counts[place])]

    threads.run([partial(count, place, int(c)) for place, c in enumerate(columns)])
    return counts


def add_counts(first: list[np.ndarray], second: list[np.ndarray]) -> list[np.ndarray]:
    """Return the sums of counts, attribute by attribute."""
    return [a + b for a, b in zip(first, second, strict=True)]
