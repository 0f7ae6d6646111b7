"""Dataclasses come back from JSON and arrays as what their types say, or not at all."""

import json
from dataclasses import dataclass, field
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.engine.record import pack, unpack


@dataclass
class Inner:
    numbers: tuple[float, ...]
    on: bool = True


@dataclass
class Outer:
    array: np.ndarray
    count: int
    rate: float
    word: str
    curve: list[float]
    inner: Inner | None
    many: list[Inner] = field(default_factory=list)
    arrays: list[np.ndarray] = field(default_factory=list)
    reasons: dict[int, str] = field(default_factory=dict)
    maybe: np.ndarray | None = None


FLOATS = st.floats()
INNERS = st.builds(Inner, st.lists(FLOATS, max_size=3).map(tuple), st.booleans())
OUTERS = st.builds(
    Outer,
    array=st.lists(FLOATS, max_size=3).map(np.array),
    count=st.integers(),
    rate=FLOATS,
    word=st.text(max_size=3),
    curve=st.lists(FLOATS, max_size=4),
    inner=INNERS | st.none(),
    many=st.lists(INNERS, max_size=2),
    arrays=st.lists(st.integers(0, 9).map(np.arange), max_size=2),
    reasons=st.dictionaries(st.integers(0, 9), st.text(max_size=3), max_size=2),
    maybe=st.none() | st.just(np.ones(2)),
)


def there_and_back(value):
    arrays = {}
    text = json.dumps(pack(value, "value", arrays), allow_nan=False)
    return unpack(type(value), json.loads(text), arrays)


@given(OUTERS)
def test_what_is_packed_comes_back(value):
    found = there_and_back(value)
    assert type(found) is Outer
    assert repr(found) == repr(value)


def test_numbers_of_numpy_become_plain_ones():
    value = Outer(np.ones(1), np.int64(3), np.float64(inf), "", [], Inner((nan, np.float64(2.0))))
    found = there_and_back(value)
    assert (type(found.count), found.count, type(found.rate), found.rate) == (int, 3, float, inf)
    assert type(found.inner.numbers[1]) is float


@pytest.mark.parametrize(
    "change",
    [
        {"count": 1.5},
        {"count": True},
        {"count": "3"},
        {"rate": "three"},
        {"rate": None},
        {"rate": True},
        {"word": 3},
        {"array": None},
        {"array": "not.there"},
        {"array": [1, 2]},
        {"curve": "value.square"},
        {"curve": ["a"]},
        {"inner": {"numbers": []}},
        {"inner": {"numbers": [], "on": True, "__class__": "os.system"}},
        {"inner": ["os.system", "ls"]},
        {"many": [None]},
        {"reasons": [[1]]},
        {"reasons": {"1": "a"}},
        {"more": 1},
    ],
)
def test_what_no_such_value_gives_is_refused(change):
    arrays = {}
    data = pack(Outer(np.ones(2), 1, 1.0, "a", [1.0], None), "value", arrays)
    arrays["value.square"] = np.ones((2, 2))
    assert unpack(Outer, data, arrays).count == 1
    with pytest.raises(ValueError):
        unpack(Outer, data | change, arrays)


def test_values_of_other_types_are_not_packed():
    with pytest.raises(TypeError, match="set"):
        pack(Inner({1.0}), "value", {})
