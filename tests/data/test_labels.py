"""Labels of any type become class codes."""

import datetime
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import DataConversionWarning

from deepbroad.data.labels import Labels

TEXT = ["no", "yes", "no", "maybe"]


@pytest.mark.parametrize(
    "y",
    [
        TEXT,
        tuple(TEXT),
        np.array(TEXT),
        np.array(TEXT, dtype=object),
        pd.Series(TEXT),
        pd.Series(TEXT, dtype=object),
        pd.Series(TEXT, dtype="category"),
        pl.Series(TEXT),
        pl.Series(TEXT, dtype=pl.Categorical),
        pa.array(TEXT),
        pa.chunked_array([TEXT[:1], TEXT[1:]]),
    ],
    ids=lambda y: type(y).__module__,
)
def test_labels_of_every_library_have_the_same_classes_and_codes(y):
    labels, codes = Labels.fit(y)
    assert labels.classes.tolist() == ["maybe", "no", "yes"]
    assert codes.tolist() == [1, 2, 1, 0]
    assert codes.dtype == np.uint8
    np.testing.assert_array_equal(labels.encode(y), codes)
    np.testing.assert_array_equal(labels.encode(TEXT), codes)


@pytest.mark.parametrize(
    "y",
    [
        np.array([3, 1, 3], dtype=np.int8),
        np.array([3, 1, 3], dtype=np.uint64),
        np.array([True, False]),
        np.array([1.0, -1.0, 1.0]),
        np.array(["a", "bcd"]),
        np.array([b"a", b"b"]),
        np.array(["a", "b"], dtype=object),
        np.array([2, 1], dtype=object),
        np.array(["1", "2"], dtype="m8[s]"),
        np.array(["2020-01-02", "2020-01-01"], dtype="M8[D]"),
        np.array([7]),
    ],
    ids=lambda y: str(y.dtype),
)
def test_classes_are_what_unique_gives_and_survive_json(y):
    labels, codes = Labels.fit(y)
    classes, inverse = np.unique(y, return_inverse=True)
    assert labels.classes.dtype == classes.dtype
    np.testing.assert_array_equal(labels.classes, classes)
    np.testing.assert_array_equal(codes, inverse)
    again = Labels.from_dict(json.loads(json.dumps(labels.to_dict())))
    assert again.classes.dtype == classes.dtype
    np.testing.assert_array_equal(again.classes, classes)
    np.testing.assert_array_equal(again.encode(y), codes)
    assert repr(again).startswith("Labels(array(")


def test_numpy_strings_of_its_own_string_type_survive_json_as_objects():
    y = np.array(["b", "a"], dtype=np.dtypes.StringDType())
    labels, codes = Labels.fit(y)
    assert codes.tolist() == Labels.from_dict(labels.to_dict()).encode(y).tolist() == [1, 0]


def test_nullable_integers_are_integers():
    labels, _ = Labels.fit(pd.Series([2, 1], dtype="Int64"))
    assert labels.classes.dtype == np.int64


def test_mixed_labels_are_sorted_by_type_then_value():
    for y in ([2, "a", 1, "b", 1.0], ["b", 1, "a", 2]):
        labels, _ = Labels.fit(y)
        assert labels.classes.dtype == object
        assert labels.classes.tolist() == [1, 2, "a", "b"]
        assert Labels.from_dict(labels.to_dict()).classes.tolist() == [1, 2, "a", "b"]


def test_many_classes_take_a_wider_type():
    labels, codes = Labels.fit(np.arange(300))
    assert labels.n_classes == 300
    assert codes.dtype == np.uint16


def test_one_class_is_allowed():
    labels, codes = Labels.fit(["a", "a"])
    assert labels.n_classes == 1
    assert codes.tolist() == [0, 0]


def test_a_class_that_only_rows_of_weight_zero_have_is_left_out():
    y = ["a", "b", None, "c"]
    labels, codes = Labels.fit(y, np.array([1.0, 0, 0, 2]))
    assert labels.classes.tolist() == ["a", "c"]
    assert codes.tolist() == [0, 0, 0, 1]
    with pytest.raises(ValueError, match="every row has weight 0"):
        Labels.fit(y, np.zeros(4))


@pytest.mark.parametrize(
    "y",
    [
        ["a", None, "b", None],
        [1.0, np.nan, 2.0, np.nan],
        pd.Series(["a", None, "b", None]),
        pd.Series([1, None, 2, None], dtype="Int64"),
        pl.Series([1, None, 2, None]),
        pd.Series(["a", None, "b", None], dtype="category"),
    ],
)
def test_missing_labels_are_counted_in_the_error(y):
    with pytest.raises(ValueError, match="contains NaN: 2 of 4 labels are missing"):
        Labels.fit(y)


def test_continuous_labels_are_refused_as_scikit_learn_does():
    for y in (np.array([0.5, 1.5]), [0.5, 1], pd.Series([0.5, 1.5]), np.array([0.5], dtype=object)):
        with pytest.raises(ValueError, match=r"Unknown label type: continuous.* like regression"):
            Labels.fit(y)
    with pytest.raises(ValueError, match="contains infinity"):
        Labels.fit([1.0, np.inf])


def test_a_column_vector_is_taken_with_a_warning():
    for y in (np.array([[1], [2]]), pd.DataFrame({"y": [1, 2]}), pl.DataFrame({"y": [1, 2]})):
        with pytest.warns(DataConversionWarning, match="column-vector y"):
            assert Labels.fit(y)[1].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        (None, ValueError, "y cannot be None"),
        ([], ValueError, r"0 sample\(s\)"),
        (np.ones((2, 2)), ValueError, "1d array"),
        (3, ValueError, "1d array"),
        (pl.LazyFrame({"y": [1]}), TypeError, "collect"),
        ([{"a": 1}], TypeError, "string or a number"),
    ],
)
def test_what_is_no_column_of_labels_is_refused(y, error, message):
    with pytest.raises(error, match=message):
        Labels.fit(y)


def test_unseen_labels_are_refused_by_name():
    labels, _ = Labels.fit(["a", "b"])
    with pytest.raises(ValueError, match="previously unseen labels: 'c'"):
        labels.encode(["a", "c"])
    with pytest.raises(ValueError, match="contains NaN"):
        labels.encode(["a", None])


def test_classes_without_a_plain_form_are_not_written():
    labels, _ = Labels.fit(np.array([pd.Interval(0, 1), pd.Interval(1, 2)], dtype=object))
    with pytest.raises(ValueError, match="cannot be written"):
        labels.to_dict()


def test_objects_that_are_dates_survive_json():
    days = np.array([datetime.datetime(2020, 1, 2), datetime.datetime(2020, 1, 1)], dtype=object)
    labels, codes = Labels.fit(days)
    assert Labels.from_dict(labels.to_dict()).encode(days).tolist() == codes.tolist() == [1, 0]


@pytest.mark.parametrize(
    "data",
    [
        None,
        {},
        {"dtype": "<U1", "values": []},
        {"dtype": "<U1", "values": ["a", "a"]},
        {"dtype": "<U1", "values": ["ab"]},
        {"dtype": "|i1", "values": [1000]},
        {"dtype": "<i8", "values": ["a"]},
        {"dtype": "evil", "values": [1]},
        {"dtype": "<U999999999", "values": ["a"]},
        {"dtype": "V8", "values": [1]},
        {"dtype": "<i8,<i8", "values": [1]},
        {"dtype": 8, "values": [1]},
        {"dtype": "<i8", "values": [1], "more": 0},
        {"dtype": "|O", "values": [{"other": ["os.system", "x"]}]},
    ],
)
def test_spoilt_classes_are_refused(data):
    with pytest.raises(ValueError):
        Labels.from_dict(data)


def test_labels_that_are_no_class_are_found_as_none():
    labels, _ = Labels.fit(["b", "a", "b"])
    np.testing.assert_array_equal(labels.find(["a", "c", "b"]), [0, -1, 1])
    with pytest.raises(ValueError, match="missing"):
        labels.find(["a", None])
