"""Models come out of files as they went in."""

import datetime
import decimal
import enum
import os
import pickle
import stat
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline

import deepbroad
from deepbroad import AnJEClassifier, DBLClassifier, LRClassifier, ModelFileError
from deepbroad.datasets import poker_hand
from deepbroad.engine import passes
from deepbroad.persist import values

CLASSES = [AnJEClassifier, DBLClassifier, LRClassifier]


def build(cls, **parameters):
    """Return an estimator; DBL with a strength, since to choose one takes long."""
    return cls(**{"alpha": 1.0} if cls is DBLClassifier else {}, **parameters)


def mixed_table(rows=300, seed=0):
    """A table with a column of every sort, some values missing, and labels that depend on it."""
    rng = np.random.default_rng(seed)
    color = rng.choice(np.array(["red", "grün", "'blue'", None], dtype=object), rows)
    size = rng.normal(size=rows)
    size[rng.random(rows) < 0.1] = np.nan
    table = pd.DataFrame(
        {
            "color": color,
            "size": size,
            "count": rng.integers(0, 5, rows),
            "on": rng.random(rows) < 0.5,
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, rows), "D"),
            "mixed": rng.choice(np.array([1, 2.5, "x", b"y", None], dtype=object), rows),
            "shape ☃": pd.Categorical(rng.choice(["round", "square"], rows)),
            "constant": "same",
        }
    )
    noise = rng.normal(size=rows)
    y = np.where(np.nan_to_num(size) + (color == "red") + noise > 0.5, "yes", "no")
    y[noise > 1.5] = "maybe"
    return table, y


def reload(model, tmp_path):
    path = tmp_path / "model.dbl"
    deepbroad.save(model, path)
    return deepbroad.load(path)


def assert_same(loaded, model, X):
    """The two are the same model: parameters, attributes, tables and predictions to the bit."""
    assert type(loaded) is type(model)
    assert vars(loaded).keys() == vars(model).keys()
    for name in vars(model):
        if name.endswith("_") and not name.startswith("_"):
            ours, theirs = getattr(model, name), getattr(loaded, name)
            assert type(theirs) is type(ours)
            np.testing.assert_array_equal(theirs, ours)
    assert loaded.classes_.dtype == model.classes_.dtype
    assert repr(loaded.get_params()) == repr({**model.get_params(), **no_callbacks(model)})
    assert loaded.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    assert loaded.decision_function(X).tobytes() == model.decision_function(X).tobytes()
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert_same_tables(loaded._scorer.model, model._scorer.model)
    assert list(loaded.tables_) == list(model.tables_)
    for name in list(model.tables_)[:5]:
        ours, theirs = model.tables_[name], loaded.tables_[name]
        assert theirs.values == ours.values
        assert theirs.scores.tobytes() == ours.scores.tobytes()
        np.testing.assert_array_equal(theirs.weights, ours.weights)


def no_callbacks(model):
    return {"callbacks": None} if "callbacks" in model.get_params() else {}


def assert_same_tables(loaded, model):
    assert loaded.scores.dtype == model.scores.dtype
    assert loaded.scores.tobytes() == model.scores.tobytes()
    assert (loaded.scale is None) == (model.scale is None)
    if model.scale is not None:
        assert loaded.scale.dtype == model.scale.dtype
        assert loaded.scale.tobytes() == model.scale.tobytes()
    np.testing.assert_array_equal(loaded.plan.terms.members, model.plan.terms.members)
    np.testing.assert_array_equal(loaded.plan.supports, model.plan.supports)
    for ours, theirs in zip(model.plan.groups, loaded.plan.groups, strict=True):
        for name in ("columns", "cardinalities", "keys"):
            array = getattr(theirs, name)
            assert array.dtype == getattr(ours, name).dtype
            np.testing.assert_array_equal(array, getattr(ours, name))


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("cls", CLASSES)
def test_a_model_of_mixed_columns_survives(cls, n, tmp_path):
    X, y = mixed_table()
    model = build(cls, n=n).fit(X, y)
    unseen = X.assign(color="never seen", mixed=99)
    assert_same(reload(model, tmp_path), model, pd.concat([X, unseen]))


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("cls", CLASSES)
def test_a_model_of_single_precision_survives(cls, n, tmp_path, monkeypatch):
    monkeypatch.setattr(passes, "CHEAP_PASS", 0)
    X, y = poker_hand(5000, seed=0, return_X_y=True)
    model = build(cls, n=n).set_params(**{} if cls is AnJEClassifier else {"max_iter": 3})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    assert model._scorer.model.scores.dtype == np.float32
    assert_same(reload(model, tmp_path), model, X)


@pytest.mark.parametrize("cls", CLASSES)
def test_weights_of_rows_and_classes_survive(cls, tmp_path):
    X, y = mixed_table()
    weights = np.random.default_rng(1).exponential(size=len(y)) * (np.arange(len(y)) % 7 > 0)
    model = build(cls, n=2, class_weight={"no": 1, "yes": 2.5}).fit(X, y, sample_weight=weights)
    assert_same(reload(model, tmp_path), model, X)


@pytest.mark.parametrize("cls", CLASSES)
def test_chosen_terms_survive_with_their_tuples(cls, tmp_path):
    X, y = mixed_table()
    terms = [("size", "color"), (0, 3), np.array(["on", "day"])]
    model = build(cls, n=2, terms=terms).fit(X, y)
    loaded = reload(model, tmp_path)
    assert_same(loaded, model, X)
    assert [type(term) for term in loaded.terms] == [tuple, tuple, np.ndarray]


def test_few_terms_of_many_columns_are_saved_without_listing_all_tuples(tmp_path):
    X = np.random.default_rng(0).integers(0, 2, (50, 300)).astype(str)
    y = np.arange(50) % 2
    model = AnJEClassifier(n=6, terms=[tuple(range(6)), tuple(range(5, 11))]).fit(X, y)
    assert_same(reload(model, tmp_path), model, X)


@pytest.mark.parametrize("cls", CLASSES)
def test_sparse_input_survives(cls, tmp_path):
    rng = np.random.default_rng(0)
    X = scipy.sparse.random(200, 30, density=0.2, format="csr", rng=rng)
    y = rng.integers(0, 3, 200)
    model = build(cls, n=2).fit(X, y)
    assert_same(reload(model, tmp_path), model, X)


@pytest.mark.parametrize("shrink_to", ["zero", "generative"])
def test_settings_of_the_paper_survive(shrink_to, tmp_path):
    X, y = mixed_table()
    model = DBLClassifier.paper(n=3).set_params(shrink_to=shrink_to, max_iter=500).fit(X, y)
    assert_same(reload(model, tmp_path), model, X)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([3, 1, 2]),
        np.array([3, 1, 2], np.int8),
        np.array([1.0, 2.0, 3.0]),
        np.array([True, False, True]),
        np.array(["b", "ä", "\ud800"]),
        np.array([b"x", b"y", b"z"]),
        np.array(["2024-01-01", "2024-01-02", "2024-01-03"], "M8[D]"),
        np.array([1, "one", 2.5], dtype=object),
        np.array([True, "no", None], dtype=object)[[0, 1, 1]],
        pl.Series(["x", "y", "z"]),
        pd.Series(pd.Categorical(["u", "v", "w"])),
    ],
    ids=lambda labels: str(getattr(labels, "dtype", "")),
)
def test_labels_of_many_types_survive(labels, tmp_path):
    X, _ = mixed_table(60)
    rows = np.arange(60) % 3
    y = labels[rows.tolist()] if isinstance(labels, pl.Series) else labels[rows]
    if isinstance(y, pd.Series):
        y = y.reset_index(drop=True)
    model = DBLClassifier(n=1, alpha=1.0).fit(X, y)
    assert_same(reload(model, tmp_path), model, X)


class Size(enum.Enum):
    SMALL = 1
    LARGE = 2


@pytest.mark.parametrize(
    "labels",
    [
        [Size.SMALL, Size.LARGE],
        [datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)],
        [decimal.Decimal(1), decimal.Decimal(2)],
        [pd.Interval(0, 1), pd.Interval(1, 2)],
    ],
    ids=lambda labels: type(labels[0]).__name__,
)
def test_labels_that_would_change_type_are_refused(labels, tmp_path):
    X, _ = mixed_table(40)
    y = np.empty(40, dtype=object)
    y[:] = [labels[i % 2] for i in range(40)]
    model = AnJEClassifier().fit(X, y)
    with pytest.raises(ModelFileError, match="cannot be written"):
        deepbroad.save(model, tmp_path / "model.dbl")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_file_is_smaller_than_the_pickle(cls, n, tmp_path):
    tables = [load_iris(return_X_y=True), mixed_table(50), mixed_table(5000)]
    tables += [poker_hand(rows, return_X_y=True) for rows in (100, 5000)]
    for X, y in tables:
        model = build(cls, n=n)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.set_params(**{} if cls is AnJEClassifier else {"max_iter": 5}).fit(X, y)
        deepbroad.save(model, tmp_path / "model.dbl")
        # One that never predicted is the smallest that pickles get.
        pickled = pickle.dumps(model, pickle.HIGHEST_PROTOCOL)
        assert (tmp_path / "model.dbl").stat().st_size < len(pickled)
        assert (tmp_path / "model.dbl").stat().st_size < len(
            pickle.dumps(pickle.loads(pickled), pickle.HIGHEST_PROTOCOL)
        )


def test_cells_that_no_row_reached_cost_a_bit_each(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 60, (100, 2)).astype(str)
    model = DBLClassifier(n=2, alpha=1.0).fit(X, rng.integers(0, 2, 100))
    assert not model._scorer.model.plan.terms.is_compact.any()
    loaded = reload(model, tmp_path)
    assert_same(loaded, model, X)
    assert (tmp_path / "model.dbl").stat().st_size < model._scorer.model.nbytes / 5


def test_a_file_never_promises_more_growth_than_is_believed(tmp_path, monkeypatch):
    monkeypatch.setattr("deepbroad.persist.cells.MAX_GROWTH", 10)
    X = np.random.default_rng(0).integers(0, 100, (100, 2)).astype(str)
    model = LRClassifier(n=2).fit(X, np.arange(100) % 2)
    assert_same(reload(model, tmp_path), model, X)
    assert (tmp_path / "model.dbl").stat().st_size > model._scorer.model.nbytes / 10


def test_saving_twice_gives_the_same_bytes(tmp_path):
    X, y = mixed_table()
    model = DBLClassifier(n=2, alpha=1.0).fit(X, y)
    deepbroad.save(model, tmp_path / "one")
    deepbroad.save(deepbroad.load(tmp_path / "one"), tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize("cls", CLASSES)
def test_a_loaded_model_is_pickled_cloned_and_fitted_again(cls, tmp_path):
    X, y = mixed_table()
    model = build(cls, n=2).fit(X, y)
    loaded = reload(model, tmp_path)
    assert_same(pickle.loads(pickle.dumps(loaded)), model, X)
    assert not hasattr(clone(loaded), "classes_")
    assert_same(clone(loaded).fit(X, y), model, X)
    assert_same(loaded.fit(X, y), model, X)


@pytest.mark.parametrize("cls", [DBLClassifier, LRClassifier])
def test_a_loaded_model_is_warm_started_like_the_original(cls, tmp_path):
    X, y = mixed_table()
    model = build(cls, n=2, max_iter=5, warm_start=True)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    loaded = reload(model, tmp_path)
    for one in (model, loaded):
        one.set_params(max_iter=500).fit(X, y)
    assert_same(loaded, model, X)
    assert loaded.loss_curve_[0] < build(cls, n=2).fit(X, y).loss_curve_[0]


def test_feature_names_are_checked_after_loading(tmp_path):
    X, y = mixed_table()
    loaded = reload(AnJEClassifier().fit(X, y), tmp_path)
    assert loaded.feature_names_in_.dtype == object
    with pytest.raises(ValueError, match="feature names should match"):
        loaded.predict(X.rename(columns={"color": "colour"}))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        loaded.predict(X.to_numpy(dtype=object))


def test_a_model_without_feature_names_gets_none(tmp_path):
    X, y = load_iris(return_X_y=True)
    loaded = reload(AnJEClassifier().fit(X, y), tmp_path)
    assert loaded.n_features_in_ == 4
    assert not hasattr(loaded, "feature_names_in_")


def test_parameters_changed_after_the_fit_are_saved_as_they_are(tmp_path):
    X, y = mixed_table()
    model = DBLClassifier(n=2, alpha=1.0).fit(X, y).set_params(n=5, alpha=-3.0, terms=[("a", "b")])
    assert_same(reload(model, tmp_path), model, X)


def test_callbacks_are_left_out(tmp_path):
    X, y = mixed_table()
    model = DBLClassifier(n=1, alpha=1.0, callbacks=[lambda progress: None]).fit(X, y)
    loaded = reload(model, tmp_path)
    assert loaded.callbacks is None
    assert_same(loaded, model, X)


def test_a_parameter_that_cannot_be_written_is_named(tmp_path):
    X, y = mixed_table()
    model = DBLClassifier(n=1, alpha=1.0).fit(X, y).set_params(class_weight=lambda y: 1)
    with pytest.raises(ModelFileError, match=r"'class_weight'.*function"):
        deepbroad.save(model, tmp_path / "model.dbl")


@pytest.mark.parametrize(
    "value",
    [
        None, True, 3, -0.0, float("inf"), "text", "\ud800", b"bytes", (1, ("a", [None])),
        {1: 2.0, "a": 3, False: 4, (1, 2): 5, None: 6}, {np.int64(3): 1.0, b"x": 2},
        np.int64(3), np.float32(0.1), np.bool_(True), np.str_("ä"),
        np.str_(""), np.bytes_(b""), np.float64("nan"), np.array([""]), np.array([b"", b"ab"]),
        np.datetime64("2024-01-01"), np.datetime64("NaT"), np.timedelta64(3, "s"),
        np.array([True, False]), np.array(["a", "bcd"]), np.arange(6, dtype=">i2").reshape(2, 3),
        np.array([1, "a", None], dtype=object), np.empty(0), datetime.date(2024, 1, 2),
        datetime.datetime(2024, 1, 2, 3, tzinfo=datetime.UTC), datetime.timedelta(1, 2, 3),
    ],
    ids=repr,
)  # fmt: skip
def test_values_of_parameters_keep_their_types(value):
    again = values.from_json(values.to_json(value))
    assert type(again) is type(value)
    assert repr(again) == repr(value)


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text() | st.integers() | st.booleans(), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(plain)
def test_any_plain_value_survives(value):
    assert repr(values.from_json(values.to_json(value))) == repr(value)


@pytest.mark.parametrize(
    "value", [{1, 2}, np.array([1j]), np.array(["x" * 1000] * 20_000), pd.Series([1])], ids=type
)
def test_values_of_other_types_are_refused(value):
    with pytest.raises(ModelFileError, match="cannot be written"):
        values.to_json(value)


def test_a_value_inside_itself_is_refused():
    value = []
    value.append(value)
    with pytest.raises(ModelFileError, match="too deeply"):
        values.to_json(value)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_small_model_survives(tmp_path_factory, data):
    rows = data.draw(st.integers(2, 30))
    cell = st.none() | st.integers(-2, 2) | st.text(max_size=2) | st.floats(0, 1)
    columns = data.draw(st.integers(1, 4))
    X = np.empty((rows, columns), dtype=object)
    X[:] = [[data.draw(cell) for _ in range(columns)] for _ in range(rows)]
    y = np.array([*(data.draw(st.sampled_from("abc")) for _ in range(rows - 2)), "a", "b"])
    model = data.draw(st.sampled_from(CLASSES))(n=data.draw(st.integers(1, columns))).fit(X, y)
    assert_same(reload(model, tmp_path_factory.mktemp("models")), model, X)


def test_a_model_that_is_not_fitted_is_refused(tmp_path):
    with pytest.raises(NotFittedError):
        deepbroad.save(DBLClassifier(), tmp_path / "model.dbl")


@pytest.mark.parametrize(
    "model", [make_pipeline(DBLClassifier()), type("DBLClassifier", (DBLClassifier,), {})(), None]
)
def test_a_model_of_another_class_is_refused(model, tmp_path):
    with pytest.raises(TypeError, match=r"deepbroad\.save writes AnDEClassifier"):
        deepbroad.save(model, tmp_path / "model.dbl")


def test_scores_that_are_not_finite_are_refused(tmp_path):
    X, y = mixed_table(30)
    model = LRClassifier(n=1).fit(X, y)
    model._scorer.model.scores[0, 0] = np.nan
    with pytest.raises(ModelFileError, match="not finite"):
        deepbroad.save(model, tmp_path / "model.dbl")


def test_paths_are_strings_or_path_like(tmp_path):
    X, y = mixed_table(30)
    model = AnJEClassifier().fit(X, y)
    deepbroad.save(model, str(tmp_path / "one.anything"))
    deepbroad.save(model, tmp_path / "two")
    assert_same(deepbroad.load(tmp_path / "one.anything"), model, X)
    assert_same(deepbroad.load(str(tmp_path / "two")), model, X)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    X, y = mixed_table(30)
    path = tmp_path / "model.dbl"
    deepbroad.save(AnJEClassifier().fit(X, y), path)
    before = path.read_bytes()

    def fail(*arguments):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        deepbroad.save(AnJEClassifier(n=2).fit(X, y), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_saved_file_has_ordinary_permissions_and_links_stay_links(tmp_path):
    X, y = mixed_table(30)
    (tmp_path / "folder").mkdir()
    link = tmp_path / "link.dbl"
    link.symlink_to(Path("folder") / "model.dbl")
    (tmp_path / "plain").touch()
    deepbroad.save(AnJEClassifier().fit(X, y), link)
    assert link.is_symlink()
    mode = stat.S_IMODE((tmp_path / "folder" / "model.dbl").stat().st_mode)
    assert mode == stat.S_IMODE((tmp_path / "plain").stat().st_mode)


def test_saving_onto_a_folder_is_an_error_that_leaves_no_file(tmp_path):
    X, y = mixed_table(30)
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError):
        deepbroad.save(AnJEClassifier().fit(X, y), tmp_path / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
