"""What a model only shows cannot be written to, since that would change no prediction."""

import numpy as np
import pytest
from sklearn.base import clone

import deepbroad
from deepbroad import AnDEClassifier, DBLClassifier, KDBClassifier, LRClassifier, MDLDiscretizer
from tests.estimators.tables import MODELS, categorical_table, mixed_table

MANY = {
    **MODELS,
    "ande": AnDEClassifier(n=1),
    "kdb": KDBClassifier(),
    "several resolutions": DBLClassifier(n=2, alpha=1.0, orders="all"),
    "compact": LRClassifier(n=2, min_count=3.0),
    "screened": LRClassifier(n=2, max_terms=2),
}


def refuse(shown):
    """See that an array cannot be written to."""
    assert isinstance(shown, np.ndarray)
    with pytest.raises(ValueError, match="read-only"):
        shown[...] = shown[...].copy()


@pytest.mark.parametrize("name", MANY)
def test_tables_and_intercept_cannot_be_written_to(name):
    X, y = mixed_table(120)
    model = clone(MANY[name]).fit(X, y)
    before = model.predict_proba(X)
    refuse(model.intercept_)
    if model.term_gains_ is not None:
        refuse(model.term_gains_)
    for table in model.tables_.values():
        for shown in (table.scores, table.seen, table.classes):
            refuse(shown)
        if table.weights is not None:
            refuse(table.weights)
        assert table.to_arrow().num_rows == table.seen.shape[1]
    np.testing.assert_array_equal(model.predict_proba(X), before)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_explanations_cannot_be_written_to(n_classes):
    X, y = categorical_table(120, n_classes=n_classes)
    model = LRClassifier(n=2).fit(X, y)
    explanation = model.explain()
    refuse(explanation.intercept)
    refuse(explanation.classes)
    for table in explanation.tables.values():
        for shown in (table.scores, table.classes, table.of_class(model.classes_[0])):
            refuse(shown)
        for weights in table.weights:
            refuse(weights)
    rows = explanation.rows(X)
    for shown in (rows.contributions, rows.log_odds, rows.probabilities, rows.classes):
        refuse(shown)
    refuse(rows.of_class(model.classes_[0]))


def test_the_cuts_of_numbers_cannot_be_written_to():
    X, y = mixed_table(200)
    model = LRClassifier(n=1).fit(X, y)
    cuts = [table.cuts[0] for table in model.explain().tables.values()]
    found = [own for own in cuts if own is not None]
    assert found
    for own in found:
        refuse(own)


def test_the_number_of_bins_cannot_be_written_to():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    refuse(MDLDiscretizer().fit(X, X[:, 0] > 0).n_bins_)


def test_a_loaded_model_cannot_be_written_to_either(tmp_path):
    X, y = categorical_table(90)
    deepbroad.save(LRClassifier(n=2, max_terms=2).fit(X, y), tmp_path / "m.dbl")
    model = deepbroad.load(tmp_path / "m.dbl")
    refuse(model.term_gains_)
    refuse(model.intercept_)
    refuse(next(iter(model.tables_.values())).scores)


def test_what_is_computed_anew_may_be_written_to():
    X, y = categorical_table(90)
    model = LRClassifier(n=2).fit(X, y)
    model.predict_proba(X)[:] = 0.0
    model.tables_["c0", "c1"].scores.copy()[:] = 0.0
