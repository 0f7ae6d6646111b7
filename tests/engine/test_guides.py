"""Attributes within whose values others are cut: their counts against loops, and what they find."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import mutual_info_score

from deepbroad.data import source as source_module
from deepbroad.data.pyramid import SHARP, WITHIN
from deepbroad.engine import guides as guides_module
from deepbroad.engine.guides import (
    MOST_GUIDES,
    MOST_VALUES,
    add_tables,
    choose_guides,
    count_guides,
    count_within,
    fits_room,
    list_guides,
    list_pairs,
    measure_information,
    place_bins,
)
from deepbroad.engine.sharpening import MOST_STEPS, fill_up, find_all_steps, sharpen
from deepbroad.kernels.threads import Threads
from deepbroad.model.resolutions import Resolutions
from tests.engine.test_sharpening import draw_table, draw_weights, places_of
from tests.parted import Parts
from tests.steps import encode

ONE = Threads(1)
FEW = settings(max_examples=25)
seeds = st.integers(0, 2**16)


def hidden_table(rows=3000, seed=0):
    """Return a frame in which one number matters, at -0.7, where another is above 1.2 or below.

    Above and below -1.2 it does so the other way round, so that in all rows it tells nothing.
    """
    rng = np.random.default_rng(seed)
    first, second, noise = rng.normal(size=(3, rows))
    labels = np.where(np.abs(first) > 1.2, (second > -0.7) ^ (first < 0), rng.random(rows) < 0.5)
    return pd.DataFrame({"first": first, "second": second, "noise": noise}), labels.astype(int)


def guides_of(source, steps=None):
    resolutions = Resolutions(source.attributes, source.cardinalities)
    return resolutions, list_guides(resolutions, steps or {0: np.array([10, 20])})


@FEW
@given(seeds, st.booleans(), st.integers(1, 3), st.integers(1, 200))
def test_counts_are_those_of_loops_over_rows(seed, weighted, n_threads, block_rows):
    X, labels = draw_table(seed)
    weights = draw_weights(seed) if weighted else None
    _, source = encode(X, labels, weights)
    resolutions, guides = guides_of(source)
    pairs = list_pairs(resolutions, guides)
    by_value = [np.zeros((guide.n_values, 3)) for guide in guides]
    within = [np.zeros((g.n_values, int(resolutions.n_bins[a]), 3)) for a, g in pairs]
    for r in range(source.n_rows):
        w = 1.0 if weights is None else weights[r]
        row, y = source.codes[:, r], labels[r]
        for guide, table in zip(guides, by_value, strict=True):
            table[guide.values[row[guide.column]], y] += w
        for (attribute, guide), table in zip(pairs, within, strict=True):
            fine = row[resolutions.last(attribute)]
            if fine < resolutions.n_bins[attribute]:
                table[guide.values[row[guide.column]], fine, y] += w
    with pytest.MonkeyPatch.context() as patch, Threads(n_threads) as threads:
        patch.setattr(source_module, "BLOCK_ROWS", block_rows)
        found = count_guides(source, guides, threads), count_within(source, guides, threads)
    for ours, expected in zip(found, (by_value, within), strict=True):
        for one, other in zip(ours, expected, strict=True):
            np.testing.assert_array_equal(one, other)


@FEW
@given(seeds, st.sets(st.integers(1, 119), max_size=4))
def test_counts_of_parts_are_together_those_of_the_whole(seed, bounds):
    _, source = encode(*draw_table(seed))
    _, guides = guides_of(source)
    parts = Parts.of(source, sorted(bounds))
    for count in (count_guides, count_within):
        found = parts.reduce(count, guides, join=add_tables, threads=ONE)
        for one, other in zip(found, count(source, guides, ONE), strict=True):
            np.testing.assert_array_equal(one, other)


def test_guides_are_numbers_with_steps_and_categories_of_few_values():
    _, source = encode(*draw_table(0))
    _, guides = guides_of(source, {0: np.array([10, 20])})
    # Neither the count, which has no steps, nor missing apart from a value of its own.
    assert [guide.attribute for guide in guides] == [0, 1, 2]
    assert guides[0].n_values == 4
    resolutions = Resolutions(np.arange(3), np.array([1, MOST_VALUES, MOST_VALUES + 1]))
    assert [guide.attribute for guide in list_guides(resolutions, {})] == [1]


def test_bins_lie_between_steps_and_missing_after_all():
    found = place_bins(np.array([2, 5]), np.arange(9), 7)
    assert found.tolist() == [0, 0, 1, 1, 1, 2, 2, 3, 3]


def test_a_number_is_not_cut_within_itself():
    _, source = encode(*draw_table(0))
    resolutions, guides = guides_of(source)
    owners = [(attribute, guide.attribute) for attribute, guide in list_pairs(resolutions, guides)]
    assert owners == [(0, 1), (0, 2), (3, 0), (3, 1), (3, 2)]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=2, max_size=60))
def test_information_is_that_of_scikit_learn_less_chance(rows):
    values, labels = np.array(rows).T
    table = np.zeros((4, 3))
    np.add.at(table, (values, labels), 1.0)
    chance = (len(set(values)) - 1) * (len(set(labels)) - 1) / 2
    expected = len(rows) * mutual_info_score(values, labels) - chance
    assert measure_information(table) == pytest.approx(expected, abs=1e-9)


def test_the_most_telling_guide_and_those_that_tell_nothing_do_not():
    tables = [np.array([[30.0, 30.0], [30.0, 30.0]]), *(
        np.array([[30.0 + k, 30.0 - k], [30.0 - k, 30.0 + k]]) for k in (12, 25, 9, 18)
    )]  # fmt: skip
    names = ["nothing", "twelve", "twenty-five", "nine", "eighteen"]
    assert choose_guides(tables, names) == ["twenty-five", "eighteen", "twelve"]
    assert MOST_GUIDES == 3
    assert choose_guides(tables[:1], names[:1]) == []


def test_counts_that_would_take_too_much_room_are_not_made(monkeypatch):
    _, source = encode(*draw_table(0))
    resolutions, guides = guides_of(source)
    size = sum(table.nbytes for table in count_within(source, guides, ONE))
    monkeypatch.setattr(guides_module, "ROOM", size)
    assert fits_room(resolutions, guides, 3)
    monkeypatch.setattr(guides_module, "ROOM", size - 1)
    assert not fits_room(resolutions, guides, 3)
    # With room for none, numbers have the cuts that all rows tell.
    monkeypatch.setattr(guides_module, "ROOM", 0)
    _, source = encode(*hidden_table())
    steps = find_all_steps(source, 1.0, ONE)
    assert list(steps.within) == list(steps.alone) == [0]


# What they find.


@pytest.mark.parametrize("seed", range(3))
def test_a_number_that_matters_within_another_alone_is_cut_there(seed):
    X, labels = hidden_table(seed=seed)
    encoding, source = encode(X, labels)
    _, sharp = sharpen(source, encoding, 1.0, ONE)
    first, second, noise = (places_of(source, attribute) for attribute in range(3))
    assert np.abs(sharp.columns[first[SHARP]].cuts - 1.2).min() < 0.05
    # In all rows it tells too little.
    assert len(sharp.columns[second[SHARP]].cuts) == 0
    assert np.abs(sharp.columns[second[WITHIN]].cuts + 0.7).min() < 0.1
    assert len(sharp.columns[noise[WITHIN]].cuts) == 0


@given(
    st.sets(st.integers(1, 99), max_size=9),
    st.lists(st.tuples(st.floats(0, 9), st.integers(1, 99)), max_size=12),
    st.sampled_from([0.0, 1.0, 5.0]),
)
def test_own_steps_come_first_and_the_most_telling_others_fill_up(own, ranked, near):
    steps = np.array(sorted(own), np.int64)
    found = fill_up(steps, ranked, near).tolist()
    assert found == sorted(set(found))
    assert own <= set(found)
    assert len(found) <= max(len(own), MOST_STEPS)
    more = set(found) - own
    assert all(abs(step - other) > near for step in more for other in set(found) - {step})
    # Whatever was left out is near one that was not, or there was no room, or others tell more.
    told = {step: max(gain for gain, other in ranked if other == step) for _, step in ranked}
    for step, gain in told.items():
        is_near = any(abs(step - other) <= near for other in found)
        is_full = len(found) >= MOST_STEPS and all(told[other] >= gain for other in more)
        assert is_near or is_full
