"""Tables as numbers for methods that know nothing else, learned from the training fold alone."""

from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from deepbroad import MDLDiscretizer

_MISSING = -1.0


class ValueCodes(TransformerMixin, BaseEstimator):
    """Turn a table into numbers: texts into codes, numbers into bins or left as they are.

    Dates, times and durations are numbers too, and left as they are they count from the earliest
    of training: since 1970 they would be too large for the single precision of forests. Booleans
    are 0 and 1, or categories where numbers are cut, as in all methods of the paper.

    A missing value, and a text that training never had, is the code -1; a missing number that is
    left as it is stays NaN.

    Parameters
    ----------
    discretise : bool, default=True
        Cut numbers into the bins of `MDLDiscretizer`, as the paper does for all its methods.
    """

    def __init__(self, *, discretise: bool = True) -> None:
        self.discretise = discretise

    def fit(self, X: pa.Table, y: Any) -> Self:
        """Learn the texts and bins of each column."""
        self.texts_ = {
            field.name: pc.drop_null(pc.unique(_as_texts(X[field.name])))
            for field in X.schema
            if not _is_number(field.type)
            and not _is_time(field.type)
            and (self.discretise or not pa.types.is_boolean(field.type))
        }
        self.numbers_ = [name for name in X.column_names if name not in self.texts_]
        if not self.discretise:
            self.origins_ = [_find_origin(X[name]) for name in self.numbers_]
        elif self.numbers_:
            self.discretizer_ = MDLDiscretizer().fit(X.select(self.numbers_), y)
        return self

    def transform(self, X: pa.Table) -> NDArray[np.float32]:
        """Return one column of numbers for each column of the table."""
        coded = np.empty((X.num_rows, X.num_columns), dtype=np.float32, order="F")
        for name, known in self.texts_.items():
            codes = pc.index_in(_as_texts(X[name]), value_set=known)
            coded[:, X.column_names.index(name)] = pc.fill_null(codes, int(_MISSING)).to_numpy()
        if self.numbers_:
            chosen = X.select(self.numbers_)
            if self.discretise:
                bins = self.discretizer_.transform(chosen)
                numbers = np.where(np.isnan(bins), _MISSING, bins)
            else:
                numbers = np.column_stack([_as_numbers(column) for column in chosen.columns])
                numbers -= self.origins_
            places = [X.column_names.index(name) for name in self.numbers_]
            coded[:, places] = numbers
        return coded


def _is_number(kind: pa.DataType) -> bool:
    """Say whether a column of this type holds numbers."""
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def _is_time(kind: pa.DataType) -> bool:
    """Say whether a column of this type holds dates, times or durations."""
    return bool(
        pa.types.is_timestamp(kind)
        or pa.types.is_date(kind)
        or pa.types.is_time(kind)
        or pa.types.is_duration(kind)
    )


def _as_texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of plain strings."""
    return column.cast(pa.string())


def _as_numbers(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Return a column as float64, NaN where missing; times in the unit of their type."""
    if _is_time(column.type):
        # Arrow casts times only to whole numbers of their own width.
        column = column.cast(pa.int32() if column.type.bit_width == 32 else pa.int64())
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)


def _find_origin(column: pa.ChunkedArray) -> float:
    """Return what a column counts from: the earliest of times, 0 of other numbers."""
    if not _is_time(column.type) or column.null_count == len(column):
        return 0.0
    return float(np.nanmin(_as_numbers(column)))
