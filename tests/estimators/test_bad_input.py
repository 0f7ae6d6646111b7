"""Bad input gets an error that says what is wrong, or a sensible answer."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from deepbroad import AnJEClassifier, DBLClassifier, LRClassifier
from tests.estimators.tables import MODELS, categorical_table, mixed_table

every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())


@every_model
def test_an_empty_table_is_refused(model):
    X, y = mixed_table(30)
    model = clone(model)
    for empty in (X[:0], X[:0].astype(object).to_numpy(), pl.from_pandas(X[:0])):
        with pytest.raises(ValueError, match="0 sample"):
            model.fit(empty, y[:0])
    with pytest.raises(ValueError, match="0 feature"):
        model.fit(X[[]], y)
    with pytest.raises(ValueError, match="0 sample"):
        model.fit(X, y).predict(X[:0])


@every_model
def test_one_class_is_refused_by_name(model):
    X, _ = mixed_table(30)
    with pytest.raises(ValueError, match=r"needs at least 2 classes, and y has one class: .*only"):
        clone(model).fit(X, ["only"] * 30)


def test_one_class_of_positive_weight_is_refused():
    X, y = mixed_table(30)
    with pytest.raises(ValueError, match="one class among the rows whose weight is above 0: 'bee'"):
        AnJEClassifier().fit(X, y, (y == "bee").astype(float))


@every_model
def test_an_all_missing_column_is_a_constant_column(model):
    X, y = mixed_table(60)
    fitted = clone(model).fit(X.assign(empty=np.nan, none=None), y)
    assert np.isfinite(fitted.predict_proba(X.assign(empty=np.nan, none=None))).all()
    assert fitted.tables_["colour", "empty"].values[1] == ["missing"]
    # A number where training saw none counts as missing.
    found = fitted.predict_proba(X.assign(empty=3.0, none="some"))
    np.testing.assert_array_equal(found, fitted.predict_proba(X.assign(empty=np.nan, none=None)))


@pytest.mark.parametrize(
    "y", [[0, 1, np.nan] * 10, ["a", "b", None] * 10, pd.Series(["a", "b", pd.NA] * 10)]
)
def test_missing_labels_are_refused(y):
    X, _ = mixed_table(30)
    with pytest.raises(ValueError, match="Input y contains NaN: 10 of 30 labels are missing"):
        AnJEClassifier().fit(X, y)


def test_infinite_and_continuous_labels_are_refused():
    X, _ = mixed_table(30)
    with pytest.raises(ValueError, match="infinity"):
        AnJEClassifier().fit(X, [0, 1, np.inf] * 10)
    with pytest.raises(ValueError, match="continuous"):
        AnJEClassifier().fit(X, np.linspace(0, 1, 30))


def test_labels_never_seen_in_training_are_wrong_predictions():
    X, y = mixed_table(60)
    model = AnJEClassifier().fit(X, y)
    assert model.score(X, ["elk"] * 60) == 0.0
    some = np.where(np.arange(60) < 30, y, "elk")
    right = (model.predict(X[:30]) == y[:30]).sum()
    assert model.score(X, some) == pytest.approx(right / 60)


def test_missing_labels_to_fit_are_asked_for():
    X, _ = mixed_table(30)
    with pytest.raises((ValueError, TypeError), match="y"):
        AnJEClassifier().fit(X, None)


@every_model
def test_wrong_shapes_are_refused(model):
    X, y = mixed_table(30)
    model = clone(model)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, y[:29])
    with pytest.raises(ValueError, match="Reshape your data"):
        model.fit(X["colour"], y)
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        model.fit(np.arange(30.0), y)
    with pytest.raises(ValueError, match="dim 3"):
        model.fit(np.zeros((30, 2, 2)), y)
    with pytest.raises(ValueError, match="y should be a 1d array"):
        model.fit(X, np.zeros((30, 2)))


def test_wrong_shapes_to_predict_are_refused():
    rng = np.random.default_rng(0)
    X, y = rng.random((30, 3)), np.arange(30) % 2
    model = AnJEClassifier().fit(X, y)
    with pytest.raises(ValueError, match="X has 2 features, but AnJEClassifier is expecting 3"):
        model.predict_proba(X[:, :2])
    with pytest.raises(ValueError, match="Expected 2D array"):
        model.predict(X[0])
    with pytest.raises(ValueError, match="X has 4 features"):
        model.predict(scipy.sparse.random(5, 4, format="csr", random_state=0))


@pytest.mark.parametrize(
    "method",
    ["predict", "predict_proba", "predict_log_proba", "decision_function", "tables_", "intercept_"],
)
def test_a_model_that_is_not_fitted_says_so(method):
    X, _ = mixed_table(10)
    model = DBLClassifier()
    call = (
        (lambda: getattr(model, method))
        if method.endswith("_")
        else (lambda: getattr(model, method)(X))
    )
    with pytest.raises(NotFittedError, match="not fitted yet"):
        call()


def test_lazy_tables_are_refused_with_advice():
    X, y = mixed_table(20)
    with pytest.raises(TypeError, match="collect"):
        AnJEClassifier().fit(pl.from_pandas(X).lazy(), y)


def test_columns_of_the_same_name_are_refused():
    X, y = mixed_table(20)
    X.columns = ["same", "same", "heavy", "length"]
    for table in (X, pa.Table.from_arrays([pa.array(X.iloc[:, i]) for i in range(4)], [*X])):
        with pytest.raises(ValueError, match="names must differ: 'same' is there twice"):
            AnJEClassifier().fit(table, y)


# Parameters.


@every_model
@pytest.mark.parametrize(
    ("n", "message"),
    [
        (0, "n must be at least 1, got 0"),
        (-1, "n must be at least 1, got -1"),
        (5, "n=5 joins more attributes than X has .*4"),
        (2.5, "n must be an integer, .* got 2.5"),
        (2.0, "n must be an integer, .* got 2.0"),
        (True, "n must be an integer, .* got True"),
        ("2", "n must be an integer, .* got '2'"),
        (None, "n must be an integer, .* got None"),
    ],
)
def test_wrong_depths_are_refused(model, n, message):
    X, y = mixed_table(30)
    with pytest.raises(ValueError, match=message):
        clone(model).set_params(n=n).fit(X, y)


def test_the_depth_may_be_a_numpy_integer_and_all_attributes():
    X, y = mixed_table(30)
    found = AnJEClassifier(n=np.int64(4)).fit(X, y)
    assert list(found.tables_) == [("colour", "shape", "heavy", "length")]


@pytest.mark.parametrize("model", [DBLClassifier(), LRClassifier()], ids=["DBL", "LR"])
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("alpha", -1, "alpha must be a number at least 0, got -1"),
        ("alpha", np.nan, "alpha must be a number at least 0, got nan"),
        ("alpha", np.inf, "alpha must be a number at least 0"),
        ("alpha", "1", "alpha must be a number at least 0, got '1'"),
        ("alpha", True, "alpha must be a number at least 0, got True"),
        ("alpha", None, "alpha must be a number"),
        ("tol", -1e-3, "tol must be a number at least 0"),
        ("max_iter", -1, "max_iter must be an integer of at least 0, got -1"),
        ("max_iter", 2.5, "max_iter must be an integer of at least 0, got 2.5"),
        (
            "solver",
            "newton",
            "solver must be 'auto' or 'lbfgs' or 'lbfgs-plain' or 'sgd', got 'newton'",
        ),
        ("solver", None, "solver must be 'auto' or 'lbfgs' or 'lbfgs-plain' or 'sgd', got None"),
        ("n_jobs", 0, "n_jobs must be None or an integer other than 0"),
        ("memory_limit", "much", "memory_limit must be a number of bytes or a size"),
        ("memory_limit", -5, "memory_limit must be a number of bytes or a size"),
        ("memory_limit", [1], "memory_limit must be a number of bytes or a size"),
        ("categorical_features", "colour", "which is no list \\(write \\['colour'\\]\\)"),
        ("categorical_features", ["hue"], "names 'hue', which is no column.*columns: 'colour'"),
        ("categorical_features", [7], "holds the index 7, but there are 4 columns"),
        ("categorical_features", [True], "is a mask of length 1 for 4 columns"),
        ("categorical_features", [1.5], "holds 1.5, which is neither a name nor an index"),
        ("callbacks", [5], "callback"),
        ("callbacks", print, "callback"),
        ("verbose", "q", "verbose must be an integer of at least 0 or a bool, got 'q'"),
        ("verbose", -1, "verbose must be an integer of at least 0 or a bool, got -1"),
        ("warm_start", "no", "warm_start must be True or False, got 'no'"),
        ("warm_start", 1, "warm_start must be True or False, got 1"),
    ],
)
def test_wrong_parameters_are_refused_at_the_fit(model, name, value, message):
    X, y = mixed_table(30)
    model = clone(model).set_params(**{name: value})  # no error yet: scikit-learn's rule
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X, y)


@pytest.mark.parametrize("random_state", ["q", -1, 1.5, np.random.default_rng(0)])
@pytest.mark.parametrize("n", [1, "auto"])
def test_wrong_seeds_are_refused(random_state, n):
    X, y = mixed_table(30)
    message = "random_state must be an integer from 0 to 4294967295, a RandomState or None, got"
    with pytest.raises(ValueError, match=message):
        DBLClassifier(n, random_state=random_state).fit(X, y)


def test_the_check_of_a_random_state_draws_nothing():
    X, y = mixed_table(30)
    random_state = np.random.RandomState(0)
    DBLClassifier(1, alpha=1.0, random_state=random_state).fit(X, y)
    assert random_state.randint(1000) == np.random.RandomState(0).randint(1000)


@pytest.mark.parametrize("shrink_to", ["one", None, 0])
def test_wrong_targets_are_refused(shrink_to):
    X, y = mixed_table(30)
    with pytest.raises(ValueError, match="shrink_to must be 'generative' or 'zero'"):
        DBLClassifier(shrink_to=shrink_to).fit(X, y)


@pytest.mark.parametrize("model", [AnJEClassifier(), DBLClassifier()], ids=["AnJE", "DBL"])
@pytest.mark.parametrize("smoothing", [-1, np.nan, "1", None])
def test_wrong_smoothing_is_refused(model, smoothing):
    X, y = mixed_table(30)
    with pytest.raises(ValueError, match="smoothing must be a number at least 0"):
        clone(model).set_params(smoothing=smoothing).fit(X, y)


def test_no_smoothing_is_refused_where_it_takes_the_logarithm_of_zero():
    X, y = categorical_table(40)
    X.loc[0, "c0"] = "seen once"
    with pytest.raises(ValueError, match=r"smoothing=0 takes the logarithm of 0.*smoothing=1e-3"):
        AnJEClassifier(smoothing=0).fit(X, y)


@pytest.mark.parametrize(
    "model", [AnJEClassifier(n=1), DBLClassifier(n=1, alpha=1.0)], ids=["AnJE", "DBL"]
)
def test_no_smoothing_is_allowed_where_every_value_occurs_with_every_class(model):
    X, y = categorical_table(200)
    assert all(len(X[y == c].drop_duplicates(column)) == 3 for c in range(3) for column in X)
    fitted = clone(model).set_params(smoothing=0).fit(X, y)
    assert np.isfinite(fitted.predict_proba(X)).all()


def test_no_penalty_is_allowed():
    X, y = mixed_table(200)
    model = LRClassifier(n=1, alpha=0).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()


@every_model
def test_one_row_per_class_is_enough(model):
    X, y = [["a", "b"], ["c", "d"]], ["x", "y"]
    fitted = clone(model).fit(X, y)
    assert fitted.predict(X).tolist() == ["x", "y"]


@every_model
def test_strings_of_numbers_and_numbers_do_not_mix_silently_into_errors(model):
    X = [[1, "a"], ["1", "b"], [None, "a"], [2.5, "b"]] * 5
    y = [0, 1, 0, 1] * 5
    fitted = clone(model).fit(X, y)
    assert fitted.score(X, y) == 1.0


@pytest.mark.parametrize("n", [0, -1, 1.5, "x", None])
def test_a_depth_that_is_none_is_told_of_before_strengths_for_it(n):
    X, y = mixed_table(30)
    with pytest.raises((ValueError, TypeError), match=r"^n "):
        DBLClassifier(n, alpha=[1.0, 10.0], orders="all").fit(X, y)


def test_orders_that_are_none_are_told_of_before_strengths_for_them():
    X, y = mixed_table(30)
    with pytest.raises(ValueError, match="orders must be"):
        DBLClassifier(2, alpha=[1.0, 10.0], orders="x").fit(X, y)


def wrong_codes(library, codes):
    """Return a column of two categories with these codes, and another column."""
    if library == "pandas":
        column = pd.Categorical.from_codes(codes, ["a", "b"], validate=False)
        return pd.DataFrame({"c": column, "x": np.arange(len(codes))})
    column = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), ["a", "b"], safe=False)
    return pa.table({"c": column, "x": np.arange(len(codes))})


@every_model
@pytest.mark.parametrize("library", ["pandas", "arrow"])
@pytest.mark.parametrize("wrong", [2, 90, -2])
def test_codes_of_no_category_are_refused_by_name(model, library, wrong):
    codes, y = [0, 1, 0, 1] * 10, ["p", "q", "q", "p"] * 10
    damaged = wrong_codes(library, [*codes[:-1], wrong])
    with pytest.raises(ValueError, match="column 'c' is damaged"):
        clone(model).fit(damaged, y)
    fitted = clone(model).fit(wrong_codes(library, codes), y)
    with pytest.raises(ValueError, match="column 'c' is damaged"):
        fitted.predict_proba(damaged)
    labels = damaged["c"]
    with pytest.raises(ValueError, match="column 'y' is damaged"):
        clone(model).fit(wrong_codes(library, codes), labels)
