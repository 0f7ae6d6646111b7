"""Fitted models as named tables, and the terms that they are restricted to."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.base import clone

from deepbroad import AnJEClassifier, DBLClassifier, LRClassifier
from deepbroad.engine import planning
from tests.estimators.tables import MODELS, categorical_table, mixed_table

every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())


def add_up(model, X):
    """Return the scores (rows, C) that the tables give the rows of a data frame of strings."""
    scores = np.tile(model.intercept_, (len(X), 1))
    for names, table in model.tables_.items():
        places = [
            [values.index(value) for value in X[name]]
            for name, values in zip(table.attributes, table.values, strict=True)
        ]
        assert names == table.attributes
        scores += table.scores[tuple(places)]
    return scores


@every_model
@pytest.mark.parametrize("n", [1, 2, 3])
def test_tables_add_up_to_the_decision_function(model, n):
    X, y = categorical_table(90)
    fitted = clone(model).set_params(n=n).fit(X, y)
    scores = add_up(fitted, X)
    found = fitted.decision_function(X)
    np.testing.assert_allclose(found, scores - scores.mean(axis=1, keepdims=True), atol=1e-9)


@every_model
def test_for_two_classes_the_difference_of_tables_is_the_decision_function(model):
    X, y = categorical_table(90, n_classes=2)
    fitted = clone(model).fit(X, y)
    scores = add_up(fitted, X)
    np.testing.assert_allclose(fitted.decision_function(X), scores[:, 1] - scores[:, 0], atol=1e-9)


def test_tables_are_named_by_attributes_values_and_classes():
    X, y = mixed_table(400)
    model = DBLClassifier(n=2, alpha=1.0).fit(X, y)
    assert len(model.tables_) == 6
    assert list(model.tables_)[:2] == [("colour", "shape"), ("colour", "heavy")]
    table = model.tables_["colour", "shape"]
    assert table.values == (["blue", "green", "red"], ["round", "square"])
    assert table.classes.tolist() == ["ant", "bee", "cow"]
    assert table.scores.shape == table.weights.shape == (3, 2, 3)
    bins = model.tables_["colour", "length"].values[1]
    assert all(name.startswith(("<", ">=", "[")) for name in bins)
    turned = model.tables_["shape", "colour"]
    np.testing.assert_array_equal(turned.scores, table.scores.transpose(1, 0, 2))
    assert "6 tables over 4 attributes" in repr(model.tables_)


def test_names_keep_the_order_of_the_table_whatever_columns_are_fused(monkeypatch):
    monkeypatch.setattr(planning, "FEW_LOOKUPS", 0)  # so that a plan is searched for
    X, y = categorical_table(3000, a=12)
    X["c11"] = X["c10"] = X["c0"]  # joined into one group, since one tells the others
    model = AnJEClassifier(n=2).fit(X, y)
    order = np.concatenate([group.columns for group in model._scorer.model.plan.groups])
    assert order.tolist() != list(range(12)), "the planner was to reorder columns"
    assert list(model.tables_) == list(combinations(X.columns, 2))
    scores = add_up(model, X[:50])
    expected = model.decision_function(X[:50])
    np.testing.assert_allclose(scores - scores.mean(axis=1, keepdims=True), expected, atol=1e-9)


def test_a_single_name_is_a_tuple_of_one():
    model = AnJEClassifier(n=1).fit(*mixed_table(60))
    np.testing.assert_array_equal(model.tables_["colour"].scores, model.tables_["colour",].scores)


@pytest.mark.parametrize("names", ["colour", ("colour", "hue"), ("colour", "colour"), (0, 1)])
def test_tables_that_are_not_there_are_refused_by_name(names):
    model = AnJEClassifier(n=2).fit(*mixed_table(60))
    with pytest.raises(KeyError, match="no table of"):
        model.tables_[names]


def test_the_attribute_that_was_probably_meant_is_offered():
    model = AnJEClassifier(n=1).fit(*mixed_table(60))
    with pytest.raises(KeyError, match=r"'color' is no attribute\. Did you mean 'colour'\?"):
        model.tables_["color"]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_weights_times_log_probabilities_are_scores(n):
    X, y = categorical_table(60)
    generative = AnJEClassifier(n=n).fit(X, y).tables_
    fitted = DBLClassifier(n=n, alpha=1.0).fit(X, y).tables_
    p = {1: 1, 2: 3, 3: 3}[n]
    for names, table in fitted.items():
        np.testing.assert_allclose(generative[names].weights, 1 / p)
        log_theta = generative[names].scores * p
        np.testing.assert_allclose(np.exp(log_theta).sum(axis=tuple(range(n))), 1)
        np.testing.assert_allclose(table.weights * log_theta, table.scores, atol=1e-9)


def test_a_model_without_a_generative_side_has_no_weights():
    model = LRClassifier(n=1).fit(*mixed_table(60))
    assert model.tables_["colour"].weights is None


def test_missing_values_have_a_name():
    X, y = categorical_table(60)
    X.loc[::5, "c0"] = None
    model = AnJEClassifier(n=1).fit(X, y)
    assert model.tables_["c0"].values == (["p", "q", "r", "missing"],)


def test_a_table_is_one_arrow_row_per_cell():
    X, y = mixed_table(60)
    table = DBLClassifier(n=2, alpha=1.0).fit(X, y).tables_["shape", "colour"]
    frame = table.to_arrow().to_pandas()
    assert list(frame.columns) == [
        "shape", "colour", "score of ant", "score of bee", "score of cow",
    ]  # fmt: skip
    assert len(frame) == 6
    row = frame[(frame["shape"] == "square") & (frame["colour"] == "green")]
    np.testing.assert_array_equal(row.iloc[0, 2:].to_numpy(float), table.scores[1, 1])


def test_the_intercept_of_anje_is_the_log_of_the_class_probabilities():
    X, y = categorical_table(60)
    model = AnJEClassifier(n=2).fit(X, y)
    counts = np.bincount(y)
    np.testing.assert_allclose(model.intercept_, np.log((counts + 1 / 3) / 61))


# Terms.


@every_model
def test_all_tuples_as_terms_are_the_model_without_terms(model):
    X, y = categorical_table(80)
    terms = [(f"c{i}", f"c{j}") for i in range(4) for j in range(i)]
    expected = clone(model).fit(X, y)
    found = clone(model).set_params(terms=terms).fit(X, y)
    assert set(found.tables_) == set(expected.tables_)
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=1e-3)


@every_model
def test_only_the_chosen_terms_have_tables(model):
    X, y = categorical_table(80)
    fitted = clone(model).set_params(terms=[("c2", "c0"), (1, "c0"), ("c0", "c1")]).fit(X, y)
    assert set(fitted.tables_) == {("c0", "c2"), ("c0", "c1")}
    ignored = X.assign(c3="never seen")
    np.testing.assert_array_equal(fitted.predict_proba(ignored), fitted.predict_proba(X))
    scores = add_up(fitted, X)
    found = fitted.decision_function(X)
    np.testing.assert_allclose(found, scores - scores.mean(axis=1, keepdims=True), atol=1e-9)


def test_terms_of_single_attributes_need_no_tuples():
    X, y = categorical_table(80)
    found = AnJEClassifier(n=1, terms=["c0", 2]).fit(X, y).predict_proba(X)
    expected = AnJEClassifier(n=1).fit(X[["c0", "c2"]], y).predict_proba(X[["c0", "c2"]])
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_disjoint_partition_as_terms_is_one_joint_estimator():
    X, y = categorical_table(80)
    found = AnJEClassifier(n=2, terms=[("c0", "c1"), ("c2", "c3")]).fit(X, y).predict_proba(X)
    joined = X.assign(left=X["c0"] + X["c1"], right=X["c2"] + X["c3"])[["left", "right"]]
    model = AnJEClassifier(n=1).fit(joined, y)
    if all(joined[c].nunique() == 9 for c in joined):
        np.testing.assert_allclose(found, model.predict_proba(joined), atol=1e-12)
    else:
        pytest.fail("the table must have every pair of values for this oracle")


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ([("c0", "hue")], "`terms` names 'hue', and X has no such column. All columns: 'c0'"),
        ([("c0", "C1")], r"Did you mean 'c1'\?"),
        ([(0, 9)], r"`terms` names 9, and X has no such column\. All columns: 'c0'"),
        ([(0, -1)], "`terms` names -1"),
        ([(True, 0)], "`terms` names True"),
        ([("c0",)], "must name 2 different attributes since n=2"),
        ([("c0", "c1", "c2")], "must name 2 different attributes"),
        ([("c0", "c0")], "must name 2 different attributes"),
        ([], "`terms` is empty"),
        ([None], "`terms`"),
        ([3.5], "`terms`"),
        (5, "`terms`"),
        ("c0", "`terms`"),
    ],
)
def test_wrong_terms_are_refused(terms, message):
    X, y = categorical_table(40)
    with pytest.raises((ValueError, TypeError), match=message):
        AnJEClassifier(n=2, terms=terms).fit(X, y)


def test_a_table_says_what_it_is_in_a_line():
    X, y = categorical_table(60)
    table = AnJEClassifier(n=2).fit(X, y).tables_["c0", "c1"]
    assert repr(table) == "TermTable(c0, c1: 9 cells, 3 classes)"
