"""Code columns for cuts by the class: what an encoding is with them, and the codes of its rows."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepbroad.data.code_column import NumberColumn
from deepbroad.data.encoding import Encoding
from deepbroad.data.pyramid import BY_CLASS, JOINT, SHARP, WITHIN, count_levels, list_places
from deepbroad.data.table import read_table

LAW = settings(deadline=None, derandomize=True, max_examples=40)


def draw_table(rng, rows, values, missing):
    """Return a number, a category, a flag of one level, and whole numbers of a few."""
    size = rng.choice(rng.normal(size=values), rows)
    size[rng.random(rows) < missing] = np.nan
    return pd.DataFrame(
        {
            "size": size,
            "kind": rng.choice(["a", "b", "c"], rows),
            "flag": np.arange(rows) % 2,
            "count": rng.permutation(np.arange(rows) % 11),
        }
    )


def fit(X, levels, weights=None):
    return Encoding.fit(read_table(X), np.arange(len(X)) % 2, 2, weights, levels=levels)


def columns_of(encoding, attribute):
    """Return the code columns of an attribute by place."""
    own = np.flatnonzero(encoding.attributes == attribute).tolist()
    return dict(zip(list_places(count_levels(len(own))), own, strict=True))


def cuts_of(encoding, column):
    return encoding.columns[column].cuts


@st.composite
def sharp_encodings(draw):
    """Draw a table, its encoding and codes, steps of some numbers, and the sharper encoding.

    Steps are those in all rows, and these with those within the values of others.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    X = draw_table(
        rng,
        draw(st.integers(40, 200)),
        draw(st.sampled_from([3, 9, 40, 300])),
        draw(st.sampled_from([0.0, 0.2])),
    )
    encoding, codes = fit(X, draw(st.integers(1, 8)))
    alone, within = {}, {}
    for attribute in range(4):
        own = columns_of(encoding, attribute)
        finest = encoding.columns[max(own.values())]
        if SHARP in own and draw(st.booleans()):
            bins = st.integers(1, len(finest.cuts))
            found, more = draw(st.sets(bins, max_size=4)), draw(st.sets(bins, max_size=3))
            if found:
                alone[attribute] = np.array(sorted(found))
            if found | more:
                within[attribute] = np.array(sorted(found | more))
    return X, encoding, codes, (alone, within), encoding.sharpened(alone, within)


@LAW
@given(sharp_encodings())
def test_the_first_columns_are_cut_at_the_steps_and_one_at_these_and_level_five(case):
    _, encoding, _, (alone, within), sharp = case
    before = encoding.to_dict()
    for attribute in range(4):
        for place, column in columns_of(encoding, attribute).items():
            old, new = encoding.columns[column], sharp.columns[column]
            steps = alone if place == SHARP else within
            if attribute not in steps or place not in (*BY_CLASS, JOINT):
                assert new.to_dict() == old.to_dict()
                continue
            finest = cuts_of(encoding, max(columns_of(encoding, attribute).values()))
            # Bin k begins at the cut before it.
            by_class = [finest[step - 1] for step in steps[attribute]]
            kept = old.cuts.tolist() if place == JOINT else []
            assert new.cuts.tolist() == sorted({*by_class, *kept})
            assert (new.name, new.missing, new.quantity) == (old.name, old.missing, old.quantity)
    assert sharp.names == encoding.names
    np.testing.assert_array_equal(sharp.attributes, encoding.attributes)
    assert encoding.to_dict() == before


@LAW
@given(sharp_encodings(), st.integers(0, 2**16))
def test_codes_written_over_are_those_that_the_sharper_encoding_gives(case, seed):
    X, encoding, codes, _, sharp = case
    table = read_table(X)
    sharp.recode(codes)
    np.testing.assert_array_equal(codes, sharp.encode(table))
    assert codes.dtype == sharp.dtype
    for i, cardinality in enumerate(sharp.cardinalities):
        assert set(codes[i]) == set(range(cardinality))
    # Rows that training had none of, missing numbers among them.
    other = read_table(draw_table(np.random.default_rng(seed), 30, 60, 0.3))
    unseen = encoding.encode(other)
    sharp.recode(unseen)
    np.testing.assert_array_equal(unseen, sharp.encode(other))


@LAW
@given(sharp_encodings())
def test_a_sharper_encoding_survives_json(case):
    X, _, _, _, sharp = case
    again = Encoding.from_dict(json.loads(json.dumps(sharp.to_dict(), allow_nan=False)))
    assert again.to_dict() == sharp.to_dict()
    np.testing.assert_array_equal(again.cardinalities, sharp.cardinalities)
    np.testing.assert_array_equal(again.encode(read_table(X)), sharp.encode(read_table(X)))
    for i in range(len(sharp.columns)):
        assert len(set(sharp.value_names(i))) == sharp.cardinalities[i]


@LAW
@given(sharp_encodings(), st.data())
def test_the_finest_of_some_columns_tells_them_all_cuts_by_the_class_among_them(case, data):
    _, _, codes, _, sharp = case
    sharp.recode(codes)
    owner = data.draw(st.sampled_from(range(4)))
    own = sorted(columns_of(sharp, owner).values())
    some = data.draw(st.sets(st.sampled_from(own), min_size=1))

    def has_all(column):
        found = sharp.columns[column]
        return not isinstance(found, NumberColumn) or all(
            set(cuts_of(sharp, coarse)) <= set(found.cuts) for coarse in some
        )

    finest = sharp.finest_of(some)
    assert finest == next(column for column in own if column >= max(some) and has_all(column))
    for coarse in some:
        within = sharp.bins_within(coarse, finest)
        np.testing.assert_array_equal(within[codes[finest]], codes[coarse])


@pytest.mark.parametrize("missing", [False, True])
def test_with_pairs_effects_of_cuts_by_the_class_are_told_by_level_five_and_them(missing):
    x = np.arange(256.0)
    x = np.append(x, np.nan) if missing else x
    encoding, _ = fit(x[:, None], 8)
    alone, within = {0: np.array([250, 251])}, {0: np.array([9, 250, 251])}
    sharp = encoding.sharpened(alone, within)
    own = columns_of(sharp, 0)
    assert sharp.cardinalities[own[WITHIN]] == 4 + missing
    assert sharp.cardinalities[own[SHARP]] == 3 + missing
    assert sharp.value_names(own[SHARP]) == (
        ["< 249.5", "[249.5, 250.5)", ">= 250.5"] + ["missing"] * missing
    )
    assert sharp.cardinalities[own[JOINT]] == 32 + 3 + missing
    joint, finest = own[JOINT], own[8, 0]
    assert sharp.finest_of([own[SHARP]]) == own[SHARP]
    for level in range(1, 6):
        assert sharp.finest_of([own[SHARP], own[level, 0]]) == joint
        assert sharp.finest_of([own[WITHIN], own[level, 0]]) == joint
        assert sharp.finest_of([own[level, 0]]) == own[level, 0]
    for place in [(6, 0), (7, 0), (8, 0)]:
        assert sharp.finest_of([own[SHARP], own[place]]) == finest
    # A step that level 5 has needs no column beside it.
    other = encoding.sharpened({0: np.array([248])}, {0: np.array([248])})
    assert other.finest_of([own[SHARP], own[5, 0]]) == own[5, 0]
    assert other.cardinalities[own[JOINT]] == 32 + missing


def test_without_steps_an_encoding_stays_as_it_is():
    encoding, codes = fit(draw_table(np.random.default_rng(0), 100, 60, 0.1), 6)
    before = codes.copy()
    same = encoding.sharpened({}, {})
    assert same.to_dict() == encoding.to_dict()
    same.recode(codes)
    np.testing.assert_array_equal(codes, before)


def test_rows_of_no_weight_may_have_codes_that_no_bin_has():
    x = np.append(np.arange(64.0), np.nan)[:, None]
    encoding, codes = fit(x, 4, np.append(np.ones(64), 0.0))
    sharp = encoding.sharpened({0: np.array([3])}, {0: np.array([3])})
    sharp.recode(codes)
    assert sharp.cardinalities[0] == 2
    assert codes[0].tolist() == [0] * 12 + [1] * 52 + [2]
    np.testing.assert_array_equal(codes, sharp.encode(read_table(x)))
