"""Models with cuts by the class: where they are chosen, and that all that models do, these do."""

import json
import os
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import deepbroad
from deepbroad import DBLClassifier
from deepbroad.data.pyramid import JOINT, SHARP, WITHIN, list_places
from deepbroad.engine import depth_search
from deepbroad.engine.automatic import Automatic
from tests.estimators.test_automatic import place
from tests.estimators.test_checkpoint import stop_after
from tests.estimators.test_explanation import assert_sums
from tests.export.engines import assert_agrees, run_duckdb, run_json, run_sqlite
from tests.steps import smooth_table, step_table, true_class

ROWS = 1500


@pytest.fixture(autouse=True)
def _few_trials(monkeypatch):
    """Few trials, so that tests take little time."""
    monkeypatch.setattr(depth_search, "MOST_TRIALS", (5, 6, 3))


@pytest.fixture(scope="module")
def table():
    return step_table(ROWS, 2, missing=0.1)


@pytest.fixture(scope="module")
def model(table):
    """Pairs too, so that effects are told by bins of both kinds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(depth_search, "MOST_TRIALS", (5, 6, 3))
        return DBLClassifier(n=2).fit(*table)


def cuts_by_class(model):
    """Return how many cuts by the class each attribute has."""
    return [len(own[1].cuts) if len(own) > 1 else 0 for own in model._encoding.owned]


def strange_rows(rows=300):
    """Return rows with a word and numbers that training never saw, and missing values."""
    X, _ = step_table(rows, 99, missing=0.3)
    X.loc[::5, "kind"] = "z"
    X.loc[::7, "other"] = np.nan
    X.loc[::11, "size"] = 1e9
    return X


# Where they are chosen.


@pytest.mark.parametrize("seed", [1, 2, 4])
def test_a_step_in_a_tail_is_found(seed, monkeypatch):
    monkeypatch.undo()
    X, y = step_table(ROWS, seed)
    other, _ = step_table(20_000, 100 + seed)
    model = DBLClassifier().fit(X, y)
    assert model.selection_["by_class"]
    assert cuts_by_class(model)[0] == 0
    assert min(cuts_by_class(model)[1:]) > 0
    error = np.mean(model.predict(other) != true_class(other))
    plain = DBLClassifier(bins="nested").fit(X, y)
    assert not plain.selection_["by_class"]
    # A class has 6 % of the rows.
    assert error < 0.005
    assert error < np.mean(plain.predict(other) != true_class(other))


def test_the_selection_says_which_trials_had_cuts_by_the_class(model):
    chosen = model.selection_
    assert chosen["by_class"]
    trials = chosen["trials"]
    assert {t["by_class"] for t in trials if t["n"] == 1} == {False, True}
    assert {t["by_class"] for t in trials if t["n"] == 2} == {True}
    settings = ("alpha", "growth", "adaptation", "by_counts", "tiled", "by_class")
    assert len({json.dumps([t[key] for key in settings]) for t in trials}) == len(trials)
    assert json.loads(json.dumps(chosen)) == chosen


def test_a_smooth_class_is_learned_without_them():
    X, y = smooth_table(ROWS)
    model = DBLClassifier(n=1).fit(X, y)
    assert not model.selection_["by_class"]
    used = model._scorer.model.plan.terms.members
    firsts = np.flatnonzero(np.diff(model._encoding.attributes, prepend=-1))
    assert not np.isin(used, firsts).any()
    plain = DBLClassifier(n=1, bins="nested").fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize(
    "parameters",
    [
        {"bins": "nested"},
        {"bins": "nested", "orders": "exact"},
        {"n": 1, "alpha": [1.0]},
        {"n": 1, "alpha": 1.0, "orders": "all"},
    ],
)
def test_what_is_asked_for_has_no_cuts_by_the_class(table, parameters):
    model = DBLClassifier(**{"n": 1, **parameters}).fit(*table)
    assert cuts_by_class(model) == [0, 0, 0]
    assert not (model.selection_ or {}).get("by_class")


def test_a_thousand_rows_have_none():
    X, y = step_table(1000, 2)
    model = DBLClassifier(n=1).fit(X, y)
    assert cuts_by_class(model) == [0, 0, 0]
    assert not any(trial["by_class"] for trial in model.selection_["trials"])


def test_the_columns_are_those_of_the_bins_and_of_both_together(model):
    owned = model._encoding.owned[2]
    columns = dict(zip(list_places(8), owned, strict=True))
    alone, by_class, joint = (set(columns[place].cuts) for place in (SHARP, WITHIN, JOINT))
    assert alone
    assert alone <= by_class
    assert joint == by_class | set(columns[5, 0].cuts)
    assert joint <= set(owned[-1].cuts)


# What models do.


def test_files_and_pickles_keep_the_model(table, model, tmp_path):
    deepbroad.save(model, tmp_path / "m.dbl")
    for again in (deepbroad.load(tmp_path / "m.dbl"), pickle.loads(pickle.dumps(model))):
        for X in (table[0], strange_rows()):
            np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        assert again.selection_ == model.selection_
        assert again.attributes_ == model.attributes_
        assert cuts_by_class(again) == cuts_by_class(model)


def test_contributions_sum_to_log_odds(table, model):
    assert_sums(model, table[0])
    assert_sums(model, strange_rows())


def test_tables_of_all_tuples_are_together_the_model(table, model):
    assert set(model.terms_) == {
        ("kind",), ("size",), ("other",), ("kind", "size"), ("kind", "other"), ("size", "other")
    }  # fmt: skip
    for i in [*np.flatnonzero(table[1])[:3].tolist(), 0, 1]:
        row = table[0].iloc[[i]]
        if row["size"].isna().any():
            continue
        scores = model.intercept_.astype(float).copy()
        for term in model.terms_:
            shown = model.tables_[term]
            values = [[v for v in names if v != "missing"] for names in shown.values]
            cell = [place(values[k], row[name].iloc[0]) for k, name in enumerate(term)]
            scores += shown.scores[tuple(cell)]
        log_odds = model.predict_log_proba(row)[0]
        np.testing.assert_allclose(scores - scores[0], log_odds - log_odds[0], atol=1e-5)


@pytest.mark.parametrize("run", [run_sqlite, run_duckdb])
def test_databases_agree(model, run):
    X = pa.Table.from_pandas(strange_rows(), preserve_index=False)
    assert_agrees(run(model, X), model, X)


def test_json_agrees(model):
    X = pa.Table.from_pandas(strange_rows(), preserve_index=False)
    data = json.loads(json.dumps(deepbroad.export(model, to="json"), allow_nan=False))
    assert_agrees(run_json(data, X), model, X, tolerance=1e-9)


@pytest.mark.parametrize("row_group_size", [200, ROWS])
def test_a_fit_from_a_file_is_the_one_from_memory(table, model, tmp_path, row_group_size):
    X, y = table
    file = tmp_path / "rows.parquet"
    X.assign(y=y).to_parquet(file, row_group_size=row_group_size)
    found = DBLClassifier(n=2).fit(file, "y")
    assert found.selection_ == model.selection_
    assert found.attributes_ == model.attributes_
    for rows in (X, strange_rows()):
        np.testing.assert_allclose(found.predict_proba(rows), model.predict_proba(rows), atol=1e-6)


def test_a_fit_that_was_stopped_goes_on_with_the_same_cuts(table, model, tmp_path, monkeypatch):
    X, y = table
    runs, status = 0, "stopped"
    while status == "stopped":
        again = DBLClassifier(n=2, checkpoint=tmp_path, callbacks=[stop_after(4)]).fit(X, y)
        runs, status = runs + 1, again.status_
        # Once it is made, a choice is not made again.
        monkeypatch.setattr(Automatic, "choose", None)
    assert runs > 1
    assert os.listdir(tmp_path) == []
    assert again.selection_ == model.selection_
    assert again.loss_curve_ == model.loss_curve_
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_a_warm_start_goes_on_from_the_same_cuts(table):
    warm = DBLClassifier(n=1, warm_start=True, random_state=0).fit(*table)
    assert warm.selection_["by_class"]
    loss, chosen = warm.loss_, warm.selection_
    assert warm.fit(*table).selection_ == chosen
    assert warm.loss_curve_[0] == pytest.approx(loss)


# What does not matter.


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_change_no_bit(table, model, n_jobs):
    more = DBLClassifier(n=2, n_jobs=n_jobs).fit(*table)
    assert more.selection_ == model.selection_
    np.testing.assert_array_equal(more.predict_proba(table[0]), model.predict_proba(table[0]))


def test_the_unit_of_weights_changes_no_cut(table):
    X, y = table
    weights = np.random.default_rng(0).choice([0.5, 1.0, 2.0], ROWS)
    models = [DBLClassifier(n=1).fit(X, y, unit * weights) for unit in (1.0, 1e-3, 1e6)]
    for other in models[1:]:
        assert other.selection_["by_class"] == models[0].selection_["by_class"]
        for own, others in zip(models[0]._encoding.columns, other._encoding.columns, strict=True):
            assert own.to_dict() == others.to_dict()
        np.testing.assert_allclose(other.predict_proba(X), models[0].predict_proba(X), atol=0.01)


def test_rows_of_weight_zero_are_as_if_absent(table):
    X, y = table
    rng = np.random.default_rng(1)
    more = pd.DataFrame({"kind": "z", "size": rng.normal(size=400) * 9, "other": np.nan})
    weights = np.r_[np.ones(ROWS), np.zeros(400)]
    padded = DBLClassifier(n=1).fit(
        pd.concat([X, more]), np.r_[y, rng.integers(2, size=400)], weights
    )
    plain = DBLClassifier(n=1).fit(X, y)
    assert padded.selection_["by_class"]
    assert cuts_by_class(padded) == cuts_by_class(plain)
    assert padded._encoding.to_dict() == plain._encoding.to_dict()
    np.testing.assert_allclose(padded.predict_proba(X), plain.predict_proba(X), atol=1e-6)


def test_the_table_that_was_given_is_not_changed(table):
    X, y = table
    numbers = X[["size", "other"]].to_numpy()
    before = numbers.copy()
    DBLClassifier(n=1).fit(numbers, y)
    np.testing.assert_array_equal(numbers, before)


def test_indicators_are_taken_as_one_category_all_the_same():
    X, y = step_table(4000, 4, missing=0.1)
    soil = np.random.default_rng(0).integers(6, size=4000)
    # Indicators are joined behind the others, so here is the category.
    categories = X.assign(soil=soil.astype(str))
    hot = X.assign(**{f"soil{k}": (soil == k).astype(int) for k in range(6)})
    by_category, model = (DBLClassifier(n=2).fit(some, y) for some in (categories, hot))
    assert model.selection_["by_class"]
    assert model.selection_["joined"] == [[f"soil{k}" for k in range(6)]]
    assert model.selection_ == by_category.selection_ | {"joined": model.selection_["joined"]}
    np.testing.assert_allclose(
        model.predict_proba(hot), by_category.predict_proba(categories), atol=1e-6
    )
    assert_sums(model, hot.iloc[:300])


def test_given_terms_have_cuts_by_the_class_too(table):
    model = DBLClassifier(terms=[("size", "other")]).fit(*table)
    assert model.selection_["by_class"]
    assert set(model.terms_) == {("size",), ("other",), ("size", "other")}
    other, _ = step_table(20_000, 102, missing=0.1)
    assert np.mean(model.predict(other) != true_class(other)) < 0.005


def test_batches_have_no_cuts_by_the_class(table):
    X, y = table
    model = DBLClassifier(n=1).partial_fit(X, y, classes=[0, 1])
    assert cuts_by_class(model) == [0, 0, 0]


def test_the_selection_names_the_bins_by_the_class(model, table):
    cuts = model.selection_["cuts"]
    assert model.selection_["by_class"]
    assert {name: len(bins) - 1 for name, bins in cuts.items()} == {
        name: count
        for name, count in zip(table[0].columns, cuts_by_class(model), strict=True)
        if count
    }
    assert all("1.8" in "".join(bins) or "1.9" in "".join(bins) for bins in cuts.values())


def test_models_without_cuts_by_the_class_name_none():
    model = DBLClassifier(n=1).fit(*smooth_table(ROWS))
    assert not model.selection_["by_class"]
    assert model.selection_["cuts"] == {}
