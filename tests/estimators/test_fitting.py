"""Fits that are watched, stopped, interrupted and taken up again."""

import logging
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from deepbroad import AnJEClassifier, DBLClassifier, LRClassifier, Progress
from tests.estimators.tables import categorical_table, mixed_table

every_discriminative = pytest.mark.parametrize(
    "model",
    [
        DBLClassifier(n=2, alpha=1.0),
        DBLClassifier(n=2, alpha=1.0, shrink_to="generative"),
        LRClassifier(n=2),
    ],
    ids=["DBL", "DBL to AnJE", "LR"],
)


@pytest.fixture(scope="module")
def table():
    return categorical_table(150)


@every_discriminative
def test_the_attributes_of_a_fit_agree(model, table):
    fitted = clone(model).fit(*table)
    assert fitted.status_ == "converged"
    assert fitted.n_iter_ == len(fitted.loss_curve_) - 1 > 0
    assert fitted.n_evaluations_ == len(fitted.evaluation_curve_) >= len(fitted.loss_curve_)
    assert fitted.loss_ == min(fitted.evaluation_curve_) == fitted.loss_curve_[-1]
    assert (np.diff(fitted.loss_curve_) <= 0).all()


def test_the_loss_is_the_objective(table):
    X, y = table
    model = LRClassifier(n=1, alpha=2.0).fit(X, y)
    log_loss = -np.log(model.predict_proba(X)[np.arange(len(y)), y]).sum()
    squares = sum(float((model.tables_[names].scores ** 2).sum()) for names in model.tables_)
    assert model.loss_ == pytest.approx((log_loss + squares) / len(y), rel=1e-9)


def test_the_loss_of_dbl_is_the_objective_in_its_weights(table):
    X, y = table
    for shrink_to, target in [("generative", 1 / 3), ("zero", 0.0)]:
        model = DBLClassifier(n=2, alpha=2.0, shrink_to=shrink_to).fit(X, y)
        log_loss = -np.log(model.predict_proba(X)[np.arange(len(y)), y]).sum()
        # Cells that no row reaches are at the target and add nothing.
        squares = sum(
            float(((model.tables_[names].weights - target) ** 2).sum()) for names in model.tables_
        )
        assert model.loss_ == pytest.approx((log_loss + squares) / len(y), rel=1e-6)


@every_discriminative
def test_a_tight_tolerance_reaches_a_lower_loss(model, table):
    loose = clone(model).set_params(tol=1e-2).fit(*table)
    tight = clone(model).set_params(tol=1e-6).fit(*table)
    assert tight.loss_ < loose.loss_
    assert tight.n_iter_ > loose.n_iter_


@every_discriminative
@pytest.mark.parametrize("max_iter", [0, 1, 3])
def test_a_fit_that_reaches_max_iter_warns_and_says_what_to_do(model, max_iter, table):
    model = clone(model).set_params(max_iter=max_iter, tol=0)
    with pytest.warns(ConvergenceWarning, match=f"max_iter={max_iter} before the loss settled"):
        model.fit(*table)
    assert model.n_iter_ == max_iter
    assert model.status_ == "max_iter"
    assert np.isfinite(model.predict_proba(table[0])).all()


def test_a_converged_fit_does_not_warn(table, recwarn):
    DBLClassifier(n=2, alpha=1.0).fit(*table)
    assert not recwarn.list


def test_dbl_without_iterations_is_anje(table):
    X, y = table
    with pytest.warns(ConvergenceWarning):
        start = DBLClassifier(n=2, alpha=1.0, max_iter=0).fit(X, y)
    expected = AnJEClassifier(n=2).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(start.predict_proba(X), expected, atol=1e-12)


@every_discriminative
def test_callbacks_see_every_iteration_and_may_stop_the_fit(model, table):
    seen = []

    def watch(progress):
        assert isinstance(progress, Progress)
        seen.append(progress.loss)
        return progress.iteration == 3

    fitted = clone(model).set_params(callbacks=[watch]).fit(*table)
    assert fitted.status_ == "stopped"
    assert fitted.n_iter_ == 3
    assert seen == fitted.loss_curve_


@every_discriminative
@pytest.mark.parametrize("iteration", [0, 2])
def test_ctrl_c_keeps_a_usable_model_and_warns(model, iteration, table):
    X, y = table

    def press(progress):
        if progress.iteration == iteration:
            raise KeyboardInterrupt

    interrupted = clone(model).set_params(callbacks=[press])
    with pytest.warns(ConvergenceWarning, match="was interrupted; the model holds the weights"):
        interrupted.fit(X, y)
    assert interrupted.status_ == "interrupted"
    assert interrupted.loss_ <= interrupted.loss_curve_[0]
    assert interrupted.score(X, y) > 0.3
    copy = pickle.loads(pickle.dumps(interrupted.set_params(callbacks=None)))
    np.testing.assert_array_equal(copy.predict(X), interrupted.predict(X))


def test_an_error_in_a_callback_is_raised(table):
    def fail(progress):
        raise RuntimeError("of the callback")

    with pytest.raises(RuntimeError, match="of the callback"):
        DBLClassifier(callbacks=[fail]).fit(*table)


@every_discriminative
def test_a_warm_start_begins_where_the_first_fit_ended(model, table):
    model = clone(model).set_params(warm_start=True, max_iter=4, tol=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(*table)
    first = model.loss_
    model.set_params(max_iter=500, tol=1e-5).fit(*table)
    assert model.loss_curve_[0] == pytest.approx(first, rel=1e-9)
    assert model.loss_ < first


def test_a_warm_start_needs_fewer_iterations_for_a_little_more_data():
    X, y = categorical_table(400)
    model = LRClassifier(n=2, warm_start=True).fit(X[:390], y[:390])
    cold = LRClassifier(n=2).fit(X, y)
    assert model.fit(X, y).loss_curve_[0] < cold.loss_curve_[0]
    assert model.n_iter_ < cold.n_iter_


def test_a_cold_start_forgets(table):
    model = LRClassifier(n=2)
    first = model.fit(*table).loss_curve_
    assert model.fit(*table).loss_curve_ == first


def test_a_warm_start_with_other_values_warns_and_starts_afresh(table):
    X, y = table
    model = LRClassifier(n=2, warm_start=True).fit(X, y)
    with pytest.warns(UserWarning, match=r"warm_start: .* starts afresh"):
        model.set_params(n=1).fit(X, y)
    assert model.loss_curve_ == LRClassifier(n=1).fit(X, y).loss_curve_


def test_a_warm_start_with_another_class_warns_and_starts_afresh(table):
    X, y = table
    model = DBLClassifier(n=2, alpha=1.0, warm_start=True).fit(X, y)
    with pytest.warns(UserWarning, match="starts afresh"):
        model.fit(X, np.where(np.arange(len(y)) % 7 == 0, 9, y))


def test_a_warm_start_does_not_take_one_value_for_another(table):
    X, y = table
    renamed = X.replace({"p": "z", "q": "y", "r": "x"})  # as many values, in another order
    model = LRClassifier(n=2, warm_start=True).fit(X, y)
    with pytest.warns(UserWarning, match=r"warm_start: .* starts afresh"):
        model.fit(renamed, y)


def test_a_warm_start_does_not_take_one_class_for_another(table):
    X, y = table
    model = LRClassifier(n=2, warm_start=True).fit(X, y)
    with pytest.warns(UserWarning, match=r"warm_start: .* starts afresh"):
        model.fit(X, np.array(["z", "y", "x"])[y])


def test_a_verbose_fit_logs_a_line_per_iteration_and_prints_nothing(table, caplog, capsys):
    with caplog.at_level(logging.INFO, logger="deepbroad"):
        model = DBLClassifier(n=1, alpha=1.0, verbose=1).fit(*table)
    lines = [record.getMessage() for record in caplog.records]
    X, y = table
    distinct = len(X.assign(y=y).drop_duplicates())
    assert f"DBLClassifier needs {distinct} rows, 4 terms" in lines[0]
    assert len([line for line in lines if line.startswith("iteration")]) == model.n_iter_ + 1
    assert capsys.readouterr() == ("", "")


def test_a_quiet_fit_logs_only_what_it_needs(table, caplog):
    with caplog.at_level(logging.INFO, logger="deepbroad"):
        DBLClassifier(n=1, alpha=1.0).fit(*table)
    assert len(caplog.records) == 1


def test_a_second_fit_replaces_the_first(table):
    X, y = table
    model = DBLClassifier(n=2, alpha=1.0).fit(*mixed_table(60))
    model.fit(X, y)
    np.testing.assert_array_equal(
        model.predict_proba(X), DBLClassifier(n=2, alpha=1.0).fit(X, y).predict_proba(X)
    )
    assert model.feature_names_in_.tolist() == list(X.columns)


def test_a_failed_fit_leaves_the_first_model_usable(table):
    X, y = table
    model = AnJEClassifier(n=2).fit(X, y)
    expected = model.predict_proba(X)
    with pytest.raises(ValueError, match="at least 2 classes"):
        model.fit(X, np.zeros(len(y)))
    np.testing.assert_array_equal(model.predict_proba(X), expected)


def test_the_papers_settings(table):
    model = DBLClassifier.paper(3)
    expected = DBLClassifier(
        n=3, alpha=0.01, orders="exact", bins="mdl", shrink_to="zero", smoothing=1.0
    )
    assert model.get_params() == expected.get_params()
    assert DBLClassifier.paper().n == 2
    assert type(DBLClassifier.paper()) is DBLClassifier
    with pytest.warns(ConvergenceWarning):
        start = DBLClassifier.paper(1).set_params(max_iter=0).fit(*table)
    expected = AnJEClassifier(n=1).fit(*table).predict_proba(table[0])
    np.testing.assert_allclose(start.predict_proba(table[0]), expected, atol=1e-12)
