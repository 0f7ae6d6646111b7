"""The Gram matrix of strengths is what rows share, however it is made; and when it is used."""

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.engine import gram as gram_module
from deepbroad.engine.gram import Gram, list_own_cells, plan_gram, search_seconds
from deepbroad.kernels.threads import Threads
from deepbroad.model.plan import Plan
from tests.engine.hierarchies import draw_nested, plans, single_plan
from tests.engine.problems import ONE_THREAD

LEVELS = (2, 1)


def naive_matches(problem, terms):
    """Return which pairs of rows have the same values in each term, (n_terms, n, n)."""
    found = []
    for t in range(len(terms)):
        codes = problem.codes[list(terms.tuple(t))]
        found.append((codes[:, :, None] == codes[:, None, :]).all(axis=0))
    return np.array(found)


class Case:
    """A training set, its terms, and the matrix by NumPy."""

    def __init__(self, plan=None, seed=0):
        self.problem = draw_nested(seed)
        self.levelled = self.problem.levelled(LEVELS)
        self.terms = self.levelled.terms
        self.plan = plan or single_plan(self.problem, self.terms)
        self.source = self.problem.source()

    def gram(self, threads=ONE_THREAD):
        return Gram(self.source, self.plan, self.levelled.kinds, inf, threads)

    def expected(self, strength):
        inverse = np.where(self.terms.spaces > 1, 1.0 / strength, 0.0)
        return np.einsum("t,trs->rs", inverse, naive_matches(self.problem, self.terms))

    def by_kind(self, seed=0):
        random = np.random.default_rng(seed)
        return random.uniform(0.5, 4.0, self.levelled.kinds.max() + 1)[self.levelled.kinds]

    def by_term(self, seed=0):
        return np.random.default_rng(seed).uniform(0.5, 4.0, len(self.terms))


@given(st.data())
def test_the_matrix_is_that_of_every_pair_of_rows_whatever_the_plan(data):
    problem = draw_nested(0)
    plan = data.draw(plans(problem, problem.levelled(LEVELS).terms))
    if plan.items is not None:
        return
    case = Case(plan)
    strength = data.draw(st.sampled_from([case.by_kind(), case.by_term()]))
    # The columns of terms follow the groups of the plan; the terms stay in their order.
    found = case.gram().find(strength)
    np.testing.assert_allclose(found, case.expected(strength), rtol=1e-5)


def test_threads_make_the_same_matrix():
    case = Case()
    with Threads(3) as threads:
        gram = case.gram(threads)
        for strength in (case.by_kind(), case.by_term()):
            gram.prepare(strength)
            np.testing.assert_array_equal(gram.find(strength), case.gram().find(strength))


@pytest.mark.parametrize("draw", ["by_kind", "by_term"])
def test_strengths_that_are_a_multiple_of_the_latest_need_no_matches(draw, monkeypatch):
    case = Case()
    gram, strength = case.gram(), getattr(case, draw)()
    gram.prepare(strength)
    monkeypatch.setattr(Gram, "_of", None)
    for factor in (3.0, 0.5):
        other = factor * strength
        gram.prepare(other)
        np.testing.assert_allclose(gram.find(other), case.expected(other), rtol=1e-5)


def test_strengths_that_are_no_multiple_are_not_taken_for_one():
    case = Case()
    gram = case.gram()
    gram.prepare(case.by_term(0))
    other = case.by_term(0)
    other[-1] *= 1.001
    gram.prepare(other)
    np.testing.assert_allclose(gram.find(other), case.expected(other), rtol=1e-6)


def test_with_many_rows_only_strengths_by_kind_have_a_matrix_of_their_own(monkeypatch):
    monkeypatch.setattr(gram_module, "MATCH", 1e9)
    case = Case()
    gram = case.gram()
    assert gram.find(case.by_term()) is None
    assert gram.find(case.by_kind()) is not None
    shared = case.by_term()
    gram.prepare(shared)
    assert gram.find(shared) is not None


def test_cells_are_numbered_within_terms():
    case = Case()
    cells = list_own_cells(case.source, case.plan, ONE_THREAD)
    same = cells[:, :, None] == cells[:, None, :]
    np.testing.assert_array_equal(same, naive_matches(case.problem, case.terms))
    assert (cells[:, 0] == 0).all()
    assert cells.max() < case.source.n_rows


def is_planned(case, room=inf, kinds=None):
    kinds = case.levelled.kinds if kinds is None else kinds
    return plan_gram(case.source, case.plan, kinds, room)


def test_it_is_used_where_it_fits_and_is_fast(monkeypatch):
    case = Case()
    assert is_planned(case)
    assert not is_planned(case, room=1e4)
    monkeypatch.setattr(gram_module, "ADDITION", 1e9)
    assert not is_planned(case)


def test_it_is_not_used_where_rows_or_terms_do_not_fit_their_integers(monkeypatch):
    case = Case()
    alike = np.zeros(len(case.terms), np.int64)
    for rows, expected in ((49, False), (50, True)):
        monkeypatch.setattr(gram_module, "MOST_NUMBERS", rows)
        assert is_planned(case) == expected
    assert len(alike) <= 50
    monkeypatch.setattr(gram_module, "MOST_NUMBERS", len(alike) - 1)
    case.source = case.source.take(np.arange(3))
    assert not is_planned(case, kinds=alike)
    assert is_planned(case, kinds=np.arange(len(alike)))


def test_it_is_not_used_for_items():
    case = Case()
    common = np.zeros(len(case.terms.cardinalities), np.int64)
    case.plan = Plan.of(case.terms, (), common=common)
    assert not is_planned(case)


def seconds_of(case, folds=5, n_threads=1, room=inf, source=None):
    source = case.source if source is None else source
    return search_seconds(source, case.plan, folds=folds, room=room, n_threads=n_threads)


def test_a_search_takes_longer_with_more_folds_and_shorter_with_more_threads():
    case = Case()
    seconds = seconds_of(case)
    assert 0.0 < seconds < 1.0
    assert seconds_of(case, n_threads=2) == pytest.approx(seconds / 2)
    assert seconds < seconds_of(case, folds=10) < 2 * seconds
    more = case.source.take(np.tile(np.arange(50), 4))
    assert 4 * seconds < seconds_of(case, source=more) < 16 * seconds


def test_where_lists_of_cells_do_not_fit_a_matrix_of_its_own_pays_for_more_rows(monkeypatch):
    case = Case()
    monkeypatch.setattr(gram_module, "MATCH", 4.0)
    found = [
        Gram(case.source, case.plan, case.levelled.kinds, room, ONE_THREAD).find(case.by_term())
        for room in (inf, 1.0)
    ]
    assert found[0] is None
    np.testing.assert_allclose(found[1], case.expected(case.by_term()), rtol=1e-5)
    assert seconds_of(case, room=1.0) > seconds_of(case)
