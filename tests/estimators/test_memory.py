"""What a fit will need, told beforehand, and refused where it is too much."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from deepbroad import AnJEClassifier, DBLClassifier, LRClassifier
from tests.estimators.tables import categorical_table


def wide_table(a=20, rows=100, values=10, n_classes=2):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(values, size=(rows, a)).astype(str))
    X.columns = [f"c{i}" for i in range(a)]
    return X, np.arange(rows) % n_classes


def test_an_estimate_has_the_sizes_of_the_fit_and_does_not_fit():
    X, y = categorical_table(200, a=5)
    model = DBLClassifier(n=2, alpha=1.0)
    found = model.estimate(X, y)
    distinct = len(X.assign(y=y).drop_duplicates())
    assert (found.rows, found.terms, found.lookups) == (distinct, 10, 10)
    assert found.cells == 10 * 9
    assert 1 <= found.fused_lookups <= 10
    assert found.bytes > 0
    assert 0 < found.seconds_per_pass < 1
    assert not hasattr(model, "classes_")
    assert not hasattr(model, "n_features_in_")
    assert sum(table.scores[..., 0].size for table in model.fit(X, y).tables_.values()) == 90


def test_an_estimate_knows_that_sgd_remembers_little():
    X, y = categorical_table(400, a=6)
    by_solver = {
        solver: DBLClassifier(3, alpha=1.0, solver=solver).estimate(X, y).bytes
        for solver in ("lbfgs", "sgd")
    }
    assert by_solver["sgd"] < by_solver["lbfgs"]


def test_an_estimate_counts_the_chosen_terms_only():
    X, y = categorical_table(100, a=5)
    found = AnJEClassifier(n=2, terms=[("c0", "c1")]).estimate(X, y)
    assert (found.terms, found.cells, found.fused_lookups) == (1, 9, 1)


def test_counting_needs_less_than_fitting():
    X, y = wide_table()
    fitted = DBLClassifier(n=2, alpha=1.0)
    assert AnJEClassifier(n=2).estimate(X, y).bytes < fitted.estimate(X, y).bytes


@pytest.mark.parametrize("n_classes", [2, 10])
@pytest.mark.parametrize("model", [AnJEClassifier, partial(DBLClassifier, alpha=1.0), LRClassifier])
def test_where_all_tuples_need_too_much_the_best_are_kept_and_that_is_said(model, n_classes):
    X, y = wide_table(n_classes=n_classes)
    limit = model(n=2).estimate(X, y).bytes
    needed = model(n=3).estimate(X, y)
    assert limit < needed.bytes / 4
    with pytest.warns(UserWarning, match="1,140 tuples .* tell most about the class") as announced:
        fitted = model(n=3, memory_limit=limit).fit(X, y)
    assert len(announced) == 1
    assert 20 / 3 < len(fitted.terms_) < 1140
    assert len(fitted.term_gains_) == len(fitted.terms_)
    assert f"the {len(fitted.terms_):,} that tell most" in str(announced[0].message)
    kept = model(n=3, terms=fitted.terms_, memory_limit=limit)
    np.testing.assert_array_equal(kept.fit(X, y).predict_proba(X), fitted.predict_proba(X))


def test_as_many_tuples_are_kept_as_max_terms_says():
    X, y = wide_table(a=8)
    y = (X["c1"].astype(int) + X["c5"].astype(int)) % 2
    model = AnJEClassifier(n=2, max_terms=4).fit(X, y)
    assert len(model.terms_) == 4
    assert ("c1", "c5") in model.terms_
    assert model.terms_[int(np.argmax(model.term_gains_))] == ("c1", "c5")
    few = AnJEClassifier(n=2, max_terms=1, terms=[("c0", "c1"), ("c1", "c5"), ("c6", "c7")])
    assert few.fit(X, y).terms_ == [("c1", "c5")]
    every = AnJEClassifier(n=2, max_terms=1000).fit(X, y)
    assert len(every.terms_) == 28
    assert every.term_gains_ is None


def test_terms_that_were_asked_for_are_never_dropped():
    X, y = wide_table()
    model = LRClassifier(n=2, terms=[("c0", "c1"), ("c2", "c3")], memory_limit=130_000)
    with pytest.raises(MemoryError, match="memory_limit allows"):
        model.fit(X, y)


def test_a_limit_too_small_for_any_depth_offers_none():
    X, y = wide_table()
    with pytest.raises(MemoryError, match="fewer or coarser columns"):
        LRClassifier(n=2, memory_limit=220_000).fit(X, y)


def test_a_limit_for_a_smaller_depth_alone_says_so():
    X, y = wide_table(a=3, rows=2000, values=60)
    one, two = (AnJEClassifier(n=n).estimate(X, y).bytes for n in (1, 2))
    assert two > 2 * one
    with pytest.raises(MemoryError, match="n=1 would need about"):
        AnJEClassifier(n=2, memory_limit=(one + two) // 2 - one // 4).fit(X, y)


def test_billions_of_tuples_are_never_listed():
    X, y = wide_table(a=200, rows=20, values=3)
    estimate = DBLClassifier(n=8, alpha=1.0).estimate(X, y)
    assert estimate.terms > 10**13
    assert estimate.bytes > 10**14
    with pytest.warns(UserWarning, match="tell most about the class"):
        model = AnJEClassifier(n=8, memory_limit="1GB").fit(X, y)
    assert len(model.terms_[0]) == 8


def test_a_limit_that_suffices_changes_nothing():
    X, y = categorical_table(60)
    expected = AnJEClassifier(n=2).fit(X, y).predict_proba(X)
    found = AnJEClassifier(n=2, memory_limit="1GB").fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(found, expected)


def test_an_estimate_does_not_depend_on_the_limit():
    X, y = wide_table()
    small = AnJEClassifier(n=2, memory_limit=10_000).estimate(X, y)
    assert small.bytes == AnJEClassifier(n=2).estimate(X, y).bytes > 10_000


def test_a_limit_below_what_reading_takes_is_refused_before_any_search():
    X, y = wide_table(rows=2000)
    for options in ({}, {"max_terms": 3}, {"terms": [("c0", "c1")]}):
        with pytest.raises(MemoryError, match="To read and code this table"):
            AnJEClassifier(n=2, memory_limit="50kB", **options).fit(X, y)


@pytest.mark.parametrize("limit", ["0GB", 0, -1, "4 apples", "", "1.2.3GB"])
def test_limits_that_mean_nothing_are_refused(limit):
    X, y = categorical_table(30)
    with pytest.raises(ValueError, match="memory_limit must be"):
        AnJEClassifier(memory_limit=limit).fit(X, y)
