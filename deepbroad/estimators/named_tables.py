"""Fitted tables by the names of their attributes."""

from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add

import numpy as np
import pyarrow as pa

from deepbroad.data.encoding import Encoding
from deepbroad.estimators.by_names import ByNames
from deepbroad.estimators.read_only import read_only
from deepbroad.model.scores import MAX_DENSE, ScoreTables


@dataclass(frozen=True, eq=False)
class TermTable:
    """The scores of one tuple of attributes.

    Where numbers have several resolutions, it is the sum of their tables, by the finest bins. Its
    arrays are read-only; ``table.scores.copy()`` can be changed.

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
    # Code columns of each resolution, and for each axis the bin of it that a finest bin lies in.
    _parts: tuple[tuple[tuple[int, ...], tuple[np.ndarray, ...]], ...]

    @cached_property
    def scores(self) -> np.ndarray:
        """β, (V_1, ..., V_n, C): what a row with these values adds to each class's score."""
        if len(self._parts) == 1:
            return read_only(self._model.table(self._parts[0][0]))
        return read_only(
            reduce(
                add, (self._model.table(columns)[np.ix_(*bins)] for columns, bins in self._parts)
            )
        )

    @cached_property
    def weights(self) -> np.ndarray | None:
        """w = β / log θ, of the same shape; None for models without a single log θ per cell."""
        if self._model.scale is None or len(self._parts) > 1:
            return None
        return read_only(self._model.table(self._parts[0][0], "weights"))

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
        scores = [pa.array(np.ascontiguousarray(column)) for column in self._stored().T]
        names = [*self.attributes, *(f"score of {label}" for label in self.classes)]
        return pa.Table.from_arrays([*columns, *scores], names=names)

    def _stored(self) -> np.ndarray:
        """Return the scores of the stored cells, (n_cells, C)."""
        if len(self._parts) > 1:
            return self.scores[tuple(self.seen)]
        cells = self._model.cells_of(self._model.find_term(self._parts[0][0]))
        return self._model.scores[cells][: self.seen.shape[1]]


class NamedTables(ByNames[TermTable]):
    """All tables of a model by the names of their attributes, in any order; made when asked for."""

    _kind = "table"

    def __init__(self, model: ScoreTables, encoding: Encoding, classes: np.ndarray) -> None:
        super().__init__(encoding)
        self._model, self._classes = model, read_only(classes)

    @cached_property
    def _known(self) -> dict[tuple[int, ...], list[tuple[int, ...]]]:
        """The terms of each tuple of attributes as code columns, coarsest first."""
        terms, attributes = self._model.plan.terms, self._encoding.attributes
        found: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
        for term in range(len(terms)):
            columns = tuple(sorted(terms.tuple(term)))
            found.setdefault(tuple(attributes[list(columns)].tolist()), []).append(columns)
        return found

    def _make(self, names: tuple[str, ...], places: list[int]) -> TermTable:
        terms = self._known[tuple(sorted(places))]
        return self._table(names, [self._arrange(columns, places) for columns in terms])

    def _arrange(self, columns: tuple[int, ...], places: list[int]) -> tuple[int, ...]:
        """Return code columns in the order of attributes."""
        by_attribute = {int(self._encoding.attributes[c]): c for c in columns}
        return tuple(by_attribute[place] for place in places)

    def _table(self, names: tuple[str, ...], terms: list[tuple[int, ...]]) -> TermTable:
        """Return the table of one tuple of attributes, given its terms."""
        encoding = self._encoding
        finest = tuple(map(encoding.finest_of, zip(*terms, strict=True)))
        parts = tuple(
            (columns, tuple(map(encoding.bins_within, columns, finest))) for columns in terms
        )
        if len(terms) == 1:
            seen = self._model.seen_values(self._model.find_term(finest), finest)
        else:
            shape = [int(encoding.cardinalities[c]) for c in finest]
            if np.prod(shape, dtype=np.float64) > MAX_DENSE:
                raise ValueError(
                    f"The table of {names!r} would have {np.prod(shape, dtype=np.float64):,.0f} "
                    'cells, most of them alike; fit with bins="mdl" to read it.'
                )
            seen = np.indices(shape).reshape(len(shape), -1)
        return TermTable(
            attributes=names,
            values=tuple(encoding.value_names(c) for c in finest),
            classes=self._classes,
            seen=read_only(seen),
            _model=self._model,
            _parts=parts,
        )

    def __repr__(self) -> str:
        return f"<{len(self)} tables over {len(self._encoding.names)} attributes>"
