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
            name: pc.drop_null(pc.unique(_as_texts(column)))
            for name, column in zip(X.column_names, X.columns, strict=True)
            if not _is_number(column.type)
        }
        self.numbers_ = [name for name in X.column_names if name not in self.texts_]
        if self.discretise and self.numbers_:
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
                numbers = np.column_stack([column.to_numpy() for column in chosen.columns])
            places = [X.column_names.index(name) for name in self.numbers_]
            coded[:, places] = numbers
        return coded


def _is_number(kind: pa.DataType) -> bool:
    """Say whether a column of this type holds numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _as_texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of plain strings."""
    return column.cast(pa.string())
