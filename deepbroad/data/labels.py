"""The classes of a training table, and labels as class codes."""

from collections.abc import Callable
from math import isinf
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from sklearn.utils import column_or_1d

from deepbroad.data.column import column_from_numpy
from deepbroad.data.factor import Factor
from deepbroad.data.names import list_names
from deepbroad.data.table import column_from_series
from deepbroad.data.value import Identity, from_json, identify, sort_key, to_json, to_object

_PLAIN_KINDS = "biufUSMm"
# A few letters of a hostile file must not ask for strings of a gigabyte each.
_MAX_BYTES = 2**26


class LabelError(ValueError):
    """Labels that are missing, or no classes."""


class Labels:
    """The classes that training rows have.

    Parameters
    ----------
    classes : array of shape (n_classes,)
        Sorted, of the type that np.unique would give; mixed objects by type, then by value.

    Examples
    --------
    >>> labels, codes = Labels.fit(["no", "yes", "no"])
    >>> labels.classes
    array(['no', 'yes'], dtype='<U3')
    >>> codes
    array([0, 1, 0], dtype=uint8)
    """

    def __init__(self, classes: np.ndarray) -> None:
        self.classes = classes
        factor = column_from_numpy("y", classes).factor()
        identities = [factor.levels[i] for i in factor.indices]
        self._code = {identity: code for code, identity in enumerate(identities)}

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(self.classes)

    @classmethod
    def fit(cls, y: Any, weights: np.ndarray | None = None) -> tuple["Labels", np.ndarray]:
        """Return the classes of `y`, and `y` as codes.

        Parameters
        ----------
        y : array-like of shape (n_rows,)
            Labels of any type: a list, an array, a column of a data frame.
        weights : array of shape (n_rows,), optional
            Rows of weight 0 are as if absent: a class that only they have is left out, and they
            get code 0.

        Returns
        -------
        labels : Labels
        codes : array of shape (n_rows,), of the smallest unsigned type
        """
        factor, take = _read_labels(y)
        counted = np.ones(len(factor.indices), bool) if weights is None else weights > 0
        rows = _row_of_each_class(factor, counted)
        if not rows:
            raise ValueError("y has no labels: every row has weight 0")
        _refuse_fractions(list(rows))
        values = take(np.fromiter(rows.values(), dtype=np.intp))
        try:
            classes = np.unique(values)
        except TypeError:  # a mixture that has no order of its own
            order = sorted(range(len(rows)), key=[sort_key(level) for level in rows].__getitem__)
            classes = values[order]
        labels = cls(classes)
        return labels, labels._encode(factor, absent=0)

    def code_of(self, label: Any) -> int | None:
        """Return the code of one label, None if training had it not."""
        return self._code.get(identify(label))

    def encode(self, y: Any, weights: np.ndarray | None = None) -> np.ndarray:
        """Return `y` as class codes; ValueError if it has a label that training had not.

        Labels of rows of weight 0 may be anything; what is no class has code 0.
        """
        factor, _ = _read_labels(y)
        counted = np.ones(len(factor.indices), bool) if weights is None else weights > 0
        rows = _row_of_each_class(factor, counted)
        unseen = [level for level in rows if level not in self._code]
        if unseen:
            raise ValueError(f"y contains previously unseen labels: {list_names(unseen, 5)}")
        return self._encode(factor, absent=0)

    def find(self, y: Any, weights: np.ndarray | None = None) -> np.ndarray:
        """Return `y` as class codes, int64, -1 where a label is none that training had.

        Labels of rows of weight 0 may be missing.
        """
        factor, _ = _read_labels(y)
        counted = np.ones(len(factor.indices), bool) if weights is None else weights > 0
        _row_of_each_class(factor, counted)  # none may be missing
        return self._encode(factor, absent=-1, dtype=np.dtype(np.int64))

    def _encode(self, factor: Factor, *, absent: int, dtype: np.dtype | None = None) -> np.ndarray:
        """Return a code for each row of `factor`, `absent` where it is no class."""
        codes = [self._code.get(level, absent) for level in factor.levels]
        dtype = np.min_scalar_type(self.n_classes - 1) if dtype is None else dtype
        lookup: np.ndarray = np.array([*codes, absent], dtype=dtype)
        return lookup[factor.indices]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that JSON can hold, from which `from_dict` makes equal labels."""
        if any(isinstance(value, tuple) and value[0] == "other" for value in self._code):
            raise ValueError(f"classes of such a type cannot be written: {self.classes[:3]}")
        dtype = self.classes.dtype
        return {
            "dtype": dtype.str if dtype.kind in _PLAIN_KINDS else "|O",
            "values": [to_json(identity) for identity in self._code],
        }

    @classmethod
    def from_dict(cls, data: Any) -> "Labels":
        """Return the labels that `to_dict` described; ValueError if it cannot have."""
        match data:
            case {"dtype": str(name), "values": [_, *_] as values} if len(data) == 2:
                identities = [from_json(value) for value in values]
            case _:
                raise ValueError(f"not the classes of a model: {data!r:.80}")
        if len(set(identities)) < len(identities):
            raise ValueError("classes must differ")
        try:
            dtype = np.dtype(name)
            if dtype.kind not in _PLAIN_KINDS + "O" or len(values) * dtype.itemsize > _MAX_BYTES:
                raise ValueError("no such type")
            objects = np.empty(len(identities), dtype=object)
            objects[:] = [to_object(identity) for identity in identities]
            labels = cls(objects.astype(dtype))
        except (TypeError, OverflowError, ValueError) as error:
            raise ValueError(f"classes are not of type {name!r:.40}: {error}") from None
        if list(labels._code) != identities:
            raise ValueError(f"classes are not of type {name!r:.40}")
        return labels

    def __repr__(self) -> str:
        return f"Labels({self.classes!r})"


def _read_labels(y: Any) -> tuple[Factor, Callable[[np.ndarray], np.ndarray]]:
    """Return labels as a factor, and a function that returns some of them as they came."""
    if y is None:
        raise ValueError("y cannot be None")
    if isinstance(y, pa.Array):
        y = pa.chunked_array([y])
    frame = nw.from_native(y, pass_through=True, allow_series=True)
    if isinstance(frame, nw.LazyFrame):
        raise TypeError("y is lazy: call .collect() (polars) or .compute() (Dask) first")
    if isinstance(frame, nw.Series):
        column = column_from_series("y", frame)
        return column.factor(), lambda rows: frame[rows.tolist()].to_numpy()
    array = column_or_1d(
        _as_array(frame.to_numpy() if isinstance(frame, nw.DataFrame) else y), warn=True
    )
    if len(array) == 0:
        raise ValueError(
            "Found array with 0 sample(s) (shape=(0,)) while a minimum of 1 is required."
        )
    return column_from_numpy("y", array).factor(), lambda rows: array[rows]


def _as_array(y: Any) -> Any:
    """Return a list that mixes strings with others as objects: NumPy would make all strings."""
    if isinstance(y, list | tuple) and any(isinstance(value, str) for value in y):
        array = np.asarray(y)
        mixed = array.ndim == 1 and not all(isinstance(value, str) for value in y)
        return np.array(y, dtype=object) if mixed else array
    return y


def _row_of_each_class(factor: Factor, counted: np.ndarray) -> dict[Identity, int]:
    """Return one row for each label of the counted rows; ValueError if one is missing."""
    counted_rows = np.flatnonzero(counted)
    row = np.full(len(factor.levels) + 1, -1)
    row[factor.indices[counted_rows]] = counted_rows
    absent = [level is None for level in factor.levels] + [True]
    missing = int(np.array(absent)[factor.indices[counted_rows]].sum())
    if missing:
        raise LabelError(
            f"Input y contains NaN: {missing} of {len(counted_rows)} labels are missing. Leave "
            "out those rows, or give them a label of their own"
        )
    found = zip(factor.levels, row[:-1].tolist(), strict=True)
    return {level: i for level, i in found if level is not None and i >= 0}


def _refuse_fractions(labels: list[Identity]) -> None:
    """Raise LabelError if `labels` are numbers with fractions or infinities."""
    if not all(isinstance(label, bool | int | float) for label in labels):
        return
    # Whole numbers are ints by now, so any float left is a fraction or an infinity.
    numbers = [label for label in labels if isinstance(label, float)]
    if any(isinf(number) for number in numbers):
        raise LabelError("Input y contains infinity or a value too large for dtype('float64').")
    if numbers:
        # The first words are scikit-learn's, which its checks look for.
        raise LabelError(
            "Unknown label type: continuous. The labels are numbers with fractions, such as "
            f"{' and '.join(map(repr, numbers[:2]))}, which looks like regression; a classifier "
            "needs classes, for instance bins of these numbers"
        )
