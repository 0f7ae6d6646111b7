from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from deepbroad import DBLClassifier
from deepbroad.experiments.evaluation import Bench, Means
from deepbroad.experiments.methods import METHODS, Method
from deepbroad.experiments.protocol import folds
from deepbroad.measures import measure
from tests.experiments.small_trials import ROWS, make_table, make_trials

MEANS = Means(threads=1, memory=2**30)


def evaluate(trial):
    return Bench(MEANS).evaluate(trial, lambda: None)


@pytest.fixture
def trial():
    return make_trials("prior")[1]


@pytest.mark.parametrize("name", ["A1JE", "DBL1", "RF"])
def test_columns_are_those_of_a_fit_by_hand(trial, name):
    found = evaluate(replace(trial, method=METHODS[name]))
    X, y = make_table()
    train, test = folds(ROWS, None, trial.round)[trial.fold]
    model = METHODS[name].create().fit(X.take(train), y[train])
    probabilities = model.predict_proba(X.take(test))
    expected = measure(y[test], probabilities, classes=model.classes_)
    for measured, value in expected._asdict().items():
        assert found[measured] == pytest.approx(value, rel=1e-6), measured
    classes = np.array(["no", "yes"])
    np.testing.assert_array_equal(classes[found["predicted"]], model.predict(X.take(test)))
    np.testing.assert_array_equal(classes[found["actual"]], y[test])
    if name == "DBL1":
        assert (found["iterations"], found["passes"]) == (model.n_iter_, model.n_evaluations_)
        np.testing.assert_allclose(found["loss_curve"], model.loss_curve_, rtol=1e-6)
    else:
        assert found["iterations"] is found["passes"] is found["loss_curve"] is None


def test_a_class_that_training_lacks_counts_in_rmse(trial):
    _, y = make_table()
    train, test = folds(ROWS, None, 0)[1]
    y = y.astype(object)
    y[test[0]] = "very rare"
    found = evaluate(_with_labels(trial, y))
    share = np.mean(y[train] == "yes")
    squares = [
        np.sum((np.array([label == "no", label == "very rare", label == "yes"], float)
                - [1 - share, 0, share]) ** 2)
        for label in y[test]
    ]  # fmt: skip
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean(squares) / 3))


def _with_labels(trial, y):
    X, _ = make_table()
    dataset = replace(trial.subject.dataset, make=lambda: (X, y))
    return replace(trial, subject=replace(trial.subject, dataset=dataset))


def test_it_says_when_the_work_that_counts_begins(trial):
    created = []

    def create():
        created.append(METHODS["A1JE"].create())
        return created[-1]

    begun = []
    bench = Bench(MEANS)
    for _ in range(2):
        bench.evaluate(
            replace(trial, method=Method("A1JE", create)), lambda: begun.append(len(created))
        )
    # A first fit loads compiled code before the first trial, and none before the second.
    assert begun == [2, 3]
    assert hasattr(created[0], "classes_")


def test_the_first_fit_is_short(trial):
    seen = []
    method = Method(
        "forest",
        METHODS["RF"].create,
        first=lambda: seen.append(METHODS["RF"].create()) or seen[-1],
    )
    evaluate(replace(trial, method=method))
    assert len(seen[0][-1].estimators_) == 1


def test_models_get_their_threads_and_memory(trial):
    made = []

    def create():
        made.append(METHODS["RF"].create() if len(made) > 1 else METHODS["A1JE"].create())
        return made[-1]

    evaluate(replace(trial, method=Method("A1JE", create)))
    assert (made[1].n_jobs, made[1].memory_limit) == (1, 2**30)
    assert evaluate(replace(trial, method=Method("RF", create)))["error"] < 0.5
    assert made[-1][-1].n_jobs == 1


def test_warnings_of_a_fit_are_its_message(trial):
    create = partial(DBLClassifier, 1, alpha=0.01, max_iter=1)
    found = evaluate(replace(trial, method=Method("DBL1", create)))
    assert "max_iter" in found["message"]
    assert evaluate(trial)["message"] == ""
