"""AnDE from a data frame to probabilities: brute force, laws, parameters and model files."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.preprocessing import OrdinalEncoder

import deepbroad
from deepbroad import AnDEClassifier, AnJEClassifier, ModelFileError
from deepbroad.persist.container import Stamp, pack_file, unpack_file
from tests import naive
from tests.engine.problems import Problem
from tests.estimators.tables import categorical_table, mixed_table

every_depth = pytest.mark.parametrize("n", [0, 1, 2, 3])


@every_depth
@pytest.mark.parametrize("weighted", [False, True])
def test_probabilities_are_those_of_brute_force(n, weighted):
    X, y = categorical_table(40, a=4)
    weights = np.random.default_rng(7).choice([0.5, 1.0, 3.0], 40) if weighted else None
    new = X.copy()
    new.iloc[::3, 0], new.iloc[::4, 2] = "never seen", "nor this"
    encoder = OrdinalEncoder(
        dtype=np.uint8, handle_unknown="use_encoded_value", unknown_value=3
    ).fit(X)
    codes = np.ascontiguousarray(encoder.transform(X).T)
    problem = Problem(codes, y.astype(np.uint8), np.full(4, 3), 3, weights)
    model = AnDEClassifier(n, min_count=2).fit(X, y, weights)
    expected = naive.ande_rows(problem, n, encoder.transform(new).T, min_count=2)
    np.testing.assert_allclose(model.predict_proba(new), naive.probabilities(expected), atol=1e-6)


@pytest.mark.parametrize("smoothing", [1.0, 0.1])
def test_no_parents_are_naive_bayes(smoothing):
    X, y = mixed_table(150)
    weights = np.random.default_rng(0).exponential(size=150)
    found = AnDEClassifier(0, smoothing=smoothing).fit(X, y, weights)
    expected = AnJEClassifier(1, smoothing=smoothing).fit(X, y, weights)
    np.testing.assert_allclose(
        found.predict_log_proba(X), expected.predict_log_proba(X), atol=1e-10
    )
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))
    np.testing.assert_allclose(found.intercept_, expected.intercept_)


@every_depth
def test_a_repeated_row_is_a_row_of_weight_two(n):
    X, y = categorical_table(60)
    twice = np.arange(60) % 3 == 0
    rows = np.concatenate([np.arange(60), np.flatnonzero(twice)])
    model = AnDEClassifier(n, min_count=3)
    repeated = clone(model).fit(X.iloc[rows], y[rows]).predict_proba(X)
    weighted = clone(model).fit(X, y, 1.0 + twice).predict_proba(X)
    np.testing.assert_allclose(repeated, weighted, atol=1e-12)


@every_depth
def test_a_row_of_weight_zero_is_no_row(n):
    X, y = categorical_table(60)
    X.iloc[7, 1] = "only here"
    kept = np.arange(60) % 7 > 0
    weighted = AnDEClassifier(n).fit(X, y, kept.astype(float)).predict_proba(X)
    np.testing.assert_allclose(
        AnDEClassifier(n).fit(X[kept], y[kept]).predict_proba(X), weighted, atol=1e-12
    )


@every_depth
def test_the_order_of_rows_columns_and_classes_does_not_matter(n):
    X, y = mixed_table(150)
    rng = np.random.default_rng(0)
    expected = AnDEClassifier(n).fit(X, y).predict_proba(X)
    rows = rng.permutation(len(y))
    found = AnDEClassifier(n).fit(X.iloc[rows], y[rows]).predict_proba(X)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    swapped = X[rng.permutation(X.columns)]
    found = AnDEClassifier(n).fit(swapped, y).predict_proba(swapped)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    renamed = pd.Series(y).map({"ant": "z", "bee": "y", "cow": "x"}).to_numpy()
    found = AnDEClassifier(n).fit(X, renamed).predict_proba(X)
    np.testing.assert_allclose(found[:, ::-1], expected, atol=1e-12)


@every_depth
def test_any_number_of_jobs_gives_the_same_bits(n):
    X, y = mixed_table(150)
    expected = AnDEClassifier(n, n_jobs=1).fit(X, y).predict_proba(X)
    for n_jobs in (2, 3, None):
        found = AnDEClassifier(n, n_jobs=n_jobs).fit(X, y).predict_proba(X)
        np.testing.assert_array_equal(found, expected)


@every_depth
def test_predictions_agree_with_one_another(n):
    X, y = mixed_table(120)
    model = AnDEClassifier(n).fit(X, y)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.classes_[probabilities.argmax(axis=1)])
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(probabilities), atol=1e-9)
    assert model.decision_function(X).shape == (120, 3)


def test_pairs_are_found_that_single_columns_do_not_show():
    rng = np.random.default_rng(0)
    X = rng.choice(["a", "b"], (400, 3))
    y = (X[:, 0] == X[:, 1]).astype(int)
    assert AnDEClassifier(0).fit(X, y).score(X, y) < 0.7
    assert AnDEClassifier(1).fit(X, y).score(X, y) == 1.0


def test_tables_are_log_probabilities_of_tuples_by_name():
    X, y = categorical_table(50, a=3)
    model = AnDEClassifier(1).fit(X, y)
    assert model.terms_ == [
        ("c0",), ("c1",), ("c2",), ("c0", "c1"), ("c0", "c2"), ("c1", "c2"),
    ]  # fmt: skip
    for names in model.terms_:
        table = np.exp(model.tables_[names].scores)
        np.testing.assert_allclose(table.reshape(-1, 3).sum(axis=0), 1)
    np.testing.assert_allclose(np.exp(model.intercept_).sum(), 1)


def test_estimates_grow_with_depth_and_a_limit_below_them_is_refused():
    X, y = mixed_table(200)
    cells = [AnDEClassifier(n).estimate(X, y).cells for n in (0, 1, 2)]
    assert cells == sorted(set(cells))
    with pytest.raises(MemoryError, match="memory_limit"):
        AnDEClassifier(2, memory_limit=1000).fit(X, y)


def test_a_fit_that_is_too_large_names_the_n_that_would_do():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 20, (300, 12)).astype(str), rng.integers(0, 2, 300)
    needed = [AnDEClassifier(n).estimate(X, y).bytes for n in (0, 1)]
    with pytest.raises(MemoryError, match="n=0 would need"):
        AnDEClassifier(3, memory_limit=sum(needed) // 2).fit(X, y)
    AnDEClassifier(0, memory_limit=sum(needed) // 2).fit(X, y)


def test_lists_of_tuples_that_no_memory_holds_are_never_made():
    X, y = np.random.default_rng(0).choice(["a", "b"], (20, 3000)), np.arange(20) % 2
    with pytest.raises(MemoryError, match="counts 4,495,501,000 tuples of 3 attributes"):
        AnDEClassifier(2).fit(X, y)
    with pytest.raises(MemoryError, match="Lower n"):
        AnDEClassifier(2).estimate(X, y)


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"n": -1}, "n must be at least 0"),
        ({"n": 5}, "n=5 joins more attributes"),
        ({"n": True}, "n must be an integer"),
        ({"n": 1.0}, "n must be an integer"),
        ({"smoothing": -1}, "smoothing"),
        ({"smoothing": 0, "n": 2}, "smoothing=0 takes the logarithm of 0"),
        ({"min_count": 0}, "min_count"),
    ],
)
def test_parameters_that_cannot_be_are_refused(wrong, match):
    X, y = mixed_table(60)
    with pytest.raises(ValueError, match=match):
        AnDEClassifier(**wrong).fit(X, y)


def test_maximum_likelihood_is_allowed_where_nothing_is_zero():
    rng = np.random.default_rng(0)
    X, y = rng.choice(["a", "b"], (200, 3)), rng.integers(0, 2, 200)
    model = AnDEClassifier(1, smoothing=0).fit(X, y)
    assert np.isfinite(model.predict_log_proba(X)).all()


@every_depth
def test_a_model_survives_pickles_and_files_to_the_bit(n, tmp_path):
    X, y = mixed_table(120)
    weights = np.random.default_rng(0).exponential(size=120)
    model = AnDEClassifier(n, min_count=2, smoothing=0.5).fit(X, y, weights)
    new = pd.concat([X, X.assign(colour="never seen")])
    expected = model.predict_proba(new)
    deepbroad.save(model, tmp_path / "model.dbl")
    for copy in (pickle.loads(pickle.dumps(model)), deepbroad.load(tmp_path / "model.dbl")):
        np.testing.assert_array_equal(copy.predict_proba(new), expected)
        assert repr(copy) == repr(model)
        assert copy.terms_ == model.terms_
        np.testing.assert_array_equal(copy.intercept_, model.intercept_)


def forge(path, **changes):
    """Write the model file again with other arrays or parameters, and a checksum that is right."""
    _, tensors = unpack_file(path.read_bytes(), version="")
    text = json.loads(tensors["json"].tobytes())
    text["parameters"] |= changes.pop("parameters", {})
    tensors |= {"json": np.frombuffer(json.dumps(text).encode(), np.uint8), **changes}
    path.write_bytes(bytes(pack_file(Stamp("0", "AnDEClassifier"), tensors)))


@pytest.mark.parametrize(
    "parameters",
    [{"smoothing": -3.0}, {"n": 0}, {"n": 2}, {"n": "1"}, {"min_count": None}, {"n_jobs": 0}],
)
def test_files_with_parameters_of_another_model_are_refused(parameters, tmp_path):
    X, y = mixed_table(60)
    path = tmp_path / "model.dbl"
    deepbroad.save(AnDEClassifier(1).fit(X, y), path)
    forge(path)
    deepbroad.load(path)
    forge(path, parameters=parameters)
    with pytest.raises(ModelFileError, match="cannot be loaded"):
        deepbroad.load(path)


def test_files_with_negative_counts_are_refused(tmp_path):
    X, y = mixed_table(60)
    path = tmp_path / "model.dbl"
    deepbroad.save(AnDEClassifier(1).fit(X, y), path)
    forge(path, class_scores=np.array([5.0, -5.0, 60.0]))
    with pytest.raises(ModelFileError, match="not negative"):
        deepbroad.load(path)
