"""Tables of purified effects by the names of their attributes."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from deepbroad.data.code_column import NumberColumn
from deepbroad.data.names import suggest
from deepbroad.estimators.by_names import ByNames
from deepbroad.estimators.read_only import read_only
from deepbroad.model.effects import Effect
from deepbroad.model.purification import Purification


@dataclass(frozen=True, eq=False)
class EffectTable:
    """What some attributes add to the log odds of classes only together.

    Its arrays are read-only; ``table.scores.copy()`` can be changed.

    Attributes
    ----------
    attributes : tuple of str
        One per axis.
    values : tuple of lists of str
        Names of the values along each axis.
    classes : ndarray of shape (C,)
        Names of the last axis.
    weights : tuple of ndarrays
        The probability of each value along each axis; the weighted mean of an effect over any of
        its axes is 0.
    cuts : tuple of ndarrays or None
        Where the bins of a number meet; None for a category and for times.
    importance : float
        The effect's standard deviation, as in `Explanation.importances`.
    """

    attributes: tuple[str, ...]
    values: tuple[list[str], ...]
    classes: np.ndarray
    weights: tuple[np.ndarray, ...]
    cuts: tuple[np.ndarray | None, ...]
    importance: float
    _effect: Effect
    _axes: tuple[int, ...]  # of the effect, in the order asked for

    @cached_property
    def scores(self) -> np.ndarray:
        """What each joint value adds to the log odds of each class, (V_1, ..., V_n, C)."""
        table = self._effect.table()
        table = table.transpose(*self._axes, len(self._axes))
        return read_only(to_classes(table, len(self.classes)))

    def among(self, *places: np.ndarray) -> np.ndarray:
        """Return the scores of some values of each axis, given by number, (n_1, ..., n_n, C).

        Tables that are too large as a whole can be read so.
        """
        grid = np.stack(np.meshgrid(*places, indexing="ij"))
        codes = np.empty((len(places), grid[0].size), np.int64)
        codes[list(self._axes)] = grid.reshape(len(places), -1)
        found = to_classes(self._effect.of_values(codes), len(self.classes))
        return found.reshape(*grid[0].shape, -1)

    def of_class(self, label: Any) -> np.ndarray:
        """Return what each joint value adds to the log odds of one class, (V_1, ..., V_n)."""
        scores: np.ndarray = self.scores[..., find_class(self.classes, label)]
        return scores

    def to_arrow(self) -> pa.Table:
        """Return one row per joint value that the model keeps: attributes, then log odds by class.

        ``.to_pandas()`` and ``polars.from_arrow`` make a data frame of it.
        """
        codes, found = self._effect.cells()
        columns = [
            pa.DictionaryArray.from_arrays(pa.array(codes[axis], pa.int32()), pa.array(names))
            for axis, names in zip(self._axes, self.values, strict=True)
        ]
        scores = to_classes(found, len(self.classes))
        columns += [pa.array(np.ascontiguousarray(column)) for column in scores.T]
        names = [*self.attributes, *(f"log odds of {label}" for label in self.classes)]
        return pa.Table.from_arrays(columns, names=names)

    def __repr__(self) -> str:
        shape = " × ".join(str(len(names)) for names in self.values)
        return (
            f"EffectTable({', '.join(self.attributes)}: {shape}, importance {self.importance:.4g})"
        )


class EffectTables(ByNames[EffectTable]):
    """All effects of a model by the names of their attributes, in any order; made when asked for.

    They come in the order of importance.
    """

    _kind = "effect"

    def __init__(
        self, purified: Purification, classes: np.ndarray, importances: dict[tuple[int, ...], float]
    ) -> None:
        super().__init__(purified.encoding)
        self._purified, self._classes, self._importances = purified, classes, importances

    @property
    def _known(self) -> dict[tuple[int, ...], float]:
        return self._importances

    def _make(self, names: tuple[str, ...], places: list[int]) -> EffectTable:
        key = tuple(sorted(places))
        effect = self._purified.effect(key)
        axes = tuple(key.index(place) for place in places)
        columns = [effect.columns[axis] for axis in axes]
        probabilities = self._purified.marginals.probabilities
        return EffectTable(
            attributes=names,
            values=tuple(self._encoding.value_names(c) for c in columns),
            classes=self._classes,
            weights=tuple(read_only(probabilities[c][:-1]) for c in columns),
            cuts=tuple(self._cuts(c) for c in columns),
            importance=self._importances[key],
            _effect=effect,
            _axes=axes,
        )

    def _cuts(self, column: int) -> np.ndarray | None:
        """Return where the bins of a number meet."""
        code_column = self._encoding.columns[column]
        if isinstance(code_column, NumberColumn) and code_column.quantity == "number":
            return read_only(code_column.cuts)
        return None

    def __repr__(self) -> str:
        return f"<{len(self)} effects of {len(self._encoding.names)} attributes>"


def to_classes(log_odds: np.ndarray, n_classes: int) -> np.ndarray:
    """Return log odds of all classes, last, given those of the second alone if there are two."""
    return np.concatenate([-log_odds, log_odds], axis=-1) if n_classes == 2 else log_odds


def find_class(classes: np.ndarray, label: Any) -> int:
    """Return the number of a class; KeyError if there is none of that name."""
    for place, known in enumerate(classes.tolist()):
        if known == label:
            return place
    raise KeyError(f"no class {label!r}. {suggest(label, classes.tolist(), 'classes')}")
