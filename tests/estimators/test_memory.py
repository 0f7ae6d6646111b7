"""What a fit will need, told beforehand, and refused where it is too much."""

import re

import numpy as np
import pandas as pd
import pytest

from deepbroad import AnJEClassifier, DBLClassifier, LRClassifier
from deepbroad.engine.memory import parse_limit
from tests.estimators.tables import categorical_table


def wide_table(a=20, rows=100, values=10, n_classes=2):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(values, size=(rows, a)).astype(str))
    X.columns = [f"c{i}" for i in range(a)]
    return X, np.arange(rows) % n_classes


def test_an_estimate_has_the_sizes_of_the_fit_and_does_not_fit():
    X, y = categorical_table(200, a=5)
    model = DBLClassifier(n=2)
    found = model.estimate(X, y)
    assert (found.rows, found.terms, found.lookups) == (200, 10, 10)
    assert found.cells == 10 * 9
    assert 1 <= found.fused_lookups <= 10
    assert found.bytes > 0
    assert 0 < found.seconds_per_pass < 1
    assert not hasattr(model, "classes_")
    assert not hasattr(model, "n_features_in_")
    assert sum(table.scores[..., 0].size for table in model.fit(X, y).tables_.values()) == 90


def test_an_estimate_counts_the_chosen_terms_only():
    X, y = categorical_table(100, a=5)
    found = AnJEClassifier(n=2, terms=[("c0", "c1")]).estimate(X, y)
    assert (found.terms, found.cells, found.fused_lookups) == (1, 9, 1)


def test_counting_needs_less_than_fitting():
    X, y = wide_table()
    assert AnJEClassifier(n=2).estimate(X, y).bytes < DBLClassifier(n=2).estimate(X, y).bytes


@pytest.mark.parametrize("n_classes", [2, 10])
@pytest.mark.parametrize("model", [AnJEClassifier, DBLClassifier, LRClassifier])
def test_a_refused_fit_says_which_depth_would_fit_and_that_depth_does(model, n_classes):
    X, y = wide_table(n_classes=n_classes)
    limit = model(n=2).estimate(X, y).bytes + 10_000
    with pytest.raises(MemoryError, match="memory_limit allows") as error:
        model(n=3, memory_limit=limit).fit(X, y)
    message = str(error.value)
    assert "or raise memory_limit" in message
    for n in (1, 2):
        if f"n={n} would need" in message:
            assert model(n=n, memory_limit=limit).estimate(X, y).bytes <= limit
            break
    else:
        pytest.fail(f"no depth was offered: {message}")


def test_the_depth_offered_fits_for_many_classes_too():
    X, y = wide_table(rows=2000, n_classes=100)
    estimates = {n: AnJEClassifier(n=n).estimate(X, y).bytes for n in (1, 2)}
    limit = estimates[2] - 1
    with pytest.raises(MemoryError) as error:
        AnJEClassifier(n=2, memory_limit=limit).fit(X, y)
    offered = re.search(r"n=1 would need about ([\d.]+ \w+)\.", str(error.value))
    assert parse_limit(offered[1]) > 0.5 * estimates[1]
    tight = estimates[1] // 2
    with pytest.raises(MemoryError) as error:
        AnJEClassifier(n=2, memory_limit=tight).fit(X, y)
    assert "would need" not in str(error.value), "n=1 does not fit either"


def test_a_limit_too_small_for_any_depth_offers_none():
    X, y = wide_table()
    with pytest.raises(MemoryError, match="fewer or coarser columns"):
        LRClassifier(n=2, memory_limit=1000).fit(X, y)


def test_billions_of_tuples_are_refused_before_they_are_listed():
    X, y = wide_table(a=200, rows=20)
    with pytest.raises(MemoryError, match=r"This fit needs about .* [GT]B"):
        DBLClassifier(n=8).fit(X, y)


def test_a_limit_that_suffices_changes_nothing():
    X, y = categorical_table(60)
    expected = AnJEClassifier(n=2).fit(X, y).predict_proba(X)
    found = AnJEClassifier(n=2, memory_limit="1GB").fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(found, expected)


def test_an_estimate_does_not_depend_on_the_limit():
    X, y = wide_table()
    small = AnJEClassifier(n=2, memory_limit=10_000).estimate(X, y)
    assert small.bytes == AnJEClassifier(n=2).estimate(X, y).bytes > 10_000
