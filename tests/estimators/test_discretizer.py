"""MDLDiscretizer keeps scikit-learn's rules, and says what to do where it refuses."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from deepbroad.estimators.discretizer import MDLDiscretizer


@parametrize_with_checks([MDLDiscretizer()])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


@pytest.fixture
def iris():
    return load_iris(return_X_y=True, as_frame=True)


def test_bins_count_the_cuts_at_or_below(iris):
    X, y = iris
    discretizer = MDLDiscretizer().fit(X, y)
    bins = discretizer.transform(X)
    for i, cuts in enumerate(discretizer.cut_points_):
        np.testing.assert_array_equal(bins[:, i], np.searchsorted(cuts, X.iloc[:, i], "right"))
    assert (bins.max(axis=0) + 1 == discretizer.n_bins_).all()
    assert bins.dtype == np.float64


def test_missing_values_stay_missing_and_infinities_are_extreme(iris):
    X, y = iris
    discretizer = MDLDiscretizer().fit(X, y)
    found = discretizer.transform(X.iloc[:3].assign(**{X.columns[0]: [np.nan, np.inf, -np.inf]}))
    np.testing.assert_array_equal(found[:, 0], [np.nan, discretizer.n_bins_[0] - 1, 0])


def test_a_repeated_row_equals_weight_two(iris):
    X, y = iris
    rng = np.random.default_rng(0)
    times = rng.integers(0, 3, len(X))
    weighted = MDLDiscretizer().fit(X, y, sample_weight=times)
    rows = np.repeat(np.arange(len(X)), times)
    repeated = MDLDiscretizer().fit(X.iloc[rows], y.iloc[rows])
    for a, b in zip(weighted.cut_points_, repeated.cut_points_, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_it_returns_the_data_frame_that_is_asked_for(iris, container):
    X, y = iris
    frame = MDLDiscretizer().set_output(transform=container).fit_transform(X, y)
    assert isinstance(frame, {"pandas": pd.DataFrame, "polars": pl.DataFrame}[container])
    assert list(frame.columns) == list(X.columns)


def test_frames_arrays_and_sparse_matrices_have_the_same_bins(iris):
    X, y = iris
    expected = MDLDiscretizer().fit_transform(X, y)
    for other in (X.to_numpy(), pl.from_pandas(X), scipy.sparse.csr_array(X.to_numpy())):
        np.testing.assert_array_equal(MDLDiscretizer().fit_transform(other, y), expected)


def test_it_works_in_pipelines_beside_other_columns(iris):
    X, y = iris
    names = y.map({0: "setosa", 1: "versicolor", 2: "virginica"})
    numbers = (MDLDiscretizer(), make_column_selector(dtype_include="number"))
    columns = make_column_transformer(numbers, remainder="drop")
    model = make_pipeline(columns, CategoricalNB()).fit(X.assign(text="a"), names)
    assert model.score(X.assign(text="a"), names) > 0.9


def test_text_is_refused_with_advice():
    X = pd.DataFrame({"size": [1, 2], "colour": ["red", "blue"]})
    with pytest.raises(ValueError, match=r"column 'colour' holds text.*make_column_transformer"):
        MDLDiscretizer().fit(X, [0, 1])


def test_dates_are_cut_and_only_dates_are_transformed_then():
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(i) for i in range(40)]
    X = pl.DataFrame({"day": days})
    discretizer = MDLDiscretizer().fit(X, np.arange(40) > 19)
    assert discretizer.transform(X).sum() == 20
    with pytest.raises(ValueError, match="column 'day' must hold dates"):
        discretizer.transform(pl.DataFrame({"day": [1.5]}))


def test_a_column_of_only_missing_values_has_one_bin():
    discretizer = MDLDiscretizer().fit(pd.DataFrame({"a": [None, None]}), [0, 1])
    assert discretizer.n_bins_.tolist() == [1]
    assert discretizer.transform(pd.DataFrame({"a": [1.5]})).tolist() == [[0]]


def test_columns_at_prediction_follow_the_rules_for_feature_names(iris):
    X, y = iris
    discretizer = MDLDiscretizer().fit(X, y)
    for wrong in (X.iloc[:, ::-1], X.iloc[:, :3], X.assign(more=1)):
        with pytest.raises(ValueError, match="feature names should match"):
            discretizer.transform(wrong)


def test_it_must_be_fitted_first(iris):
    with pytest.raises(NotFittedError):
        MDLDiscretizer().transform(iris[0])
