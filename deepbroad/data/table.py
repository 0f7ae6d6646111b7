"""Any table that people have, as columns by name: nothing is copied before it is asked for."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import scipy.sparse
from sklearn.utils import check_array

from deepbroad.data.column import (
    Column,
    column_from_arrow,
    column_from_factor,
    column_from_numpy,
    refuse_nested,
)
from deepbroad.data.damage import check_indices, check_values
from deepbroad.data.factor import Factor
from deepbroad.data.names import list_names
from deepbroad.data.value import NestedValue, identify


class Table:
    """Named columns, read one at a time.

    Parameters
    ----------
    names : sequence of str
        "x0", "x1", ... where the input has none.
    n_rows : int
    read : callable
        Makes the column of an index.
    """

    def __init__(self, names: Sequence[str], n_rows: int, read: Callable[[int], Column]) -> None:
        self.names = tuple(names)
        self.n_rows = n_rows
        self._read = read
        # In the words of scikit-learn, which its checks look for.
        if self.n_columns == 0:
            raise ValueError(
                f"Found array with 0 feature(s) (shape=({n_rows}, 0)) while a minimum of 1 is "
                "required."
            )
        if n_rows == 0:
            raise ValueError(
                f"Found array with 0 sample(s) (shape=(0, {self.n_columns})) while a minimum of "
                "1 is required."
            )
        _check_names(self.names)

    @property
    def n_columns(self) -> int:
        """How many columns there are."""
        return len(self.names)

    def column(self, i: int) -> Column:
        """Read column `i`."""
        return self._read(i)

    def __repr__(self) -> str:
        return f"Table({self.n_rows} rows, {self.n_columns} columns)"


def read_table(X: Any) -> Table:
    """Return `X` as a table.

    Parameters
    ----------
    X : table of shape (n_rows, n_columns)
        A pandas, polars or pyarrow table, any eager data frame that narwhals knows, anything
        that exports an Arrow stream, a NumPy array, a list of rows, or a SciPy sparse matrix.

    Returns
    -------
    Table
        Strings, categories, booleans and mixed objects are of kind "category"; numbers, decimals,
        dates, times and durations of kind "number". None, NaN, NaT and NA are missing.

    Examples
    --------
    >>> table = read_table([[1.5, "red"], [2.5, None]])
    >>> [table.column(i).kind for i in range(table.n_columns)]
    ['number', 'category']
    """
    if scipy.sparse.issparse(X):
        return _read_sparse(X)
    if isinstance(X, pa.RecordBatch):
        X = pa.Table.from_batches([X])
    if isinstance(X, pa.Table):
        return read_arrow(X)
    try:
        frame = nw.from_native(X, pass_through=True, allow_series=True)
    except nw.exceptions.DuplicateError:
        _check_names(list(X.columns))
        raise
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(
            f"{type(X).__module__}.{type(X).__name__} is lazy: call .collect() (polars) or "
            ".compute() (Dask) first"
        )
    if isinstance(frame, nw.Series):
        raise ValueError(
            "Expected a 2-dimensional container but got "
            f"{type(X)} instead. Reshape your data: a single column needs a table around it."
        )
    if isinstance(frame, nw.DataFrame):
        return _read_frame(frame)
    if hasattr(X, "__arrow_c_stream__"):
        return read_arrow(pa.table(X))
    return _read_array(X)


def _check_names(names: Sequence[Any]) -> None:
    """Raise ValueError if two columns have the same name."""
    if len(set(names)) == len(names):
        return
    repeated = [name for name, count in Counter(names).items() if count > 1]
    raise ValueError(
        f"column names must differ: {list_names(repeated, 5)} is there twice or more. "
        "Rename or leave out all but one"
    )


def _read_frame(frame: nw.DataFrame[Any]) -> Table:
    """Read any eager data frame."""
    columns = list(frame.iter_columns())
    names = [str(name) for name in frame.columns]
    return Table(names, len(frame), lambda i: column_from_series(names[i], columns[i]))


def column_from_series(name: str, series: nw.Series[Any]) -> Column:
    """Read one column of a data frame by the shortest way that its library has."""
    native = series.to_native()
    if series.implementation.is_pandas_like():
        if hasattr(native, "cat"):
            categories = native.cat.categories
            try:
                levels = [identify(value) for value in categories.to_numpy(dtype=object)]
            except NestedValue as error:
                raise refuse_nested(name, error.args[0]) from error
            codes = native.cat.codes.to_numpy()
            check_indices(name, codes, len(levels))
            return column_from_factor(name, Factor(codes, levels), kind="category")
        if isinstance(native.dtype, np.dtype):
            return column_from_numpy(name, native.to_numpy())
    if series.dtype == nw.Object:
        return column_from_numpy(name, _as_objects(native))
    try:
        values = series.to_arrow()
    except (pa.ArrowException, TypeError, ValueError, NotImplementedError):
        return column_from_numpy(name, _as_objects(native))
    if isinstance(values.type, pa.ExtensionType):
        # pandas' periods and intervals: their objects know more than their storage.
        return column_from_numpy(name, _as_objects(native))
    check_values(name, values)
    return column_from_arrow(name, values)


def _as_objects(native: Any) -> np.ndarray:
    """Return a column of some library as an array of Python objects."""
    values = list(native)
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    return objects


def read_arrow(X: pa.Table, *, is_checked: bool = False) -> Table:
    """Read an Arrow table; damaged columns are refused unless they are checked already."""
    names = [str(name) for name in X.column_names]

    def read(i: int) -> Column:
        if not is_checked:
            check_values(names[i], X.column(i))
        return column_from_arrow(names[i], X.column(i))

    return Table(names, X.num_rows, read)


def _read_array(X: Any) -> Table:
    """Read a NumPy array, or what NumPy can make one of."""
    if isinstance(X, list | tuple) and np.asarray(X).dtype.kind in "US":
        # NumPy would turn the numbers beside a string into strings.
        X = np.asarray(X, dtype=object)
    array = check_array(X, dtype=None, ensure_all_finite=False, accept_sparse=False)
    names = [f"x{i}" for i in range(array.shape[1])]
    return Table(names, array.shape[0], lambda i: column_from_numpy(names[i], array[:, i]))


def _read_sparse(X: Any) -> Table:
    """Read a SciPy sparse matrix or array; only one column at a time is ever dense."""
    if hasattr(X, "check_format"):
        X.check_format(full_check=True)  # indices beyond its shape would be read from elsewhere
    matrix = check_array(X, dtype=None, ensure_all_finite=False, accept_sparse="csc")
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    names = [f"x{i}" for i in range(matrix.shape[1])]
    n_rows = matrix.shape[0]

    def read(i: int) -> Column:
        values = np.zeros(n_rows, dtype=matrix.dtype)
        stored = slice(matrix.indptr[i], matrix.indptr[i + 1])
        values[matrix.indices[stored]] = matrix.data[stored]
        return column_from_numpy(names[i], values)

    return Table(names, n_rows, read)
