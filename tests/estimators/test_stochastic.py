"""`solver="sgd"` from outside."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss

from deepbroad import DBLClassifier, LRClassifier
from deepbroad.engine import batches
from tests.estimators.tables import categorical_table

MODELS = {
    "DBL": DBLClassifier(n=2, alpha=1.0, shrink_to="generative"),
    "LR": LRClassifier(n=2, alpha=1.0),
}


def make(name, **parameters):
    model = MODELS[name]
    return type(model)(**model.get_params()).set_params(**parameters)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(batches, "LEAST_ROWS", 20)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    ("loss", "close"), [("log_loss", 5e-3), ("mse", 0.03), ("squared_hinge", 0.03)]
)
def test_the_loss_is_nearly_that_of_lbfgs(name, loss, close):
    X, y = categorical_table(rows=160)
    exact = make(name, loss=loss, tol=1e-7).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = make(name, loss=loss, solver="sgd", tol=1e-9, max_iter=400).fit(X, y)
    # Without held-out rows, what it reports is the same F.
    np.testing.assert_allclose(found.loss_, exact.loss_, rtol=close)


def test_sorted_rows_are_learned_as_well():
    X, y = categorical_table(rows=600)
    order = np.argsort(y, kind="stable")
    exact = make("DBL").fit(X, y)
    found = make("DBL", solver="sgd", tol=1e-6, max_iter=100).fit(X.iloc[order], y[order])
    assert log_loss(y, found.predict_proba(X)) <= 1.02 * log_loss(y, exact.predict_proba(X))


@pytest.mark.parametrize("alpha", [1e3, 1e6])
def test_strengths_that_held_out_rows_would_not_choose_are_kept(alpha, monkeypatch):
    monkeypatch.setattr(batches, "FEWEST_ROWS", 100)
    X, y = categorical_table(rows=600)
    exact = make("DBL", alpha=alpha, shrink_to="zero", tol=1e-7).fit(X, y)
    found = make("DBL", alpha=alpha, shrink_to="zero", solver="sgd").fit(X, y)
    # As far as the rows that were held out go.
    np.testing.assert_allclose(found.predict_proba(X), exact.predict_proba(X), atol=0.06)


def test_the_loss_of_held_out_rows_ends_the_fit(monkeypatch):
    monkeypatch.setattr(batches, "FEWEST_ROWS", 100)
    X, y = categorical_table(rows=600)
    model = make("DBL", solver="sgd").fit(X, y)
    assert model.status_ == "converged"
    assert model.n_iter_ == model.n_evaluations_ == len(model.loss_curve_) - 1
    assert model.loss_ == min(model.loss_curve_)


def test_max_iter_counts_passes():
    X, y = categorical_table()
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        model = make("DBL", solver="sgd", max_iter=2, tol=0.0).fit(X, y)
    assert model.n_evaluations_ == 2


def test_weights_count_like_rows():
    X, y = categorical_table(rows=160)
    weights = np.tile([1.0, 3.0], 80)
    repeated = np.repeat(np.arange(160), weights.astype(int))
    settings = {"solver": "sgd", "tol": 1e-9, "max_iter": 400}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        weighted = make("LR", **settings).fit(X, y, sample_weight=weights)
        exact = make("LR").fit(X.iloc[repeated], y[repeated])
    np.testing.assert_allclose(weighted.loss_, exact.loss_, rtol=5e-3)


def test_threads_change_no_bit_and_seeds_do(monkeypatch):
    monkeypatch.setattr(batches, "FEWEST_ROWS", 100)
    X, y = categorical_table(rows=2000)
    one, two, other = (
        make("DBL", solver="sgd", n_jobs=jobs, random_state=seed).fit(X, y).predict_proba(X)
        for jobs, seed in ((1, 0), (2, 0), (1, 1))
    )
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)


def test_lbfgs_goes_on_from_its_solution():
    X, y = categorical_table(rows=300)
    cold = make("DBL", tol=1e-9).fit(X, y)
    model = make("DBL", solver="sgd", warm_start=True, tol=1e-6).fit(X, y)
    model.set_params(solver="lbfgs", tol=1e-9).fit(X, y)
    assert model.loss_curve_[0] < cold.loss_curve_[0]
    assert model.n_evaluations_ < cold.n_evaluations_
    np.testing.assert_allclose(model.loss_, cold.loss_, rtol=1e-6)


def test_a_checkpoint_goes_on_as_if_nothing_had_happened(tmp_path):
    X, y = categorical_table(rows=300)
    settings = {"solver": "sgd", "tol": 1e-6, "checkpoint": str(tmp_path)}
    whole = make("DBL", solver="sgd", tol=1e-6).fit(X, y)
    stopped = make("DBL", **settings, callbacks=[lambda p: p.iteration == 2]).fit(X, y)
    assert stopped.status_ == "stopped"
    again = make("DBL", **settings).fit(X, y)
    assert again.loss_curve_ == whole.loss_curve_
    assert np.array_equal(again.predict_proba(X), whole.predict_proba(X))
