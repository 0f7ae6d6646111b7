"""partial_fit: models of batches are those of all their rows."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deepbroad
from deepbroad import AnDEClassifier, AnJEClassifier, DBLClassifier, LRClassifier
from deepbroad.data.table import read_table
from tests.estimators.tables import categorical_table, mixed_table

COUNTED = [AnJEClassifier(n=1), AnJEClassifier(n=2), AnDEClassifier(n=1)]


def fresh(model, **parameters):
    return type(model)(**{**model.get_params(), **parameters})


def stream(model, X, y, cuts, weights=None, **options):
    """Give rows to partial_fit, cut into batches before some of them."""
    for rows in np.split(np.arange(len(y)), cuts):
        part = None if weights is None else weights[rows]
        model.partial_fit(X.iloc[rows], y[rows], sample_weight=part, **options)
    return model


def assert_same(one, other, X):
    np.testing.assert_array_equal(one.classes_, other.classes_)
    assert one.classes_.dtype == other.classes_.dtype
    assert one.attributes_ == other.attributes_
    np.testing.assert_allclose(one.intercept_, other.intercept_, rtol=1e-12)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=0, atol=1e-12)
    for term in other.terms_:
        ours, theirs = one.tables_[term].scores, other.tables_[term].scores
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@st.composite
def tables(draw):
    """Draw rows of categories, some rare and some missing, with classes, weights and batches."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows, a = draw(st.integers(4, 40)), draw(st.integers(2, 4))
    values = np.array(["p", "q", "r", "s", None], dtype=object)
    X = pd.DataFrame({f"c{i}": values[rng.integers(draw(st.integers(1, 5)), size=rows)]
                      for i in range(a)})  # fmt: skip
    y = np.array(["no", "yes", "perhaps"])[rng.integers(draw(st.integers(2, 3)), size=rows)]
    y[:2] = ["no", "yes"]
    weights = rng.choice([0.0, 1.0, 2.5], size=rows) if draw(st.booleans()) else None
    cuts = sorted({draw(st.integers(2, rows - 1)) for _ in range(draw(st.integers(0, 4)))})
    if weights is not None:
        weights[[0, 1]] = 1.0  # the first batch has classes
    return X, y, weights, cuts


@pytest.mark.parametrize("model", COUNTED, ids=str)
@settings(max_examples=25)
@given(tables())
def test_batches_give_the_model_of_all_rows(model, case):
    X, y, weights, cuts = case
    whole = fresh(model).fit(X, y, sample_weight=weights)
    assert_same(stream(fresh(model), X, y, cuts, weights), whole, X)


@pytest.mark.parametrize("model", COUNTED, ids=str)
def test_single_rows_give_the_model_of_all_rows(model):
    X, y = categorical_table(40)
    whole = fresh(model).fit(X, y)
    assert_same(stream(fresh(model), X, y, range(10, 40)), whole, X)


def test_numbers_keep_the_cuts_of_the_first_batch():
    X, y = mixed_table(300)
    X.loc[250:, "length"] = np.nan
    model = stream(AnJEClassifier(n=2), X, y, [200, 240])
    first = AnJEClassifier(n=2).fit(X[:200], y[:200])
    assert model.attributes_["length"] == [*first.attributes_["length"], "missing"]
    # Cut by hand at the first batch's cuts, all rows give the same model.
    codes = model._encoding.encode(read_table(X))[-1]
    binned = X.assign(length=codes.astype(str))
    whole = AnJEClassifier(n=2).fit(binned, y)
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(binned), atol=1e-12)


@pytest.mark.parametrize("min_count", [2, 3.5])
def test_min_count_is_of_all_rows_together(min_count):
    X, y = categorical_table(60)
    model = AnJEClassifier(n=3, min_count=min_count)
    whole = fresh(model).fit(X, y)
    assert not np.allclose(
        whole.predict_proba(X), fresh(model, min_count=1).fit(X, y).predict_proba(X)
    )
    assert_same(stream(model, X, y, [20, 30, 40]), whole, X)


def test_large_tables_are_compact_and_grow():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(90, size=(600, 3)).astype(str), columns=list("abc"))
    y = rng.integers(2, size=600)
    model = stream(AnJEClassifier(n=2), X, y, [50, 60, 300])
    assert model._stream.plan.terms.is_compact.any()
    assert_same(model, AnJEClassifier(n=2).fit(X, y), X)


def test_given_terms_stay_the_terms():
    X, y = categorical_table(60)
    terms = [("c0", "c1"), ("c1", "c3")]
    model = stream(AnJEClassifier(n=2, terms=terms), X, y, [20, 30])
    assert model.terms_ == terms
    assert_same(model, AnJEClassifier(n=2, terms=terms).fit(X, y), X)


def test_tables_of_any_library_make_one_stream():
    X, y = categorical_table(60)
    model = AnJEClassifier(n=2).partial_fit(X[:30], y[:30])
    model.partial_fit(pl.from_pandas(X[30:]), pl.Series(y[30:]))
    assert_same(model, AnJEClassifier(n=2).fit(X, y), X)


@pytest.mark.parametrize(
    "model", [*COUNTED, DBLClassifier(n=2, alpha=1.0), LRClassifier(n=1)], ids=str
)
def test_a_batch_without_any_weight_is_as_if_absent(model):
    X, y = categorical_table(60)
    model = fresh(model, class_weight={2: 0.0}).partial_fit(X, y)
    expected = model.predict_proba(X)
    other = X.assign(c0="never seen")
    model.partial_fit(other, ["no class"] * 60, sample_weight=np.zeros(60))
    model.partial_fit(other[y == 2], y[y == 2])
    np.testing.assert_array_equal(model.predict_proba(X), expected)
    assert model.classes_.tolist() == [0, 1]
    assert "never seen" not in model.attributes_["c0"]
    with pytest.raises(ValueError, match="feature names should match"):
        model.partial_fit(X[["c1", "c0"]], y, sample_weight=np.zeros(60))


def test_a_first_batch_without_any_weight_is_refused():
    X, y = categorical_table(60)
    with pytest.raises(ValueError, match="at least one non-zero"):
        AnJEClassifier(n=1).partial_fit(X, y, sample_weight=np.zeros(60), classes=[0, 1, 2])


def test_class_weights_are_of_the_classes_wherever_they_come():
    X, y = categorical_table(60)
    order = np.argsort(y == 2, kind="stable")
    X, y = X.iloc[order].reset_index(drop=True), y[order]
    weighted = AnJEClassifier(n=2, class_weight={2: 3.0, 0: 0.5})
    assert_same(stream(fresh(weighted), X, y, [20, 55]), fresh(weighted).fit(X, y), X)
    with pytest.raises(ValueError, match=r"none of which is a class of y\. Did you mean 2\?"):
        fresh(weighted, class_weight={"2": 3.0}).partial_fit(X, y, classes=[0, 1, 2])
    ignored = AnJEClassifier(n=2, class_weight={2: 0.0})
    assert_same(stream(fresh(ignored), X, y, [20, 35]), fresh(ignored).fit(X, y), X)


def test_announced_classes_have_what_smoothing_gives_until_they_come():
    X, y = categorical_table(30, n_classes=2)
    model = AnJEClassifier(smoothing=2.0).partial_fit(X, y, classes=[0, 1, 7])
    assert model.classes_.tolist() == [0, 1, 7]
    counts = np.array([np.sum(y == 0), np.sum(y == 1), 0])
    np.testing.assert_allclose(model.intercept_, np.log((counts + 2 / 3) / (30 + 2.0)))
    np.testing.assert_allclose(model.tables_["c0"].scores[:, 2], np.log((2 / 3) / 2.0))
    assert_same(
        model.partial_fit(X[:1], [7]),
        AnJEClassifier(smoothing=2.0).fit(pd.concat([X, X[:1]]), [*y, 7]),
        X,
    )


def test_one_class_alone_needs_the_others_announced():
    with pytest.raises(ValueError, match="Announce all with `classes`"):
        AnJEClassifier().partial_fit([["a"], ["b"]], [1, 1])
    model = AnJEClassifier().partial_fit([["a"], ["b"]], [1, 1], classes=[0, 1])
    assert model.predict([["a"]]) == [1]


def test_classes_that_were_not_announced_are_refused_by_name_and_change_nothing():
    X, y = categorical_table(30, n_classes=2)
    model = AnJEClassifier().partial_fit(X, y, classes=[0, 1])
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match=r"y has the classes 5"):
        model.partial_fit(X[:2], [1, 5])
    with pytest.raises(ValueError, match="not the same as on last call"):
        model.partial_fit(X, y, classes=[0, 1, 5])
    np.testing.assert_array_equal(model.predict_proba(X), before)
    model.partial_fit(X, y, classes=[1, 0])


def test_classes_may_be_announced_later_if_they_hold_those_that_came():
    X, y = categorical_table(30, n_classes=2)
    model = AnJEClassifier().partial_fit(X, y)
    with pytest.raises(ValueError, match="not the same"):
        model.partial_fit(X, y, classes=[1, 2])
    model.partial_fit(X, y, classes=[0, 1, 2])
    assert model.classes_.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="the classes 3, which"):
        model.partial_fit(X[:1], [3])


@pytest.mark.parametrize(
    ("first", "second", "classes"),
    [
        (["a", "bb"], ["ccc", "a"], np.array(["a", "bb", "ccc"])),
        ([2, 1], [0, 2], np.array([0, 1, 2])),
        ([True, False], [True, True], np.array([False, True])),
    ],
)
def test_classes_that_come_later_are_of_the_type_that_all_have(first, second, classes):
    X = [["u"], ["v"]]
    model = AnJEClassifier().partial_fit(X, first).partial_fit(X, second)
    np.testing.assert_array_equal(model.classes_, classes)
    assert model.classes_.dtype == AnJEClassifier().fit(X * 2, [*first, *second]).classes_.dtype


def test_numbers_and_text_may_both_be_classes():
    X = [["u"], ["v"]]
    model = AnJEClassifier().partial_fit(X, [1, 2]).partial_fit(X, ["one", "two"])
    assert model.classes_.tolist() == [1, 2, "one", "two"]


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"class_weight": "balanced"}, "class_weight='balanced' needs all rows"),
        ({"max_terms": 2}, "name the tuples with `terms`"),
    ],
)
def test_what_needs_all_rows_is_refused(parameters, words):
    X, y = categorical_table(30)
    with pytest.raises(ValueError, match=words):
        AnJEClassifier(**parameters).partial_fit(X, y)


def test_memory_is_refused_not_screened():
    X, y = categorical_table(30)
    wide = pd.concat([X.add_suffix(str(i)) for i in range(30)], axis=1)
    with pytest.raises(MemoryError, match="memory_limit"):
        AnJEClassifier(n=2, memory_limit="1MB").partial_fit(wide, y)
    with pytest.raises(MemoryError, match="too many to list"):
        AnJEClassifier(n=8, memory_limit="1GB").partial_fit(wide, y)


def test_another_depth_or_kind_or_name_is_refused_within_a_stream():
    X, y = categorical_table(30)
    model = AnJEClassifier(n=2).partial_fit(X, y)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="n=1 is not what it was"):
        model.set_params(n=1).partial_fit(X, y)
    model.set_params(n=2)
    with pytest.raises(ValueError, match="Column 'c0' held categories"):
        model.partial_fit(X.assign(c0=1.5), y)
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(X.rename(columns={"c0": "d"}), y)
    np.testing.assert_array_equal(model.predict_proba(X), before)


def test_fit_forgets_the_stream_and_the_next_batch_begins_anew():
    X, y = categorical_table(60)
    model = AnJEClassifier(n=2).partial_fit(X[:40], y[:40]).fit(X[40:], y[40:])
    assert_same(model, AnJEClassifier(n=2).fit(X[40:], y[40:]), X)
    with pytest.warns(UserWarning, match="partial_fit begins anew"):
        model.partial_fit(X[:20], y[:20])
    model.partial_fit(X[20:40], y[20:40])
    assert_same(model, AnJEClassifier(n=2).fit(X[:40], y[:40]), X)


@pytest.mark.parametrize("model", COUNTED, ids=str)
def test_a_pickled_stream_goes_on(model):
    X, y = categorical_table(60)
    first = pickle.loads(pickle.dumps(fresh(model).partial_fit(X[:30], y[:30])))
    assert_same(first.partial_fit(X[30:], y[30:]), fresh(model).fit(X, y), X)


@pytest.mark.parametrize("model", COUNTED, ids=str)
def test_a_model_file_keeps_predictions_and_refuses_to_go_on(model, tmp_path):
    X, y = categorical_table(60)
    path = tmp_path / "stream.dbl"
    streamed = stream(fresh(model), X, y, [20, 40])
    deepbroad.save(streamed, path)
    loaded = deepbroad.load(path)
    np.testing.assert_array_equal(loaded.predict_proba(X), streamed.predict_proba(X))
    with pytest.raises(ValueError, match="cannot go on from a model file"):
        loaded.partial_fit(X, y)
    loaded.fit(X, y)


def test_the_number_of_threads_changes_no_bit():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(4, size=(20_000, 6)).astype(str))
    y = rng.integers(3, size=20_000)
    one, four = (
        stream(AnJEClassifier(n=2, n_jobs=jobs), X, y, [5000, 5100, 12_000]) for jobs in (1, 4)
    )
    np.testing.assert_array_equal(one.predict_proba(X), four.predict_proba(X))


# Models that minimise a loss come near the fit to all rows.

SOLVED = [DBLClassifier(n=2, alpha=1.0), LRClassifier(n=2)]


def loss_of(model, X, y):
    return -np.log(model.predict_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)])


@pytest.mark.parametrize("model", SOLVED, ids=str)
def test_a_single_batch_gives_the_fit_to_its_rows(model):
    X, y = categorical_table(80)
    streamed, whole = fresh(model, tol=1e-10), fresh(model, tol=1e-10).fit(X, y)
    streamed.partial_fit(X, y)
    np.testing.assert_allclose(streamed.predict_proba(X), whole.predict_proba(X), atol=1e-5)
    assert streamed.loss_ == pytest.approx(whole.loss_, rel=1e-6)
    assert streamed.terms_ == whole.terms_


@pytest.mark.parametrize("model", [*SOLVED, DBLClassifier(time_limit=5.0)], ids=str)
def test_batches_bring_models_near_the_fit_to_all_rows(model):
    X, y = categorical_table(6000, seed=1)
    train, test = slice(0, 4000), slice(4000, None)
    streamed = stream(fresh(model), X[train], y[train], range(400, 4000, 400))
    one_batch = fresh(model).fit(X[:400], y[:400])
    whole = fresh(model).fit(X[train], y[train])
    ours, alone, theirs = (
        loss_of(m, X[test], y[test]).mean() for m in (streamed, one_batch, whole)
    )
    assert ours < 1.03 * theirs
    assert ours - theirs < 0.5 * (alone - theirs)


@pytest.mark.parametrize("model", SOLVED, ids=str)
def test_values_and_classes_that_come_later_are_learned(model):
    X, y = categorical_table(3000, a=3)
    new = (y == 2) | (X["c0"] == "r").to_numpy()
    # Only the first batch lacks them.
    kept = (np.arange(3000) >= 400) | ~new
    X, y = X[kept].reset_index(drop=True), y[kept]
    begin = int(np.sum(kept[:400]))
    streamed = stream(fresh(model), X, y, range(begin, len(y), 400))
    assert streamed.classes_.tolist() == [0, 1, 2]
    assert streamed.attributes_["c0"] == ["p", "q", "r"]
    whole, late = fresh(model).fit(X, y), slice(begin, None)
    losses = [loss_of(one, X[late], y[late]).mean() for one in (streamed, whole)]
    assert losses[0] < 1.05 * losses[1]


@pytest.mark.parametrize("model", SOLVED, ids=str)
def test_a_stream_of_scores_goes_on_after_a_pickle_and_is_kept_in_files(model, tmp_path):
    X, y = categorical_table(90)
    streamed = stream(fresh(model), X[:60], y[:60], [30])
    again = pickle.loads(pickle.dumps(streamed))
    for one in (streamed, again):
        one.partial_fit(X[60:], y[60:])
    np.testing.assert_array_equal(streamed.predict_proba(X), again.predict_proba(X))
    deepbroad.save(streamed, tmp_path / "m.dbl")
    loaded = deepbroad.load(tmp_path / "m.dbl")
    np.testing.assert_array_equal(loaded.predict_proba(X), streamed.predict_proba(X))
    assert loaded.n_iter_ == streamed.n_iter_


def test_scores_of_a_stream_are_the_same_on_any_number_of_threads():
    X, y = categorical_table(9000)
    one, three = (
        stream(DBLClassifier(n=2, alpha=1.0, n_jobs=jobs), X, y, [4000, 8000]) for jobs in (1, 3)
    )
    np.testing.assert_array_equal(one.predict_proba(X), three.predict_proba(X))


def test_the_automatic_choice_is_that_of_the_first_batch():
    X, y = categorical_table(400)
    model = DBLClassifier().partial_fit(X[:200], y[:200])
    chosen, first = model.selection_, DBLClassifier().fit(X[:200], y[:200])
    assert chosen["n"] == first.selection_["n"]
    assert model.partial_fit(X[200:], y[200:]).selection_ is chosen


def test_min_count_holds_for_scores_too():
    X, y = categorical_table(200)
    model = stream(DBLClassifier(n=3, alpha=1.0, min_count=4), X, y, [50, 100])
    whole = DBLClassifier(n=3, alpha=1.0, min_count=4).fit(X, y)
    for term in whole.terms_:
        np.testing.assert_array_equal(
            model.tables_[term].scores == 0, whole.tables_[term].scores == 0
        )


@pytest.mark.parametrize(
    ("parameters", "words"),
    [({"loss": "mse"}, "log_loss"), ({"checkpoint": "here"}, "no checkpoint")],
)
def test_what_streams_of_scores_cannot_do_is_refused(parameters, words):
    X, y = categorical_table(30)
    with pytest.raises(ValueError, match=words):
        LRClassifier(**parameters).partial_fit(X, y)
