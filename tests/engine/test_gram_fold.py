"""Fits in the space of rows are those over cells: losses, variances, and where they go back to."""

import numpy as np
import pytest

from deepbroad.engine import gram as gram_module
from deepbroad.engine import gram_fold as fold_module
from deepbroad.engine import validation as validation_module
from deepbroad.engine.fold import GROUPS, CellFold
from deepbroad.engine.gram_fold import GramFold
from deepbroad.model.strengths import Adaptation
from deepbroad.solvers import LBFGS
from tests.engine.held_out import EXACT, Case

# Scores are of single precision.
SOLVER = LBFGS(max_iter=5000, tol=1e-6)


@pytest.fixture(autouse=True)
def by_rows(monkeypatch):
    monkeypatch.setattr(validation_module, "plan_gram", lambda *_: True)


def validate(case, held=None):
    return case.validation(held, kinds=case.levelled.kinds)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_held_out_loss_is_that_of_fits_over_cells(weighted):
    case = Case(weighted=weighted)
    validation = validate(case)
    assert all(isinstance(fold, GramFold) for fold in validation.folds)
    for strength in (case.per_term(0.5, 6.0), case.per_term(30.0, 2.0), case.per_term(0.1, 0.3)):
        expected = case.validation().loss(strength, EXACT)
        assert validation.loss(strength, SOLVER) == pytest.approx(expected, rel=1e-3)
        found = validation.losses(2.0 * strength, SOLVER)
        np.testing.assert_allclose(
            found, case.validation().losses(2.0 * strength, EXACT), rtol=1e-3
        )


def test_a_target_or_a_least_count_has_fits_over_cells():
    for case in (Case(to_generative=True), Case(min_count=3)):
        assert all(isinstance(fold, CellFold) for fold in validate(case).folds)
    assert all(isinstance(fold, CellFold) for fold in Case().validation().folds)


def test_variances_are_those_of_fits_over_cells():
    case = Case()
    strength = case.per_term(1.0, 5.0)
    by_rows, by_cells = validate(case), case.validation()
    by_rows.loss(strength, SOLVER)
    by_cells.loss(strength, EXACT)
    for found, expected in zip(by_rows.folds, by_cells.folds, strict=True):
        np.testing.assert_allclose(found.variances(), expected.variances(), rtol=0.02, atol=1e-6)


@pytest.mark.parametrize("is_fast", [False, True])
def test_adapted_losses_are_those_of_fits_over_cells(is_fast, monkeypatch):
    monkeypatch.setattr(gram_module, "MATCH", 0.0 if is_fast else 1e9)
    case = Case()
    strength, adaptation = case.per_term(1.0, 5.0), Adaptation(1.0, 0.1)
    by_rows, by_cells = validate(case), case.validation()
    by_rows.loss(strength, SOLVER)
    by_cells.loss(strength, EXACT)
    before = [fold.held_loss() for fold in by_rows.folds]
    expected = by_cells.adapted_loss(strength, adaptation, EXACT)
    assert by_rows.adapted_loss(strength, adaptation, SOLVER) == pytest.approx(expected, rel=5e-3)
    assert [fold.held_loss() for fold in by_rows.folds] == before
    assert all((fold._cells is None) == is_fast for fold in by_rows.folds)


def test_an_ascent_without_an_end_goes_on_over_cells(monkeypatch):
    case = Case()
    strength = case.per_term(0.5, 6.0)
    monkeypatch.setattr(fold_module, "MOST_SWEEPS", 2)
    validation = validate(case)
    expected = case.validation()
    assert validation.loss(strength, EXACT) == pytest.approx(expected.loss(strength, EXACT))
    for found, other in zip(validation.folds, expected.folds, strict=True):
        np.testing.assert_allclose(found.variances(), other.variances())


def test_passes_are_sweeps_and_a_fit_starts_from_the_one_before():
    case = Case()
    validation = validate(case)
    strength = case.per_term(1.0, 5.0)
    validation.loss(strength, SOLVER)
    first = validation.passes
    validation.loss(strength, SOLVER)
    assert 0 < validation.passes - first < first / 2


def test_the_losses_of_a_single_fold_are_those_of_groups_of_its_rows():
    case = Case()
    strength = case.per_term(0.5, 6.0)
    found = validate(case, case.held[:1]).losses(strength, SOLVER)
    assert len(found) == GROUPS
    expected = case.validation(case.held[:1]).losses(strength, EXACT)
    np.testing.assert_allclose(found, expected, rtol=2e-3)


def test_a_fold_is_not_judged_before_a_fit():
    fold = validate(Case()).folds[0]
    for judge in (fold.held_loss, fold.variances):
        with pytest.raises(AssertionError, match="after a fit"):
            judge()


def test_rows_of_weight_0_are_as_if_absent():
    case = Case()
    case.problem.weights[[3, 7, 20]] = 0.0
    strength = case.per_term(1.0, 5.0)
    expected = case.validation().loss(strength, EXACT)
    assert validate(case).loss(strength, SOLVER) == pytest.approx(expected, rel=1e-3)
