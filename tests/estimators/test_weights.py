"""Sample weights and class weights: the same thing in loss, counts and bins."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.class_weight import compute_sample_weight

from deepbroad import AnJEClassifier, DBLClassifier, LRClassifier
from tests.estimators.tables import MODELS, STRUCTURED, categorical_table, mixed_table

EVERY = MODELS | STRUCTURED
every_model = pytest.mark.parametrize("model", EVERY.values(), ids=EVERY.keys())


def precise(model):
    model = clone(model)
    return model if isinstance(model, AnJEClassifier) else model.set_params(tol=1e-7, max_iter=2000)


@every_model
def test_balanced_classes_are_weighted_by_their_rarity(model):
    X, y = mixed_table(120)
    keep = (y != "cow") | (np.arange(120) % 3 == 0)
    X, y = X[keep], y[keep]
    weights = compute_sample_weight("balanced", y)
    by_weight = clone(model).fit(X, y, weights).predict_proba(X)
    balanced = clone(model).set_params(class_weight="balanced").fit(X, y).predict_proba(X)
    np.testing.assert_allclose(balanced, by_weight, atol=1e-9)
    assert np.abs(balanced - clone(model).fit(X, y).predict_proba(X)).max() > 1e-3


@every_model
def test_class_weights_multiply_sample_weights(model):
    X, y = mixed_table(120)
    sample = np.random.default_rng(0).uniform(0.5, 2, 120)
    chosen = {"ant": 2.0, "cow": 0.5}
    weights = sample * np.array([chosen.get(label, 1.0) for label in y])
    expected = clone(model).fit(X, y, weights).predict_proba(X)
    found = clone(model).set_params(class_weight=chosen).fit(X, y, sample).predict_proba(X)
    np.testing.assert_allclose(found, expected, atol=1e-9)


@every_model
def test_a_repeated_row_equals_weight_two_with_bins_and_all(model):
    X, y = mixed_table(80)
    times = np.random.default_rng(1).integers(0, 4, 80)
    repeated = np.repeat(np.arange(80), times)
    by_weight = precise(model).fit(X, y, times).predict_proba(X)
    by_rows = precise(model).fit(X.iloc[repeated], y[repeated]).predict_proba(X)
    np.testing.assert_allclose(by_weight, by_rows, atol=1e-3)


def test_a_repeated_row_equals_weight_two_also_with_balanced_classes():
    X, y = categorical_table(60)
    times = 1 + (y == 1) * 3
    repeated = np.repeat(np.arange(60), times)
    model = AnJEClassifier(n=1, class_weight="balanced")
    by_weight = clone(model).fit(X, y, times).predict_proba(X)
    by_rows = clone(model).fit(X.iloc[repeated], y[repeated]).predict_proba(X)
    np.testing.assert_allclose(by_weight, by_rows, atol=1e-9)


@every_model
def test_rows_of_weight_zero_are_as_if_absent(model):
    X, y = mixed_table(90)
    weights = np.ones(90)
    weights[::3] = 0
    kept = weights > 0
    # Values, numbers and a class that only rows of weight 0 have.
    X.loc[0, "colour"], X.loc[3, "length"] = "a colour of weight 0", 1e9
    y = y.astype(object)
    y[6] = "a class of weight 0"
    with_zeros = clone(model).fit(X, y, weights)
    without = clone(model).fit(X[kept], y[kept])
    assert with_zeros.classes_.tolist() == without.classes_.tolist() == ["ant", "bee", "cow"]
    np.testing.assert_allclose(with_zeros.predict_proba(X), without.predict_proba(X), atol=1e-6)


def test_the_scale_of_weights_is_the_scale_of_the_penalty():
    X, y = categorical_table(80)
    expected = LRClassifier(n=1, alpha=1.0, tol=1e-8).fit(X, y).predict_proba(X)
    scaled = LRClassifier(n=1, alpha=5.0, tol=1e-8).fit(X, y, np.full(80, 5.0))
    np.testing.assert_allclose(scaled.predict_proba(X), expected, atol=1e-4)


def test_one_number_weighs_every_row():
    X, y = mixed_table(40)
    found = AnJEClassifier().fit(X, y, 2.0).predict_proba(X)
    np.testing.assert_array_equal(
        found, AnJEClassifier().fit(X, y, np.full(40, 2.0)).predict_proba(X)
    )


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (-np.ones(40), "Negative values in data passed to `sample_weight`"),
        (np.zeros(40), "at least one non-zero"),
        (np.ones(39), "expected \\(40,\\)"),
        (np.ones((40, 2)), "1D array or scalar"),
        (np.full(40, np.nan), "contains NaN"),
        (np.full(40, np.inf), "contains infinity"),
        (["heavy"] * 40, "could not convert string to float"),
    ],
)
def test_wrong_sample_weights_are_refused(weights, message):
    X, y = mixed_table(40)
    with pytest.raises(ValueError, match=message):
        AnJEClassifier().fit(X, y, weights)


@pytest.mark.parametrize("weight", [1e300, 1e-300])
@pytest.mark.parametrize("model", [AnJEClassifier(), DBLClassifier.paper(2)], ids=["AnJE", "DBL"])
def test_weights_too_large_or_small_to_count_with_are_refused(model, weight, tmp_path):
    X, y = mixed_table(40)
    message = "weights of the rows \\(sample_weight times class_weight\\) sum to .*scale them"
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, np.full(40, weight))
    with pytest.raises(ValueError, match=message):
        clone(model).set_params(class_weight=dict.fromkeys(y, weight)).fit(X, y)
    X.assign(y=y, w=weight).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(ValueError, match=message):
        model.fit(tmp_path / "t.csv", "y", "w")
    with pytest.raises(ValueError, match=message):
        clone(model).partial_fit(X, y, np.unique(y), np.full(40, weight))


def test_a_row_may_weigh_next_to_nothing():
    X, y = mixed_table(40)
    weights = np.where(np.arange(40) == 7, 1e-300, 1.0)
    found = DBLClassifier.paper(2).fit(X, y, weights).predict_proba(X)
    assert np.isfinite(found).all()


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ("heavy", "class_weight must be 'balanced'"),
        ([1, 2, 3], "class_weight must be 'balanced'"),
        ({"ant": -1}, "class_weight\\['ant'\\] must be a number at least 0"),
        ({"ant": "much"}, "class_weight\\['ant'\\] must be a number"),
        ({"ant": np.nan}, "class_weight\\['ant'\\] must be a number"),
        ({"elk": 2}, "class_weight.*'elk'"),
    ],
)
def test_wrong_class_weights_are_refused(class_weight, message):
    X, y = mixed_table(40)
    with pytest.raises(ValueError, match=message):
        AnJEClassifier(class_weight=class_weight).fit(X, y)


def test_an_empty_dictionary_weighs_no_class():
    X, y = mixed_table(40)
    found = AnJEClassifier(class_weight={}).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(found, AnJEClassifier().fit(X, y).predict_proba(X))


def test_a_class_of_weight_zero_is_as_if_absent():
    X, y = mixed_table(60)
    kept = y != "cow"
    found = AnJEClassifier(class_weight={"cow": 0}).fit(X, y)
    expected = AnJEClassifier().fit(X[kept], y[kept])
    assert found.classes_.tolist() == expected.classes_.tolist()
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("unit", [1e-6, 1e8])
def test_the_automatic_choice_does_not_depend_on_the_unit_of_weights(unit):
    X, y = mixed_table(300)
    weights = np.random.default_rng(2).uniform(0.5, 2.0, 300)
    usual, other = (
        DBLClassifier(n=2).fit(X, y, sample_weight=scale * weights) for scale in (1.0, unit)
    )
    for mine, theirs in zip(other.recipe_.tables, usual.recipe_.tables, strict=True):
        assert mine[:2] == theirs[:2]
        assert mine.strength == pytest.approx(unit * theirs.strength, rel=0.1)
    np.testing.assert_allclose(other.predict_proba(X), usual.predict_proba(X), atol=5e-3)


@every_model
def test_weights_of_1_are_none(model):
    X, y = mixed_table(120)
    bare = clone(model).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(clone(model).fit(X, y, np.ones(120)).predict_proba(X), bare)
