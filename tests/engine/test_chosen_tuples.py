"""Which tuples an automatic choice has: shortlists, tilings, none that tell no more than parts."""

from itertools import combinations

import numpy as np
import pytest

from deepbroad.data.encoding import Encoding
from deepbroad.data.table import read_table
from deepbroad.engine import automatic, depth_search, listing, tiled_search, validation
from deepbroad.engine.depth_search import DepthSearch
from deepbroad.model.resolutions import choose_levels
from tests.engine.choices import choose, noisy, source_of, tuples_of


@pytest.fixture(autouse=True)
def _two_folds(monkeypatch):
    monkeypatch.setattr(validation, "FOLDS", ((10_000, 2, 1),))


def wide_exclusive_or(attributes=12, rows=600):
    rng = np.random.default_rng(3)
    codes = rng.integers(2, size=(attributes, rows))
    return source_of(codes, noisy(codes[0] ^ codes[1], rng).astype(int))


@pytest.fixture(autouse=True)
def shortlists_of_few_rows(monkeypatch):
    monkeypatch.setattr(automatic, "SHORTLIST_ROWS", (100, 100))


def test_few_rows_have_no_shortlists(monkeypatch):
    monkeypatch.setattr(listing, "MAX_TERMS", 40)
    monkeypatch.setattr(automatic, "SHORTLIST_ROWS", (600, 100))
    assert choose(wide_exclusive_or()).skipped["2"] == "too many tuples"
    monkeypatch.setattr(automatic, "SHORTLIST_ROWS", (599, 600))
    choice = choose(wide_exclusive_or())
    assert set(choice.among) == {2}
    assert choice.skipped.get("3", "too many tuples") == "too many tuples"


def test_where_all_tuples_are_too_many_the_most_telling_ones_are_tried(monkeypatch):
    monkeypatch.setattr(listing, "MAX_TERMS", 40)
    choice = choose(wide_exclusive_or())
    assert choice.best.depth == 2
    assert choice.best.loss < 0.45
    assert "2" not in choice.skipped
    pairs = {tuple(pair) for pair in choice.among[2].tolist()}
    assert (0, 1) in pairs
    assert len(pairs) <= 24
    assert tuples_of(choice) == pairs | {(c,) for c in range(12)}


def test_where_all_pairs_gain_little_the_most_telling_ones_are_tried_too(monkeypatch):
    def count_pairs(promise, folds=2):
        tried = []
        original = DepthSearch.run

        def search(self, depth, start, among, **options):
            tried.extend([len(among[2])] if depth == 2 and 2 in among else [])
            return original(self, depth, start, among, **options)

        monkeypatch.setattr(automatic, "PROMISE", promise)
        monkeypatch.setattr(DepthSearch, "run", search)
        monkeypatch.setattr(validation, "FOLDS", ((10_000, folds, 1),) if folds > 1 else ())
        choice = choose(wide_exclusive_or(attributes=24), depths=[1, 2])
        monkeypatch.setattr(DepthSearch, "run", original)
        return choice, tried

    # A gain that is large needs no others; in many rows, of one fold, there is less chance.
    for promise, folds in ((0.05, 2), (0.99, 1)):
        choice, tried = count_pairs(promise, folds)
        assert tried == []
        assert 2 not in choice.among
    choice, tried = count_pairs(0.99)
    assert len(tried) == 1
    # They are better here, where 276 pairs are tried on 600 rows and one of them matters.
    assert (0, 1) in {tuple(pair) for pair in choice.among[2].tolist()}
    assert len(choice.among[2]) == tried[0] <= 48
    assert len({trial.loss for trial in choice.trials if trial.depth == 2}) > 1


def test_a_shortlist_is_made_shorter_where_time_is_short(monkeypatch):
    monkeypatch.setattr(listing, "MAX_TERMS", 40)
    monkeypatch.setattr(automatic, "SHORTLISTS", (2.0, 0.5))
    original = DepthSearch.run

    def search(self, depth, start, among, **options):
        if len(among.get(depth, ())) > 6:
            return "time"
        return original(self, depth, start, among, **options)

    monkeypatch.setattr(DepthSearch, "run", search)
    choice = choose(wide_exclusive_or(), depths=[1, 2])
    assert choice.best.depth == 2
    assert 0 < len(choice.among[2]) <= 6


def test_a_shortlist_that_stands_in_for_pairs_that_would_take_too_long_is_cut_short(monkeypatch):
    monkeypatch.setattr(automatic, "SHORTLISTS", (2.0, 0.5))
    find_delay = DepthSearch._find_delay

    def find(self, plan, levelled, **options):
        is_short = np.count_nonzero(plan.terms.orders == 2) <= 24
        return find_delay(self, plan, levelled, **options) if is_short else "time"

    monkeypatch.setattr(DepthSearch, "_find_delay", find)
    choice = choose(wide_exclusive_or(), depths=[1, 2])
    assert choice.best.depth == 2
    assert 0 < len(choice.among[2]) <= 24
    assert choice.is_cut_short


def test_given_tuples_are_never_a_shortlist(monkeypatch):
    monkeypatch.setattr(listing, "MAX_TERMS", 40)
    monkeypatch.setattr(automatic, "draw_shortlist", None)
    among = {1: np.arange(12)[:, None], 2: np.array(list(combinations(range(12), 2)))}
    assert choose(wide_exclusive_or(), depths=[2], among=among).among == {}


def balls(rows=3500, seed=0):
    """Three numbers in 64 bins, and classes by which ball of a lattice a row lies in."""
    rng = np.random.default_rng(seed)
    encoding = Encoding.fit(
        read_table(rng.random((rows, 3))), np.zeros(rows, int), 2, levels=choose_levels(rows, 1)[0]
    )[0]
    X = rng.random((rows, 3))
    labels = (np.floor(X * 3 + 0.5).astype(int).sum(axis=1) % 2).astype(np.uint8)
    return encoding.as_source(encoding.encode(read_table(X)), labels, None, 2)


def test_places_of_several_numbers_are_told_by_tilings(monkeypatch):
    monkeypatch.setattr(automatic, "PROMISE", -1.0)  # pairs tell nothing here
    choice = choose(balls())
    assert choice.best.tiled
    assert choice.best.depth == 3
    assert choice.tiled.tolist() == [[0, 1, 2]]
    plain = min(trial.loss for trial in choice.trials if not trial.tiled)
    assert choice.best.loss < 0.8 * plain
    orders = choice.levelled.terms.orders
    assert np.count_nonzero(orders == 3) == 8
    assert 3 not in choice.among
    assert choice.skipped["3"].startswith("all triples: tilings had gained")


def test_the_choice_says_why_tilings_were_not_tried(monkeypatch):
    monkeypatch.setattr(automatic, "PROMISE", -1.0)
    monkeypatch.setattr(depth_search, "MOST_TRIALS", (1, 1, 1))
    search_depth = DepthSearch.run

    def search_no_tilings(self, *arguments, **options):
        return "memory" if "tiled" in options else search_depth(self, *arguments, **options)

    monkeypatch.setattr(DepthSearch, "run", search_no_tilings)
    choice = choose(balls())
    assert choice.tiled is None
    assert choice.skipped == {"tilings": "memory"}


def test_tilings_are_not_tried_once_time_is_up(monkeypatch):
    monkeypatch.setattr(automatic, "PROMISE", -1.0)
    monkeypatch.setattr(depth_search, "MOST_TRIALS", (1, 1, 1))
    monkeypatch.setattr(DepthSearch, "is_late", True)
    assert choose(balls()).skipped["tilings"] == "time"


def test_few_rows_exact_orders_and_given_tuples_have_no_tilings(monkeypatch):
    monkeypatch.setattr(automatic, "PROMISE", -1.0)
    monkeypatch.setattr(depth_search, "MOST_TRIALS", (1, 1, 1))
    monkeypatch.setattr(tiled_search, "draw_tiled", None)
    assert choose(balls(3000)).tiled is None
    assert choose(balls(), exact=True).tiled is None
    assert choose(balls(), depths=[1, 2]).tiled is None
    assert choose(balls(), depths=[1, 2, 3], least=3).tiled is None
    every = {k: np.array(list(combinations(range(3), k))) for k in (1, 2, 3)}
    assert choose(balls(), depths=[3], among=every).tiled is None


def one_hot_exclusive_or(rows=600):
    """A category of four values as indicators, whose parity with an attribute is the class."""
    rng = np.random.default_rng(5)
    category, other = rng.integers(4, size=rows), rng.integers(2, size=rows)
    codes = np.stack([*(category == k for k in range(4)), other])
    return source_of(codes, noisy((category + other) % 2, rng).astype(int))


@pytest.fixture
def few_are_certain(monkeypatch):
    monkeypatch.setattr(depth_search, "CERTAIN_ROWS", 100)


def test_tuples_that_tell_no_more_than_their_parts_are_left_out(few_are_certain):
    choice = choose(one_hot_exclusive_or())
    assert choice.best.depth == 2
    assert choice.best.loss < 0.45
    assert tuples_of(choice) == {(c,) for c in range(5)} | {(c, 4) for c in range(4)}
    assert choice.redundant == {2: 6}
    assert choice.skipped == {"3": "no tuple tells more than its parts"}


def test_few_rows_may_lack_joint_values_by_chance():
    choice = choose(one_hot_exclusive_or(), depths=[2])
    assert set(combinations(range(5), 2)) <= tuples_of(choice)
    assert choice.redundant == {}


def test_a_depth_that_is_asked_for_does_without_tuples_where_none_tells_more(few_are_certain):
    source = one_hot_exclusive_or()
    source = source_of(np.asarray(source.codes)[:4], source.labels)
    assert tuples_of(choose(source, depths=[2])) == {(c,) for c in range(4)}


def test_models_of_one_order_and_given_tuples_keep_them_all(few_are_certain):
    source = one_hot_exclusive_or()
    pairs = set(combinations(range(5), 2))
    assert tuples_of(choose(source, depths=[2], exact=True)) == pairs
    among = {1: np.empty((0, 1), np.int64), 2: np.array(sorted(pairs))}
    assert tuples_of(choose(source, depths=[2], among=among)) == pairs
