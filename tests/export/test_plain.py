"""Values and labels as other languages compare them."""

import pytest

from deepbroad.data.code_column import CategoryColumn
from deepbroad.export.plain import plain_labels, plain_values


@pytest.mark.parametrize(
    ("values", "reading", "plain"),
    [
        (("a", "b"), "text", ["a", "b"]),
        ((False, True), "boolean", [0.0, 1.0]),
        ((1, 2.5, True + 2), "number", [1.0, 2.5, 3.0]),
        ((("datetime", 5.0),), "datetime", [5.0]),
        ((("datetime", 5e6), "x"), "text", ["1970-01-01 00:00:05", "x"]),
        ((b"y", 2), "text", ["y", "2"]),
        ((), "text", []),
    ],
)
def test_values_are_numbers_where_all_are(values, reading, plain):
    assert plain_values(CategoryColumn(0, "c", True, values)) == (reading, plain)


def test_whole_numbers_that_floats_confuse_are_refused():
    with pytest.raises(ValueError, match="'c'"):
        plain_values(CategoryColumn(0, "c", True, (2**53, 2**53 + 1)))


@pytest.mark.parametrize(
    ("labels", "plain"),
    [
        ([False, True], [False, True]),
        ([0.0, 1.0], [0, 1]),
        ([3, 2**70], ["3", str(2**70)]),
        ([1, "1"], ["1", "'1'"]),
        (["a", "b"], ["a", "b"]),
    ],
)
def test_labels_keep_their_type_where_all_have_one(labels, plain):
    found = plain_labels(labels)
    assert (found, [type(x) for x in found]) == (plain, [type(x) for x in plain])
