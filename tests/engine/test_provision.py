"""What a fit is given within a limit: which plan and history, and at last which terms."""

from math import comb, inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.data.source import ArraySource
from deepbroad.engine import provision
from deepbroad.engine.estimate import estimate_fit, estimate_unlisted
from deepbroad.engine.planning import Planner
from deepbroad.engine.provision import SHORT_HISTORY, Wish, best_terms, provide
from deepbroad.kernels.threads import Threads
from deepbroad.model.information import Scores
from deepbroad.model.screening import Sample, choose_terms
from deepbroad.model.terms import Terms

ONE_THREAD = Threads(1)
HISTORY = 12


def make_source(rows=600, a=10, values=6, seed=0):
    """Return rows whose class is the parity of two sums of columns, among noise."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(values, size=(a, rows)).astype(np.uint8)
    labels = (codes[1].astype(int) + codes[4] + (rng.random(rows) < 0.1)) % 2
    return ArraySource(codes, labels, 2, np.full(a, values))


def tuples_of(plan):
    return [tuple(sorted(plan.terms.tuple(t))) for t in range(len(plan.terms))]


def whole_sample(source):
    return Sample(source.codes, source.labels, source.weights, source.n_classes)


def all_candidates(source, wish):
    """Return plans and histories in the order of preference, and the bytes of each."""
    planner = Planner(source, Terms.of_order(wish.n, source.cardinalities))
    found = []
    for name in ("cheapest", "single"):
        plan = getattr(planner, name)()
        for history in (wish.history, min(wish.history, SHORT_HISTORY)):
            size = estimate_fit(source, plan, history=history, n_threads=1).bytes
            found.append((name, plan, history, size))
    return found


def join_all(planner):
    """A plan that no cost would choose: few look-ups in a table larger than all cells."""
    half = len(planner._used) // 2
    return planner._grouped([tuple(range(half)), tuple(range(half, len(planner._used)))])


@pytest.fixture
def large_fused(monkeypatch):
    monkeypatch.setattr(Planner, "cheapest", join_all)


def test_where_memory_abounds_the_cheapest_plan_has_all_tuples():
    source = make_source()
    found = provide(source, Wish(2, history=HISTORY), inf, ONE_THREAD)
    cheapest = Planner(source, Terms.of_order(2, source.cardinalities)).cheapest()
    assert tuples_of(found.plan) == tuples_of(cheapest)
    np.testing.assert_array_equal(found.plan.supports, cheapest.supports)
    assert found.history == HISTORY
    assert found.n_tuples == len(found.plan.terms) == comb(10, 2)
    assert found.scores is None
    assert not found.by_limit


@pytest.mark.usefixtures("large_fused")
def test_the_first_plan_that_fits_is_taken_before_any_tuple_is_dropped():
    source, wish = make_source(), Wish(2, history=HISTORY)
    candidates = all_candidates(source, wish)
    taken = set()
    for _, _, _, limit in candidates:
        name, plan, history, size = next(c for c in candidates if c[3] <= limit)
        found = provide(source, wish, limit, ONE_THREAD)
        assert found.estimate.bytes == size <= limit
        assert found.history == history
        assert found.plan.n_tables == plan.n_tables
        assert len(found.plan.terms) == found.n_tuples == comb(10, 2)
        assert found.scores is None
        assert not found.by_limit
        taken.add((name, history))
    # Fused, then unfused; a history in full, then a short one.
    assert {("cheapest", HISTORY), ("single", HISTORY), ("single", SHORT_HISTORY)} <= taken


@pytest.mark.usefixtures("large_fused")
def test_one_byte_less_than_the_smallest_plan_takes_drops_tuples():
    source, wish = make_source(), Wish(2, history=HISTORY)
    smallest = min(size for *_, size in all_candidates(source, wish))
    assert not provide(source, wish, smallest, ONE_THREAD).by_limit
    found = provide(source, wish, smallest - 1, ONE_THREAD)
    assert found.by_limit
    assert len(found.plan.terms) < found.n_tuples == comb(10, 2)


@pytest.mark.parametrize("history", [0, 3, HISTORY])
def test_a_history_is_never_longer_than_wished(history):
    source = make_source()
    wish = Wish(2, history=history)
    sizes = [size for *_, size in all_candidates(source, wish)]
    for limit in (inf, max(sizes), min(sizes), min(sizes) - 1):
        found = provide(source, wish, limit, ONE_THREAD)
        assert found.history in {history, min(history, SHORT_HISTORY)}


@pytest.mark.parametrize("share", [0.5, 0.7, 0.9])
@pytest.mark.parametrize(("n", "history"), [(2, HISTORY), (3, HISTORY), (3, 0)])
def test_the_best_tuples_are_kept_as_many_as_fit(n, history, share):
    source = make_source(values=9)
    wish = Wish(n, history=history)
    smallest = min(size for *_, size in all_candidates(source, wish))
    limit = share * smallest
    found = provide(source, wish, limit, ONE_THREAD)
    assert found.estimate.bytes <= limit
    assert found.estimate.terms == len(found.plan.terms)
    assert found.by_limit
    assert found.n_tuples == comb(10, n)
    assert 0.4 * share * found.n_tuples < len(found.plan.terms) < found.n_tuples
    best, scores = choose_terms(
        whole_sample(source), n, source.cardinalities, len(found.plan.terms)
    )
    assert tuples_of(found.plan) == [best.tuple(t) for t in range(len(best))]
    np.testing.assert_array_equal(found.scores.gain, scores.gain)
    assert set(np.ravel(tuples_of(found.plan))) == set(range(10))


def test_the_number_of_threads_changes_no_choice():
    source, wish = make_source(values=9), Wish(3, history=HISTORY)
    limit = 0.6 * min(size for *_, size in all_candidates(source, wish))
    plans = []
    for count in (1, 3):
        with Threads(count) as threads:
            plans.append(provide(source, wish, limit, threads).plan)
    np.testing.assert_array_equal(plans[0].terms.members, plans[1].terms.members)
    np.testing.assert_array_equal(plans[0].supports, plans[1].supports)


def given_terms(source):
    return Terms.of([(0, 1), (1, 4), (2, 3), (5, 9)], source.cardinalities)


def test_given_terms_are_all_there_or_refused():
    source = make_source(values=40)
    terms = given_terms(source)
    wish = Wish(2, terms=terms, history=HISTORY)
    found = provide(source, wish, inf, ONE_THREAD)
    assert tuples_of(found.plan) == [(0, 1), (1, 4), (2, 3), (5, 9)]
    assert found.scores is None
    assert found.n_tuples == comb(10, 2)
    planner = Planner(source, terms)
    smallest = min(
        estimate_fit(source, plan(), history=SHORT_HISTORY, n_threads=1).bytes
        for plan in (planner.cheapest, planner.single)
    )
    found = provide(source, wish, smallest, ONE_THREAD)
    assert len(found.plan.terms) == 4
    assert found.history == SHORT_HISTORY
    with pytest.raises(MemoryError, match="memory_limit allows"):
        provide(source, wish, smallest - 1, ONE_THREAD)


def test_of_given_terms_the_best_are_kept_if_fewer_are_asked_for():
    source = make_source()
    wish = Wish(2, terms=given_terms(source), max_terms=1)
    found = provide(source, wish, inf, ONE_THREAD)
    assert tuples_of(found.plan) == [(1, 4)]
    assert len(found.scores.gain) == 1
    assert not found.by_limit
    every = provide(source, Wish(2, terms=given_terms(source), max_terms=4), inf, ONE_THREAD)
    assert len(every.plan.terms) == 4
    assert every.scores is None


@pytest.mark.parametrize("max_terms", [1, 7, 44])
def test_as_many_tuples_are_kept_as_asked_for(max_terms):
    source = make_source()
    found = provide(source, Wish(2, max_terms=max_terms), inf, ONE_THREAD)
    best, scores = choose_terms(whole_sample(source), 2, source.cardinalities, max_terms)
    assert tuples_of(found.plan) == [best.tuple(t) for t in range(len(best))]
    np.testing.assert_array_equal(found.scores.gain, scores.gain)
    assert len(found.plan.terms) == max_terms
    assert found.n_tuples == 45
    assert not found.by_limit  # the user's wish, which needs no warning


@pytest.mark.parametrize("max_terms", [45, 1000])
def test_room_for_all_tuples_needs_no_screening(max_terms):
    found = provide(make_source(), Wish(2, max_terms=max_terms), inf, ONE_THREAD)
    assert len(found.plan.terms) == 45
    assert found.scores is None


def test_a_number_of_tuples_that_was_asked_for_is_never_lowered():
    source = make_source(values=40)
    wish = Wish(2, max_terms=20, history=HISTORY)
    needed = provide(source, wish, inf, ONE_THREAD).estimate.bytes
    with pytest.raises(MemoryError, match="n=1 would need about"):
        provide(source, wish, needed / 3, ONE_THREAD)


def test_tuples_beyond_all_bounds_are_estimated_without_a_list(monkeypatch):
    monkeypatch.setattr(provision, "MAX_LISTED", 44)
    source = make_source()
    found = provide(source, Wish(2, history=HISTORY), inf, ONE_THREAD)
    assert found.plan is None
    assert found.estimate == estimate_unlisted(source, 2, history=HISTORY, n_threads=1)
    assert found.n_tuples == found.estimate.terms == 45
    monkeypatch.setattr(provision, "MAX_LISTED", 45)
    assert provide(source, Wish(2, history=HISTORY), inf, ONE_THREAD).plan is not None


def test_of_tuples_beyond_all_bounds_the_best_are_kept(monkeypatch):
    source = make_source(values=9)
    whole = estimate_unlisted(source, 3, history=HISTORY, n_threads=1)
    monkeypatch.setattr(provision, "MAX_LISTED", 10)
    found = provide(source, Wish(3, history=HISTORY), 0.6 * whole.bytes, ONE_THREAD)
    assert found.by_limit
    assert 10 / 3 <= len(found.plan.terms) < found.n_tuples == 120
    assert found.estimate.bytes <= 0.6 * whole.bytes


def test_what_no_plan_could_fit_into_free_memory_is_only_estimated(monkeypatch):
    source = make_source(values=40)
    planned = provide(source, Wish(2, history=HISTORY), inf, ONE_THREAD)
    monkeypatch.setattr(provision, "free_memory", lambda: 10_000)
    found = provide(source, Wish(2, history=HISTORY), inf, ONE_THREAD)
    assert found.plan is None
    assert planned.estimate.bytes / 4 < found.estimate.bytes <= planned.estimate.bytes


@pytest.mark.parametrize("bound", ["free_memory", "MAX_LISTED"])
def test_a_fit_whose_limit_lies_beyond_other_bounds_has_a_plan_or_is_refused(monkeypatch, bound):
    # No limit at all is for estimates; the limit of a fit is finite, but can be more than there is.
    value = {"free_memory": lambda: 200_000, "MAX_LISTED": 44}[bound]
    monkeypatch.setattr(provision, bound, value)
    try:
        found = provide(make_source(values=30), Wish(2, history=HISTORY), 10**12, ONE_THREAD)
    except MemoryError:
        return
    assert found.plan is not None


def test_tuples_are_kept_where_they_fit_since_rare_values_have_no_cells():
    rng = np.random.default_rng(0)
    codes = rng.integers(400, size=(6, 3000)).astype(np.uint16)
    source = ArraySource(codes, rng.integers(2, size=3000), 2, np.full(6, 400))
    wish = Wish(2, min_count=5, history=HISTORY)
    needed = provide(source, wish, inf, ONE_THREAD).estimate.bytes
    found = provide(source, wish, needed, ONE_THREAD)
    assert len(found.plan.terms) == found.n_tuples


def test_a_search_too_long_for_its_columns_ends_in_a_plan_or_a_refusal():
    codes = np.random.default_rng(0).integers(2, size=(3000, 40)).astype(np.uint8)
    source = ArraySource(codes, np.arange(40) % 2, 2, np.full(3000, 2))
    try:
        found = provide(source, Wish(3, history=HISTORY), 10**15, ONE_THREAD)
    except MemoryError:
        return
    assert found.plan is not None


def test_a_refusal_offers_the_deepest_of_the_smaller_depths_that_fit():
    source = make_source(rows=300, a=12, values=60)
    fits = provide(source, Wish(1, history=HISTORY), inf, ONE_THREAD).estimate.bytes
    limit = 1.1 * estimate_unlisted(source, 1, history=HISTORY, n_threads=1).bytes
    assert limit >= fits
    wish = Wish(3, terms=Terms.of_order(3, source.cardinalities), history=HISTORY)
    with pytest.raises(MemoryError, match="n=1 would need about"):
        provide(source, wish, limit, ONE_THREAD)


@given(st.data())
def test_the_best_of_screened_terms_are_those_that_cover_columns_and_then_by_gain(data):
    terms = Terms.of_order(2, np.full(5, 2))
    numbers = st.lists(st.integers(0, 9), min_size=10, max_size=10)
    relevance, gain = (np.array(data.draw(numbers), float) for _ in range(2))
    count = data.draw(st.integers(1, 10))
    tuples = [terms.tuple(t) for t in range(10)]
    # The first of the highest for each column, by relevance; then all by gain.
    covering = {
        min((t for t in range(10) if c in tuples[t]), key=lambda t: (-relevance[t], t))
        for c in range(5)
    }
    ranked = sorted(covering, key=lambda t: (-relevance[t], t))
    ranked += [t for t in sorted(range(10), key=lambda t: (-gain[t], t)) if t not in covering]
    expected = sorted(ranked[:count])
    found, scores = best_terms(terms, Scores(relevance, gain), count)
    assert [found.tuple(t) for t in range(len(found))] == [tuples[t] for t in expected]
    assert scores.gain.tolist() == gain[expected].tolist()
    assert scores.relevance.tolist() == relevance[expected].tolist()
