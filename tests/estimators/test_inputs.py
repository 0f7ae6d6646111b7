"""Tables and labels of every kind give the same model."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn.base import clone

from deepbroad import AnJEClassifier, DBLClassifier, LRClassifier
from tests.estimators.tables import MODELS, categorical_table, mixed_table

every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())

AS = {
    "pandas": lambda X: X,
    "polars": pl.from_pandas,
    "pyarrow": pa.Table.from_pandas,
    "objects": lambda X: X.astype(object).to_numpy(),
    "lists": lambda X: X.astype(object).to_numpy().tolist(),
}


@pytest.mark.parametrize("kind", AS)
@every_model
def test_data_frames_arrays_and_lists_give_the_same_probabilities(model, kind):
    X, y = mixed_table(120)
    expected = clone(model).fit(X[:90], y[:90]).predict_proba(X)
    convert = AS[kind]
    found = clone(model).fit(convert(X[:90]), y[:90]).predict_proba(convert(X))
    np.testing.assert_array_equal(found, expected)


@every_model
def test_sparse_matrices_give_the_probabilities_of_dense_ones(model):
    rng = np.random.default_rng(0)
    dense = rng.integers(0, 3, size=(150, 4)) * (rng.random((150, 4)) < 0.4)
    dense = dense.astype(float)
    y = (dense[:, 0] + dense[:, 1] > 1).astype(int)
    expected = clone(model).fit(dense, y).predict_proba(dense)
    for convert in (scipy.sparse.csr_matrix, scipy.sparse.csc_array, scipy.sparse.coo_array):
        found = clone(model).fit(convert(dense), y).predict_proba(convert(dense))
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float32, bool])
def test_numbers_of_any_type_give_the_same_probabilities(dtype):
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, size=(100, 3))
    y = X[:, 0] ^ X[:, 1]
    expected = AnJEClassifier(n=2).fit(X, y).predict_proba(X)
    found = AnJEClassifier(n=2).fit(X.astype(dtype), y).predict_proba(X.astype(dtype))
    np.testing.assert_array_equal(found, expected)


def test_missing_values_are_values():
    X, y = categorical_table(90, a=3)
    holes = X.mask(np.random.default_rng(0).random(X.shape) < 0.3)
    filled = holes.fillna("a value")
    for model in MODELS.values():
        expected = clone(model).fit(filled, y).predict_proba(filled)
        found = clone(model).fit(holes, y).predict_proba(holes)
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_never_seen_value_counts_as_missing_where_missing_was_seen():
    X, y = categorical_table(90, a=3)
    X.loc[::4, "c0"] = None
    model = DBLClassifier(n=2, alpha=1.0).fit(X, y)
    found = model.predict_proba(X[:20].assign(c0="never seen"))
    np.testing.assert_array_equal(found, model.predict_proba(X[:20].assign(c0=None)))


@every_model
def test_rows_of_never_seen_values_are_predicted_from_what_is_known(model):
    X, y = categorical_table(90, a=3)
    fitted = clone(model).fit(X, y)
    found = fitted.predict_proba(X[:20].assign(c0="never seen"))
    np.testing.assert_allclose(found.sum(axis=1), 1)
    known = X[:20].assign(c0="never seen", c1="never seen", c2="never seen")
    everything_new = fitted.predict_proba(known)
    powers = np.exp(fitted.intercept_ - fitted.intercept_.max())
    np.testing.assert_allclose(everything_new, np.tile(powers / powers.sum(), (20, 1)), atol=1e-12)


def test_naive_bayes_ignores_a_never_seen_value_as_if_the_column_were_not_there():
    X, y = categorical_table(90, a=3)
    found = AnJEClassifier(n=1).fit(X, y).predict_proba(X.assign(c2="never seen"))
    expected = AnJEClassifier(n=1).fit(X[["c0", "c1"]], y).predict_proba(X[["c0", "c1"]])
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_anje_of_pairs_ignores_a_never_seen_value_as_if_the_column_were_not_there():
    X, y = categorical_table(90, a=4)
    found = AnJEClassifier(n=2).fit(X, y).predict_proba(X.assign(c3="never seen"))
    expected = (
        AnJEClassifier(n=2).fit(X[["c0", "c1", "c2"]], y).predict_proba(X[["c0", "c1", "c2"]])
    )
    np.testing.assert_allclose(found, expected, atol=1e-12)


@every_model
def test_constant_and_all_missing_columns_change_no_single_column_model(model):
    X, y = categorical_table(80, a=3)
    wider = X.assign(same="always", number=1.0, none=None, nan=np.nan)
    model = clone(model).set_params(n=1)
    if not isinstance(model, AnJEClassifier):
        model.set_params(tol=1e-9, max_iter=3000)
    expected = clone(model).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(clone(model).fit(wider, y).predict_proba(wider), expected, atol=1e-4)


def test_columns_of_thousands_of_values_are_fitted():
    rng = np.random.default_rng(0)
    key = rng.integers(5000, size=4000)
    X = pd.DataFrame({"key": [f"k{i}" for i in key], "b": rng.choice(["u", "v"], 4000)})
    y = (key % 2) ^ (X["b"] == "u")
    assert LRClassifier(n=2, alpha=0.1).fit(X, y).score(X, y) > 0.95


def test_numbers_are_cut_into_bins_and_categories_are_not():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 10, size=(400, 2)).astype(float)
    y = (X[:, 0] > 4).astype(int)
    numbers = AnJEClassifier(n=1).fit(X, y).tables_
    categories = AnJEClassifier(n=1, categorical_features=[0, 1]).fit(X, y).tables_
    assert [len(numbers[name].values[0]) for name in ("x0", "x1")] == [2, 1]
    assert [len(categories[name].values[0]) for name in ("x0", "x1")] == [10, 10]


@pytest.mark.parametrize("chosen", [["c1"], [1], [False, True, False], np.array([1])])
def test_categorical_features_may_be_names_indices_or_a_mask(chosen):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 9, size=(200, 3)), columns=["c0", "c1", "c2"])
    y = X["c1"] % 2
    model = AnJEClassifier(categorical_features=chosen).fit(X, y)
    assert len(model.tables_["c1"].values[0]) == 9
    assert len(model.tables_["c0"].values[0]) < 9


def test_infinite_numbers_are_extreme_numbers():
    X = np.array([[-np.inf], [0.0], [1.0], [2.0], [3.0], [np.inf]] * 10)
    y = (X[:, 0] > 1.5).astype(int)
    model = DBLClassifier(n=1, alpha=1.0).fit(X, y)
    assert model.predict([[-np.inf], [np.inf], [-1e300], [1e300]]).tolist() == [0, 1, 0, 1]


def test_dates_are_numbers():
    days = pd.date_range("2020-01-01", periods=100)
    X = pd.DataFrame({"day": days})
    y = (days > "2020-02-15").astype(int)
    assert AnJEClassifier(n=1).fit(X, y).score(X, y) == 1.0


# Labels.


@pytest.mark.parametrize(
    "names",
    [
        ["no", "yes"], [False, True], [0, 1], [-1, 1], [0.0, 1.0], [b"n", b"y"], [1, "one"],
    ],
    ids=str,
)  # fmt: skip
def test_labels_of_any_type_come_back_as_they_were(names):
    X, codes = mixed_table(60, n_classes=2)
    codes = (codes == "bee").astype(int)
    y = np.array(names, dtype=object)[codes]
    y = y if len({type(name) for name in names}) > 1 else np.array(y.tolist())
    model = AnJEClassifier(n=1).fit(X, y)
    assert model.classes_.tolist() == names
    found = model.predict(X)
    assert set(found.tolist()) <= set(names)
    expected = AnJEClassifier(n=1).fit(X, codes).predict(X)
    assert found.tolist() == [names[c] for c in expected]


@pytest.mark.parametrize("convert", [list, pd.Series, pl.Series, pa.array, pd.Categorical])
def test_labels_may_be_any_column(convert):
    X, y = mixed_table(60)
    expected = AnJEClassifier(n=1).fit(X, y)
    found = AnJEClassifier(n=1).fit(X, convert(y.tolist()))
    assert found.classes_.tolist() == expected.classes_.tolist()
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))


# Names of columns.


def test_names_are_remembered_and_arrays_have_none():
    X, y = mixed_table(40)
    for kind in ("pandas", "polars", "pyarrow"):
        model = AnJEClassifier().fit(AS[kind](X), y)
        assert model.feature_names_in_.tolist() == list(X.columns)
        assert model.n_features_in_ == 4
    model = AnJEClassifier().fit(AS["objects"](X), y)
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 4


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_reordered_missing_and_extra_columns_are_refused_by_name(kind):
    X, y = mixed_table(40)
    convert = AS[kind]
    model = AnJEClassifier().fit(convert(X), y)
    with pytest.raises(ValueError, match="must be in the same order"):
        model.predict(convert(X[X.columns[::-1]]))
    with pytest.raises(ValueError, match="seen at fit time, yet now missing:\n- length"):
        model.predict(convert(X.drop(columns="length")))
    with pytest.raises(ValueError, match="unseen at fit time:\n- extra"):
        model.predict(convert(X.assign(extra=1)))


def test_an_array_of_another_width_is_refused():
    X, y = mixed_table(40)
    model = AnJEClassifier().fit(AS["objects"](X), y)
    with pytest.raises(ValueError, match="X has 3 features, but AnJEClassifier is expecting 4"):
        model.predict(AS["objects"](X)[:, :3])


def test_a_data_frame_for_a_model_of_arrays_and_back_warns():
    X, y = mixed_table(40)
    array = AS["objects"](X)
    with pytest.warns(UserWarning, match="was fitted without feature names"):
        AnJEClassifier().fit(array, y).predict(X)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        AnJEClassifier().fit(X, y).predict(array)


@every_model
def test_permuting_rows_columns_and_names_of_values_permutes_the_answer_only(model):
    X, y = categorical_table(90, a=4)
    model = clone(model)
    if not isinstance(model, AnJEClassifier):
        model.set_params(tol=1e-6, max_iter=2000)
    expected = clone(model).fit(X, y).predict_proba(X)
    order = np.random.default_rng(0).permutation(90)
    shuffled = X.iloc[order]
    found = clone(model).fit(shuffled, y[order]).predict_proba(X)
    np.testing.assert_allclose(found, expected, atol=2e-3)
    columns = ["c2", "c0", "c3", "c1"]
    found = clone(model).fit(X[columns], y).predict_proba(X[columns])
    np.testing.assert_allclose(found, expected, atol=2e-3)
    renamed = X.replace({"p": "zebra", "q": "yak"})
    found = clone(model).fit(renamed, y).predict_proba(renamed)
    np.testing.assert_allclose(found, expected, atol=2e-3)
    found = clone(model).fit(X, -y).predict_proba(X)[:, ::-1]
    np.testing.assert_allclose(found, expected, atol=2e-3)
