"""Fits and predictions from files are those from memory."""

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import deepbroad
from deepbroad import (
    AnDEClassifier,
    AnJEClassifier,
    DBLClassifier,
    KDBClassifier,
    LRClassifier,
    TANClassifier,
)

MODELS = {
    "AnJE": AnJEClassifier(n=2),
    "AnDE": AnDEClassifier(n=1),
    "KDB": KDBClassifier(k=1),
    "TAN": TANClassifier(),
    "ELR": TANClassifier(fitting="discriminative"),
    "DBL": DBLClassifier(n=2, alpha=0.1, orders="exact"),
    "hDBL": DBLClassifier(n=2, alpha=[1.0, 10.0]),
    "default": DBLClassifier(time_limit=600),
    "LR": LRClassifier(n=2),
    "hinge": DBLClassifier(n=1, alpha=1.0, loss="squared_hinge"),
}


def draw_table(n_rows=700, seed=0):
    """Mixed columns with missing values, and a class that depends on them."""
    random = np.random.default_rng(seed)
    color = random.choice(["red", "blue", "green"], n_rows)
    size = random.normal(size=n_rows).round(2)
    count = random.integers(0, 6, n_rows)
    odds = (color == "red") * 2.0 + (size > 0.3) * (count > 2) * 3.0 - 1.0
    label = np.where(random.logistic(size=n_rows) < odds, "yes", "no")
    missing = random.random(n_rows) < 0.1
    return pa.table(
        {
            "color": pa.array(color, mask=random.random(n_rows) < 0.05),
            "size": pa.array(size, mask=missing),
            "count": count,
            "flag": random.random(n_rows) < 0.5,
            "weight": random.integers(0, 3, n_rows).astype(float),
            "label": label,
        }
    )


TABLE = draw_table()
X = TABLE.select(["color", "size", "count", "flag"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    plain = TABLE.drop_columns(["weight"])
    pq.write_table(plain, folder / "plain.parquet", row_group_size=100)
    pq.write_table(TABLE, folder / "weighted.parquet", row_group_size=100)
    pa_csv.write_csv(plain, folder / "plain.csv")
    feather.write_feather(plain, folder / "plain.arrow", chunksize=150)
    (folder / "parts").mkdir()
    for k in range(3):
        part = plain.slice(k * 250, 250)
        pq.write_table(part, folder / "parts" / f"part{k}.parquet")
    return folder


def clone(model):
    return type(model)(**model.get_params())


@pytest.mark.parametrize("name", MODELS)
def test_every_model_is_the_one_from_memory(folder, name):
    expected = clone(MODELS[name]).fit(X, TABLE.column("label"))
    found = clone(MODELS[name]).fit(folder / "plain.parquet", "label")
    np.testing.assert_array_equal(found.classes_, expected.classes_)
    assert found.attributes_ == expected.attributes_
    assert found.terms_ == expected.terms_
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("file", ["plain.csv", "plain.arrow", "parts"])
def test_formats_do_not_matter(folder, file):
    model = MODELS["DBL"]
    expected = clone(model).fit(X, TABLE.column("label")).predict_proba(X)
    found = clone(model).fit(str(folder / file), y="label")
    np.testing.assert_allclose(found.predict_proba(X), expected, atol=1e-6)
    np.testing.assert_allclose(found.predict_proba(folder / file), expected, atol=1e-6)
    assert (found.predict(folder / file) == found.predict(X)).all()
    log_odds = found.decision_function(folder / file)
    np.testing.assert_allclose(log_odds, found.decision_function(X), atol=1e-9)


@pytest.mark.parametrize("class_weight", [None, "balanced", {"yes": 3.0, "no": 0.5}])
def test_weights_are_a_column(folder, class_weight):
    model = DBLClassifier(n=2, alpha=0.1, orders="exact", class_weight=class_weight)
    weights = TABLE.column("weight").to_numpy()
    expected = clone(model).fit(X, TABLE.column("label"), sample_weight=weights)
    found = clone(model).fit(folder / "weighted.parquet", "label", sample_weight="weight")
    assert found.feature_names_in_.tolist() == X.column_names
    assert found.attributes_ == expected.attributes_
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_threads_change_no_bit(folder, n_jobs):
    one = LRClassifier(n=2, n_jobs=1).fit(folder / "plain.parquet", "label")
    more = LRClassifier(n=2, n_jobs=n_jobs).fit(folder / "plain.parquet", "label")
    assert (one.predict_proba(X) == more.predict_proba(X)).all()


def test_numbers_that_are_named_are_categories(folder):
    given = {"n": 1, "categorical_features": ["count"]}
    expected = AnJEClassifier(**given).fit(X, TABLE.column("label"))
    found = AnJEClassifier(**given).fit(folder / "plain.parquet", "label")
    assert found.attributes_ == expected.attributes_
    text = AnJEClassifier(**given).fit(folder / "plain.csv", "label")
    assert text.attributes_["count"] == list("012345")
    np.testing.assert_allclose(
        text.predict_proba(folder / "plain.csv"), expected.predict_proba(X), atol=1e-12
    )


def test_probabilities_come_in_batches(folder):
    model = AnJEClassifier(n=1).fit(folder / "plain.parquet", "label")
    batches = list(model.iter_proba(folder / "parts"))
    assert len(batches) > 1
    np.testing.assert_array_equal(np.concatenate(batches), model.predict_proba(X))
    (whole,) = model.iter_proba(X)
    np.testing.assert_array_equal(whole, model.predict_proba(X))


@pytest.mark.parametrize("file", ["weighted.parquet", "parts", "plain.csv"])
def test_the_score_of_files_is_that_of_memory(folder, file):
    model = AnJEClassifier(n=1).fit(X, TABLE.column("label"))
    found = model.score(folder / file, "label")
    assert found == pytest.approx(model.score(X, TABLE.column("label").to_numpy()))


def test_scores_of_files_have_weights_and_rows_of_weight_0_are_as_if_absent(tmp_path, folder):
    model = AnJEClassifier(n=1).fit(X, TABLE.column("label"))
    weights = TABLE.column("weight").to_numpy()
    expected = model.score(X, TABLE.column("label").to_numpy(), weights)
    assert model.score(folder / "weighted.parquet", "label", "weight") == pytest.approx(expected)
    label = pa.array(TABLE.column("label").to_pylist(), mask=weights == 0)
    hidden = TABLE.drop_columns(["label"]).append_column("label", label)
    pq.write_table(hidden, tmp_path / "hidden.parquet")
    assert model.score(tmp_path / "hidden.parquet", "label", "weight") == pytest.approx(expected)
    none = TABLE.drop_columns(["weight"]).append_column("weight", pa.array(np.zeros(700)))
    pq.write_table(none, tmp_path / "none.parquet")
    with pytest.raises(ValueError, match="at least one non-zero"):
        model.score(tmp_path / "none.parquet", "label", "weight")


def test_classes_that_csv_takes_for_numbers_are_scored_as_text(tmp_path):
    pa_csv.write_csv(pa.table({"a": ["u", "v"] * 4, "y": ["01", "2"] * 4}), tmp_path / "t.csv")
    model = AnJEClassifier(n=1).fit(np.array([["u"], ["v"]]), ["01", "2"])
    renamed = AnJEClassifier(n=1).fit(pa.table({"a": ["u", "v"]}), ["01", "2"])
    assert renamed.score(tmp_path / "t.csv", "y") == 1.0
    with pytest.raises(ValueError, match="has no column 'x0'"):
        model.score(tmp_path / "t.csv", "y")


def test_a_score_of_files_wants_a_name_of_a_column(folder):
    model = AnJEClassifier(n=1).fit(X, TABLE.column("label"))
    with pytest.raises(TypeError, match="y is the name of one of their columns"):
        model.score(folder / "plain.parquet", TABLE.column("label"))
    with pytest.raises(ValueError, match="'count' is an attribute of the model"):
        model.score(folder / "plain.parquet", "count")


def test_a_batch_in_files_is_refused_with_advice(folder):
    with pytest.raises(TypeError, match=r"partial_fit takes .*memory.* or give the files to `fit`"):
        AnJEClassifier(n=1).partial_fit(folder / "plain.parquet", "label")


def test_an_estimate_counts_no_memory_for_rows(folder):
    model = DBLClassifier(n=2, alpha=0.1, orders="exact")
    found = model.estimate(folder / "plain.parquet", "label")
    assert found.rows == 700
    assert found.cells == model.estimate(X, TABLE.column("label")).cells
    assert not hasattr(model, "classes_")


def test_a_model_from_files_is_saved_and_loaded(folder, tmp_path):
    model = clone(MODELS["DBL"]).fit(folder / "plain.parquet", "label")
    deepbroad.save(model, tmp_path / "m.dbl")
    loaded = deepbroad.load(tmp_path / "m.dbl")
    np.testing.assert_array_equal(
        loaded.predict_proba(folder / "plain.parquet"), model.predict_proba(X)
    )


@pytest.mark.parametrize(
    ("y", "sample_weight", "error", "message"),
    [
        (np.zeros(700), None, TypeError, "y is the name of one"),
        (None, None, TypeError, "y is the name of one"),
        ("label", np.ones(700), TypeError, "sample_weight is the name"),
        ("nothing", None, ValueError, "nothing"),
        ("label", "nothing", ValueError, "nothing"),
        ("label", "label", ValueError, "both the classes and the weights"),
    ],
)
def test_columns_are_named(folder, y, sample_weight, error, message):
    with pytest.raises(error, match=message):
        AnJEClassifier().fit(folder / "plain.parquet", y, sample_weight=sample_weight)


@pytest.mark.parametrize(
    ("first", "second", "classes"),
    [
        (["1", "2"], ["two", "2"], ["1", "2", "two"]),
        (["two", "2"], ["1", "2"], ["1", "2", "two"]),
        (["1", "2"], ["1.0", "2.0"], [1, 2]),
        (["1", "2"], ["1.0", "two"], ["1", "1.0", "2", "two"]),
        (["true", "false"], ["true", "maybe"], ["false", "maybe", "true"]),
    ],
)
def test_labels_of_csv_files_may_change_their_type(tmp_path, first, second, classes):
    for name, labels in (("1.csv", first), ("2.csv", second)):
        lines = [f"{label},{value}" for label, value in zip(labels * 8, "uv" * 8, strict=True)]
        (tmp_path / name).write_text("\n".join(["y,a", *lines]) + "\n")
    model = AnJEClassifier(n=1).fit(tmp_path, "y")
    assert model.classes_.tolist() == classes


def test_a_file_of_one_class_is_refused(tmp_path):
    pq.write_table(pa.table({"a": [1, 2, 3], "y": ["x", "x", "x"]}), tmp_path / "one.parquet")
    with pytest.raises(ValueError, match="needs at least 2 classes"):
        AnJEClassifier().fit(tmp_path / "one.parquet", "y")


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0.5, 1.7], "column 'y' cannot be the classes: Unknown label type: continuous.* 0.5"),
        (["a", None], "column 'y' cannot be the classes: Input y contains NaN"),
    ],
)
def test_labels_that_are_no_classes_are_refused_by_name(tmp_path, labels, message):
    pq.write_table(pa.table({"a": [1, 2], "y": labels}), tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=rf"t\.parquet: {message}"):
        AnJEClassifier(n=1).fit(tmp_path / "t.parquet", "y")


@pytest.mark.parametrize("limit", ["1kB", "1MB"])
def test_a_tiny_limit_is_the_limit_to_raise(folder, limit):
    message = "takes about .* and memory_limit allows .*Raise memory_limit"
    with pytest.raises(MemoryError, match=message):
        AnJEClassifier(n=1, memory_limit=limit).fit(folder / "plain.csv", "label")


def test_a_limit_below_what_reading_takes_is_refused(folder):
    model = DBLClassifier(n=2, alpha=0.1, orders="exact", memory_limit="1MB")
    with pytest.raises(MemoryError, match="memory_limit"):
        model.fit(folder / "plain.parquet", "label")


def test_values_without_end_are_refused_by_name(tmp_path):
    texts = [f"identifier {k} of a row" for k in range(400_000)]
    table = pa.table({"a": [1, 2] * 200_000, "id": texts, "y": ["no", "yes"] * 200_000})
    pq.write_table(table, tmp_path / "ids.parquet")
    with pytest.raises(MemoryError, match="'id'"):
        AnJEClassifier(memory_limit="100MB").fit(tmp_path / "ids.parquet", "y")
