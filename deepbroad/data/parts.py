"""Rows in several parts, wherever these are: what all such sources share."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from deepbroad.data.source import ArraySource, Held, Join
from deepbroad.kernels.threads import Threads

Result = TypeVar("Result")


class Facts(NamedTuple):
    """What is known of a part without its rows; see `Source`."""

    n_rows: int
    n_given: int
    n_weighted: int
    is_weighted: bool
    n_classes: int
    cardinalities: np.ndarray
    attributes: np.ndarray

    @classmethod
    def of(cls, part: ArraySource) -> "Facts":
        """Return the facts of a part."""
        return cls(
            part.n_rows,
            part.n_given,
            part.n_weighted,
            part.is_weighted,
            part.n_classes,
            part.cardinalities,
            part.attributes,
        )


class PartedSource(ABC):
    """A `Source` of several parts, none of which is empty.

    Parameters
    ----------
    facts : sequence of Facts
        Of each part, in their order.
    """

    resident = False

    def __init__(self, facts: Sequence[Facts]) -> None:
        self.facts = list(facts)
        self.n_rows = sum(part.n_rows for part in facts)
        self.n_given = sum(part.n_given for part in facts)
        self.n_weighted = sum(part.n_weighted for part in facts)
        self.is_weighted = any(part.is_weighted for part in facts)
        first = facts[0]
        self.n_classes, self.cardinalities = first.n_classes, first.cardinalities
        self.attributes = first.attributes

    @abstractmethod
    def each(self, function: Callable[..., Result], own: Sequence[tuple[Any, ...]]) -> list[Result]:
        """Return function(part, *its own arguments) of each part."""

    @abstractmethod
    def reduce(
        self, function: Callable[..., Result], *arguments: Any, join: Join, threads: Threads
    ) -> Result:
        """Return function(part, *arguments, threads) of each part, joined in their order."""

    @abstractmethod
    def hold(self, make: Callable[..., Any], *arguments: Any, threads: Threads) -> Held:
        """Make an object of each part, and keep it there."""

    @abstractmethod
    def convert(
        self, function: Callable[..., ArraySource], *arguments: Any, threads: Threads
    ) -> "PartedSource":
        """Return the source whose parts are function(part, *arguments, threads)."""

    def take(self, rows: np.ndarray) -> ArraySource:
        """Return some of the rows, given by number in ascending order, in memory."""
        bounds = np.cumsum([0, *(part.n_rows for part in self.facts)])
        places = np.searchsorted(rows, bounds)
        own = [
            (rows[first:last] - begin,)
            for first, last, begin in zip(places[:-1], places[1:], bounds[:-1], strict=True)
        ]
        return gather(self.each(ArraySource.take, own))

    def draw(self, count: int, random: np.random.Generator) -> ArraySource:
        """Return so many rows of weight, drawn at random, in memory, or all if there are less."""
        if self.n_weighted <= count:
            return gather(self.each(take_weighted, [()] * len(self.facts)))
        # As many as all parts together: of each its share, as a draw from all would have it.
        shares = random.multivariate_hypergeometric([p.n_weighted for p in self.facts], count)
        seeds = random.integers(2**63, size=len(self.facts))
        own = list(zip(shares.tolist(), seeds.tolist(), strict=True))
        return gather(self.each(draw_weighted, own))


def take_weighted(part: ArraySource) -> ArraySource:
    """Return the rows of weight."""
    return part.take(part.rows_of_weight)


def draw_weighted(part: ArraySource, count: int, seed: int) -> ArraySource:
    """Return so many of the rows of weight."""
    rows = np.random.default_rng(seed).choice(part.rows_of_weight, count, replace=False)
    return part.take(np.sort(rows))


def gather(parts: Sequence[ArraySource]) -> ArraySource:
    """Return the rows of several parts as one in memory."""
    first = parts[0]
    weights = None
    if any(part.is_weighted for part in parts):
        weights = np.concatenate(
            [np.ones(part.n_rows) if part.weights is None else part.weights for part in parts]
        )
    return ArraySource(
        np.concatenate([part.codes for part in parts], axis=1),
        np.concatenate([part.labels for part in parts]),
        n_classes=first.n_classes,
        cardinalities=first.cardinalities,
        weights=weights,
        attributes=first.attributes,
    )


def join_pairwise(results: Sequence[Any], join: Join) -> Any:
    """Join results in their order by a tree whose shape depends on their number alone."""
    level = list(results)
    while len(level) > 1:
        pairs = [join(a, b) for a, b in zip(level[::2], level[1::2], strict=False)]
        level = pairs + level[len(pairs) * 2 :]
    return level[0]
