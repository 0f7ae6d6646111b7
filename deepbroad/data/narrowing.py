"""Coded rows with fewer code columns: those that the tables of a model use."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from deepbroad.data.code_column import CodeColumn, NumberColumn, bins_within
from deepbroad.data.cuts import Edges, cuts_of_edges
from deepbroad.data.source import ArraySource
from deepbroad.kernels.threads import Threads


@dataclass(frozen=True, eq=False)
class Narrowing:
    """How the code columns of one encoding follow from those of another.

    Attributes
    ----------
    sources : int64 array of shape (n_columns,)
        The old code column that each new one is made of.
    codes : tuple of arrays or None
        For each new column the new code of each old one, the unknown code last; None to copy.
    cardinalities, attributes : int64 arrays of shape (n_columns,)
        Of the new columns.
    n_old : int
        How many code columns there were.
    """

    sources: np.ndarray
    codes: tuple[np.ndarray | None, ...]
    cardinalities: np.ndarray
    attributes: np.ndarray
    n_old: int

    @property
    def is_identity(self) -> bool:
        """Whether the new columns are the old ones."""
        copied = all(codes is None for codes in self.codes)
        return copied and np.array_equal(self.sources, np.arange(self.n_old))


def narrow_columns(
    owned: Sequence[Sequence[CodeColumn]], edges: Edges
) -> tuple[list[CodeColumn], Narrowing]:
    """Return the code columns that numbers have by given edges, and how codes become theirs.

    `owned` has the code columns of each attribute, of which the last has all cuts. Categories stay
    as they are.
    """
    columns: list[CodeColumn] = []
    sources: list[int] = []
    codes: list[np.ndarray | None] = []
    first = 0
    for own in owned:
        finest = own[-1]
        if isinstance(finest, NumberColumn):
            places = {_key(one): first + i for i, one in enumerate(own)}
            for cuts in cuts_of_edges(edges.get(finest.name, ())):
                column = replace(finest, cuts=cuts)
                if not np.isin(cuts, finest.cuts).all():
                    raise ValueError(f"column {column.name!r} has no such cut points")
                place = places.get(_key(column))
                columns.append(column)
                sources.append(first + len(own) - 1 if place is None else place)
                codes.append(bins_within(column, finest) if place is None else None)
        else:
            columns += own
            sources += range(first, first + len(own))
            codes += [None] * len(own)
        first += len(own)
    return columns, Narrowing(
        np.array(sources, np.int64),
        tuple(codes),
        np.array([column.cardinality for column in columns], np.int64),
        np.array([column.attribute for column in columns], np.int64),
        first,
    )


def _key(column: CodeColumn) -> bytes:
    """Return what is equal for columns of equal cuts."""
    return column.cuts.tobytes() if isinstance(column, NumberColumn) else b""


def narrow_part(part: ArraySource, narrowing: Narrowing, threads: Threads) -> ArraySource:
    """Return a part in the new code columns; labels and weights are shared."""
    if part.items is not None:
        raise AssertionError("code columns are chosen before items are listed")
    count = len(narrowing.sources)
    kind = np.min_scalar_type(int(narrowing.cardinalities.max()))
    codes = part.store.empty((count, part.n_rows), kind)

    def fill(column: int) -> None:
        old, new = part.codes[narrowing.sources[column]], narrowing.codes[column]
        if new is None:
            codes[column] = old
        else:
            # Any mode but the default writes without a buffer; no code is out of bounds.
            np.take(new.astype(kind), old, out=codes[column], mode="clip")

    threads.run([partial(fill, column) for column in range(count)])
    return ArraySource(
        codes,
        part.labels,
        n_classes=part.n_classes,
        cardinalities=narrowing.cardinalities,
        weights=part.weights,
        n_given=part.n_given,
        attributes=narrowing.attributes,
        store=part.store,
    )
