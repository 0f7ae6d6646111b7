"""A recipe gives the same bits again, wherever it comes from and wherever rows lie."""

import json
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import deepbroad
from deepbroad import DBLClassifier, Recipe
from deepbroad.estimators import chosen_terms
from deepbroad.model.recipe import RecipeTable
from deepbroad.model.terms import NONE
from tests.estimators.tables import categorical_table


def frame(rows=400, seed=0):
    """Return numbers with missing values, categories, dates and booleans, and labels."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "size": rng.normal(size=rows),
            "kind": rng.choice(["a", "b", "c"], rows),
            "count": rng.integers(0, 9, rows).astype(float),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 90, rows), "D"),
            "flag": rng.random(rows) < 0.5,
            "void": np.full(rows, np.nan),
        }
    )
    X.loc[rng.random(rows) < 0.2, "size"] = np.nan
    X.loc[rng.random(rows) < 0.1, "kind"] = None
    told = X["size"].fillna(0.5) * np.where(X["flag"], 1, -1) + (X["kind"] == "a")
    return X, np.where(told + 0.3 * rng.normal(size=rows) > 0, "yes", "no")


def choose_some(source, *arguments, **options):
    """Choose single columns and pairs of all sorts: what any search might come to."""
    columns = np.flatnonzero(source.cardinalities > 1).tolist()
    singles = [[c, NONE] for c in columns if c % 3]
    owners = source.attributes
    pairs = [
        [a, b] for a, b in combinations(columns, 2) if owners[a] != owners[b] and (a + b) % 7 == 0
    ]
    members = np.array([*singles, *pairs])
    strength = 0.5 + np.random.default_rng(0).random(len(members)) * 30
    return SimpleNamespace(
        members=members,
        strength=strength,
        by_counts=False,
        selection={"loss": 0.3, "trials": [{"what": "singles", "loss": 0.4}], "warnings": []},
    )


@pytest.fixture
def chooses(monkeypatch):
    monkeypatch.setattr(chosen_terms, "choose", choose_some)


WEIGHTS = {
    "none": None,
    "whole": np.random.default_rng(1).integers(0, 3, 400).astype(float),
    "any": np.random.default_rng(2).random(400),
}


@pytest.mark.usefixtures("chooses")
@pytest.mark.parametrize("weights", WEIGHTS)
def test_a_recipe_fitted_to_the_same_rows_gives_the_same_bits(weights):
    X, y = frame()
    w = WEIGHTS[weights]
    model = DBLClassifier(random_state=3).fit(X, y, w)
    again = DBLClassifier(recipe=model.recipe_).fit(X, y, w)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.loss_curve_ == model.loss_curve_
    assert again.recipe_ == model.recipe_
    assert again._encoding.to_dict() == model._encoding.to_dict()
    assert again.selection_ is None
    assert model.selection_["loss"] == 0.3
    from_text = Recipe.from_json(model.recipe_.to_json())
    third = DBLClassifier(recipe=from_text, n_jobs=1).fit(X, y, w)
    np.testing.assert_array_equal(third.predict_proba(X), model.predict_proba(X))


def test_the_default_gives_its_bits_again_by_its_recipe():
    X, y = frame(300)
    model = DBLClassifier(n=2).fit(X, y)
    again = DBLClassifier(recipe=model.recipe_).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert {table.features for table in model.recipe_.tables} == {*model.terms_}


@pytest.mark.usefixtures("chooses")
@pytest.mark.parametrize(
    "parameters",
    [
        {"shrink_to": "generative"},
        {"loss": "squared_hinge"},
        {"solver": "sgd"},
        {"solver": "lbfgs", "smoothing": 0.5},
        {"class_weight": "balanced", "categorical_features": ["count"]},
        {"min_count": 2},
    ],
)
def test_what_no_recipe_has_goes_on_as_given(parameters):
    X, y = frame()
    model = DBLClassifier(**parameters).fit(X, y)
    again = DBLClassifier(recipe=model.recipe_, **parameters).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.usefixtures("chooses")
def test_files_give_the_same_bits_again(tmp_path):
    X, y = frame()
    path = tmp_path / "rows.parquet"
    pa.parquet.write_table(pa.Table.from_pandas(X.assign(y=y, w=WEIGHTS["whole"])), path)
    memory = DBLClassifier().fit(X, y, WEIGHTS["whole"])
    model = DBLClassifier().fit(path, "y", "w")
    assert model.recipe_ == memory.recipe_
    again = DBLClassifier(recipe=model.recipe_).fit(path, "y", "w")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again._encoding.to_dict() == model._encoding.to_dict() == memory._encoding.to_dict()


@pytest.mark.usefixtures("chooses")
def test_batches_have_the_columns_of_the_recipe():
    X, y = frame()
    X = X.drop(columns="void")
    model = DBLClassifier().partial_fit(X[:250], y[:250]).partial_fit(X[250:], y[250:])
    again = DBLClassifier(recipe=model.recipe_)
    again.partial_fit(X[:250], y[:250]).partial_fit(X[250:], y[250:])
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.recipe_ == model.recipe_
    assert again._encoding.to_dict() == model._encoding.to_dict()


@pytest.mark.usefixtures("chooses")
def test_a_model_has_no_more_columns_than_its_recipe():
    X, y = frame()
    model = DBLClassifier().fit(X, y)
    assert model._encoding.names == tuple(X.columns)
    for name, own in zip(model._encoding.names, model._encoding.owned, strict=True):
        listed = model.recipe_.edges.get(name, [])
        assert len(listed) <= len(own) <= len(listed) + 1
    one = DBLClassifier(recipe=Recipe({}, (_single("kind"),)))
    one.fit(X, y)
    assert one.attributes_["size"] == ["any", "missing"]
    assert one.terms_ == [("kind",)]
    assert one.estimate(X, y).terms == 1


def _single(name):
    return RecipeTable((name,), (0,), 1.0)


@pytest.mark.usefixtures("chooses")
def test_one_fit_for_each_fold_of_a_cross_validation(monkeypatch):
    X, y = frame()
    recipe = DBLClassifier().fit(X, y).recipe_
    monkeypatch.setattr(chosen_terms, "choose", None)
    scores = cross_val_score(DBLClassifier(recipe=recipe), X, y, cv=3)
    assert np.isfinite(scores).all()
    assert clone(DBLClassifier(recipe=recipe)).recipe == recipe


@pytest.mark.usefixtures("chooses")
def test_files_of_models_keep_recipes(tmp_path):
    X, y = frame()
    model = DBLClassifier().fit(X, y)
    again = DBLClassifier(recipe=model.recipe_).fit(X, y)
    for one in (model, again):
        deepbroad.save(one, tmp_path / "m.dbl")
        loaded = deepbroad.load(tmp_path / "m.dbl")
        assert loaded.recipe_ == model.recipe_
        assert loaded.recipe == one.recipe
        assert loaded.selection_ == one.selection_
        assert repr(loaded.selection_) == repr(one.selection_)
        np.testing.assert_array_equal(loaded.predict_proba(X), one.predict_proba(X))
    plain = DBLClassifier(n=1, alpha=1.0).fit(X, y)
    assert plain.recipe_ is None
    deepbroad.save(plain, tmp_path / "m.dbl")
    assert deepbroad.load(tmp_path / "m.dbl").recipe_ is None


@pytest.mark.usefixtures("chooses")
def test_a_killed_fit_goes_on_with_the_recipe_that_was_chosen(tmp_path, monkeypatch):
    X, y = frame()
    whole = DBLClassifier(solver="lbfgs").fit(X, y)
    options = {"solver": "lbfgs", "checkpoint": tmp_path}
    stopped = DBLClassifier(callbacks=[lambda progress: progress.iteration > 2], **options)
    stopped.fit(X, y)
    monkeypatch.setattr(chosen_terms, "choose", None)
    model = DBLClassifier(**options).fit(X, y)
    assert model.recipe_ == whole.recipe_
    assert model.selection_ == whole.selection_
    assert model.loss_curve_ == whole.loss_curve_
    np.testing.assert_array_equal(model.predict_proba(X), whole.predict_proba(X))


def test_a_checkpoint_of_another_recipe_is_refused(tmp_path):
    X, y = categorical_table()
    recipes = [Recipe({}, (_single(name),)) for name in ("c0", "c1")]
    options = {"checkpoint": tmp_path, "callbacks": [lambda progress: progress.iteration > 0]}
    DBLClassifier(recipe=recipes[0], solver="lbfgs", **options).fit(X, y)
    with pytest.raises(ValueError, match="another fit: it has recipe="):
        DBLClassifier(recipe=recipes[1], solver="lbfgs", **options).fit(X, y)


def test_a_choice_may_give_warnings(monkeypatch):
    def choose(source, *arguments, **options):
        found = choose_some(source)
        found.selection["warnings"] = ["time_limit ended the choice"]
        return found

    monkeypatch.setattr(chosen_terms, "choose", choose)
    X, y = frame()
    with pytest.warns(UserWarning, match="time_limit ended the choice") as caught:
        DBLClassifier(time_limit=1).fit(X, y)
    assert caught[0].filename == __file__


def test_scores_by_counts_come_back(monkeypatch):
    def choose(source, *arguments, **options):
        found = choose_some(source)
        found.by_counts = True
        return found

    monkeypatch.setattr(chosen_terms, "choose", choose)
    X, y = frame()
    model = DBLClassifier().fit(X, y)
    assert model.recipe_.by_counts
    again = DBLClassifier(recipe=model.recipe_).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n": 2}, "A recipe has all of n, alpha, .* in it; leave out n, or the recipe"),
        ({"alpha": 1.0, "n": 1}, "leave out n and alpha, or the recipe"),
        ({"terms": [("kind",)]}, "leave out terms"),
        ({"bins": "mdl"}, "leave out bins"),
        ({"orders": "all"}, "leave out orders"),
        ({"effort": "slow"}, "effort must be 'fast' or 'thorough'"),
        ({"time_limit": 0}, "time_limit must be a number more than 0"),
        ({"recipe": "age"}, "recipe must be a deepbroad.Recipe or None"),
        ({"recipe": {"format": 1}}, "Recipe.from_json reads one"),
    ],
)
def test_what_does_not_go_with_a_recipe_is_refused(parameters, message):
    X, y = frame(50)
    with pytest.raises(ValueError, match=message):
        DBLClassifier(**{"recipe": Recipe({}, (_single("kind"),)), **parameters}).fit(X, y)


def test_columns_that_are_missing_are_named():
    X, y = frame(50)
    with pytest.raises(ValueError, match="tables of 'colour', and X has no such columns"):
        DBLClassifier(recipe=Recipe({}, (_single("colour"),))).fit(X, y)


@pytest.mark.usefixtures("chooses")
def test_the_account_of_a_choice_is_plain_data_that_prints_by_lines():
    X, y = frame()
    model = DBLClassifier().fit(X, y)
    assert json.loads(json.dumps(model.selection_)) == model.selection_
    assert repr(model.selection_).splitlines() == [
        "loss: 0.3",
        "trials:",
        "  what: singles, loss: 0.4",
    ]
