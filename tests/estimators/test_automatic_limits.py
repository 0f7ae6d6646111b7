"""What the automatic choice does where time or memory is short, or the user loses patience."""

import numpy as np
import pytest

from deepbroad import DBLClassifier
from deepbroad.engine import automatic, depth_search, validation
from tests.estimators.tables import categorical_table, small_table


@pytest.fixture(autouse=True)
def _two_folds(monkeypatch):
    """Few folds, so that tests take little time."""
    monkeypatch.setattr(validation, "FOLDS", ((10_000, 2, 1),))
    monkeypatch.setattr(depth_search, "MOST_TRIALS", (5, 6, 3))


def wide_table():
    """Return numbers whose pairs take several megabytes, and which by themselves take one."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 80)), rng.integers(2, size=60)


def test_a_limit_of_time_is_reported():
    X, y = small_table()
    with pytest.warns(UserWarning, match=r"after 1 trial, and n=2 had no time"):
        model = DBLClassifier(time_limit=1e-9).fit(X, y)
    assert model.selection_["n"] == 1
    assert model.selection_["skipped"] == {"2": "time"}
    assert len(model.selection_["trials"]) == 1


def test_ctrl_c_ends_a_choice(monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    X, y = categorical_table(60, a=3)
    monkeypatch.setattr("deepbroad.engine.passes.LossPass.__call__", interrupt)
    with pytest.raises(KeyboardInterrupt):
        DBLClassifier().fit(X, y)


def test_a_limit_of_memory_is_reported(monkeypatch):
    monkeypatch.setattr(automatic, "SHORTLISTS", ())
    X, y = wide_table()
    model = DBLClassifier(memory_limit="2MB").fit(X, y)
    assert model.selection_["n"] == 1
    assert model.selection_["skipped"] == {"2": "memory", "3": "memory"}


def test_where_memory_forbids_all_pairs_the_most_telling_ones_are_tried(monkeypatch):
    monkeypatch.setattr(automatic, "SHORTLIST_ROWS", (299, 299))
    X = np.random.default_rng(0).normal(size=(300, 40))
    y = ((X[:, 0] > 0) ^ (X[:, 1] > 0)).astype(int)
    model = DBLClassifier(memory_limit="8MB").fit(X, y)
    shortlisted = model.selection_["shortlisted"]
    assert model.selection_["n"] == 2
    assert 0 < shortlisted["2"] <= 2 * X.shape[1]
    pairs = [term for term in model.terms_ if len(term) == 2]
    assert len(pairs) == shortlisted["2"]
    assert ("x0", "x1") in pairs


@pytest.mark.parametrize("parameters", [{"n": 2}, {"n": 2, "alpha": [1.0, 9.0]}])
def test_a_given_depth_that_does_not_fit_is_refused_before_anything_is_tried(
    parameters, monkeypatch
):
    monkeypatch.setattr(depth_search, "Validation", None)
    X, y = wide_table()
    with pytest.raises(MemoryError, match=r"This fit needs about .* memory_limit allows 2"):
        DBLClassifier(**parameters, memory_limit="2MB").fit(X, y)


def test_tuples_too_many_to_list_are_refused_or_not_begun():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(8, 800)), np.arange(8) % 2
    for model in (DBLClassifier(n=3), DBLClassifier(n=3, alpha=[1.0, 1.0, 1.0])):
        with pytest.raises(MemoryError, match="Tuples of up to n=3 attributes"):
            model.fit(X, y)
        with pytest.raises(MemoryError, match="Tuples of up to n=3 attributes"):
            model.estimate(X, y)
    # The automatic choice would take pairs at most.
    assert DBLClassifier().estimate(X[:, :140], y).terms < 50_000
