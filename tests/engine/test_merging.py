"""Identical rows as one of their weight together, against counters; the same models."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad import AnJEClassifier, DBLClassifier
from deepbroad.data.code_store import CodeStore
from deepbroad.data.source import ArraySource
from deepbroad.engine import merging
from deepbroad.engine.merging import MIN_ROWS, WORTH, merge_rows
from tests.engine.problems import draw_problem


@pytest.fixture(autouse=True)
def _merge_few_rows(monkeypatch):
    monkeypatch.setattr(merging, "MIN_ROWS", 1)


def weigh_rows(source):
    """Return the total weight of each different row of codes and label."""
    totals = Counter()
    weights = np.ones(source.n_rows) if source.weights is None else source.weights
    for *row, label, weight in zip(*source.codes, source.labels, weights, strict=True):
        totals[(*map(int, row), int(label))] += float(weight)
    return totals


def repeated_rows(seed=0, *, distinct=20, rows=200, weighted=False):
    """Return a source that draws its rows from few different ones."""
    problem = draw_problem(seed, a=5, rows=distinct, largest=4)
    chosen = np.random.default_rng(seed).integers(distinct, size=rows)
    weights = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.5], rows) if weighted else None
    return problem.rows(chosen, weights).source()


@given(
    seed=st.integers(0, 10**6), distinct=st.integers(3, 60), rows=st.integers(1, 120),
    weighted=st.booleans(),
)  # fmt: skip
def test_every_row_keeps_its_weight_merged_or_not(seed, distinct, rows, weighted):
    source = repeated_rows(seed, distinct=distinct, rows=rows, weighted=weighted)
    expected = weigh_rows(source)
    merged = merge_rows(source)
    assert weigh_rows(merged) == expected
    if len(expected) > (1 - WORTH) * rows:
        assert merged is source
    else:
        assert merged.n_rows == len(expected)


@pytest.mark.parametrize("weighted", [False, True])
def test_merged_rows_come_in_the_order_of_their_first(weighted):
    source = repeated_rows(weighted=weighted)
    merged = merge_rows(source)
    rows = [(*row, label) for *row, label in zip(*source.codes, source.labels, strict=True)]
    first = [(*row, label) for *row, label in zip(*merged.codes, merged.labels, strict=True)]
    assert first == list(dict.fromkeys(rows))
    assert merged.n_classes == source.n_classes
    assert merged.codes.dtype == source.codes.dtype
    assert merged.labels.dtype == source.labels.dtype
    assert merged.codes.flags.c_contiguous
    np.testing.assert_array_equal(merged.cardinalities, source.cardinalities)


def test_rows_of_different_classes_stay_apart():
    codes = np.zeros((2, 30), np.uint8)
    labels = np.repeat([0, 1, 2], [5, 10, 15])
    merged = merge_rows(ArraySource(codes, labels, 3, np.array([1, 1])))
    assert merged.labels.tolist() == [0, 1, 2]
    assert merged.weights.tolist() == [5, 10, 15]


def test_few_identical_rows_are_left_as_they_are():
    codes = np.arange(100)[None, :].astype(np.uint8)
    source = ArraySource(codes, np.zeros(100, int), 2, np.array([100]))
    assert merge_rows(source) is source
    codes[0, 76:] = 0  # 76 different ones: more than three quarters
    assert merge_rows(source) is source
    codes[0, 75:] = 0
    assert merge_rows(source).n_rows == 75


@pytest.mark.parametrize("weighted", [False, True])
def test_few_rows_are_merged_and_sorted_by_what_they_are(monkeypatch, weighted):
    monkeypatch.setattr(merging, "MIN_ROWS", 10**9)
    source = repeated_rows(distinct=150, rows=200, weighted=weighted)
    merged = merge_rows(source)
    assert weigh_rows(merged) == +weigh_rows(source)
    assert merged.n_rows == len(weigh_rows(merged))
    assert merged.n_given == 200
    for other in (source.take(np.random.default_rng(0).permutation(200)), merged):
        again = merge_rows(other)
        for name in ("codes", "labels", "weights"):
            np.testing.assert_array_equal(getattr(again, name), getattr(merged, name))


def test_few_rows_that_all_differ_have_no_weights(monkeypatch):
    monkeypatch.setattr(merging, "MIN_ROWS", 10**9)
    codes = np.arange(100)[None, :].astype(np.uint8)
    source = ArraySource(codes, np.zeros(100, int), 2, np.array([100]))
    assert merge_rows(source).weights is None


def hash_alike(codes, labels, hashes):
    """Give all rows of a label the same hash, and labels such that share a slot."""
    hashes[:] = labels.astype(np.uint64) << np.uint64(32)


def test_different_rows_of_one_hash_are_never_merged(monkeypatch):
    monkeypatch.setattr(merging, "hash_rows", hash_alike)
    source = repeated_rows(weighted=True)
    assert len(weigh_rows(source)) < (1 - WORTH) * source.n_rows
    assert merge_rows(source) is source


def test_identical_rows_are_merged_whatever_their_hashes(monkeypatch):
    monkeypatch.setattr(merging, "hash_rows", hash_alike)
    labels = np.arange(40) % 4
    merged = merge_rows(ArraySource(np.ones((3, 40), np.uint8), labels, 4, np.full(3, 2)))
    assert merged.labels.tolist() == [0, 1, 2, 3]
    assert merged.weights.tolist() == [10] * 4


def table(rows=MIN_ROWS + 1000):
    """A table of many identical rows, with missing values and a number."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"c{i}": rng.choice(["a", "b", None], rows) for i in range(4)})
    X["number"] = rng.integers(4, size=rows) * 1.5
    score = (X["c0"] == "a") * 1.0 + (X["c1"] == X["c2"]) * 1.5 - (X["number"] > 2) * 1.0
    y = (score + rng.gumbel(size=rows) > 0.8).astype(int) + (rng.random(rows) < 0.2)
    return X, y.to_numpy(), rng.choice([0.0, 0.5, 1.0, 3.0], rows)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize(
    "model",
    [
        DBLClassifier(n=2, alpha=1.0),
        DBLClassifier(n=3, alpha=1.0, shrink_to="generative", class_weight="balanced"),
        DBLClassifier(n=2, alpha=1.0, min_count=30),
        AnJEClassifier(n=2),
    ],
    ids=repr,
)
def test_merging_changes_no_probability(monkeypatch, model, weighted):
    X, y, weights = table()
    weights = weights if weighted else None
    found = []
    for worth, rows in ((WORTH, 1000), (1.0, len(X))):
        monkeypatch.setattr(merging, "WORTH", worth)
        assert (model.estimate(X, y, weights).rows < rows) == (worth < 1.0)
        found.append(model.fit(X, y, weights).predict_proba(X))
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)
    assert np.ptp(found[0]) > 0.5


@pytest.mark.parametrize("most", [100, 99])
def test_rows_in_files_are_merged_into_files_unless_they_are_many(monkeypatch, tmp_path, most):
    monkeypatch.setattr(merging, "SPAN_ROWS", most + 1)
    here = repeated_rows(rows=200)
    with CodeStore(tmp_path) as store:
        codes = store.empty(here.codes.shape, here.codes.dtype)
        codes[:] = here.codes
        there = ArraySource(codes, here.labels, here.n_classes, here.cardinalities, store=store)
        merged, expected = merge_rows(there), merge_rows(here)
        if most == 99:
            assert merged is there
            return
        assert not merged.resident
        assert weigh_rows(merged) == weigh_rows(expected)
        np.testing.assert_array_equal(merged.codes, expected.codes)


def test_a_fit_from_files_has_the_bits_of_one_in_memory(monkeypatch, tmp_path):
    monkeypatch.setattr(merging, "MIN_ROWS", MIN_ROWS)
    X, y, _ = table()
    X.assign(label=y).to_parquet(tmp_path / "rows.parquet")
    models = [DBLClassifier(n=2, alpha=0.01, tol=1e-3) for _ in range(2)]
    models[0].fit(X, y)
    models[1].fit(tmp_path / "rows.parquet", "label")
    np.testing.assert_array_equal(*(model.predict_proba(X[:500]) for model in models))
