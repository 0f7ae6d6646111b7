"""The default model where cells score by their counts: when it is so, and that all else holds."""

import pickle

import numpy as np
import pandas as pd
import pytest

import deepbroad
from deepbroad import DBLClassifier
from deepbroad.engine.choice import counting, search

ROWS = 4_000


def draw_table(rows=ROWS, seed=0):
    """Return people and doors: who opens what others of the team open may, most others may not."""
    rng = np.random.default_rng(seed)
    team = rng.integers(60, size=rows)
    usual = rng.random(rows) < 0.7
    person = team * 5 + rng.integers(5, size=rows)
    door = np.where(usual, team * 3 + rng.integers(3, size=rows), rng.integers(180, size=rows))
    room = np.where(usual, door * 2, rng.integers(360, size=rows))
    X = pd.DataFrame({"person": person, "door": door, "room": room}).astype(str)
    y = np.where(usual | (rng.random(rows) < 0.3), "may", "may not")
    return X, y


def log_loss(model, X, y):
    found = model.predict_log_proba(X)
    return -found[np.arange(len(y)), np.searchsorted(model.classes_, y)].mean()


@pytest.fixture(scope="module")
def model():
    return DBLClassifier(n_jobs=1).fit(*draw_table())


def test_counts_are_taken_where_rows_share_few_joint_values(model, monkeypatch):
    assert model.selection_["by_counts"]
    assert model.recipe_.by_counts
    assert model.selection_["n"] == 3
    assert model.selection_["trials"][-1]["by_counts"]
    assert model.selection_["loss"] == model.selection_["trials"][-1]["loss"]
    assert not any("by_counts" in trial for trial in model.selection_["trials"][:-1])
    monkeypatch.setattr(counting, "SPARSE", 1.1)
    learned = DBLClassifier(n_jobs=1).fit(*draw_table())
    assert not learned.selection_["by_counts"]
    new = draw_table(seed=1)
    assert log_loss(model, *new) < log_loss(learned, *new)


def test_counts_that_do_no_better_are_tried_and_left(monkeypatch):
    def lose_more(*arguments, **options):
        found = search_losses(*arguments, **options)
        return found._replace(each=found.each + 1.0)

    search_losses = search.held_losses_by_counts
    monkeypatch.setattr(search, "held_losses_by_counts", lose_more)
    chosen = DBLClassifier(n_jobs=1).fit(*draw_table()).selection_
    assert chosen["trials"][-1]["by_counts"]
    assert not chosen["trials"][-1]["taken"]
    assert not chosen["by_counts"]


def test_the_fit_tells_how_it_ended(model):
    assert model.status_ == "converged"
    assert model.n_iter_ == len(model.loss_curve_) - 1 > 0
    assert model.temperature_ == 1.0


def test_files_and_pickles_have_the_same_model(model, tmp_path):
    X, _ = draw_table(rows=200, seed=2)
    X.loc[0] = ["never", "seen", "at all"]
    expected = model.predict_proba(X)
    deepbroad.save(model, tmp_path / "model.dbl")
    loaded = deepbroad.load(tmp_path / "model.dbl")
    assert loaded.selection_ == model.selection_
    for same in (loaded, pickle.loads(pickle.dumps(model))):
        np.testing.assert_allclose(same.predict_proba(X), expected, rtol=1e-6)


def test_contributions_sum_to_log_odds(model):
    X, _ = draw_table(rows=50, seed=2)
    found = model.explain(X).contributions.sum(axis=1)
    np.testing.assert_allclose(found[:, 1], model.decision_function(X), atol=1e-5)


def test_a_row_of_values_never_seen_has_the_class_scores(model):
    X = pd.DataFrame({name: ["?"] for name in ("person", "door", "room")})
    scores = model.intercept_ - model.intercept_.max()
    shares = np.exp(scores) / np.exp(scores).sum()
    np.testing.assert_allclose(model.predict_proba(X)[0], shares, rtol=1e-5)


def test_threads_do_not_change_the_model(model):
    again = DBLClassifier(n_jobs=2).fit(*draw_table())
    X, _ = draw_table(rows=200, seed=2)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "settings",
    [
        {"solver": "lbfgs"},
        {"shrink_to": "generative"},
        {"warm_start": True},
        {"class_weight": "balanced"},
        {"terms": [("person", "door")], "n": 2},
        {"n": 1},
    ],
)
def test_what_is_asked_for_otherwise_is_learned(settings, monkeypatch):
    monkeypatch.setattr(search, "held_losses_by_counts", pytest.fail)
    model = DBLClassifier(n_jobs=1, max_iter=3, **settings)
    model.fit(*draw_table())
    assert not model.selection_["by_counts"]


def test_batches_are_learned(monkeypatch):
    monkeypatch.setattr(search, "held_losses_by_counts", pytest.fail)
    assert not DBLClassifier(n_jobs=1).partial_fit(*draw_table()).selection_["by_counts"]


def test_a_fit_goes_on_from_the_choice_of_a_checkpoint(tmp_path, model):
    first = DBLClassifier(n_jobs=1, checkpoint=tmp_path, callbacks=[lambda _: True])
    first.fit(*draw_table())
    assert first.status_ == "stopped"
    second = DBLClassifier(n_jobs=1, checkpoint=tmp_path).fit(*draw_table())
    X, _ = draw_table(rows=200, seed=2)
    assert second.selection_ == model.selection_
    np.testing.assert_array_equal(second.predict_proba(X), model.predict_proba(X))


def test_weights_of_1_do_not_switch_it_off(model):
    X, y = draw_table()
    weighted = DBLClassifier().fit(X, y, sample_weight=np.ones(len(y)))
    assert weighted.selection_["by_counts"]
    np.testing.assert_array_equal(weighted.predict_proba(X), model.predict_proba(X))
