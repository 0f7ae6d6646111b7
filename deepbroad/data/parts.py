"""Rows in several parts, wherever these are: what all such sources share."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import pairwise
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
        own = deal_numbers(rows, [part.n_rows for part in self.facts])
        return gather(self.each(ArraySource.take, own))

    def draw(self, count: int, random: np.random.Generator) -> ArraySource:
        """Return so many rows of weight, drawn at random, in memory, or all if there are less."""
        if self.n_weighted <= count:
            return gather(self.each(take_weighted, [()] * len(self.facts)))
        # Those that a source in memory would draw.
        numbers = np.sort(random.choice(self.n_weighted, count, replace=False))
        own = deal_numbers(numbers, [part.n_weighted for part in self.facts])
        return gather(self.each(take_weighted, own))


def deal_numbers(numbers: np.ndarray, lengths: Sequence[int]) -> list[tuple[np.ndarray]]:
    """Return which of ascending numbers fall to each part, counted from where it begins."""
    bounds = np.cumsum([0, *lengths])
    places = np.searchsorted(numbers, bounds)
    return [
        (numbers[first:last] - begin,)
        for first, last, begin in zip(places[:-1], places[1:], bounds[:-1], strict=True)
    ]


def take_weighted(part: ArraySource, numbers: np.ndarray | None = None) -> ArraySource:
    """Return some of the rows of weight, given by their number among these, or all."""
    rows = part.rows_of_weight
    return part.take(rows if numbers is None else rows[numbers])


class Piece(NamedTuple):
    """Rows begin..end of the part of a number."""

    part: int
    begin: int
    end: int


def align_parts(lengths: Sequence[int], step: int) -> list[list[Piece]]:
    """Return the pieces that parts are made of if these are to end at multiples of `step` rows.

    Parts end near to where parts of the given lengths do, so that few rows change theirs. The last
    one ends anywhere, but has `step` rows at least, too, if there are so many.

    Examples
    --------
    >>> aligned = align_parts([90, 120, 140], step=100)
    >>> aligned[0]
    [Piece(part=0, begin=0, end=90), Piece(part=1, begin=0, end=10)]
    >>> [sum(piece.end - piece.begin for piece in part) for part in aligned]
    [100, 100, 150]
    """
    edges = np.cumsum([0, *lengths])
    cuts = [0]
    for edge in edges[1:-1]:
        cut = (int(edge) + step // 2) // step * step
        if cuts[-1] < cut <= edges[-1] - step:
            cuts.append(cut)
    return [
        [
            Piece(i, max(low - begin, 0), min(high, end) - begin)
            for i, (begin, end) in enumerate(pairwise(edges.tolist()))
            if begin < high and end > low
        ]
        for low, high in pairwise([*cuts, int(edges[-1])])
    ]


def view_rows(part: ArraySource, begin: int, end: int) -> ArraySource:
    """Return the rows begin..end of a part in code columns, without copying them."""
    return ArraySource(
        part.codes[:, begin:end],
        part.labels[begin:end],
        n_classes=part.n_classes,
        cardinalities=part.cardinalities,
        weights=None if part.weights is None else part.weights[begin:end],
        attributes=part.attributes,
    )


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
