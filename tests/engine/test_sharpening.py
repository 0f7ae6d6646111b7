"""Cuts where the class changes: found by counts of bins, and by the rows not held out alone."""

from collections import defaultdict

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepbroad.data import source as source_module
from deepbroad.data.cuts import mdl_cuts
from deepbroad.data.pyramid import JOINT, SHARP, WITHIN, count_levels, list_places
from deepbroad.data.source import ArraySource
from deepbroad.data.table import read_table
from deepbroad.engine import sharpening
from deepbroad.engine.sharpening import (
    SHARP_ROWS,
    add_counts,
    count_bins,
    find_all_steps,
    find_steps,
    sharpen,
    sharpen_without,
)
from deepbroad.engine.weight_unit import divide_weights
from deepbroad.kernels.threads import Threads
from deepbroad.model.resolutions import Resolutions
from tests.naive_cuts import naive_cuts
from tests.parted import Parts
from tests.steps import encode, step_table

ONE = Threads(1)
FEW = settings(max_examples=25)
seeds = st.integers(0, 2**16)


def draw_table(seed, rows=120, *, n_classes=3, missing=0.1):
    """Return numbers of several levels and of one, a category, and classes that step in them."""
    rng = np.random.default_rng(seed)
    size = rng.normal(size=rows)
    count = rng.integers(7, size=rows)
    low, high = np.sort(rng.choice(size, 2))
    labels = np.where(size > high, n_classes - 1, np.where(size < low, 0, count % n_classes))
    is_noise = rng.random(rows) < 0.1
    labels[is_noise] = rng.integers(n_classes, size=is_noise.sum())
    labels[:n_classes] = np.arange(n_classes)
    size[rng.random(rows) < missing] = np.nan
    kind = rng.choice(["a", "b"], rows)
    flag = np.arange(rows) % 2
    return pd.DataFrame({"size": size, "kind": kind, "flag": flag, "count": count}), labels


def draw_weights(seed, rows=120):
    """Return weights whose sums are exact."""
    return np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 2.0], rows, p=[0.1, 0.2, 0.5, 0.2])


def numbers_of(source):
    """Return the code columns of each attribute that has several, by attribute."""
    found = defaultdict(list)
    for column, attribute in enumerate(source.attributes.tolist()):
        found[attribute].append(column)
    return {attribute: own for attribute, own in found.items() if len(own) > 1}


def places_of(source, attribute):
    own = numbers_of(source)[attribute]
    return dict(zip(list_places(count_levels(len(own))), own, strict=True))


def naive_counts(X, labels, weights, encoding, n_classes):
    """Return the weight of each class in each finest bin of numbers, by loops over the values."""
    found = {}
    source = encoding.as_source(np.empty((len(encoding.columns), 0)), [], None, n_classes)
    for attribute, own in numbers_of(source).items():
        cuts = encoding.columns[own[-1]].cuts.tolist()
        table = np.zeros((len(cuts) + 1, n_classes))
        for x, y, w in zip(X.iloc[:, attribute], labels, weights, strict=True):
            if x == x:
                table[sum(cut <= x for cut in cuts), y] += w
        found[attribute] = table
    return found


def assert_same_counts(found, expected):
    assert list(found) == list(expected)
    for attribute, table in expected.items():
        np.testing.assert_array_equal(found[attribute], table)


def assert_same_steps(found, expected):
    assert {a: steps.tolist() for a, steps in found.items()} == {
        a: steps.tolist() for a, steps in expected.items()
    }


# Counts and steps.


@FEW
@given(seeds, st.booleans(), st.sampled_from([0.0, 0.2]), st.integers(1, 3), st.integers(1, 200))
def test_counts_are_those_of_a_loop_over_rows(seed, weighted, missing, n_threads, block_rows):
    X, labels = draw_table(seed, missing=missing)
    weights = draw_weights(seed) if weighted else None
    encoding, source = encode(X, labels, weights)
    with pytest.MonkeyPatch.context() as patch, Threads(n_threads) as threads:
        patch.setattr(source_module, "BLOCK_ROWS", block_rows)
        found = count_bins(source, threads)
    omega = np.ones(len(X)) if weights is None else weights
    assert_same_counts(found, naive_counts(X, labels, omega, encoding, 3))
    assert list(found) == [0, 3]


@FEW
@given(seeds, st.booleans(), st.sets(st.integers(1, 119), max_size=4))
def test_counts_of_parts_are_together_those_of_the_whole(seed, weighted, bounds):
    X, labels = draw_table(seed)
    _, source = encode(X, labels, draw_weights(seed) if weighted else None)
    parts = Parts.of(source, sorted(bounds))
    assert_same_counts(
        parts.reduce(count_bins, join=add_counts, threads=ONE), count_bins(source, ONE)
    )


def test_adding_counts_leaves_both_as_they_are():
    _, source = encode(*draw_table(0))
    first, second = count_bins(source, ONE), count_bins(source, ONE)
    both = add_counts(first, second)
    assert_same_counts(first, second)
    for attribute, table in both.items():
        np.testing.assert_array_equal(table, 2 * first[attribute])


@FEW
@given(seeds, st.booleans())
def test_steps_are_the_cuts_between_bins_by_minimum_description_length(seed, weighted):
    X, labels = draw_table(seed)
    weights = draw_weights(seed) if weighted else np.ones(len(X))
    _, source = encode(X, labels, weights)
    found = find_steps(count_bins(source, ONE))
    expected = {}
    n_bins = Resolutions(source.attributes, source.cardinalities).n_bins
    for attribute, own in numbers_of(source).items():
        bins = source.codes[own[-1]].astype(float)
        bins[bins >= n_bins[attribute]] = np.nan
        cuts = mdl_cuts(bins, labels, 3, weights)
        assert cuts.tolist() == pytest.approx(naive_cuts(bins, labels, weights))
        # Between bins that have rows: the first one above is where the class changes.
        if len(cuts):
            expected[attribute] = np.ceil(cuts).astype(int)
    assert_same_steps(found, expected)


def test_a_class_that_no_number_tells_has_no_steps():
    rng = np.random.default_rng(0)
    _, source = encode(pd.DataFrame({"x": rng.normal(size=400)}), rng.integers(2, size=400))
    assert find_steps(count_bins(source, ONE)) == {}


@FEW
@given(seeds, st.sampled_from([1e-3, 0.1, 10.0, 1e6]))
def test_the_unit_of_weights_does_not_matter_where_it_is_told(seed, unit):
    _, source = encode(*draw_table(seed))
    counts = count_bins(source, ONE)
    scaled = {attribute: unit * table for attribute, table in counts.items()}
    assert_same_steps(find_steps(scaled, unit), find_steps(counts))


def test_light_rows_have_no_steps_unless_the_unit_is_told():
    _, source = encode(*draw_table(1))
    light = {attribute: 1e-4 * table for attribute, table in count_bins(source, ONE).items()}
    assert find_steps(light) == {}
    assert find_steps(light, 1e-4)


# Rows and their encoding with such cuts.


def assert_unchanged(source, encoding, unit=1.0):
    codes = source.codes.copy()
    found, same = sharpen(source, encoding, unit, ONE)
    assert found is source
    assert same is encoding
    np.testing.assert_array_equal(source.codes, codes)


@pytest.mark.parametrize("more", [0, 1])
def test_few_rows_have_no_cuts_by_the_class(more):
    X, labels = step_table(SHARP_ROWS + more)
    encoding, source = encode(X, labels)
    if more:
        assert sharpen(source, encoding, 1.0, ONE)[1] is not encoding
    else:
        assert_unchanged(source, encoding)


def test_rows_of_no_weight_are_no_rows():
    X, labels = step_table(2 * SHARP_ROWS)
    weights = np.tile([0.0, 1.0], SHARP_ROWS)
    encoding, source = encode(X, labels, weights)
    assert_unchanged(source, encoding)


def test_without_numbers_of_several_levels_nothing_is_cut():
    X, labels = step_table(2000)
    X = X.assign(size=X["size"] > 1.88, other=np.arange(2000) % 2)
    encoding, source = encode(X, labels)
    assert_unchanged(source, encoding)


def test_without_steps_nothing_is_cut():
    X, labels = step_table(2000)
    encoding, source = encode(X, np.random.default_rng(5).permutation(labels))
    assert_unchanged(source, encoding)


@FEW
@given(seeds, st.sampled_from([0.02, 0.03, 0.95]), st.booleans())
def test_a_step_in_a_tail_has_a_cut_within_one_finest_bin(seed, share, is_upper):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=2000)
    step = np.sort(x)[-round(share * 2000)]  # the least of the upper ones
    labels = ((x >= step) == is_upper).astype(int)
    encoding, source = encode(pd.DataFrame({"x": x, "noise": rng.normal(size=2000)}), labels)
    _, sharp = sharpen(source, encoding, 1.0, ONE)
    own = places_of(source, 0)
    finest = sharp.columns[own[8, 0]].cuts
    found = sharp.columns[own[SHARP]].cuts
    # The ends of the bin that has the step, if one has.
    ends = [finest[finest <= step].max(initial=-np.inf), finest[finest > x[x < step].max()].min()]
    assert np.isin(found, ends).any()
    assert np.isin(found, finest).all()
    assert len(found) <= 2
    noise = places_of(source, 1)
    assert len(sharp.columns[noise[SHARP]].cuts) == 0


@settings(max_examples=10)
@given(seeds, st.sampled_from([None, 1.0, 1e-3]))
def test_codes_are_those_that_the_encoding_gives_the_table(seed, unit):
    X, labels = draw_table(seed, 1500)
    weights = None if unit is None else unit * draw_weights(seed, 1500)
    encoding, source = encode(X, labels, weights)
    before = encoding.to_dict()
    found, sharp = sharpen(source, encoding, unit or 1.0, ONE)
    assert sharp is not encoding
    assert encoding.to_dict() == before
    np.testing.assert_array_equal(found.codes, sharp.encode(read_table(X)))
    np.testing.assert_array_equal(found.cardinalities, sharp.cardinalities)
    np.testing.assert_array_equal(found.attributes, sharp.attributes)
    np.testing.assert_array_equal(found.labels, labels)
    assert (found.weights is None) == (weights is None)
    if weights is not None:
        np.testing.assert_array_equal(found.weights, weights)
    counts = naive_counts(X, labels, np.ones(1500) if unit is None else weights, encoding, 3)
    steps = find_all_steps(source, unit or 1.0, ONE)
    assert_same_steps(steps.alone, find_steps(counts, unit or 1.0))
    assert sharp.to_dict() == encoding.sharpened(*steps).to_dict()
    for attribute, own in numbers_of(source).items():
        places = places_of(source, attribute)
        by_class = set(sharp.columns[places[SHARP]].cuts)
        assert by_class <= set(sharp.columns[own[-1]].cuts)
        assert bool(by_class) == (attribute in steps.alone)
        within = set(sharp.columns[places[WITHIN]].cuts)
        assert by_class <= within
        assert bool(within) == (attribute in steps.within)
        if JOINT in places:
            level_five = set(sharp.columns[places[5, 0]].cuts)
            assert set(sharp.columns[places[JOINT]].cuts) == within | level_five
    assert JOINT in places_of(source, 0)


def test_the_unit_of_weights_changes_no_cut():
    X, labels = draw_table(3, 1500)
    weights = draw_weights(3, 1500)
    found = []
    for unit in (1.0, 0.125, 1024.0):
        encoding, source = encode(X, labels, unit * weights)
        found.append(sharpen(source, encoding, unit, ONE)[1].to_dict())
    assert found[0] == found[1] == found[2]
    # Heavy rows of an unknown unit would seem to tell more than they do.
    encoding, source = encode(X, labels, 1024.0 * weights)
    heavy = sharpen(source, encoding, 1.0, ONE)[1]
    assert heavy.cardinalities.sum() > sharpen(source, encoding, 1024.0, ONE)[1].cardinalities.sum()


def test_parts_become_what_the_whole_does():
    X, labels = draw_table(2, 1500)
    encoding, source = encode(X, labels)
    parts, parted = sharpen(Parts.of(source, [3, 700, 1499]), encoding, 1.0, ONE)
    whole, sharp = sharpen(source, encoding, 1.0, ONE)
    assert parted.to_dict() == sharp.to_dict()
    np.testing.assert_array_equal(np.hstack([p.codes for p in parts.parts]), whole.codes)
    np.testing.assert_array_equal(parts.cardinalities, whole.cardinalities)
    np.testing.assert_array_equal(parts.attributes, whole.attributes)


def test_codes_that_may_be_written_are_written_over_and_others_copied():
    X, labels = step_table(1500, missing=0.1)
    encoding, source = encode(X, labels)
    codes = source.codes.copy()
    source.codes.flags.writeable = False
    copied, _ = sharpen(source, encoding, 1.0, ONE)
    np.testing.assert_array_equal(source.codes, codes)
    source.codes.flags.writeable = True
    written, _ = sharpen(source, encoding, 1.0, ONE)
    assert written.codes is source.codes
    np.testing.assert_array_equal(written.codes, copied.codes)


def test_threads_change_nothing():
    X, labels = draw_table(4, 1500)
    found = []
    for count in (1, 2, 3):
        encoding, source = encode(X, labels)
        with Threads(count) as threads:
            rows, sharp = sharpen(source, encoding, 1.0, threads)
        found.append((rows.codes.tolist(), sharp.to_dict()))
    assert found[0] == found[1] == found[2]


# Cuts that some rows tell.


def draw_sharp(seed, rows=1500, weights=None):
    """Return the encoding of a table, and its rows with cuts by the class of all of them."""
    X, labels = draw_table(seed, rows)
    encoding, source = encode(X, labels, weights)
    rows, sharp = sharpen(source, encoding, 1.0, ONE)
    assert sharp is not encoding
    return encoding, rows


def with_labels(source, labels):
    return ArraySource(
        source.codes,
        labels,
        source.n_classes,
        source.cardinalities,
        source.weights,
        attributes=source.attributes,
    )


@settings(max_examples=15)
@given(seeds, st.floats(0.01, 0.9), st.booleans())
def test_labels_of_rows_that_are_held_out_change_no_code(seed, share, weighted):
    rng = np.random.default_rng(seed)
    weights = draw_weights(seed, 1500) + 0.5 if weighted else None
    _, source = draw_sharp(seed, weights=weights)
    held = np.flatnonzero(rng.random(1500) < share)
    found = sharpen_without(source, held, ONE)
    labels = np.array(source.labels)
    labels[held] = rng.integers(source.n_classes, size=len(held))
    other = sharpen_without(with_labels(source, labels), held, ONE)
    np.testing.assert_array_equal(other.codes, found.codes)
    np.testing.assert_array_equal(other.cardinalities, found.cardinalities)
    np.testing.assert_array_equal(other.labels, labels)


@settings(max_examples=15)
@given(seeds, st.booleans())
def test_with_nobody_held_out_codes_are_those_of_all_rows(seed, weighted):
    weights = draw_weights(seed, 1500) if weighted else None
    _, source = draw_sharp(seed, weights=weights)
    codes = source.codes.copy()
    found = sharpen_without(source, np.empty(0, np.int64), ONE)
    np.testing.assert_array_equal(found.codes, codes)
    np.testing.assert_array_equal(found.cardinalities, source.cardinalities)
    np.testing.assert_array_equal(found.attributes, source.attributes)
    assert found.weights is source.weights
    assert found.codes is not source.codes


@settings(max_examples=15)
@given(seeds, st.floats(0.01, 0.95))
def test_codes_are_those_of_cuts_by_the_other_rows(seed, share):
    encoding, source = draw_sharp(seed)
    before = source.codes.copy()
    rng = np.random.default_rng(seed)
    held = rng.choice(1500, int(share * 1500), replace=False)
    rest = np.setdiff1d(np.arange(1500), held)
    steps = find_all_steps(source.take(rest), 1.0, ONE)
    expected, other = source.codes.copy(), encoding.sharpened(*steps)
    other.recode(expected)
    found = sharpen_without(source, held, ONE)
    resolutions = Resolutions(source.attributes, source.cardinalities)
    informed = [
        own[order - 1]
        for order in (1, 2)
        for attribute, own in numbers_of(source).items()
        if resolutions.is_sharp(order)[attribute]
    ]
    np.testing.assert_array_equal(found.codes[informed], expected[informed])
    np.testing.assert_array_equal(found.cardinalities[informed], other.cardinalities[informed])
    rest = np.setdiff1d(np.arange(len(before)), informed)
    np.testing.assert_array_equal(found.codes[rest], before[rest])
    np.testing.assert_array_equal(found.cardinalities[rest], source.cardinalities[rest])
    np.testing.assert_array_equal(source.codes, before)


def test_where_other_rows_tell_no_step_numbers_have_one_bin():
    X, labels = step_table(1500, missing=0.1)
    encoding, source = encode(X, labels)
    source, _ = sharpen(source, encoding, 1.0, ONE)
    found = sharpen_without(source, np.flatnonzero(labels), ONE)
    size, other = (places_of(source, attribute)[SHARP] for attribute in (1, 2))
    assert source.cardinalities[[size, other]].min() > 1
    np.testing.assert_array_equal(found.codes[size], X["size"].isna())
    assert not found.codes[other].any()
    assert found.cardinalities[[size, other]].tolist() == [2, 1]


def test_what_weights_are_divided_by_gives_the_cuts_of_all_rows_again():
    X, labels = draw_table(6, 1500)
    encoding, source = encode(X, labels, 1000.0 * (draw_weights(6, 1500) + 0.5))
    source, _ = sharpen(source, encoding, 1000.0, ONE)
    found = sharpen_without(divide_weights(source, 1000.0, ONE), np.empty(0, np.int64), ONE)
    np.testing.assert_array_equal(found.codes, source.codes)


def test_few_rows_may_be_held_out_of_any_number(monkeypatch):
    monkeypatch.setattr(sharpening, "SHARP_ROWS", 50)
    _, source = draw_sharp(8, 300)
    found = sharpen_without(source, np.arange(299), ONE)
    assert Resolutions(source.attributes, source.cardinalities).is_sharp().any()
    # One row tells nothing.
    for order in (1, 2):
        assert not Resolutions(found.attributes, found.cardinalities).is_sharp(order).any()
