"""Classifiers among the tools that people use with scikit-learn."""

import subprocess
import sys

import cloudpickle
import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OrdinalEncoder

from deepbroad import AnJEClassifier, DBLClassifier, LRClassifier, MDLDiscretizer
from tests.estimators.tables import MODELS, categorical_table, mixed_table

MODEL = DBLClassifier(n=2, alpha=1.0, n_jobs=1)


def binned_pipeline():
    """Return numbers cut by MDL and the rest passed on, as a data frame, then a classifier."""
    columns = ColumnTransformer(
        [("bins", MDLDiscretizer(), make_column_selector(dtype_include="number"))],
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    model = LRClassifier(n=2, categorical_features=["length", "colour", "shape", "heavy"])
    return Pipeline([("columns", columns), ("model", model)])


def test_bins_of_a_column_transformer_are_those_of_the_model_itself():
    X, y = mixed_table(200)
    X = X[["length", "colour", "shape", "heavy"]]  # a ColumnTransformer puts its own first
    found = binned_pipeline().fit(X, y).predict_proba(X)
    np.testing.assert_allclose(found, LRClassifier(n=2).fit(X, y).predict_proba(X), atol=1e-12)


def test_a_search_reaches_into_a_pipeline():
    X, y = mixed_table(150)
    search = GridSearchCV(binned_pipeline(), {"model__n": [1, 2], "model__alpha": [1, 1e6]}, cv=2)
    search.fit(X, y)
    assert search.best_params_["model__alpha"] == 1
    assert search.best_estimator_["model"].n == search.best_params_["model__n"]
    assert search.best_estimator_["columns"].get_feature_names_out()[0] == "length"


@pytest.mark.parametrize(("output", "frame"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_a_discretizer_gives_the_frames_that_are_asked_for(output, frame):
    X = pd.DataFrame({"length": [1.0, 2.0, 8.0, 9.0] * 5, "width": [0.0, np.nan, 1.0, 1.0] * 5})
    y = ["a", "a", "b", "b"] * 5
    found = MDLDiscretizer().set_output(transform=output).fit(X, y).transform(X)
    assert isinstance(found, frame)
    assert list(found.columns) == ["length", "width"]
    expected = MDLDiscretizer().fit(X, y).transform(X)
    np.testing.assert_array_equal(found.to_numpy(), expected)
    assert list(found["length"])[:4] == [0, 0, 1, 1]


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_probabilities_are_calibrated_by_scikit_learn(method):
    X, y = mixed_table(240, n_classes=2)
    sure = AnJEClassifier(n=2)
    calibrated = CalibratedClassifierCV(sure, method=method, cv=2).fit(X[:160], y[:160])
    probabilities = calibrated.predict_proba(X[160:])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    plain = sure.fit(X[:160], y[:160]).predict_proba(X[160:])
    assert np.abs(probabilities - plain).max() > 0.01
    assert calibrated.score(X[160:], y[160:]) > 0.6


def test_permutation_finds_the_columns_that_matter():
    X, y = categorical_table(300, a=4)  # c3 takes no part in the labels
    model = LRClassifier(n=2).fit(X, y)
    found = permutation_importance(model, X, y, n_repeats=3, random_state=0, scoring="accuracy")
    assert found.importances_mean[:3].min() > found.importances_mean[3] + 0.05


@pytest.mark.parametrize("name", MODELS)
def test_joblib_keeps_a_model_to_the_bit(name, tmp_path):
    X, y = mixed_table(80)
    model = MODELS[name].fit(X, y)
    joblib.dump(model, tmp_path / "model.joblib", compress=3)
    # Arrays that are mapped from a file cannot be written to, as in joblib's workers.
    joblib.dump(model, tmp_path / "mapped.joblib")
    for copy in (
        joblib.load(tmp_path / "model.joblib"),
        joblib.load(tmp_path / "mapped.joblib", mmap_mode="r"),
    ):
        np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))


def test_workers_of_joblib_fit_the_same_models():
    X, y = categorical_table(60, a=3)
    grid = {"alpha": [0.5, 2.0]}
    alone = GridSearchCV(MODEL, grid, cv=2, scoring="neg_log_loss").fit(X, y)
    with joblib.parallel_config("loky", n_jobs=2):
        together = GridSearchCV(MODEL, grid, cv=2, scoring="neg_log_loss").fit(X, y)
    for name in ("split0_test_score", "split1_test_score"):
        np.testing.assert_array_equal(together.cv_results_[name], alone.cv_results_[name])


def test_cloudpickle_takes_a_model_with_a_callback_to_another_process(tmp_path):
    X, y = mixed_table(80)
    model = DBLClassifier(n=2, alpha=1.0, callbacks=[lambda progress: progress.iteration >= 3])
    model.fit(X, y)
    assert model.status_ == "stopped"
    (tmp_path / "model.pickle").write_bytes(cloudpickle.dumps((model, X)))
    code = (
        "import sys, pickle, numpy as np;"
        "model, X = pickle.load(open(sys.argv[1], 'rb'));"
        "np.save(sys.argv[2], model.predict_proba(X))"
    )
    paths = [str(tmp_path / "model.pickle"), str(tmp_path / "found.npy")]
    subprocess.run([sys.executable, "-c", code, *paths], check=True)
    np.testing.assert_array_equal(np.load(paths[1]), model.predict_proba(X))


@pytest.mark.parametrize("model", [MODEL, MDLDiscretizer()], ids=["classifier", "discretizer"])
def test_notebooks_show_a_model_as_html(model):
    X, y = mixed_table(60)
    before = model._repr_mimebundle_()["text/html"]
    fitted = type(model)(**model.get_params()).fit(X.select_dtypes(["number", "bool"]), y)
    after = fitted._repr_mimebundle_()["text/html"]
    assert type(model).__name__ in before
    assert "Not fitted" in before
    assert "Not fitted" not in after


def test_notebooks_show_a_pipeline_with_its_steps():
    html = binned_pipeline()._repr_mimebundle_()["text/html"]
    for name in ("ColumnTransformer", "MDLDiscretizer", "LRClassifier"):
        assert name in html


def test_columns_of_codes_need_to_be_named_categories():
    X, y = categorical_table(200, a=3)
    coder = OrdinalEncoder().set_output(transform="pandas")
    model = LRClassifier(n=2, categorical_features=list(X.columns))
    coded = Pipeline([("codes", coder), ("model", model)]).fit(X, y)
    expected = LRClassifier(n=2).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(coded.predict_proba(X), expected, atol=1e-6)
