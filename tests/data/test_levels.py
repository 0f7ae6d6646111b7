"""Numbers at several levels: code columns that an attribute owns together, their laws."""

import json

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.data.encoding import Encoding
from deepbroad.data.pyramid import count_levels, list_places
from deepbroad.data.table import read_table
from tests.data.test_encoding import LAW, STRANGERS, fit, tables


def coarse_and_fine(encoding):
    """List the unshifted code columns, each with itself and those before it of its attribute."""
    for own in np.unique(encoding.attributes):
        columns = np.flatnonzero(encoding.attributes == own).tolist()
        for place, fine in zip(list_places(count_levels(len(columns))), columns, strict=True):
            if not place.quarters:
                yield from ((coarse, fine) for coarse in columns if coarse <= fine)


@STRANGERS
@LAW
@given(tables(), st.integers(1, 4))
def test_training_codes_at_several_levels_are_those_that_encode_gives(case, levels):
    train, test, labels, weights = case
    encoding, codes = fit(train, labels, weights, levels=levels)
    np.testing.assert_array_equal(codes, encoding.encode(read_table(train)))
    assert codes.shape[0] == len(encoding.columns) == len(encoding.cardinalities)
    assert codes.flags.c_contiguous
    for i, cardinality in enumerate(encoding.cardinalities):
        assert set(codes[i, weights > 0]) == set(range(cardinality))
    assert (encoding.encode(read_table(test)) <= encoding.cardinalities[:, None]).all()


@STRANGERS
@LAW
@given(tables(), st.integers(1, 4))
def test_levels_survive_json_and_leave_out_rows_of_weight_zero(case, levels):
    train, test, labels, weights = case
    encoding, _ = fit(train, labels, weights, levels=levels)
    text = json.dumps(encoding.to_dict(), allow_nan=False)
    kept = weights > 0
    without, _ = fit(train[kept], labels[kept], weights[kept], levels=levels)
    for other in (Encoding.from_dict(json.loads(text)), without):
        assert other.to_dict() == encoding.to_dict()
        np.testing.assert_array_equal(other.attributes, encoding.attributes)
        np.testing.assert_array_equal(
            other.encode(read_table(test)), encoding.encode(read_table(test))
        )


@STRANGERS
@LAW
@given(tables(), st.integers(1, 4))
def test_a_bin_lies_in_one_bin_of_each_coarser_level(case, levels):
    train, test, labels, weights = case
    encoding, codes = fit(train, labels, weights, levels=levels)
    both = np.hstack([codes, encoding.encode(read_table(test))])
    owners = encoding.attributes
    assert (np.diff(owners) >= 0).all()
    assert np.bincount(owners).max() <= len(list_places(levels))
    for coarse, fine in coarse_and_fine(encoding):
        pairs = set(zip(both[fine].tolist(), both[coarse].tolist(), strict=True))
        assert len(pairs) == len({inner for inner, _ in pairs})
        assert encoding.cardinalities[fine] >= encoding.cardinalities[coarse]


@STRANGERS
@LAW
@given(tables(), st.integers(1, 4))
def test_bins_of_any_coarser_level_are_told_by_those_of_a_finer_one(case, levels):
    train, _, labels, weights = case
    encoding, codes = fit(train, labels, weights, levels=levels)
    counted = codes[:, weights > 0]
    for coarse, fine in coarse_and_fine(encoding):
        within = encoding.bins_within(coarse, fine)
        np.testing.assert_array_equal(within[counted[fine]], counted[coarse])


@STRANGERS
@LAW
@given(tables(), st.integers(1, 4), st.data())
def test_the_finest_of_some_columns_is_the_first_that_tells_them_all(case, levels, data):
    train, _, labels, weights = case
    encoding, codes = fit(train, labels, weights, levels=levels)
    counted = codes[:, weights > 0]
    owner = data.draw(st.sampled_from(sorted(set(encoding.attributes.tolist()))))
    own = np.flatnonzero(encoding.attributes == owner).tolist()
    some = data.draw(st.sets(st.sampled_from(own), min_size=1))

    def tells(fine):
        pairs = [set(zip(counted[fine], counted[coarse], strict=True)) for coarse in some]
        return all(len(found) == len(set(counted[fine])) for found in pairs)

    expected = next(column for column in own if column >= max(some) and tells(column))
    assert encoding.finest_of(some) == expected


def test_levels_are_of_numbers_alone_and_stand_together():
    X = pd.DataFrame(
        {
            "size": np.arange(16.0),
            "word": list("abcd") * 4,
            "flag": [0, 1] * 8,
            "code": np.arange(16),
        }
    )
    encoding, codes = fit(X, levels=3, categorical_features=["code"])
    assert encoding.attributes.tolist() == [0] * 7 + [1, 2, 3]
    assert encoding.cardinalities.tolist() == [2, 3, 4, 3, 3, 5, 8, 4, 2, 16]
    for level, column in enumerate([0, 2, 6]):
        np.testing.assert_array_equal(codes[column], np.arange(16) // (8 >> level))
    for quarters, column in enumerate([3, 1, 4], start=1):
        np.testing.assert_array_equal(codes[column], (np.arange(16) + 8 - 2 * quarters) // 8)
    assert encoding.value_names(0) == ["< 7.5", ">= 7.5"]
    assert repr(encoding) == "Encoding(4 attributes, 10 code columns)"


def test_labels_do_not_move_nested_cuts():
    x = np.random.default_rng(0).normal(size=(40, 1))
    by_size, _ = fit(x, (x[:, 0] > 1).astype(int), levels=4)
    by_chance, _ = fit(x, np.arange(40) % 2, levels=4)
    assert by_size.to_dict() == by_chance.to_dict()


def test_a_missing_number_has_a_code_of_its_own_at_every_level():
    x = np.array([0.0, 1.0, 2.0, 3.0, np.nan])[:, None]
    encoding, codes = fit(x, np.array([0, 1, 0, 1, 1]), levels=2)
    assert codes.tolist() == [[0, 0, 1, 1, 2], [0, 1, 1, 2, 3], [0, 1, 2, 3, 4]]
    without, _ = fit(x[:4], np.array([0, 1, 0, 1]), levels=2)
    assert without.cardinalities.tolist() == [2, 3, 4]
    # Never seen in training, it is no bin.
    assert without.encode(read_table(x[4:])).tolist() == [[2], [3], [4]]
    for column in range(3):
        assert encoding.value_names(column)[-1] == "missing"


def test_a_number_that_is_always_missing_has_one_code_column():
    X = pd.DataFrame({"gone": [np.nan] * 6, "there": np.arange(6.0)})
    weights = np.ones(6)
    for values in ([np.nan] * 6, [7.0] + [np.nan] * 5):
        X["gone"] = values
        weights[0] = 0.0
        encoding, codes = fit(X, weights=weights, levels=3)
        assert encoding.attributes.tolist() == [0] + [1] * 7
        assert encoding.cardinalities[0] == 1
        assert not codes[0].any()


def test_dates_have_levels_too():
    days = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=8)})
    encoding, codes = fit(days, levels=2)
    halves, shifted, quarters = (
        [0] * 4 + [1] * 4,
        [0, 0, 1, 1, 1, 1, 2, 2],
        [0, 0, 1, 1, 2, 2, 3, 3],
    )
    assert codes.tolist() == [halves, shifted, quarters]
    assert encoding.value_names(0) == ["< 2020-01-04 12:00:00", ">= 2020-01-04 12:00:00"]
