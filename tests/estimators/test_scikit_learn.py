"""Classifiers inside scikit-learn's machinery."""

import pickle

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from deepbroad import AnJEClassifier, DBLClassifier, LRClassifier
from tests.estimators.tables import MODELS, STRUCTURED, categorical_table, mixed_table

EVERY = MODELS | STRUCTURED
every_model = pytest.mark.parametrize("model", EVERY.values(), ids=EVERY.keys())


@every_model
def test_a_clone_has_the_parameters_and_nothing_of_the_fit(model):
    X, y = mixed_table(60)
    fitted = clone(model).set_params(memory_limit="1GB").fit(X, y)
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "classes_")
    with pytest.raises(NotFittedError):
        copy.predict(X)


@every_model
def test_a_fit_returns_the_model_and_leaves_its_parameters_alone(model):
    X, y = mixed_table(60)
    model = clone(model)
    before = model.get_params()
    assert model.fit(X, y) is model
    assert model.get_params() == before


@every_model
def test_a_pickled_model_predicts_the_same_bits(model):
    X, y = mixed_table(80)
    fitted = clone(model).fit(X[:60], y[:60])
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.predict_proba(X), fitted.predict_proba(X))
    np.testing.assert_array_equal(copy.predict(X), fitted.predict(X))
    assert copy.classes_.tolist() == fitted.classes_.tolist()
    for names in fitted.tables_:
        np.testing.assert_array_equal(copy.tables_[names].scores, fitted.tables_[names].scores)


@every_model
def test_predictions_agree_with_one_another(model):
    X, y = mixed_table(120)
    fitted = clone(model).fit(X, y)
    probabilities = fitted.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_array_equal(fitted.predict(X), fitted.classes_[probabilities.argmax(axis=1)])
    np.testing.assert_allclose(fitted.predict_log_proba(X), np.log(probabilities), atol=1e-9)
    scores = fitted.decision_function(X)
    assert scores.shape == (120, 3)
    np.testing.assert_allclose(scores.mean(axis=1), 0, atol=1e-12)
    np.testing.assert_array_equal(scores.argmax(axis=1), probabilities.argmax(axis=1))
    powers = np.exp(scores)
    np.testing.assert_allclose(powers / powers.sum(axis=1, keepdims=True), probabilities, atol=1e-9)


@every_model
def test_two_classes_have_one_decision_score_the_log_odds(model):
    X, y = mixed_table(120, n_classes=2)
    fitted = clone(model).fit(X, y)
    scores, probabilities = fitted.decision_function(X), fitted.predict_proba(X)
    assert scores.shape == (120,)
    np.testing.assert_allclose(scores, np.log(probabilities[:, 1] / probabilities[:, 0]), atol=1e-9)
    np.testing.assert_array_equal(fitted.predict(X), fitted.classes_[(scores > 0).astype(int)])


@every_model
def test_any_number_of_jobs_gives_the_same_bits(model):
    X, y = mixed_table(150)
    expected = clone(model).set_params(n_jobs=1).fit(X, y).predict_proba(X)
    for n_jobs in (2, 3, -1, None):
        found = clone(model).set_params(n_jobs=n_jobs).fit(X, y).predict_proba(X)
        np.testing.assert_array_equal(found, expected)


def test_a_pipeline_passes_data_frames_through():
    X, y = mixed_table(100)
    pick = make_column_transformer(("passthrough", ["colour", "length"]))
    pick.set_output(transform="pandas")
    pipeline = make_pipeline(pick, DBLClassifier(n=2, alpha=1.0)).fit(X, y)
    picked = X[["colour", "length"]]
    expected = DBLClassifier(n=2, alpha=1.0).fit(picked, y).predict_proba(picked)
    np.testing.assert_array_equal(pipeline.predict_proba(X), expected)


def test_cross_validation_finds_pairs_better_than_single_columns():
    X, y = categorical_table(300, a=3)
    single = cross_val_score(LRClassifier(n=1), X, y, cv=3, scoring="neg_log_loss").mean()
    pairs = cross_val_score(LRClassifier(n=2), X, y, cv=3, scoring="neg_log_loss").mean()
    assert pairs > single
    assert cross_val_predict(AnJEClassifier(), X, y, cv=3, method="predict_proba").shape == (300, 3)


def test_a_grid_search_over_depth_and_strength_takes_the_best():
    X, y = categorical_table(200, a=3)
    grid = {"n": [1, 2], "alpha": [1.0, 10.0]}
    search = GridSearchCV(DBLClassifier(), grid, cv=2, scoring="neg_log_loss").fit(X, y)
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()
    refitted = clone(search.best_estimator_).fit(X, y)
    np.testing.assert_array_equal(refitted.predict_proba(X), search.predict_proba(X))


def test_fits_may_run_side_by_side_in_threads():
    X, y = categorical_table(60, a=3)
    expected = cross_val_score(LRClassifier(n=2), X, y, cv=3)
    with joblib.parallel_config("threading", n_jobs=3):
        scores = cross_val_score(LRClassifier(n=2), X, y, cv=3)
    np.testing.assert_array_equal(scores, expected)


def test_sample_weights_are_routed_through_a_pipeline_and_a_search():
    X, y = categorical_table(90, a=3)
    weights = np.random.default_rng(0).choice([0.5, 1.0, 4.0], 90)
    with sklearn.config_context(enable_metadata_routing=True):
        model = DBLClassifier(n=1, alpha=1.0).set_fit_request(sample_weight=True)
        pipeline = make_pipeline(FunctionTransformer(), model).fit(X, y, sample_weight=weights)
        search = GridSearchCV(
            DBLClassifier(n=1, alpha=1.0)
            .set_fit_request(sample_weight=True)
            .set_score_request(sample_weight=True),
            {"alpha": [1.0]},
            cv=2,
        ).fit(X, y, sample_weight=weights)
    expected = DBLClassifier(n=1, alpha=1.0).fit(X, y, sample_weight=weights).predict_proba(X)
    unweighted = DBLClassifier(n=1, alpha=1.0).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(pipeline.predict_proba(X), expected)
    np.testing.assert_array_equal(search.predict_proba(X), expected)
    assert np.abs(unweighted - expected).max() > 1e-3


def test_unrequested_weights_are_refused_by_routing():
    X, y = categorical_table(30, a=3)
    with (
        sklearn.config_context(enable_metadata_routing=True),
        pytest.raises(sklearn.exceptions.UnsetMetadataPassedError, match="sample_weight"),
    ):
        make_pipeline(AnJEClassifier()).fit(X, y, sample_weight=np.ones(30))


def test_a_score_is_the_weighted_share_of_right_predictions():
    X, y = mixed_table(100)
    model = AnJEClassifier().fit(X, y)
    weights = np.arange(100.0)
    right = model.predict(X) == y
    assert model.score(X, y) == pytest.approx(right.mean())
    assert model.score(X, y, weights) == pytest.approx(weights[right].sum() / weights.sum())


def test_the_representation_shows_what_was_changed():
    assert repr(DBLClassifier(n=3, alpha=0.1)) == "DBLClassifier(alpha=0.1, n=3)"
