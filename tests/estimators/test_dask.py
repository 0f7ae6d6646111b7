"""Models that were fitted on a cluster are those that memory gives."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deepbroad import AnJEClassifier, DBLClassifier, LRClassifier, TANClassifier
from deepbroad.engine import cluster_reading
from deepbroad.engine.cluster import ClusterSource
from deepbroad.estimators import intake
from tests.clusters import kill_worker, local_client
from tests.steps import step_table

dask = pytest.importorskip("dask", reason="Dask is not installed")
dd = pytest.importorskip("dask.dataframe")
da = pytest.importorskip("dask.array")

# Enough to have cuts, too few for anything to take long.
ROWS = 600
EDGES = [0, 200, 400, 400, 401, ROWS]
MODEL = {"n": 2, "alpha": 1.0, "tol": 1e-3}


@pytest.fixture(scope="module")
def client():
    with local_client() as started:
        yield started


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    """Let small partitions be parts of their own, as large ones are."""
    monkeypatch.setattr(cluster_reading, "SPAN_ROWS", 150)


@pytest.fixture(scope="module")
def frame():
    """Numbers, words, missing values; class and weight depend on them, and some rows have none."""
    random = np.random.default_rng(0)
    colour = random.choice(["red", "green", "blue"], ROWS)
    size = np.round(random.normal(size=ROWS), 2)
    flag = random.random(ROWS) < 0.5
    score = (colour == "red") + (size > 0.3) + flag + random.normal(scale=0.6, size=ROWS)
    frame = pd.DataFrame(
        {
            "colour": np.where(random.random(ROWS) < 0.05, None, colour),
            "size": np.where(random.random(ROWS) < 0.05, np.nan, size),
            "flag": flag,
            "class": np.select([score < 0.8, score < 1.8], ["low", "mid"], "high"),
            "weight": random.integers(0, 4, ROWS).astype(float),
        }
    )
    frame.loc[200:399, "weight"] = 0.0  # a whole partition that is as if absent
    return frame


def in_partitions(frame):
    """Return the frame in partitions of unequal sizes, one of them empty."""
    pieces = [dask.delayed(frame.iloc[a:b]) for a, b in pairwise(EDGES)]
    return dd.from_delayed(pieces, meta=frame.iloc[:0])


def attributes(frame):
    return frame[["colour", "size", "flag"]]


def assert_alike(found, expected, frame):
    np.testing.assert_array_equal(found.classes_, expected.classes_)
    assert found.attributes_ == expected.attributes_
    X = attributes(frame)
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize(
    ("model", "weighted"),
    [
        (DBLClassifier(**MODEL), False),
        (DBLClassifier(**MODEL, class_weight={"low": 0.0, "mid": 3.0}), True),
        (LRClassifier(**MODEL, class_weight="balanced"), True),
        (AnJEClassifier(n=2), False),
        (TANClassifier(), True),
    ],
)
def test_frames_give_the_model_of_memory(client, frame, model, weighted):
    X = in_partitions(frame if weighted else frame.drop(columns="weight"))
    model.fit(X, "class", "weight" if weighted else None)
    assert list(model.feature_names_in_) == ["colour", "size", "flag"]
    expected = type(model)(**model.get_params()).fit(
        attributes(frame), frame["class"], frame["weight"] if weighted else None
    )
    assert_alike(model, expected, frame)


def test_few_rows_are_fitted_by_the_client_as_in_memory(client, frame, monkeypatch):
    monkeypatch.setattr(cluster_reading, "SPAN_ROWS", ROWS)
    # No pass is sent to a worker, so that every solver of memory is there.
    monkeypatch.delattr(ClusterSource, "hold")
    model = DBLClassifier(n=2).fit(in_partitions(frame), "class", "weight")
    expected = DBLClassifier(n=2).fit(attributes(frame), frame["class"], frame["weight"])
    X = attributes(frame)
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
    assert model.n_iter_ == expected.n_iter_


def test_few_rows_of_too_many_columns_stay_on_the_cluster(client, frame, monkeypatch):
    monkeypatch.setattr(cluster_reading, "SPAN_ROWS", ROWS)
    monkeypatch.setattr(intake, "COLLECTED", 0.0)
    held = []
    hold = ClusterSource.hold
    monkeypatch.setattr(ClusterSource, "hold", lambda *a, **k: held.append(a) or hold(*a, **k))
    DBLClassifier(**MODEL).fit(in_partitions(frame), "class", "weight")
    assert held


def test_the_recipe_of_a_cluster_is_that_of_memory(client, monkeypatch):
    monkeypatch.setattr(cluster_reading, "SPAN_ROWS", 400)
    X, y = step_table(1500, 2, missing=0.1)
    model = DBLClassifier(n=1, tol=0.03).fit(dd.from_pandas(X.assign(y=y), npartitions=3), "y")
    expected = DBLClassifier(n=1, tol=0.03).fit(X, y)
    assert model.recipe_ == expected.recipe_
    assert model.selection_ == expected.selection_
    assert model._encoding.to_dict() == expected._encoding.to_dict()
    # Rows in memory have a solver that parts have not, and fits end a little apart.
    assert np.mean(model.predict(X) != expected.predict(X)) < 0.01
    again = DBLClassifier(recipe=model.recipe_, tol=0.03)
    again.fit(dd.from_pandas(X.assign(y=y), npartitions=3), "y")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_labels_and_weights_may_stand_beside_the_frame(client, frame):
    whole = in_partitions(frame)
    X = whole[["colour", "size", "flag"]]
    expected = AnJEClassifier(n=2).fit(attributes(frame), frame["class"], frame["weight"])
    series = AnJEClassifier(n=2).fit(X, whole["class"], whole["weight"])
    assert_alike(series, expected, frame)
    chunks = (tuple(b - a for a, b in pairwise(EDGES)),)
    arrays = [da.from_array(frame[name].to_numpy(object), chunks) for name in ("class", "weight")]
    assert_alike(AnJEClassifier(n=2).fit(X, *arrays), expected, frame)


@pytest.mark.parametrize("beside", ["array", "numpy"])
def test_arrays_give_the_model_of_memory(client, frame, beside):
    X = frame[["size", "flag", "weight"]].to_numpy(np.float64)
    y = frame["class"].to_numpy("U4")
    lazy = da.from_array(X, chunks=(170, 2))
    labels = da.from_array(y, chunks=250) if beside == "array" else y
    model, expected = DBLClassifier(**MODEL).fit(lazy, labels), DBLClassifier(**MODEL).fit(X, y)
    assert not hasattr(model, "feature_names_in_")
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-6)
    said = model.predict(lazy)
    assert said.chunks == ((170, 170, 170, 90),)
    assert said.dtype == model.classes_.dtype
    np.testing.assert_array_equal(said.compute(), model.predict(X))


def test_folders_are_read_by_workers(client, frame, tmp_path):
    for i, part in enumerate([frame.iloc[:250], frame.iloc[250:250], frame.iloc[250:]]):
        table = pa.Table.from_pandas(part, preserve_index=False)
        pq.write_table(table, tmp_path / f"{i}.parquet", row_group_size=90)
    model = DBLClassifier(**MODEL).fit(tmp_path, "class", "weight")
    expected = DBLClassifier(**MODEL).fit(attributes(frame), frame["class"], frame["weight"])
    assert_alike(model, expected, frame)


def test_named_categories_may_change_their_type_in_csv(client, frame, tmp_path):
    for i, part in enumerate([frame.iloc[:250], frame.iloc[250:]]):
        part.assign(flag=["1", "two"][i]).to_csv(tmp_path / f"{i}.csv", index=False)
    options = {"n": 1, "categorical_features": ["flag"]}
    model = AnJEClassifier(**options).fit(tmp_path, "class", "weight")
    assert model.attributes_["flag"] == ["1", "two"]


def test_predictions_are_as_lazy_as_the_frame(client, frame):
    model = AnJEClassifier(n=2).fit(attributes(frame), frame["class"])
    X = in_partitions(attributes(frame))
    for name in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        said, expected = getattr(model, name)(X), getattr(model, name)(attributes(frame))
        assert isinstance(said, da.Array)
        assert said.dtype == expected.dtype
        assert said.ndim == expected.ndim
        assert np.isnan(said.shape[0])
        np.testing.assert_array_equal(said.compute(), expected)


def test_a_killed_worker_costs_time_not_the_model(client, frame):
    X = in_partitions(frame)
    expected = DBLClassifier(**MODEL).fit(X, "class", "weight")
    killed = []

    def kill(state):
        if state.iteration == 3 and not killed:
            kill_worker(client)
            killed.append(state.iteration)

    found = DBLClassifier(**MODEL, callbacks=[kill]).fit(X, "class", "weight")
    assert killed
    np.testing.assert_array_equal(
        found.predict_proba(attributes(frame)), expected.predict_proba(attributes(frame))
    )


def test_small_partitions_are_joined(client, frame, monkeypatch):
    X = in_partitions(frame)
    source = cluster_reading.open_cluster(X, "class", "weight")
    fitted = source.sketch(cluster_reading.SketchRules()).finish()
    assert [part.n_rows for part in source.code(*fitted).facts] == [150, 300, 150]
    monkeypatch.setattr(cluster_reading, "SPAN_ROWS", 400)
    assert [part.n_rows for part in source.code(*fitted).facts] == [600]


def test_what_does_not_fit_together_is_refused(client, frame):
    X = in_partitions(frame)
    attributes_only, model = X[["colour", "size"]], AnJEClassifier(n=1)
    with pytest.raises(ValueError, match="no column 'clas'"):
        model.fit(X, "clas")
    with pytest.raises(TypeError, match="y is the name of one of its columns, or a Dask series"):
        model.fit(attributes_only, frame["class"])
    with pytest.raises(ValueError, match="X has 5 partitions and y has 2"):
        model.fit(attributes_only, dd.from_pandas(frame, npartitions=2)["class"])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(attributes_only, dd.from_pandas(frame, npartitions=5)["class"])
    array = da.zeros((20, 2), chunks=10)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(array, da.zeros(19, chunks=10))
    with pytest.raises(TypeError, match="has no column 'class'"):
        model.fit(array, "class")
    with pytest.raises(ValueError, match="0 sample"):
        model.fit(in_partitions(frame.iloc[:0]), "class")
    with pytest.raises(ValueError, match="one class"):
        model.fit(X[["colour", "flag"]], "flag" if frame["flag"].all() else X["flag"] | True)
