"""Fitted tables by the names of their attributes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
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
    seen : ndarray of shape (n_attributes, n_cells)
        Values of the cells that the model stores: all, or those that training rows had.
    """

    attributes: tuple[str, ...]
    values: tuple[list[str], ...]
    classes: np.ndarray
    seen: np.ndarray
    _model: ScoreTables
    _columns: tuple[int, ...]

    @cached_property
    def scores(self) -> np.ndarray:
        """β, (V_1, ..., V_n, C): what a row with these values adds to each class's score."""
        return self._model.table(self._columns)

    @cached_property
    def weights(self) -> np.ndarray | None:
        """w = β / log θ, of the same shape; None for models without a generative side."""
        if self._model.scale is None:
            return None
        return self._model.table(self._columns, "weights")

    def __repr__(self) -> str:
        cells, classes = self.seen.shape[1], len(self.classes)
        return f"TermTable({', '.join(self.attributes)}: {cells} cells, {classes} classes)"

    def to_arrow(self) -> pa.Table:
        """Return one row per stored cell: a column per attribute, then a score per class.

        ``.to_pandas()`` and ``polars.from_arrow`` make a data frame of it.
        """
        columns = [
            pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(names))
            for codes, names in zip(self.seen, self.values, strict=True)
        ]
        cells = self._model.cells_of(self._model.find_term(self._columns))
        by_class = self._model.scores[cells][: self.seen.shape[1]].T
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
            term = self._model.find_term(columns)
        except KeyError:
            raise KeyError(
                f"no table of {names!r}; iterate over this mapping to see which there are"
            ) from None
        return TermTable(
            attributes=names,
            values=tuple(self._encoding.value_names(c) for c in columns),
            classes=self._classes,
            seen=self._model.seen_values(term, columns),
            _model=self._model,
            _columns=columns,
        )

    def __repr__(self) -> str:
        return f"<{len(self)} tables over {len(self._places)} attributes>"
