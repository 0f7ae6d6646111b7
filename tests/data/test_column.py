"""Columns of the rarer Arrow types, and of objects that are shared only at first sight."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

from deepbroad.data.column import column_from_arrow, column_from_numpy
from deepbroad.data.objects import factor_objects


class Metres(pa.ExtensionType):
    def __init__(self):
        super().__init__(pa.float64(), "deepbroad.test.metres")

    def __arrow_ext_serialize__(self):
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type, serialized):
        return cls()


def test_an_extension_type_is_read_as_its_storage():
    values = pa.ExtensionArray.from_storage(Metres(), pa.array([1.5, None]))
    for given in (values, pa.chunked_array([values])):
        column = column_from_arrow("m", given)
        assert column.kind == "number"
        np.testing.assert_array_equal(column.numbers(), [1.5, np.nan])


def test_a_dictionary_of_an_extension_type_is_read_as_its_storage():
    levels = pa.ExtensionArray.from_storage(Metres(), pa.array([1.5, 2.0]))
    column = column_from_arrow("m", pa.DictionaryArray.from_arrays(pa.array([1, 0, 1]), levels))
    assert column.kind == "category"
    assert column.factor().levels == [1.5, 2]
    np.testing.assert_array_equal(column.numbers(), [2, 1.5, 2])


@pytest.mark.parametrize(
    ("values", "kind", "levels"),
    [
        (pa.RunEndEncodedArray.from_arrays([2, 3], ["a", "b"]), "category", ["a", "b"]),
        (pa.array(["a", "b"], pa.string_view()), "category", ["a", "b"]),
        (pa.array([b"a", b"b"], pa.binary_view()), "category", [b"a", b"b"]),
        (pa.array([b"a", b"b"], pa.binary(1)), "category", [b"a", b"b"]),
        (pa.array(np.array([0.5, 2], np.float16)), "number", [0.5, 2]),
        (
            pa.array([datetime.date(1970, 1, 1), datetime.date(1970, 1, 2)], pa.date64()),
            "number",
            [("datetime", 0.0), ("datetime", 86400e6)],
        ),
        (pa.array([5, 7], pa.time32("ms")), "number", [("time", 5e3), ("time", 7e3)]),
        (pa.array([5, 7], pa.duration("ns")), "number", [("duration", 0.005), ("duration", 0.007)]),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_rare_types_are_read_by_their_values(values, kind, levels):
    column = column_from_arrow("c", values)
    assert column.kind == kind
    assert column.factor().levels == levels


def test_a_dictionary_may_hold_missing_values():
    values = pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array([1.5, np.nan]))
    column = column_from_arrow("c", values)
    assert column.factor().levels == [1.5, None]
    np.testing.assert_array_equal(column.numbers(), [1.5, np.nan, np.nan])


def test_objects_that_are_shared_only_in_the_first_rows_are_read_by_value():
    values = np.array(["a"] * 1000 + [f"v{i}" for i in range(3000)], dtype=object)
    found = factor_objects(values)
    assert isinstance(found, pa.Array)
    assert found.to_pylist() == values.tolist()


def test_equal_objects_at_different_addresses_may_stay_different_levels():
    values = np.array(["ab", "".join(["a", "b"]), "c", "c"] * 50, dtype=object)
    column = column_from_numpy("c", values)
    indices, levels = column.factor()
    assert [levels[i] for i in indices] == values.tolist()


def test_text_with_bytes_and_dates_with_datetimes_are_not_made_one():
    noon = datetime.datetime(2020, 1, 1, 12)
    for mixture in (["a", b"a", "b", "c"], [noon.date(), noon, None, datetime.date(2021, 1, 1)]):
        indices, levels = factor_objects(np.array(mixture, dtype=object))
        assert len(set(indices)) == 4
        assert len(set(levels)) == 4
