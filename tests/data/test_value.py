"""The identity of a categorical value."""

import datetime
import decimal
import enum
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepbroad.data.value import (
    from_json,
    identify,
    name_time,
    name_value,
    sort_key,
    to_json,
    to_object,
)

NOON = datetime.datetime(2020, 1, 2, 12)
VALUES = st.one_of(
    st.text(),
    st.binary(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.decimals(allow_nan=True),
    st.dates(),
    st.datetimes(),
    st.times(),
    st.timedeltas(),
    st.sampled_from([None, pd.NA, pd.NaT, np.float32(0.5), pd.Interval(0, 1), pd.Period("2020")]),
)


@settings(deadline=None, derandomize=True)
@given(VALUES)
def test_an_identity_survives_json_with_its_order_and_name(value):
    identity = identify(value)
    if identity is None:
        return
    again = from_json(json.loads(json.dumps(to_json(identity), allow_nan=False)))
    assert again == identity
    assert hash(again) == hash(identity)
    assert type(again) is type(identity)
    assert sort_key(again) == sort_key(identity)
    assert name_value(again) == name_value(identity)


@settings(deadline=None, derandomize=True)
@given(st.lists(VALUES))
def test_any_mixture_can_be_sorted(values):
    known = [identity for identity in map(identify, values) if identity is not None]
    backwards = known[::-1]
    assert sorted(known, key=sort_key) == sorted(backwards, key=sort_key)


@pytest.mark.parametrize(
    "values",
    [
        (1, 1.0, True, np.int8(1), np.float64(1), np.bool_(True), decimal.Decimal("1.0")),
        ("a", np.str_("a"), enum.StrEnum("E", {"A": "a"}).A),
        (b"a", np.bytes_(b"a")),
        (2, enum.IntEnum("E", {"B": 2}).B),
        (NOON, np.datetime64(NOON), np.datetime64(NOON, "ns"), pd.Timestamp(NOON)),
        (
            NOON.replace(tzinfo=datetime.UTC),
            NOON.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=9)))
            + datetime.timedelta(hours=9),
        ),
        (datetime.date(2020, 1, 2), datetime.datetime(2020, 1, 2), np.datetime64("2020-01-02")),
        (datetime.timedelta(hours=24), np.timedelta64(1, "D"), pd.Timedelta(days=1)),
        (None, float("nan"), np.float32("nan"), pd.NA, pd.NaT, np.datetime64("NaT")),
        (0.0, -0.0),
    ],
)
def test_equal_values_have_one_identity(values):
    assert len({identify(value) for value in values}) == 1


def test_different_values_have_different_identities():
    values = ["1", 1, b"1", 1.5, "", datetime.time(1), datetime.timedelta(hours=1), NOON, None]
    assert len({identify(value) for value in values}) == len(values)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("red", "red"),
        (2.0, "2"),
        (0.1, "0.1"),
        (1e300, "1e+300"),
        (1 / 3, "0.3333333333333333"),
        (float("inf"), "inf"),
        (True, "True"),
        (b"ab\xff", "ab\\xff"),
        (datetime.date(2020, 1, 2), "2020-01-02"),
        (NOON, "2020-01-02 12:00:00"),
        (datetime.time(1, 2), "01:02:00"),
        (datetime.timedelta(days=1), "1 day, 0:00:00"),
        (pd.Interval(0, 1), "(0, 1]"),
    ],
)
def test_names_are_what_a_person_would_write(value, name):
    assert name_value(identify(value)) == name


def test_a_cut_at_infinity_has_a_name():
    assert name_time(float("inf"), "datetime") == "inf"


def test_times_become_objects_again():
    for value in (NOON, datetime.timedelta(1), datetime.time(1, 2), "a", 1):
        assert to_object(identify(value)) == value
    with pytest.raises(ValueError, match="no object"):
        to_object(identify(pd.Interval(0, 1)))


@pytest.mark.parametrize(
    "value", [[1], (1,), {1}, {"a": 1}, frozenset(), np.ones(2), np.void(b"a")]
)
def test_containers_are_refused(value):
    with pytest.raises(TypeError, match="argument must be a string or a number"):
        identify(value)


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {"bytes": 1},
        {"bytes": "xyz"},
        {"float": "nan"},
        {"float": "1.5"},
        {"datetime": "now"},
        {"datetime": float("nan")},
        {"other": ["a"]},
        {"other": "os.system"},
        {"bytes": "00", "float": "inf"},
        {"eval": "1"},
        float("nan"),
        float("inf"),
    ],
)
def test_what_was_never_written_is_refused(data):
    with pytest.raises(ValueError):
        from_json(data)
