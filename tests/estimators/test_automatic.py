"""The model that a user gets without arguments: what it chooses, holds, and refuses."""

import json
import pickle
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import deepbroad
from deepbroad import DBLClassifier, LRClassifier
from deepbroad.data.pyramid import list_places
from tests.estimators.tables import categorical_table, mixed_table, small_table

KEYS = {
    "n", "loss", "tables", "by_counts", "folds", "rows", "trials", "complete", "warnings",
}  # fmt: skip


@pytest.fixture(scope="module")
def table():
    return mixed_table(rows=200)


@pytest.fixture(scope="module")
def model(table):
    return DBLClassifier().fit(*table)


# What was chosen.


def test_the_selection_says_what_was_tried_and_taken(model):
    chosen = model.selection_
    assert set(chosen) == KEYS
    assert chosen["n"] == model.recipe_.depth
    orders = Counter(str(len(table.features)) for table in model.recipe_.tables)
    assert chosen["tables"] == orders
    assert chosen["rows"] == 200
    assert chosen["complete"]
    assert chosen["warnings"] == []
    trials = chosen["trials"]
    assert all({"order", "tables", "loss", "taken"} <= set(trial) for trial in trials)
    assert [trial["order"] for trial in trials] == list(range(1, len(trials) + 1))
    taken = [trial["order"] for trial in trials if trial["taken"]]
    assert taken[0] == 1
    assert max(taken) >= chosen["n"]
    assert json.loads(json.dumps(chosen)) == chosen


def test_the_default_is_good_on_new_rows(table, model):
    X, y = mixed_table(rows=2000, seed=1)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    # A tenth of the labels are wrong by design: 15 % drawn anew, a third of them right.
    assert model.score(X, y) > 0.85
    assert (model.predict(X) == model.classes_[probabilities.argmax(axis=1)]).all()


def test_what_is_not_chosen_is_not_reported(table):
    for model in (DBLClassifier.paper(1), DBLClassifier(n=2, alpha=(1.0, 10.0))):
        assert model.fit(*table).selection_ is None


def test_a_product_of_two_numbers_among_ten_is_learned():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1400, 10))
    y = np.where(X[:, 2] * X[:, 7] > 0, "same", "other")
    model = DBLClassifier().fit(X[:400], y[:400])
    assert model.selection_["n"] >= 2
    assert model.score(X[400:], y[400:]) > 0.9
    # As in the paper, neither number would have a bin.
    assert DBLClassifier.paper(2).fit(X[:400], y[:400]).score(X[400:], y[400:]) < 0.7


def test_depth_alone_may_be_given(table):
    model = DBLClassifier(n=1).fit(*table)
    assert model.selection_["n"] == 1
    assert {len(term) for term in model.terms_} == {1}


def test_more_depth_than_attributes_is_not_tried():
    X, y = small_table()
    assert DBLClassifier().fit(X, y).selection_["n"] <= 2
    model = DBLClassifier().fit(X[["size"]], y)
    assert model.selection_["n"] == 1


def test_given_terms_set_the_depth():
    X, y = categorical_table(60, a=3)
    names = list(X.columns)
    model = DBLClassifier(terms=[(names[0], names[1])]).fit(X, y)
    assert model.selection_["n"] == 2
    assert model.terms_ == [(names[0],), (names[1],), (names[0], names[1])]


# Parameters.


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 1.0}, 'n="auto" goes with alpha="auto"'),
        ({"n": "deep"}, 'n must be an integer, or "auto"'),
        ({"n": 2, "alpha": "best"}, "alpha must be a number at least 0, got 'best'"),
        ({"n": 2, "alpha": [1.0]}, "alpha has 1 strengths; give one for each order from 1 to n=2"),
        ({"n": 2, "alpha": (1.0, 2.0, 3.0)}, "alpha has 3 strengths"),
        ({"alpha": [1.0, 2.0]}, 'n="auto" goes with alpha="auto"'),
        ({"n": 2, "alpha": [1.0, -1.0]}, "each alpha must be a number at least 0"),
        ({"n": 2, "alpha": [1.0, "x"]}, "each alpha must be a number"),
        ({"n": 2, "alpha": [1.0, 2.0], "orders": "exact"}, "alpha has 2 strengths"),
        ({"n": 2, "alpha": -1.0}, "alpha must be a number at least 0"),
        ({"orders": "some"}, "orders must be 'auto' or 'all' or 'exact'"),
        ({"bins": "fine"}, "bins must be 'auto' or 'nested' or 'mdl'"),
        ({"time_limit": 0}, "time_limit must be a number more than 0"),
        ({"max_terms": 3}, "max_terms goes with"),
        ({"n": 2, "alpha": 1.0, "bins": "nested", "max_terms": 3}, "max_terms goes with"),
        ({"terms": [("size", "kind", "size")]}, "must name up to 2 different attributes"),
        ({"terms": [("size", "shade")]}, "names 'shade', and X has no such column"),
        ({"n": 3}, "joins more attributes than X has"),
    ],
)
def test_what_cannot_be_is_refused_with_words(parameters, message):
    with pytest.raises(ValueError, match=message):
        DBLClassifier(**parameters).fit(*small_table())


def test_one_strength_for_all_orders_is_that_number_for_each(table):
    X, y = table
    single = DBLClassifier(n=2, alpha=3.0, orders="all").fit(X, y)
    several = DBLClassifier(n=2, alpha=np.array([3.0, 3.0])).fit(X, y)
    np.testing.assert_array_equal(single.predict_proba(X), several.predict_proba(X))
    other = DBLClassifier(n=2, alpha=[3.0, 300.0]).fit(X, y)
    assert np.abs(other.predict_proba(X) - single.predict_proba(X)).max() > 0.01


def test_all_orders_of_categories_are_logistic_regression_where_there_is_one(table):
    X, y = categorical_table()
    dbl = DBLClassifier(n=1, alpha=[2.0], tol=1e-10).fit(X, y)
    lr = LRClassifier(n=1, alpha=2.0, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(dbl.predict_proba(X), lr.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize(
    ("parameters", "levels", "orders"),
    [
        ({}, 4, {1, 2}),
        ({"bins": "mdl"}, 1, {1, 2}),
        ({"orders": "exact"}, 1, {2}),
        ({"orders": "exact", "bins": "nested"}, 4, {2}),
        ({"alpha": 1.0}, 1, {2}),
        ({"alpha": 1.0, "orders": "all"}, 4, {1, 2}),
        ({"alpha": [1.0, 1.0]}, 4, {1, 2}),
        ({"alpha": 1.0, "bins": "nested"}, 4, {2}),
        ({"alpha": 1.0, "orders": "all", "bins": "mdl"}, 1, {1, 2}),
    ],
)
def test_orders_and_bins_follow_from_alpha_unless_told(parameters, levels, orders):
    rng = np.random.default_rng(0)
    x = rng.normal(size=100)
    X = pd.DataFrame({"size": x, "kind": rng.choice(["a", "b"], 100)})
    y = (x > 0) ^ (rng.random(100) < 0.1)
    model = DBLClassifier(n=2, **parameters).fit(X, y)
    if model.recipe_ is None:
        assert len(model._encoding.columns) == len(list_places(levels)) + 1
    else:  # no column that no table has
        assert (len(model._encoding.columns) > 2) == (levels > 1)
    found = {len(term) for term in model.terms_}
    # The choice may leave out single features, but never the depth that was asked for.
    assert found == orders if model.recipe_ is None else max(found) == 2 and found <= orders
    assert model.score(X, y) > 0.8


def test_terms_bring_their_parts(table):
    X, y = table
    model = DBLClassifier(terms=[("shape", "colour"), "length"]).fit(X, y)
    assert set(model.terms_) == {("colour",), ("shape",), ("length",), ("colour", "shape")}
    given = DBLClassifier(n=2, alpha=[1.0, 5.0], terms=[(0, 1), (3,)]).fit(X, y)
    assert set(given.terms_) == set(model.terms_)
    alone = DBLClassifier(n=2, alpha=1.0, terms=[(0, 1)]).fit(X, y)
    assert alone.terms_ == [("colour", "shape")]


def test_terms_of_single_attributes_are_a_model_too(table):
    model = DBLClassifier(terms=["colour", "heavy"]).fit(*table)
    assert set(model.terms_) == {("colour",), ("heavy",)}


# What it holds.


def test_terms_tables_and_attributes_are_by_name(table, model):
    X, _ = table
    names = list(X.columns)
    assert set(model.terms_) == set(model.recipe_.effects) == set(model.tables_)
    assert len(model.tables_) == len(model.terms_)
    assert list(model.attributes_) == names
    assert model.attributes_["shape"] == ["round", "square"]
    # The tables of all tuples together are the model.
    row = X.iloc[[5]]
    scores = model.intercept_.astype(float).copy()
    for term in model.terms_:
        shown = model.tables_[term]
        cell = [place(shown.values[k], row[name].iloc[0]) for k, name in enumerate(term)]
        scores += shown.scores[tuple(cell)]
    log_odds = model.predict_log_proba(row)[0]
    np.testing.assert_allclose(scores - scores[0], log_odds - log_odds[0], atol=1e-5)


def place(values, value):
    """Return which of the names of values or bins a value belongs to."""
    if not isinstance(value, float):
        return values.index(str(value))
    cuts = [float(name.strip("[)").split(", ")[0].lstrip(">= ")) for name in values[1:]]
    return sum(cut <= value for cut in cuts)


def test_a_default_model_survives_files_and_pickles(table, model, tmp_path):
    X, _ = table
    expected = model.predict_proba(X)
    deepbroad.save(model, tmp_path / "m.dbl")
    for again in (deepbroad.load(tmp_path / "m.dbl"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict_proba(X), expected)
        assert again.selection_ == model.selection_
        assert again.terms_ == model.terms_
        assert again.attributes_ == model.attributes_
        assert again.get_params() == model.get_params()
        first = model.terms_[-1]
        np.testing.assert_array_equal(again.tables_[first].scores, model.tables_[first].scores)


def test_cloning_setting_and_searching():
    X, y = categorical_table(rows=60)
    model = DBLClassifier(time_limit=5.0, random_state=3).set_params(n=2, alpha=[1.0, 9.0])
    again = clone(model.fit(X, y))
    assert again.get_params() == model.get_params()
    assert not hasattr(again, "selection_")
    np.testing.assert_array_equal(again.fit(X, y).predict_proba(X), model.predict_proba(X))
    grid = {"orders": ["all", "exact"], "bins": ["nested", "mdl"]}
    search = GridSearchCV(DBLClassifier(n=2, alpha=1.0), grid, cv=2).fit(X, y)
    assert set(search.best_params_) == {"orders", "bins"}


# What does not matter, and what does.


def test_a_seed_gives_the_same_model_for_any_number_of_threads():
    X, y = small_table(120)
    models = [
        DBLClassifier(n_jobs=n_jobs, random_state=seed).fit(X, y)
        for n_jobs, seed in [(1, 0), (2, 0), (1, 1)]
    ]
    assert models[0].selection_ == models[1].selection_
    np.testing.assert_array_equal(models[0].predict_proba(X), models[1].predict_proba(X))
    assert models[2].selection_["loss"] != models[0].selection_["loss"]


def test_a_random_state_draws_anew_each_time():
    X, y = small_table(120)
    random = np.random.RandomState(0)
    model = DBLClassifier(n=1, random_state=random)
    losses = [model.fit(X, y).selection_["loss"] for _ in range(2)]
    assert losses[0] != losses[1]
    model.random_state = np.random.RandomState(0)
    assert model.fit(X, y).selection_["loss"] == losses[0]


def test_rows_of_weight_zero_are_as_if_absent():
    X, y = small_table(50)
    rng = np.random.default_rng(1)
    more = pd.DataFrame({"size": rng.normal(size=400) * 9, "kind": ["z"] * 400})
    weights = np.r_[np.ones(50), np.zeros(400)]
    padded = DBLClassifier().fit(pd.concat([X, more]), np.r_[y, np.zeros(400, int)], weights)
    plain = DBLClassifier().fit(X, y)
    assert padded.recipe_ == plain.recipe_
    np.testing.assert_array_equal(padded.predict_proba(X), plain.predict_proba(X))


@pytest.mark.parametrize("weights", [np.full(90, 3), np.arange(90) % 4])
def test_a_row_of_a_weight_is_that_many_rows(weights):
    X, y = small_table(90)
    by_weight = DBLClassifier().fit(X, y, weights)
    repeated = np.random.default_rng(0).permutation(np.repeat(np.arange(90), weights))
    by_rows = DBLClassifier().fit(X.iloc[repeated], y[repeated])
    assert by_weight.recipe_ == by_rows.recipe_
    assert by_weight.selection_ == by_rows.selection_
    np.testing.assert_array_equal(by_weight.predict_proba(X), by_rows.predict_proba(X))


def test_the_order_of_rows_does_not_matter():
    X, y = small_table(150)
    order = np.random.default_rng(0).permutation(150)
    models = [DBLClassifier().fit(X, y), DBLClassifier().fit(X.iloc[order], y[order])]
    assert models[0].recipe_ == models[1].recipe_
    np.testing.assert_array_equal(*(model.predict_proba(X) for model in models))


def test_class_weights_are_sample_weights():
    X, y = small_table(80)
    by_class = DBLClassifier(class_weight={0: 5.0}).fit(X, y)
    by_row = DBLClassifier().fit(X, y, np.where(y == 0, 5.0, 1.0))
    assert by_class.selection_ == by_row.selection_
    np.testing.assert_array_equal(by_class.predict_proba(X), by_row.predict_proba(X))
    plain = DBLClassifier().fit(X, y)
    assert by_class.predict_proba(X)[:, 0].mean() > plain.predict_proba(X)[:, 0].mean()


def test_never_seen_and_missing_values_leave_the_rest(table, model):
    X, _ = table
    rows = X.iloc[:3].astype(object).copy()
    rows.loc[:, "colour"] = "ultraviolet"
    rows.loc[:, "length"] = np.nan
    found = model.predict_proba(rows)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


def test_an_estimate_is_of_what_a_fit_may_come_to(table):
    automatic_, deepest, shallow = (
        DBLClassifier(n=n).estimate(*table).terms for n in ("auto", 3, 1)
    )
    assert automatic_ == deepest > shallow


@pytest.mark.parametrize("loss", ["mse", "squared_hinge"])
def test_other_losses_take_the_same_choice(loss):
    X, y = small_table(100)
    model = DBLClassifier(loss=loss).fit(X, y)
    assert model.selection_ == DBLClassifier().fit(X, y).selection_
    assert model.score(X, y) > 0.9


def test_a_warm_start_goes_on_from_the_model_that_was_chosen():
    X, y = small_table(100)
    model = DBLClassifier(warm_start=True, random_state=0).fit(X, y)
    loss, chosen = model.loss_, model.selection_
    assert model.fit(X, y).selection_ == chosen
    assert model.loss_curve_[0] == pytest.approx(loss)
    assert model.n_iter_ <= 6
