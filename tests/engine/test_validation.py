"""Held-out losses are those of fits by hand; folds are fair."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.data.source import ArraySource
from deepbroad.engine import merging
from deepbroad.engine.fold import GROUPS
from deepbroad.engine.scoring import Scorer
from deepbroad.engine.validation import draw_folds, list_lonely, stratified_folds
from deepbroad.model.strengths import Adaptation
from deepbroad.solvers import LBFGS
from tests import naive_hierarchy
from tests.engine.held_out import EXACT, Case
from tests.engine.hierarchies import read_model


@pytest.mark.parametrize("to_generative", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_held_out_loss_is_that_of_scipys_fit_to_the_other_rows(weighted, to_generative):
    case = Case(weighted=weighted, to_generative=to_generative)
    strength = case.per_term(0.5, 6.0)
    found = case.validation().loss(strength, EXACT)
    terms = case.levelled.terms
    tuples = [terms.tuple(t) for t in range(len(terms))]
    weights = naive_hierarchy.evidence_weights(tuples, case.problem.attributes.tolist())
    losses = []
    for rows in case.held:
        rest, held = case.parts(rows)
        fitted = naive_hierarchy.fit_hierarchy(
            rest, dict(zip(tuples, strength, strict=True)), weights, to_generative=to_generative
        )
        losses.append(naive_hierarchy.log_loss(*fitted, held))
    expected = sum(loss for loss, _ in losses) / sum(weight for _, weight in losses)
    assert found == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("min_count", [1, 3])
def test_the_held_out_loss_is_that_of_a_training_set_of_its_own(min_count):
    case = Case(min_count=min_count)
    strength = case.per_term(2.0, 0.5)
    expected = case.by_hand([strength] * 3)
    assert case.validation().loss(strength, EXACT) == pytest.approx(expected, rel=1e-6)


def test_merged_rows_give_the_same_loss(monkeypatch):
    case = Case()
    problem = case.problem
    case.problem = problem.rows(np.tile(np.arange(45), 3))
    case.held = [rows + 45 * k for k, rows in enumerate(case.held)]
    strength = case.per_term(1.0, 4.0)
    expected = case.validation().loss(strength, EXACT)
    monkeypatch.setattr(merging, "MIN_ROWS", 0)
    validation = case.validation()
    assert validation.folds[0]._training.source.n_rows < 135 - 15
    assert validation.loss(strength, EXACT) == pytest.approx(expected, rel=1e-6)


def test_the_loss_does_not_depend_on_the_strengths_before():
    case = Case()
    near, far = case.per_term(1.0, 5.0), case.per_term(100.0, 0.1)
    validation = case.validation()
    fresh = validation.loss(near, EXACT)
    assert validation.loss(far, EXACT) != pytest.approx(fresh, rel=1e-2)
    assert validation.loss(near, EXACT) == pytest.approx(fresh, rel=1e-5)


def test_a_fit_starts_from_the_one_before():
    case = Case()
    validation = case.validation()
    strength = case.per_term(1.0, 5.0)
    validation.loss(strength, EXACT)
    first = validation.passes
    validation.loss(strength, EXACT)
    assert 0 < validation.passes - first < first / 2


def test_variances_are_the_mean_squares_of_scores():
    case = Case(to_generative=True)
    strength = case.per_term(1.0, 5.0)
    validation = case.validation()
    validation.loss(strength, EXACT)
    for rows, fold in zip(case.held, validation.folds, strict=True):
        training, model = case.fit(case.parts(rows)[0], strength)
        terms = case.levelled.terms
        reached = training.counts.any(axis=1)
        expected = np.zeros(len(terms))
        for term in range(len(terms)):
            cells = range(terms.offsets[term], terms.offsets[term + 1])
            squares = [(model.scores[cell] ** 2).sum() for cell in cells if reached[cell]]
            expected[term] = np.mean(squares) / 2  # three classes
        np.testing.assert_allclose(fold.variances(), expected, rtol=1e-2)


def test_each_fold_adapts_strengths_to_its_own_fit():
    case = Case()
    strength, adaptation = case.per_term(1.0, 5.0), Adaptation(1.0, 0.1)
    validation = case.validation()
    plain = validation.loss(strength, EXACT)
    own = [
        strength * adaptation.factors(fold.variances(), validation.orders)
        for fold in validation.folds
    ]
    assert not np.allclose(own[0], own[1], rtol=0.1)
    found = validation.adapted_loss(strength, adaptation, EXACT)
    assert found == pytest.approx(case.by_hand(own), rel=1e-5)
    assert found != pytest.approx(plain, rel=1e-3)


def test_after_an_adaptation_folds_are_where_they_were():
    case = Case()
    strength = case.per_term(1.0, 5.0)
    validation = case.validation()
    validation.loss(strength, EXACT)
    before = [fold.variances() for fold in validation.folds]
    held = [fold.held_loss() for fold in validation.folds]
    one = validation.adapted_loss(strength, Adaptation(1.0, 0.01), EXACT)
    for fold, variances, loss in zip(validation.folds, before, held, strict=True):
        np.testing.assert_array_equal(fold.variances(), variances)
        assert fold.held_loss() == loss
    assert validation.adapted_loss(strength, Adaptation(1.0, 0.01), EXACT) == one


def test_losses_by_fold_are_those_of_the_whole_and_leave_folds_where_they_were():
    case = Case()
    strength = case.per_term(1.0, 5.0)
    validation = case.validation()
    validation.loss(strength, EXACT)
    held = [fold.held_loss() for fold in validation.folds]
    found = validation.losses(10.0 * strength, EXACT)
    assert [fold.held_loss() for fold in validation.folds] == held
    np.testing.assert_array_equal(validation.losses(10.0 * strength, EXACT), found)
    weights = [fold.held_weight for fold in validation.folds]
    whole = validation.loss(10.0 * strength, EXACT)
    assert np.average(found, weights=weights) == pytest.approx(whole, rel=1e-5)


def test_a_fold_is_not_judged_before_a_fit():
    fold = Case().validation().folds[0]
    assert fold.keep() is None
    with pytest.raises(AssertionError, match="after a fit"):
        fold.held_loss()


def test_a_class_that_only_held_out_rows_have_is_no_error():
    case = Case()
    rare = np.flatnonzero(case.problem.labels == 2)
    loss = case.validation([rare]).loss(case.per_term(1.0, 5.0), LBFGS(max_iter=200))
    assert np.isfinite(loss)
    assert loss > 1.0


def test_rows_of_classes_that_no_other_row_has_are_neither_trained_nor_judged():
    case = Case(weighted=False)
    labels = case.problem.labels
    only = np.flatnonzero(labels == 2)[0]
    rest = np.flatnonzero(labels != 2)
    strength = case.per_term(1.0, 5.0)
    full = case.problem
    case.problem = full.rows(rest)
    held = stratified_folds(case.problem.labels, 3, np.random.default_rng(0))
    expected = case.validation(held).loss(strength, EXACT)
    # The same with a row of a class of its own, once among those that are held out and once not.
    case.problem = full.rows(np.append(rest, only))
    for with_it in ([held[0], held[1], held[2]], [np.append(held[0], len(rest)), *held[1:]]):
        assert case.validation(with_it).loss(strength, EXACT) == pytest.approx(expected, rel=1e-4)


def test_where_hardly_a_class_has_two_rows_all_rows_are_judged():
    labels = np.array([0, 0, 0, 1])
    assert list_lonely(rows_of(labels)).tolist() == []
    assert list_lonely(rows_of([0, 1, 2])).tolist() == []
    assert list_lonely(rows_of([0, 0, 1, 1, 2])).tolist() == [4]
    weighted = ArraySource(np.zeros((1, 6), np.uint8), np.array([0, 0, 1, 1, 2, 2]), 3,
                           np.array([2]), np.array([1.0, 1, 1, 1, 1, 0]))  # fmt: skip
    assert list_lonely(weighted).tolist() == [4, 5]


def test_the_loss_of_a_model_held_down_is_that_of_class_frequencies():
    case = Case(weighted=False)
    found = case.validation().loss(case.per_term(1e9, 1e9), EXACT)
    total = 0.0
    for rows in case.held:
        rest, held = case.parts(rows)
        shares = np.bincount(rest.labels, minlength=3) / len(rest.labels)
        total -= np.log(shares[held.labels]).sum()
    assert found == pytest.approx(total / 45, rel=1e-4)


def test_scores_of_held_rows_are_the_scorers():
    case = Case()
    strength = case.per_term(1.0, 5.0)
    rest, held = case.parts(case.held[0])
    model = case.fit(rest, strength)[1]
    shares = Scorer(model).probabilities(held.codes)[np.arange(len(held.labels)), held.labels]
    fold = case.validation(case.held[:1]).folds[0]
    fold.minimise(strength, EXACT)
    assert fold.held_loss() == pytest.approx(-held.omega @ np.log(shares), rel=1e-5)
    assert fold.held_weight == held.omega.sum()


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.integers(1, 6), st.integers(0, 99))
def test_folds_hold_every_row_once_and_every_class_evenly(labels, n_folds, seed):
    labels = np.array(labels)
    folds = stratified_folds(labels, n_folds, np.random.default_rng(seed))
    assert len(folds) == n_folds
    assert sorted(np.concatenate(folds).tolist()) == list(range(len(labels)))
    for rows in folds:
        assert (np.diff(rows) > 0).all()
    for label in [*range(5), None]:
        sizes = [len(rows) if label is None else (labels[rows] == label).sum() for rows in folds]
        assert max(sizes) - min(sizes) <= 1


def test_folds_are_drawn():
    labels = np.zeros(40, int)
    drawn = [stratified_folds(labels, 2, np.random.default_rng(seed))[0] for seed in (0, 0, 1)]
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[0], drawn[2])


def rows_of(labels):
    labels = np.asarray(labels)
    codes = np.zeros((1, len(labels)), np.uint8)
    return ArraySource(codes, labels, int(labels.max()) + 1, np.array([2]), None)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (2, [1] * 4),
        (4, [1] * 8),
        (200, [40] * 10),
        (301, [60] * 4 + [61]),
        (3001, [600]),
    ],
)
def test_fewer_rows_are_held_out_more_often(rows, expected):
    held = draw_folds(rows_of(np.arange(rows) % 2), np.random.default_rng(0))
    assert sorted(len(fold) for fold in held) == pytest.approx(expected, abs=1)
    assert all(0 < len(fold) < rows for fold in held)


def test_every_class_of_two_rows_is_held_out_once():
    for seed in range(10):
        labels = np.zeros(4000, int)
        labels[[5, 3000]], labels[7] = 1, 2
        (held,) = draw_folds(rows_of(labels), np.random.default_rng(seed))
        assert np.count_nonzero(labels[held] == 1) == 1
        assert len(np.unique(held)) == len(held) <= 802


def test_the_losses_of_a_single_fold_are_those_of_groups_of_its_rows():
    case = Case()
    rows = np.sort(case.held[0])
    strength = case.per_term(0.5, 6.0)
    validation = case.validation([rows])
    found = validation.losses(strength, EXACT)
    rest, _ = case.parts(rows)
    model = read_model(case.fit(rest, strength)[1])
    for group, loss in enumerate(found):
        held = case.problem.rows(rows[group::GROUPS])
        total, weight = naive_hierarchy.log_loss(*model, held)
        assert loss == pytest.approx(total / weight, rel=1e-4)
    # What is asked next starts where this did: from nothing.
    assert validation.folds[0].keep() is None
