"""Fitted tables by the names of their attributes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from deepbroad.data.encoding import Encoding
from deepbroad.model.scores import ScoreTables


@dataclass(frozen=True, eq=False)
class TermTable:
    """The scores of one tuple of attributes.

    Attributes
    ----------
    attributes : tuple of str
        One per axis.
    values : tuple of lists of str
        Names of the values along each axis.
    classes : ndarray of shape (C,)
        Names of the last axis.
    scores : ndarray of shape (V_1, ..., V_n, C)
        β: what a row with these values adds to each class's score.
    weights : ndarray of the same shape, or None
        w = β / log θ in models with a generative side; AnJE's are all 1/p.
    """

    attributes: tuple[str, ...]
    values: tuple[list[str], ...]
    classes: np.ndarray
    scores: np.ndarray
    weights: np.ndarray | None

    def to_arrow(self) -> pa.Table:
        """Return one row per cell: a column per attribute, then one per class with its score.

        ``.to_pandas()`` and ``polars.from_arrow`` make a data frame of it.
        """
        grids = np.indices(self.scores.shape[:-1]).reshape(len(self.attributes), -1)
        columns = [
            pa.DictionaryArray.from_arrays(pa.array(grid, pa.int32()), pa.array(names))
            for grid, names in zip(grids, self.values, strict=True)
        ]
        by_class = self.scores.reshape(-1, len(self.classes)).T
        scores = [pa.array(np.ascontiguousarray(column)) for column in by_class]
        names = [*self.attributes, *(f"score of {label}" for label in self.classes)]
        return pa.Table.from_arrays([*columns, *scores], names=names)


class NamedTables(Mapping[tuple[str, ...], TermTable]):
    """All tables of a model by the names of their attributes, in any order; made when asked for."""

    def __init__(self, model: ScoreTables, encoding: Encoding, classes: np.ndarray) -> None:
        self._model, self._encoding, self._classes = model, encoding, classes
        self._places = {column.name: i for i, column in enumerate(encoding.columns)}

    def __len__(self) -> int:
        return len(self._model.plan.terms)

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        terms = self._model.plan.terms
        for term in range(len(terms)):
            yield tuple(self._encoding.columns[c].name for c in sorted(terms.tuple(term)))

    def __getitem__(self, attributes: Any) -> TermTable:
        names = (attributes,) if isinstance(attributes, str) else tuple(attributes)
        try:
            columns = tuple(self._places[name] for name in names)
            scores = self._model.table(columns)
        except KeyError:
            raise KeyError(
                f"no table of {names!r}; iterate over this mapping to see which there are"
            ) from None
        return TermTable(
            attributes=names,
            values=tuple(self._encoding.value_names(c) for c in columns),
            classes=self._classes,
            scores=scores,
            weights=None if self._model.scale is None else self._model.table(columns, "weights"),
        )

    def __repr__(self) -> str:
        return f"<{len(self)} tables over {len(self._places)} attributes>"
