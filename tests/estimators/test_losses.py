"""The parameter `loss` of the classifiers, from a table to probabilities and files."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import log_loss

import deepbroad
from deepbroad import DBLClassifier, LRClassifier
from deepbroad.engine.planning import Planner
from deepbroad.model.loss import LOSSES
from tests.estimators.tables import categorical_table, mixed_table

MODELS = {
    "DBL": DBLClassifier(n=2, alpha=1.0),
    "DBL to AnJE": DBLClassifier(n=2, alpha=1.0, shrink_to="generative"),
    "LR": LRClassifier(n=2, alpha=1.0),
}
every_loss = pytest.mark.parametrize("loss", LOSSES)
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=list(MODELS))


def make(model, loss, **parameters):
    return clone(model).set_params(loss=loss, **parameters)


@every_model
@every_loss
def test_probabilities_sum_to_one_and_follow_the_scores(model, loss):
    X, y = mixed_table()
    fitted = make(model, loss).fit(X, y)
    found = fitted.predict_proba(X)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_array_equal(fitted.classes_[found.argmax(axis=1)], fitted.predict(X))
    np.testing.assert_allclose(np.log(found), fitted.predict_log_proba(X), atol=1e-5)
    assert fitted.score(X, y) > 0.7
    assert (fitted.temperature_ == 1) == (loss != "squared_hinge")


@every_model
def test_each_loss_is_a_model_of_its_own(model):
    X, y = mixed_table()
    found = [make(model, loss).fit(X, y).predict_proba(X) for loss in LOSSES]
    for one, other in [(0, 1), (0, 2), (1, 2)]:
        assert np.abs(found[one] - found[other]).max() > 0.01


@pytest.mark.parametrize("loss", ["hinge", None, 1, ["log_loss"]])
def test_another_loss_is_refused(loss):
    X, y = categorical_table()
    for model in (DBLClassifier(loss=loss), LRClassifier(loss=loss)):
        with pytest.raises(ValueError, match="loss must be 'log_loss' or 'mse' or 'squared_hinge'"):
            model.fit(X, y)


@every_loss
def test_the_number_of_threads_changes_no_bit(loss):
    X, y = categorical_table(rows=3000)
    models = [make(MODELS["DBL"], loss, n_jobs=jobs, max_iter=5) for jobs in (1, 2)]
    with pytest.warns(UserWarning, match="max_iter"):
        found = [model.fit(X, y).predict_proba(X) for model in models]
    np.testing.assert_array_equal(*found)


@every_loss
def test_rows_in_another_order_give_the_same_model(loss):
    X, y = categorical_table(rows=120)
    order = np.random.default_rng(0).permutation(120)
    found = []
    for rows in (np.arange(120), order):
        model = make(MODELS["LR"], loss, tol=1e-10, max_iter=5000)
        found.append(model.fit(X.iloc[rows], y[rows]).predict_proba(X))
    np.testing.assert_allclose(*found, atol=1e-3)


@every_loss
def test_names_of_classes_do_not_matter(loss):
    X, y = categorical_table(rows=120)
    found = []
    for names in (np.array(["a", "b", "c"]), np.array(["z", "y", "x"])):
        model = make(MODELS["LR"], loss, tol=1e-10, max_iter=5000).fit(X, names[y])
        columns = np.searchsorted(model.classes_, names)
        found.append(model.predict_proba(X)[:, columns])
    # The hashes of rows hold their classes: other rows are held out for the temperature.
    np.testing.assert_allclose(*found, atol=0.05 if loss == "squared_hinge" else 1e-3)


@every_loss
def test_files_keep_loss_temperature_and_predictions(loss, tmp_path):
    X, y = mixed_table()
    model = make(MODELS["DBL"], loss).fit(X, y)
    deepbroad.save(model, tmp_path / "model.dbl")
    loaded = deepbroad.load(tmp_path / "model.dbl")
    assert loaded.loss == loss
    assert loaded.temperature_ == model.temperature_
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


@every_loss
def test_a_warm_start_goes_on_where_the_last_fit_ended(loss):
    X, y = categorical_table(rows=150)
    model = make(MODELS["DBL"], loss, warm_start=True).fit(X, y)
    first = model.loss_
    again = model.fit(X, y)
    assert again.loss_curve_[0] == pytest.approx(first, rel=1e-6)
    assert again.loss_ <= first * (1 + 1e-9)


def test_the_temperature_lowers_the_log_loss_of_fresh_rows():
    X, y = categorical_table(rows=3000, seed=3)
    train, test = slice(0, 1000), slice(1000, None)
    model = make(MODELS["LR"], "squared_hinge").fit(X[train], y[train])
    scores = model.predict_log_proba(X[test])
    at_one = scores / model.temperature_
    at_one -= np.log(np.exp(at_one).sum(axis=1, keepdims=True))
    losses = [log_loss(y[test], np.exp(s)) for s in (at_one, scores)]
    assert losses[1] < losses[0] - 0.01


@every_loss
def test_rows_of_weight_zero_are_as_if_absent(loss):
    X, y = categorical_table(rows=150)
    weights = np.ones(150)
    weights[::4] = 0.0
    model = make(MODELS["LR"], loss, tol=1e-10, max_iter=5000)
    found = model.fit(X, y, weights).predict_proba(X)
    alone = clone(model).fit(X[weights > 0], y[weights > 0]).predict_proba(X)
    np.testing.assert_allclose(found, alone, atol=1e-3)


@every_loss
def test_sparse_rows_are_fitted_by_their_items_too(loss, monkeypatch):
    monkeypatch.setattr(Planner, "cheapest", Planner.items)
    rng = np.random.default_rng(0)
    X = sparse.random_array((400, 60), density=0.03, rng=rng, format="csr")
    X.data[:] = 1.0
    y = (np.asarray(X[:, [0, 1, 2, 3, 4, 5]].sum(axis=1)).ravel() > 0).astype(int)
    model = make(MODELS["DBL"], loss).fit(X, y)
    assert model.score(X, y) > 0.95
    assert model._scorer.model.plan.items is not None


@every_loss
def test_weights_of_classes_are_heeded(loss):
    X, y = categorical_table(rows=300, n_classes=2)
    rare = np.flatnonzero(y == 1)[20:]
    X, y = X.drop(index=rare), np.delete(y, rare)
    shares = [
        make(MODELS["LR"], loss, class_weight=weight).fit(X, y).predict_proba(X)[:, 1].mean()
        for weight in (None, {1: 2.0}, "balanced")
    ]
    assert shares[0] < shares[1] < shares[2]
    assert shares[2] > shares[0] + 0.1
