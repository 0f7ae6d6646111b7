"""The automatic choice of depth and strengths, on data whose depth is known."""

from itertools import combinations

import numpy as np
import pytest

from deepbroad.data.source import ArraySource
from deepbroad.engine import automatic, depth_search, listing, strength_search, validation
from deepbroad.engine.depth_search import strength_of
from deepbroad.engine.listing import list_terms
from deepbroad.engine.strength_search import Trial, deepen
from deepbroad.model.strengths import UNADAPTED, Adaptation, Strengths
from tests.engine.choices import (
    choose,
    exclusive_or,
    main_effects,
    parity,
    source_of,
    tuples_of,
)
from tests.engine.hierarchies import draw_nested


@pytest.fixture(autouse=True)
def _two_folds(monkeypatch):
    """Two folds tell the depths below apart."""
    monkeypatch.setattr(validation, "FOLDS", ((10_000, 2, 1),))


# Depth.


def test_main_effects_need_no_pairs(monkeypatch):
    monkeypatch.undo()  # fewer folds leave more to chance
    choices = [choose(main_effects(1000, seed)) for seed in range(3)]
    # A pair may do better by chance, but never by enough for triples to be tried.
    for choice in choices:
        assert [trial.depth for trial in choice.trials].count(3) <= 1  # at a glance
        assert list(choice.skipped) == ["3"]
        assert choice.skipped["3"].startswith("n=2 gained")
    simple = [choice for choice in choices if choice.best.depth == 1]
    assert len(simple) > len(choices) / 2
    assert tuples_of(simple[0]) == {(0,), (1,), (2,)}
    assert simple[0].best in simple[0].trials


def test_an_exclusive_or_needs_pairs():
    choice = choose(exclusive_or())
    assert choice.best.depth == 2
    pairs = set(combinations(range(4), 2))
    assert tuples_of(choice) == pairs | {(c,) for c in range(4)}
    by_depth = {
        depth: min(trial.loss for trial in choice.trials if trial.depth == depth)
        for depth in (1, 2)
    }
    assert by_depth[1] == pytest.approx(np.log(2), abs=0.02)
    assert by_depth[2] < 0.45
    assert choice.best.loss == by_depth[2]


@pytest.mark.parametrize("seed", range(3))
def test_a_parity_of_three_is_found_though_pairs_tell_nothing(seed):
    choice = choose(parity(1000, seed))
    by_depth = {
        depth: min(trial.loss for trial in choice.trials if trial.depth == depth)
        for depth in (1, 2, 3)
    }
    assert choice.best.depth == 3
    assert by_depth[2] > 0.95 * by_depth[1]
    assert choice.best.loss == by_depth[3] < 0.45


def test_a_glance_is_not_taken_where_it_would_be_long(monkeypatch):
    monkeypatch.setattr(depth_search, "PRECISE_SECONDS", 0.0)
    choice = choose(parity(1000))
    assert choice.best.depth < 3
    assert choice.skipped["3"].startswith("n=2 gained")


def test_a_given_depth_is_taken_whatever_it_gains():
    assert choose(main_effects(), depths=[2]).best.depth == 2
    choice = choose(parity(), depths=[3])
    assert choice.best.depth == 3
    assert choice.best.loss < 0.5
    assert choice.skipped == {}


def test_depths_below_a_given_one_tell_where_its_strengths_lie():
    choice = choose(main_effects(), depths=[1, 2], least=2)
    assert choice.best.depth == 2
    assert choice.skipped == {}
    first = [trial for trial in choice.trials if trial.depth == 1]
    begins = next(trial for trial in choice.trials if trial.depth == 2)
    plain = [trial for trial in first if trial.adaptation == UNADAPTED]
    best = min(plain, key=lambda trial: trial.loss)
    assert begins.strengths.by_order[0] == best.strengths.by_order[0]


def test_many_tuples_begin_with_stronger_strengths():
    few = list_terms(exclusive_or(), 2, exact=False)
    assert deepen(Strengths((7.0,)), few, 2).by_order == (7.0, 30.0)
    rng = np.random.default_rng(0)
    many = list_terms(source_of(rng.integers(2, size=(80, 50)), rng.integers(2, size=50)), 2,
                      exact=False)  # fmt: skip
    first, second = deepen(Strengths(()), many, 2).by_order
    assert first == 1.0
    assert 3160 / second <= 20.0 < 3160 / second * np.sqrt(10.0)


def test_depths_beyond_the_attributes_are_not_depths():
    rng = np.random.default_rng(0)
    codes = rng.integers(2, size=(2, 200))
    choice = choose(source_of(codes, codes[0] ^ codes[1]))
    assert choice.best.depth == 2
    assert choice.skipped == {}


def test_tuples_of_one_order_alone():
    choice = choose(exclusive_or(), exact=True)
    assert choice.best.depth == 2
    assert tuples_of(choice) == set(combinations(range(4), 2))


def test_tuples_among_some():
    among = {1: np.array([[0], [1]]), 2: np.array([[0, 1]])}
    choice = choose(exclusive_or(), depths=[2], among=among)
    assert tuples_of(choice) == {(0,), (1,), (0, 1)}
    other = choose(exclusive_or(), depths=[2], among={1: np.array([[2]]), 2: np.array([[2, 3]])})
    assert tuples_of(other) == {(2,), (2, 3)}
    assert other.best.loss > choice.best.loss + 0.1


# Limits.


@pytest.mark.parametrize(
    ("limit", "reason"), [({"memory_limit": 5e3}, "memory"), ({"time_limit": 1e-9}, "time")]
)
def test_depths_that_a_limit_forbids_are_reported(limit, reason):
    choice = choose(exclusive_or(), **limit)
    assert choice.best.depth == 1
    assert choice.skipped == {"2": reason, "3": reason}
    assert choice.is_cut_short == (reason == "time")


def test_a_depth_that_is_thought_to_take_too_long_is_cut_short(monkeypatch):
    # Each search has all the time that it wants; the estimate alone says no.
    monkeypatch.setattr(depth_search, "search_seconds", lambda *_, **__: 19.0)
    monkeypatch.setattr(depth_search, "plan_gram", lambda *_: True)
    choice = choose(exclusive_or(), time_limit=18.0)
    assert choice.skipped == {"2": "time", "3": "time"}
    assert choice.is_cut_short


def test_a_depth_that_takes_too_many_pairs_of_rows_was_not_the_clocks_to_decide(monkeypatch):
    monkeypatch.setattr(depth_search, "search_seconds", lambda *_, **__: 41.0)
    monkeypatch.setattr(depth_search, "plan_gram", lambda *_: True)
    choice = choose(exclusive_or())
    assert set(choice.skipped.values()) == {"too many pairs of rows"}
    assert not choice.is_cut_short


def test_tuples_whose_list_is_too_long_are_skipped_unless_they_are_asked_for():
    with pytest.raises(MemoryError, match="Tuples of up to n=2 attributes number 10"):
        choose(exclusive_or(), depths=[2], memory_limit=500.0)
    choice = choose(exclusive_or(), memory_limit=500.0)
    assert choice.skipped == {"2": "memory", "3": "memory"}
    with pytest.raises(MemoryError, match="This fit needs about"):
        choose(exclusive_or(), depths=[2], memory_limit=5e3)


def test_too_many_tuples_are_never_listed(monkeypatch):
    monkeypatch.setattr(listing, "MAX_TERMS", 8)
    choice = choose(exclusive_or())
    assert choice.best.depth == 1
    assert choice.skipped == {"2": "too many tuples", "3": "too many tuples"}


# What does not matter, and what does.


def same_choice(one, other):
    assert [trial.loss for trial in one.trials] == [trial.loss for trial in other.trials]
    assert [trial.strengths for trial in one.trials] == [t.strengths for t in other.trials]
    assert one.best.strengths == other.best.strengths
    np.testing.assert_array_equal(one.strength, other.strength)
    assert tuples_of(one) == tuples_of(other)


def nested_source(rows=80):
    return draw_nested(1, rows=rows, weighted=True).source()


def test_the_number_of_threads_changes_nothing():
    choices = [choose(nested_source(), n_threads=count) for count in (1, 2)]
    same_choice(*choices)


def test_a_seed_draws_the_same_folds():
    choices = [choose(exclusive_or(), depths=[2], seed=seed) for seed in (3, 3, 4)]
    same_choice(choices[0], choices[1])
    assert choices[2].best.loss != choices[0].best.loss


def test_rows_of_weight_zero_are_as_if_absent():
    source = nested_source(60)
    rng = np.random.default_rng(0)
    nothing = np.stack([rng.integers(v + 1, size=900) for v in source.cardinalities])
    place = np.sort(rng.permutation(960)[:60])
    codes = np.empty((len(nothing), 960), np.uint8)
    labels, weights = np.zeros(960, np.uint8), np.zeros(960)
    rest = np.setdiff1d(np.arange(960), place)
    codes[:, rest], codes[:, place] = nothing, source.codes
    labels[place], weights[place] = source.labels, source.weights
    padded = ArraySource(
        codes, labels, source.n_classes, source.cardinalities, weights,
        attributes=source.attributes,
    )  # fmt: skip
    same_choice(choose(padded, depths=[1, 2]), choose(source, depths=[1, 2]))


def test_each_depth_starts_from_the_strengths_of_the_one_before(monkeypatch):
    monkeypatch.setattr(strength_search, "START", (1000.0, 20.0, 300.0))
    choice = choose(main_effects())
    shallow = [trial.strengths for trial in choice.trials if trial.depth == 1]
    deeper = [trial.strengths for trial in choice.trials if trial.depth == 2]
    assert deeper[0] in [strengths.deeper(20.0) for strengths in shallow]
    assert deeper[0].by_order[0] < 100.0


def test_weights_of_rows_count_in_the_held_out_loss():
    rng = np.random.default_rng(0)
    codes = rng.integers(2, size=(2, 300))
    labels = np.where(np.arange(300) < 150, codes[0], 1 - codes[0])
    heavy = np.where(np.arange(300) < 150, 50.0, 1.0)
    loss = [choose(source_of(codes, labels, w), depths=[1]).best.loss for w in (None, heavy)]
    assert loss[0] > 0.6
    assert loss[1] < 0.2


class Judged:
    """A stand-in for a fold after its fit."""

    def __init__(self, variances):
        self._variances = np.array(variances)

    def variances(self):
        return self._variances


class Folds:
    """A stand-in for a validation."""

    folds = (Judged([1.0, 3.0, 0.0]), Judged([3.0, 5.0, 0.0]))


def test_strengths_by_table_follow_the_mean_of_the_folds():
    levelled = list_terms(source_of(np.array([[0, 1], [0, 1]]), np.array([0, 1])), 2, exact=False)
    strengths, adaptation = Strengths((2.0, 10.0)), Adaptation(1.0, 0.1)
    adapted = strength_of(Trial(strengths, adaptation, 0.5, 1), levelled, Folds())
    mean = [2.0, 4.0]
    expected = [2.0 / (v / 3.0 + 0.1) for v in mean]
    np.testing.assert_allclose(adapted, [*expected, 10.0])
    plain = strength_of(Trial(strengths, UNADAPTED, 0.5, 1), levelled, Folds())
    np.testing.assert_array_equal(plain, [2.0, 2.0, 10.0])


# Rows and folds.


def test_only_some_rows_are_looked_at(monkeypatch):
    source = exclusive_or(100)
    monkeypatch.setattr(automatic, "MAX_ROWS", 30)
    looked_at = []
    monkeypatch.setattr(automatic, "draw_folds", lambda sample, _: looked_at.append(sample))
    with pytest.raises(TypeError):  # no folds, no choice
        choose(source)
    assert [sample.n_rows for sample in looked_at] == [30]


def test_few_rows_make_the_choice_cautious_and_many_do_not(monkeypatch):
    few = choose(exclusive_or())
    assert few.factor >= 1.0
    strength = few.strength / few.factor
    monkeypatch.setattr(automatic, "find_caution", lambda *_: 1.0)
    plain = choose(exclusive_or())
    assert plain.factor == 1.0
    np.testing.assert_allclose(strength, plain.strength)
    monkeypatch.setattr(automatic, "find_caution", lambda *_: 3.0)
    np.testing.assert_allclose(choose(exclusive_or()).strength, 3.0 * plain.strength)


@pytest.mark.parametrize("is_late", [False, True])
def test_a_search_for_caution_that_time_ended_is_cut_short(monkeypatch, is_late):
    def find(validation, strength, loss, deadline):
        monkeypatch.setattr(depth_search.DepthSearch, "is_late", is_late)
        return 1.0

    monkeypatch.setattr(automatic, "find_caution", find)
    assert choose(exclusive_or(), depths=[1]).is_cut_short == is_late


@pytest.mark.parametrize("seconds", [0.0, 1e9])
def test_fits_are_precise_where_they_are_cheap(monkeypatch, seconds):
    monkeypatch.setattr(depth_search, "PRECISE_SECONDS", seconds)
    original, asked = depth_search.StrengthSearch, []

    def search(*arguments, precise, **options):
        asked.append(precise)
        return original(*arguments, precise=precise, **options)

    monkeypatch.setattr(depth_search, "StrengthSearch", search)
    choose(exclusive_or(), depths=[1])
    assert asked == [seconds > 0]
