"""What the automatic choice does where time or memory is short, or the user loses patience."""

import numpy as np
import pytest

from deepbroad import DBLClassifier
from deepbroad.engine.choice import search
from deepbroad.estimators import chosen_terms
from tests.estimators.tables import categorical_table, small_table


def wide_table():
    """Return numbers whose pairs take several megabytes, and which by themselves take one."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 80)), rng.integers(2, size=60)


def test_a_limit_of_time_that_ends_the_choice_is_warned_of():
    X, y = small_table()
    with pytest.warns(UserWarning, match=r"time_limit=1e-09 ended the automatic choice early"):
        model = DBLClassifier(time_limit=1e-9).fit(X, y)
    assert model.selection_["n"] == 1
    assert not model.selection_["complete"]
    assert len(model.selection_["warnings"]) == 1
    assert len(model.selection_["trials"]) == 1


def test_a_limit_of_time_that_suffices_changes_nothing():
    X, y = small_table()
    limited, free = (DBLClassifier(time_limit=limit).fit(X, y) for limit in (3600.0, None))
    assert limited.selection_ == free.selection_
    np.testing.assert_array_equal(limited.predict_proba(X), free.predict_proba(X))


@pytest.mark.parametrize(("kind", "few"), [("RowFits", 2048), ("CellFits", 0)])
def test_ctrl_c_ends_a_choice(kind, few, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    X, y = categorical_table(60, a=3)
    monkeypatch.setattr(search, "FEW_ROWS", few)
    monkeypatch.setattr(search, kind, interrupt)
    with pytest.raises(KeyboardInterrupt):
        DBLClassifier().fit(X, y)


def test_a_thorough_choice_looks_at_more():
    X, y = small_table(400)
    fast, thorough = (DBLClassifier(effort=effort).fit(X, y) for effort in ("fast", "thorough"))
    assert thorough.selection_["folds"] > fast.selection_["folds"]
    assert thorough.score(X, y) > 0.9


@pytest.mark.parametrize("parameters", [{"n": 2, "alpha": [1.0, 9.0]}])
def test_a_given_depth_that_does_not_fit_is_refused(parameters):
    X, y = wide_table()
    with pytest.raises(MemoryError, match=r"This fit needs about .* memory_limit allows 2"):
        DBLClassifier(**parameters, memory_limit="2MB").fit(X, y)


def test_tuples_too_many_to_list_are_refused_or_not_begun():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(8, 800)), np.arange(8) % 2
    given = DBLClassifier(n=3, alpha=[1.0, 1.0, 1.0])
    with pytest.raises(MemoryError, match="Tuples of up to n=3 attributes"):
        given.fit(X, y)
    for model in (given, DBLClassifier(n=3)):
        with pytest.raises(MemoryError, match="Tuples of up to n=3 attributes"):
            model.estimate(X, y)
    # The automatic choice would take pairs at most.
    assert DBLClassifier().estimate(X[:, :140], y).terms < 50_000


def test_a_choice_is_not_made_for_an_estimate(monkeypatch):
    monkeypatch.setattr(chosen_terms, "choose", pytest.fail)
    assert DBLClassifier().estimate(*small_table()).terms > 0
