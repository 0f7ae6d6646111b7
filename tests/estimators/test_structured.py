"""KDB, TAN and ELR from tables to probabilities, against loops over the rows."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import OrdinalEncoder

from deepbroad import AnJEClassifier, KDBClassifier, TANClassifier
from tests import naive
from tests.engine.problems import Problem
from tests.estimators.tables import STRUCTURED, categorical_table, mixed_table

every_structured = pytest.mark.parametrize("model", STRUCTURED.values(), ids=STRUCTURED.keys())
with_and_without_weights = pytest.mark.parametrize("weighted", [False, True])
two_and_more_classes = pytest.mark.parametrize("n_classes", [2, 3])
ELR = {"fitting": "discriminative"}


def draw(seed, n_classes=3, weighted=False, rows=70, a=5):
    """Return a table, labels, weights or None, and the same as a problem of codes."""
    X, y = categorical_table(rows, seed=seed, n_classes=n_classes, a=a)
    # Columns that depend on each other beside the class.
    X["c3"] = np.where(np.random.default_rng(seed).random(rows) < 0.6, X["c1"], X["c3"])
    weights = np.random.default_rng(7).choice([0.5, 1.0, 3.0], rows) if weighted else None
    codes = np.ascontiguousarray(OrdinalEncoder(dtype=np.uint8).fit_transform(X).T)
    cardinalities = codes.max(axis=1).astype(int) + 1
    return X, y, weights, Problem(codes, y.astype(np.uint8), cardinalities, n_classes, weights)


def others(X, seed=0):
    """Return rows of known values, joined in ways that training mostly never had."""
    rng = np.random.default_rng(seed)
    return X.apply(lambda column: rng.permutation(column.to_numpy()))


def assert_equals_brute_force(model, parents, X, problem, m=1.0):
    names = list(X.columns)
    expected = {names[i]: {names[j] for j in given_} for i, given_ in enumerate(parents)}
    assert {name: set(given_) for name, given_ in model.parents_.items()} == expected
    tables = naive.structure_tables(
        problem.codes, problem.labels, problem.omega, parents, *problem.shape, m
    )
    encoder = OrdinalEncoder(dtype=int).fit(X)
    for table in (X, others(X)):
        codes = np.ascontiguousarray(encoder.transform(table).T)
        scores = naive.score_rows(*tables, codes, problem.cardinalities)
        np.testing.assert_allclose(
            model.predict_proba(table), naive.probabilities(scores), atol=1e-6
        )


@pytest.mark.parametrize("k", [0, 1, 2, 3])
@with_and_without_weights
@two_and_more_classes
def test_kdb_is_brute_force(k, n_classes, weighted):
    X, y, weights, problem = draw(k, n_classes, weighted)
    model = KDBClassifier(k=k, smoothing=0.7).fit(X, y, weights)
    parents = naive.kdb_parents(problem.codes, problem.labels, problem.omega, k)
    assert_equals_brute_force(model, parents, X, problem, m=0.7)


@pytest.mark.parametrize("seed", range(3))
@with_and_without_weights
@two_and_more_classes
def test_tan_is_brute_force(seed, n_classes, weighted):
    X, y, weights, problem = draw(seed, n_classes, weighted)
    model = TANClassifier().fit(X, y, weights)
    parents = naive.tan_parents(problem.codes, problem.labels, problem.omega)
    assert_equals_brute_force(model, parents, X, problem)


@pytest.mark.parametrize("shrink_to", ["zero", "generative"])
@with_and_without_weights
def test_elr_is_scipys_fit_on_explicit_features(weighted, shrink_to):
    X, y, weights, problem = draw(11, weighted=weighted)
    exact = ELR | {"alpha": 0.5, "shrink_to": shrink_to, "tol": 1e-9, "max_iter": 5000}
    labels, omega = problem.labels, problem.omega
    for model, parents in [
        (TANClassifier(**exact), naive.tan_parents(problem.codes, labels, omega)),
        (KDBClassifier(k=0, **exact), [()] * 5),
        (KDBClassifier(k=2, **exact), naive.kdb_parents(problem.codes, labels, omega, 2)),
    ]:
        fitted = naive.fit_elr(problem, parents, 0.5, to_generative=shrink_to == "generative")
        scores = naive.score_rows(*fitted, problem.codes, problem.cardinalities)
        found = model.fit(X, y, weights).predict_proba(X)
        np.testing.assert_allclose(found, naive.probabilities(scores), atol=1e-3)


@pytest.mark.parametrize("min_count", [1, 5])
def test_kdb_without_parents_is_naive_bayes(min_count):
    X, y = mixed_table(150)
    found = KDBClassifier(k=0, min_count=min_count).fit(X, y)
    expected = AnJEClassifier(n=1, min_count=min_count).fit(X, y)
    unseen = pd.concat([X, X.assign(colour="never seen")])
    np.testing.assert_allclose(
        found.predict_proba(unseen), expected.predict_proba(unseen), atol=1e-12
    )


def test_more_parents_than_attributes_before_are_all_of_those():
    X, y = categorical_table(80, a=4)
    model = KDBClassifier(k=5).fit(X, y)
    assert sorted(len(given_) for given_ in model.parents_.values()) == [0, 1, 2, 3]
    assert len(model.terms_) == 4


@given(st.integers(0, 2**32 - 1), st.integers(0, 3), st.permutations(range(5)))
def test_permuting_columns_permutes_the_structure(seed, k, order):
    rng = np.random.default_rng(seed)
    codes = rng.integers([2, 3, 4, 2, 3], size=(60, 5))
    codes[:, 3] = np.where(rng.random(60) < 0.5, codes[:, 1] % 2, codes[:, 3])
    X = pd.DataFrame(codes.astype(str), columns=list("abcde"))
    # Weights that have no ratio in common: no two informations are equal.
    y, weights = (codes[:, 0] + rng.integers(2, size=60)) % 2, rng.uniform(0.5, 2, 60)
    for model in (KDBClassifier(k=k), TANClassifier()):
        expected = clone(model).fit(X, y, weights)
        found = clone(model).fit(X.iloc[:, list(order)], y, weights)
        assert found.parents_.keys() == expected.parents_.keys()
        for name, given_ in expected.parents_.items():
            assert set(found.parents_[name]) == set(given_)
        np.testing.assert_allclose(
            found.predict_proba(X.iloc[:, list(order)]), expected.predict_proba(X), atol=1e-9
        )


@every_structured
def test_a_repeated_row_changes_structures_as_weight_two_does(model):
    X, y, *_ = draw(3)
    times = np.random.default_rng(1).integers(0, 4, 70)
    repeated = np.repeat(np.arange(70), times)
    model = clone(model).set_params(tol=1e-8, max_iter=2000)
    by_weight = clone(model).fit(X, y, times)
    by_rows = clone(model).fit(X.iloc[repeated], y[repeated])
    assert by_weight.parents_ == by_rows.parents_
    np.testing.assert_allclose(by_weight.predict_proba(X), by_rows.predict_proba(X), atol=1e-3)


def test_tables_are_probabilities_given_the_parent():
    X, y, *_ = draw(2)
    model = TANClassifier().fit(X, y)
    for child, given_ in model.parents_.items():
        theta = np.exp(model.tables_[(child, *given_)].scores)
        np.testing.assert_allclose(theta.sum(axis=0), 1, atol=1e-9)
        np.testing.assert_allclose(model.tables_[(child, *given_)].weights, 1, atol=1e-12)


def test_the_loss_of_elr_is_the_objective_in_its_weights():
    X, y, *_ = draw(4)
    for shrink_to, target in [("generative", 1.0), ("zero", 0.0)]:
        model = TANClassifier(**ELR, alpha=2.0, shrink_to=shrink_to).fit(X, y)
        log_loss = -np.log(model.predict_proba(X)[np.arange(len(y)), y]).sum()
        squares = sum(
            float(((model.tables_[names].weights - target) ** 2).sum()) for names in model.tables_
        )
        assert model.loss_ == pytest.approx((log_loss + squares) / len(y), rel=1e-6)


def test_elr_without_iterations_is_tan_and_with_them_has_a_lower_loss():
    X, y, *_ = draw(5)
    counted = TANClassifier().fit(X, y)
    with pytest.warns(ConvergenceWarning, match="max_iter=0"):
        start = TANClassifier(**ELR, max_iter=0).fit(X, y)
    np.testing.assert_allclose(start.predict_proba(X), counted.predict_proba(X), atol=1e-12)
    fitted = TANClassifier(**ELR).fit(X, y)
    assert fitted.status_ == "converged"
    assert fitted.loss_ < start.loss_ == fitted.loss_curve_[0]
    assert (np.diff(fitted.loss_curve_) <= 0).all()


def test_a_counted_fit_forgets_the_solver_of_the_one_before():
    X, y, *_ = draw(6)
    model = KDBClassifier(**ELR).fit(X, y)
    assert model.n_iter_ > 1
    model.set_params(fitting="generative").fit(X, y)
    assert model.n_iter_ == 1
    assert vars(model).keys() == vars(KDBClassifier().fit(X, y)).keys()


def test_a_warm_start_goes_on_where_the_counted_model_or_the_last_fit_ended():
    X, y, *_ = draw(7)
    model = TANClassifier(warm_start=True).fit(X, y)
    model.set_params(**ELR).fit(X, y)
    cold = TANClassifier(**ELR).fit(X, y)
    assert model.loss_curve_[0] == pytest.approx(cold.loss_curve_[0], rel=1e-9)
    first = model.loss_
    assert model.fit(X, y).loss_curve_[0] == pytest.approx(first, rel=1e-9)


def test_callbacks_watch_and_stop():
    X, y, *_ = draw(8)
    seen = []
    model = TANClassifier(**ELR, callbacks=[lambda p: seen.append(p.loss) or p.iteration == 2])
    assert model.fit(X, y).status_ == "stopped"
    assert seen == model.loss_curve_


def test_many_values_have_compact_tables():
    rng = np.random.default_rng(0)
    left = rng.integers(700, size=1500)
    X = pd.DataFrame({"a": left.astype(str), "b": (left % 600 + rng.integers(2, size=1500))})
    X["b"] = X["b"].astype(str)
    y = (left + rng.integers(2, size=1500)) % 2
    model = TANClassifier().fit(X, y)
    assert model._scorer.model.plan.terms.is_compact.tolist() == [False, True]
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
    (child,) = (name for name, given_ in model.parents_.items() if given_)
    counts = pd.DataFrame({"pair": X["a"] + "," + X["b"], "y": y})
    parent = X[model.parents_[child][0]]
    pairs, alone = (
        pd.crosstab(keys, counts["y"]).loc[keys].to_numpy() for keys in (counts["pair"], parent)
    )
    sizes = {name: X[name].nunique() for name in "ab"}
    space = sizes["a"] * sizes["b"]
    classes = np.bincount(y)
    joint = np.log((classes + 0.5) / (len(y) + 1)) + np.log(pairs + 1 / space)
    joint += np.log(alone + 1 / sizes[parent.name]) - np.log(classes + 1)
    joint -= np.log(alone + 1 / sizes[parent.name])
    expected = naive.probabilities(joint)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"k": -1}, "k must be an integer of at least 0"),
        ({"k": 1.0}, "k must be an integer"),
        ({"k": True}, "k must be an integer"),
        ({"k": 6}, "k must be at most 5"),
        ({"fitting": "both"}, "fitting must be 'generative' or 'discriminative'"),
        ({"shrink_to": "one"}, "shrink_to must be 'generative' or 'zero'"),
        ({"alpha": -1.0}, "alpha must be a number at least 0"),
        ({"solver": "newton"}, "solver must be"),
    ],
)
def test_wrong_parameters_are_refused(parameters, message):
    X, y = categorical_table(30)
    with pytest.raises(ValueError, match=message):
        KDBClassifier(**parameters).fit(X, y)


@every_structured
def test_an_estimate_counts_a_term_per_attribute(model):
    X, y = categorical_table(50)
    estimate = clone(model).estimate(X, y)
    assert estimate.terms == 4
    assert not hasattr(model, "classes_")


@every_structured
def test_attributes_of_one_value_change_nothing(model):
    X, y = categorical_table(50)
    model = clone(model).set_params(tol=1e-9)
    alone = clone(model).fit(X[["c0"]], y)
    wider = X[["c0"]].assign(same="always", none=None)
    found = clone(model).fit(wider, y)
    assert alone.parents_ == {"c0": ()}
    assert found.parents_["c0"] == ()
    np.testing.assert_allclose(
        found.predict_proba(wider), alone.predict_proba(X[["c0"]]), atol=1e-3
    )
