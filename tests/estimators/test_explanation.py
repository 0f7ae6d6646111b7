"""Explanations of fitted models: they sum to log odds, and find what was planted."""

from unittest import mock

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import deepbroad
from deepbroad import AnDEClassifier, AnJEClassifier, DBLClassifier, LRClassifier
from deepbroad.persist import container, model_file
from tests.estimators.tables import MODELS, STRUCTURED, categorical_table, mixed_table

ALL = {
    **MODELS,
    **STRUCTURED,
    "DBL, all orders, nested bins": DBLClassifier(n=2, alpha=[1.0, 3.0]),
    "DBL, rare tuples": DBLClassifier(n=2, alpha=1.0, min_count=4),
}


def strange_rows(X):
    """Return rows with values that training never saw, or saw missing only."""
    X = X.copy()
    X["colour"] = X["colour"].astype(object)
    X.loc[::3, "colour"] = "mauve"
    X.loc[::4, "length"] = np.nan
    X.loc[::5, "shape"] = None
    return X


def assert_sums(model, X, explanation=None):
    rows = model.explain(X) if explanation is None else explanation.rows(X)
    log_odds = rows.contributions.sum(axis=1)
    np.testing.assert_array_equal(log_odds, rows.log_odds)
    expected = model.decision_function(X)
    if len(model.classes_) == 2:
        np.testing.assert_allclose(log_odds, np.stack([-expected, expected], axis=1), atol=1e-9)
    else:
        np.testing.assert_allclose(log_odds, expected, atol=1e-9)
    assert rows.contributions.shape == (len(X), len(rows.effects), len(model.classes_))
    assert rows.effects[0] == ()
    np.testing.assert_allclose(rows.probabilities, model.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", ALL)
def test_contributions_sum_to_log_odds(name, n_classes):
    X, y = mixed_table(n_classes=n_classes)
    X["heavy"] = X["heavy"].astype(object)
    X.loc[:20, "heavy"] = None  # missing in training too
    model = clone(ALL[name]).fit(X, y)
    assert_sums(model, X)
    assert_sums(model, strange_rows(X))


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("model", [AnJEClassifier(n=2), LRClassifier(n=2)], ids=str)
def test_compact_tables_sum_to_log_odds_too(model, n_classes):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(400, size=(500, 2)), columns=["a", "b"]).astype(str)
    X["c"] = rng.choice(["p", "q"], 500)
    y = rng.integers(n_classes, size=500)
    model = clone(model).fit(X, y)
    assert model._scorer.model.plan.terms.is_compact.any()
    other = pd.DataFrame(rng.integers(500, size=(200, 2)), columns=["a", "b"]).astype(str)
    other["c"] = rng.choice(["p", "z"], 200)
    assert_sums(model, X)
    assert_sums(model, other)


def test_single_precision_agrees_to_rounding(monkeypatch):
    monkeypatch.setattr(
        "deepbroad.estimators.base.pass_dtype", lambda plan, n_rows: np.dtype(np.float32)
    )
    X, y = mixed_table()
    model = DBLClassifier(n=2, alpha=1.0).fit(X, y)
    assert model._scorer.model.scores.dtype == np.float32
    np.testing.assert_allclose(model.explain(X).log_odds, model.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("background", ["training", "uniform", "table"])
def test_every_table_has_no_mean_under_its_distribution(background):
    X, y = mixed_table()
    model = DBLClassifier(n=2, alpha=[1.0, 3.0]).fit(X, y)
    told = X.iloc[:50] if background == "table" else background
    explanation = model.explain(background=told)
    for names, table in explanation.tables.items():
        assert table.scores.shape == (*map(len, table.values), 3)
        assert table.attributes == names
        for axis, weights in enumerate(table.weights):
            mean = np.tensordot(weights, table.scores, (0, axis))
            np.testing.assert_allclose(mean, 0.0, atol=1e-9)
    assert_sums(model, X, explanation)
    assert explanation.distribution == ("background" if background == "table" else background)


def test_training_frequencies_are_those_of_the_rows():
    X, y = mixed_table()
    weights = np.random.default_rng(5).integers(0, 3, size=len(X))
    model = DBLClassifier(n=2, alpha=1.0).fit(X, y, sample_weight=weights)
    table = model.explain().tables["colour"]
    expected = pd.Series(weights).groupby(X["colour"]).sum() / weights.sum()
    np.testing.assert_allclose(table.weights[0], expected.to_numpy())
    assert table.values[0] == list(expected.index)


@pytest.mark.parametrize("name", ["LR", "DBL"])
def test_a_planted_interaction_ranks_first(name):
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.integers(3, size=(1500, 5)), columns=list("abcde")).astype(str)
    planted = np.where((X["b"] == X["d"]), 2.0, -1.0)
    single = np.where(X["a"] == "0", 0.6, -0.3)
    y = rng.random(1500) < 1 / (1 + np.exp(-planted - single))
    model = clone(MODELS[name]).set_params(alpha=3.0).fit(X, y)
    explanation = model.explain()
    assert explanation.effects[0] == ("b", "d")
    assert explanation.effects[1] == ("a",)
    scores = explanation.tables["d", "b"].of_class(True)
    assert (np.diag(scores) > 1.0).all()
    assert (scores[~np.eye(3, dtype=bool)] < -0.5).all()


def test_importances_are_deviations_of_tables_and_shares_sum_to_one():
    X, y = mixed_table()
    explanation = DBLClassifier(n=2, alpha=1.0).fit(X, y).explain()
    frame = explanation.importances.to_pandas()
    assert frame["importance"].is_monotonic_decreasing
    assert frame["share"].sum() == pytest.approx(1.0)
    assert [tuple(names) for names in frame["attributes"]] == explanation.effects
    assert frame["effect"].iloc[0] == " & ".join(explanation.effects[0])
    table = explanation.tables["shape", "colour"]
    variance = np.einsum("a,b,abc->c", *table.weights, table.scores**2)
    row = frame[frame["effect"] == "colour & shape"].iloc[0]
    assert row["order"] == 2
    assert row["importance"] == pytest.approx(np.sqrt(variance.mean()))
    assert table.importance == pytest.approx(row["importance"])
    for place, label in enumerate(["ant", "bee", "cow"]):
        assert row[f"importance for {label}"] == pytest.approx(np.sqrt(variance[place]))


def test_tables_of_two_orders_of_names_are_transposed():
    X, y = mixed_table()
    tables = LRClassifier(n=2).fit(X, y).explain().tables
    there, back = tables["colour", "length"], tables["length", "colour"]
    np.testing.assert_array_equal(there.scores, back.scores.transpose(1, 0, 2))
    frame, other = there.to_arrow().to_pandas(), back.to_arrow().to_pandas()
    assert list(frame.columns) == ["colour", "length", *(f"log odds of {c}" for c in there.classes)]
    pd.testing.assert_frame_equal(frame, other[frame.columns])
    assert there.cuts[0] is None
    assert len(there.cuts[1]) == len(there.values[1]) - 1
    first = frame.iloc[4]
    place = there.values[0].index(first["colour"]), there.values[1].index(first["length"])
    np.testing.assert_allclose(there.scores[place], first.to_numpy()[2:].astype(float))
    some = [np.array([2, 0]), np.array([1])]
    np.testing.assert_allclose(there.among(*some), there.scores[np.ix_(*some)])
    np.testing.assert_allclose(back.among(*some[::-1]), back.scores[np.ix_(*some[::-1])])
    with pytest.raises(KeyError, match="no effect of"):
        tables["colour", "nothing"]
    with pytest.raises(KeyError, match=r"no class 'dog'\. All classes: "):
        there.of_class("dog")


def test_rows_have_names_and_arrow_tables():
    X, y = mixed_table()
    model = LRClassifier(n=2).fit(X, y)
    rows = model.explain(strange_rows(X).iloc[:3])
    assert len(rows) == 3
    frame = rows.to_arrow(0).to_pandas()
    assert set(frame["effect"]) == {"intercept", *(" & ".join(e) for e in rows.effects[1:])}
    assert "colour = never seen" in set(frame["values"])
    assert rows.name_values(1, 0) == "intercept"
    assert rows.best_class(1) == model.predict(X.iloc[1:2])[0]
    np.testing.assert_allclose(frame["log odds of bee"].sum(), rows.log_odds[0, 1])


def test_ande_is_no_sum_of_tables():
    X, y = categorical_table()
    with pytest.raises(TypeError, match="no sum of tables"):
        AnDEClassifier().fit(X, y).explain()


def test_bad_backgrounds_and_memory_limits_say_what_to_do():
    X, y = categorical_table()
    model = LRClassifier(n=2).fit(X, y)
    with pytest.raises(ValueError, match="background must be"):
        model.explain(background="joint")
    with pytest.raises(ValueError, match="No row has a value of 'c0'"):
        model.explain(background=X.assign(c0="unknown"))
    with pytest.raises(MemoryError, match="fewer rows at a time"):
        model.set_params(memory_limit=4000).explain(X)
    with pytest.raises(MemoryError, match="Its effects"):
        model.set_params(memory_limit=100).explain()


def without(tensors):
    """Return the arrays that files of format 1 had."""
    return {name: array for name, array in tensors.items() if name != "frequencies"}


def test_files_keep_frequencies_and_older_files_ask_for_a_background(tmp_path):
    X, y = mixed_table()
    model = DBLClassifier(n=2, alpha=1.0).fit(X, y)
    deepbroad.save(model, tmp_path / "new.dbl")
    again = deepbroad.load(tmp_path / "new.dbl")
    np.testing.assert_array_equal(again.explain(X).contributions, model.explain(X).contributions)
    model._frequencies = None
    deepbroad.save(model, tmp_path / "unknown.dbl")
    assert deepbroad.load(tmp_path / "unknown.dbl")._frequencies is None
    describe = model_file._describe
    with (
        mock.patch.object(container, "FORMAT", 1),
        mock.patch.object(model_file, "_describe", lambda *given: without(describe(*given))),
    ):
        deepbroad.save(model, tmp_path / "old.dbl")
    old = deepbroad.load(tmp_path / "old.dbl")
    np.testing.assert_array_equal(old.predict_proba(X), model.predict_proba(X))
    with pytest.raises(ValueError, match="uniform"):
        old.explain()
    assert_sums(old, X, old.explain(background="uniform"))
    np.testing.assert_allclose(
        old.explain(X, background=X).contributions, again.explain(X).contributions, atol=1e-9
    )


def test_batches_count_values_as_one_fit_does():
    X, y = categorical_table(rows=90)
    X.loc[60:, "c1"] = "s"  # a value of the last batch alone
    whole = AnJEClassifier(n=2).fit(X, y)
    model = AnJEClassifier(n=2)
    for low in range(0, 90, 30):
        model.partial_fit(X.iloc[low : low + 30], y[low : low + 30])
    for ours, theirs in zip(model._frequencies.counts, whole._frequencies.counts, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_allclose(
        model.explain(X).contributions, whole.explain(X).contributions, atol=1e-6
    )
