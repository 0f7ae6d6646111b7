"""One-hot encoded categories in the default model: taken as categories, shown as given."""

import os
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deepbroad
from deepbroad import DBLClassifier
from deepbroad.engine import automatic, depth_search, validation
from deepbroad.engine.automatic import Automatic
from deepbroad.engine.indicators import find_indicators
from deepbroad.estimators import chosen_terms
from deepbroad.estimators.prepared import Coded
from tests.clusters import local_client
from tests.estimators.test_checkpoint import stop_after
from tests.export.engines import assert_agrees, run_json
from tests.parted import Parts

ROWS = 4_000
JOINED = [[f"soil{k}" for k in range(6)], [f"area{k}" for k in range(3)]]


@pytest.fixture(autouse=True)
def _few_trials(monkeypatch):
    monkeypatch.setattr(validation, "FOLDS", ((10_000, 2, 1),))
    monkeypatch.setattr(depth_search, "MOST_TRIALS", (2, 2, 2))


def draw_table(rows=ROWS, seed=0):
    """Return a table of categories, the same with indicators, one of an area left out, and y."""
    rng = np.random.default_rng(seed)
    soil, area = rng.choice(6, rows, p=np.arange(1, 7) / 21), rng.integers(4, size=rows)
    plain = pd.DataFrame({"height": rng.normal(size=rows), "side": rng.choice(list("nsw"), rows)})
    score = np.sin(1.7 * soil + 2 * plain["height"]) + (area - 1.5) * (plain["side"] == "n")
    y = np.where(rng.random(rows) < 1 / (1 + np.exp(-2 * score)), "oak", "fir")
    # Indicators are joined behind the others, so here are the categories.
    categories = plain.assign(soil=soil.astype(str), area=area.astype(str))
    hot = {f"soil{k}": (soil == k).astype(int) for k in range(6)}
    hot |= {f"area{k}": (area == k).astype(int) for k in range(3)}
    return categories, plain.assign(**hot), y


@pytest.fixture(scope="module")
def model():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(validation, "FOLDS", ((10_000, 2, 1),))
        patch.setattr(depth_search, "MOST_TRIALS", (2, 2, 2))
        _, X, y = draw_table()
        return DBLClassifier(n=2).fit(X, y)


def test_indicators_predict_what_their_category_does(model):
    categories, _, y = draw_table()
    by_category = DBLClassifier(n=2).fit(categories, y)
    assert model.selection_ == by_category.selection_ | {"joined": JOINED}
    categories, X, y = draw_table(seed=1)
    expected, found = by_category.predict_proba(categories), model.predict_proba(X)
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_scores_by_counts_are_those_of_the_category(monkeypatch):
    monkeypatch.setattr(automatic, "is_sparse", lambda *_: True)
    monkeypatch.setattr(automatic, "WORTH_COUNTING", -1.0)
    categories, X, y = draw_table()
    by_category, found = DBLClassifier(n=3).fit(categories, y), DBLClassifier(n=3).fit(X, y)
    assert found.selection_["by_counts"]
    assert found.selection_["joined"] == JOINED
    expected = by_category.predict_proba(categories)
    np.testing.assert_allclose(found.predict_proba(X), expected, atol=1e-4)


def test_terms_and_tables_are_of_the_attributes_as_given(model):
    _, X, _ = draw_table()
    kinds = {name: name.rstrip("0123456789") for name in X.columns}
    assert {t for t in model.terms_ if len(t) == 1} == {(name,) for name in X.columns}
    pairs = [t for t in model.terms_ if len(t) == 2]
    assert len(pairs) == 1 + 2 * 9 + 6 * 3
    assert all(kinds[a] != kinds[b] for a, b in pairs)
    assert set(model.tables_) == set(model.terms_)
    assert model.tables_["side", "soil1"].scores.shape == (3, 2, 2)
    assert list(model.attributes_) == list(X.columns)
    assert model.term_gains_ is None
    assert model._frequencies.counts[-1].sum() == ROWS


def test_contributions_sum_to_log_odds(model):
    _, X, _ = draw_table(rows=50, seed=2)
    found = model.explain(X).contributions.sum(axis=1)
    np.testing.assert_allclose(found[:, 1], model.decision_function(X), atol=1e-5)


def odd_rows():
    """Return rows with two indicators of a category on, with none, and with unusual values."""
    _, X, _ = draw_table(rows=6, seed=3)
    X = X.astype(dict.fromkeys(X.columns[2:], float))
    X.loc[0, ["soil0", "soil1"]] = 1.0
    X.loc[1, X.columns[2:]] = 0.0
    X.loc[2, X.columns[2:]] = 1.0
    X.loc[3, "soil0"] = np.nan
    X.loc[4, ["soil0", "area2"]] = 7.0
    X.loc[5, "side"] = "e"
    return X


def test_rows_unlike_any_in_training_have_probabilities(model):
    found = model.predict_proba(odd_rows())
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


def test_files_pickles_and_exports_have_the_same_model(model, tmp_path):
    _, X, _ = draw_table(rows=50, seed=2)
    X = pd.concat([X, odd_rows()])
    deepbroad.save(model, tmp_path / "model.dbl")
    for again in (deepbroad.load(tmp_path / "model.dbl"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        assert again.selection_ == model.selection_
    table = pa.Table.from_pandas(X, preserve_index=False)
    assert_agrees(run_json(deepbroad.export(model, to="json"), table), model, table)


def test_files_give_the_model_of_memory(model, tmp_path):
    _, X, y = draw_table()
    table = pa.Table.from_pandas(X.assign(tree=y), preserve_index=False)
    pq.write_table(table, tmp_path / "trees.parquet", row_group_size=1500)
    found = DBLClassifier(n=2).fit(tmp_path / "trees.parquet", "tree")
    assert found.selection_["joined"] == JOINED
    assert found.terms_ == model.terms_
    np.testing.assert_allclose(found.predict_proba(X), model.predict_proba(X), atol=1e-6)


def test_parts_give_the_model_of_one(monkeypatch):
    _, X, y = draw_table()
    model = DBLClassifier(n=2, solver="lbfgs", tol=1e-8)
    whole = model.fit(X, y).predict_proba(X)
    joined = Coded.joined
    found = []

    def in_parts(coded, joining):
        parts = Parts.of(coded.source, [1000, 1700])
        again = find_indicators(parts, coded.threads)
        found.append(again.joined_names(coded.encoding.names))
        return joined(Coded(parts, *list(vars(coded).values())[1:]), joining)

    monkeypatch.setattr(Coded, "joined", in_parts)
    np.testing.assert_allclose(model.fit(X, y).predict_proba(X), whole, atol=1e-3)
    assert found == [JOINED]


def test_a_cluster_gives_the_model_of_memory():
    dd = pytest.importorskip("dask.dataframe", reason="Dask is not installed")
    _, X, y = draw_table()
    settings = {"n": 2, "solver": "lbfgs", "tol": 1e-9, "max_iter": 1000}
    expected = DBLClassifier(**settings).fit(X, y)
    with local_client():
        frame = dd.from_pandas(X.assign(tree=y), npartitions=3)
        found = DBLClassifier(**settings).fit(frame.drop(columns="tree"), frame["tree"])
    assert found.selection_ == expected.selection_
    assert found.selection_["joined"] == JOINED
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=1e-4)


def test_a_warm_start_goes_on_from_the_unfolded_tables(recwarn):
    _, X, y = draw_table()
    model = DBLClassifier(n=2, solver="sgd", warm_start=True).fit(X, y)
    cold = model.loss_curve_[0]
    loss = model.loss_
    model.set_params(solver="lbfgs").fit(X, y)
    assert model.selection_["joined"] == JOINED
    assert model.loss_curve_[0] < 0.5 * (cold + loss)
    end = model.loss_
    model.fit(X, y)
    assert model.loss_curve_[0] == pytest.approx(end, rel=1e-5)
    assert not [w for w in recwarn if "starts afresh" in str(w.message)]


def test_a_fit_stopped_again_and_again_comes_to_the_same_model(tmp_path, monkeypatch):
    _, X, y = draw_table()
    settings = {"n": 2, "solver": "lbfgs", "tol": 1e-7}
    whole = DBLClassifier(**settings).fit(X, y)
    runs, status = 0, "stopped"
    while status == "stopped":
        model = DBLClassifier(**settings, checkpoint=tmp_path, callbacks=[stop_after(9)]).fit(X, y)
        runs, status = runs + 1, model.status_
        monkeypatch.setattr(Automatic, "choose", None)
    assert runs > 2
    assert os.listdir(tmp_path) == []
    assert model.loss_curve_ == whole.loss_curve_
    assert model.selection_ == whole.selection_
    np.testing.assert_array_equal(model.predict_proba(X), whole.predict_proba(X))


def test_deeper_tuples_and_an_estimate_are_of_categories(monkeypatch):
    _, X, y = draw_table()
    model = DBLClassifier(n=3, max_iter=5, tol=0.1)
    joined = model.estimate(X, y)
    model.fit(X, y)
    assert ("height", "soil2", "area1") in model.terms_
    assert not any({"soil0", "soil1"} <= set(term) for term in model.terms_)
    monkeypatch.setattr(chosen_terms, "find_indicators", lambda *_: None)
    assert DBLClassifier(n=3).estimate(X, y).terms > 3 * joined.terms


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "settings",
    [
        {"alpha": [1.0, 1.0]},
        {"orders": "exact"},
        {"shrink_to": "generative"},
        {"min_count": 2},
        {"terms": [("side", "soil1")]},
        {"n": 5, "max_iter": 1},
    ],
)
def test_what_is_asked_for_otherwise_is_fitted_as_given(settings, monkeypatch):
    monkeypatch.setattr(Coded, "joined", pytest.fail)
    _, X, y = draw_table(rows=3100)
    X = X[["side", *JOINED[0], *JOINED[1]]] if settings.get("n") == 5 else X
    model = DBLClassifier(**{"n": 2, "max_iter": 3, "time_limit": 2.0} | settings).fit(X, y)
    assert (model.selection_ or {}).get("joined", []) == []


def test_batches_small_tables_and_a_single_category_are_fitted_as_given(monkeypatch):
    monkeypatch.setattr(Coded, "joined", pytest.fail)
    _, X, y = draw_table()
    few = automatic.CERTAIN_ROWS
    assert DBLClassifier(n=1).fit(X[:few], y[:few]).selection_["joined"] == []
    assert DBLClassifier(n=1).partial_fit(X, y).selection_["joined"] == []
    assert DBLClassifier().fit(X[JOINED[0]], y).selection_["joined"] == []


def test_rows_of_weight_zero_are_as_if_absent(model):
    _, X, y = draw_table()
    odd = pd.concat([odd_rows().iloc[:3]] * 20)
    weights = np.r_[np.ones(ROWS), np.zeros(60)]
    padded = DBLClassifier(n=2).fit(pd.concat([X, odd]), np.r_[y, ["oak"] * 60], weights)
    assert padded.selection_["joined"] == JOINED
    np.testing.assert_allclose(padded.predict_proba(X), model.predict_proba(X), atol=1e-3)
