"""Numbers into bins by minimum description length: a scikit-learn transformer of its own."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted, validate_data

from deepbroad.data.column import Column
from deepbroad.data.cuts import mdl_cuts
from deepbroad.data.labels import Labels
from deepbroad.data.table import Table, read_table
from deepbroad.data.weights import read_weights
from deepbroad.estimators.read_only import read_only
from deepbroad.kernels.cuts import count_cuts


class MDLDiscretizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    r"""Cut numeric columns into the bins that tell most about the class for their length.

    Each column is cut by itself, with no parameter to tune. The rows S of a column, in the order
    of its values, are split in two where the class entropy

    .. math:: \mathrm{Ent}(S) = -\sum_c p_c \log_2 p_c

    falls most, and the split is kept if it shortens the description of the labels:

    .. math::

        \mathrm{gain} > \frac{\log_2(N - 1) + \log_2(3^k - 2)
            - k \mathrm{Ent}(S) + k_1 \mathrm{Ent}(S_1) + k_2 \mathrm{Ent}(S_2)}{N}

    with N the weight of S and k, k₁, k₂ the number of classes in S and in its parts; then each
    part is split in turn. A column that tells nothing about the class by itself has no cut, and
    becomes constant.

    Attributes
    ----------
    cut_points_ : list of n_features arrays
        The cut points of each column, ascending, float64. Those of dates, times and durations are
        in microseconds since 1970, midnight and zero.
    n_bins_ : int array of shape (n_features,)
        One more than there are cut points; missing is no bin.
    classes_ : array of shape (n_classes,)
        The classes seen in `fit`.
    n_features_in_ : int
        How many columns there are.
    feature_names_in_ : array of shape (n_features,)
        Their names, where all of them are strings.

    See Also
    --------
    sklearn.preprocessing.KBinsDiscretizer : Bins that ignore the class.

    Notes
    -----
    The answer is exact, and neither the order of rows nor any monotone transform of a column
    changes it; a row of weight two equals that row given twice, and rows of weight 0 are as if
    absent. A cut is the middle between two neighbouring values. Every column is sorted once; the
    rest is linear in its distinct values per level of the recursion.

    References
    ----------
    Fayyad, U. M. and Irani, K. B. (1993). Multi-interval discretization of continuous-valued
    attributes for classification learning. IJCAI, 1022-1027.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from deepbroad import MDLDiscretizer
    >>> X, y = load_iris(return_X_y=True)
    >>> discretizer = MDLDiscretizer().fit(X, y)
    >>> [cuts.round(2).tolist() for cuts in discretizer.cut_points_]
    [[5.55, 6.15], [2.95, 3.35], [2.45, 4.75], [0.8, 1.75]]
    >>> discretizer.transform([[5.0, 3.0, 4.8, float("nan")]])
    array([[ 0.,  1.,  2., nan]])
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "MDLDiscretizer":
        """Find the cut points of each column.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Numbers, booleans, dates, times or durations, in an array, a sparse matrix or any data
            frame. NaN, None and null are missing, and are left out of the search; infinities are
            ordinary extreme values. Text is refused: choose the numeric columns with a
            `ColumnTransformer`.
        y : array-like of shape (n_samples,)
            Classes, of any type.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        MDLDiscretizer
            This object.
        """
        table = read_table(X)
        validate_data(self, X, y, skip_check_array=True)
        check_consistent_length(X, y)
        weights = read_weights(sample_weight, table.n_rows)
        labels, codes = Labels.fit(y, weights)
        self.classes_ = labels.classes
        self.cut_points_ = []
        self._quantities = []
        for column in _numeric_columns(table):
            numbers = column.numbers(column.quantity)
            self.cut_points_.append(mdl_cuts(numbers, codes, labels.n_classes, weights))
            self._quantities.append(column.quantity)
        self.n_bins_ = read_only(np.array([len(cuts) + 1 for cuts in self.cut_points_]))
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the bin of each number: how many cut points are <= it.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            As in `fit`.

        Returns
        -------
        float64 array of shape (n_samples, n_features)
            Bins 0, 1, ... as floats, so that a missing value stays NaN, as `OrdinalEncoder` and
            `KBinsDiscretizer` have it; dense also where `X` is sparse.
        """
        check_is_fitted(self)
        table = read_table(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        bins = np.empty((table.n_rows, table.n_columns), order="F")
        fitted = zip(self.cut_points_, self._quantities, strict=True)
        for i, (column, (cuts, quantity)) in enumerate(
            zip(_numeric_columns(table), fitted, strict=True)
        ):
            # A column that was all missing in training has no cuts, and takes any numbers now.
            numbers = column.numbers(column.quantity if quantity == "nothing" else quantity)
            count_cuts(numbers, cuts, np.nan, bins[:, i])
        return bins

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


def _numeric_columns(table: Table) -> Iterator[Column]:
    """Go through the columns of `table`; ValueError at one that is not numeric."""
    for i in range(table.n_columns):
        column = table.column(i)
        if column.quantity == "text":
            raise ValueError(
                f"could not convert string to float: column {column.name!r} holds text, and only "
                "numbers can be cut. Choose the numeric columns, for example with "
                "make_column_transformer((MDLDiscretizer(), make_column_selector("
                "dtype_include='number')), remainder='passthrough')"
            )
        yield column
