"""Encodings of tables one after the other: what a fit to all rows has, wherever cuts agree."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepbroad.data.encoding import Encoding
from deepbroad.data.encoding_union import code_maps, encode_more, unite
from deepbroad.data.table import read_table

LAW = settings(deadline=None, derandomize=True)
VALUES = [
    st.sampled_from(["red", "green", "blue", "grey", None]),
    st.sampled_from(["1", b"1", 1.5, 1, ("a"), None]),
    st.booleans(),
]


def fit(X, weights=None, **options):
    table = read_table(X)
    return Encoding.fit(table, np.arange(table.n_rows) % 2, 2, weights, **options)


@st.composite
def two_tables(draw):
    """Two tables of the same categories."""
    kinds = draw(st.lists(st.sampled_from(VALUES), min_size=1, max_size=3))
    return [
        pd.DataFrame(
            {
                f"c{i}": pd.Series(draw(st.lists(kind, min_size=n, max_size=n)), dtype=object)
                for i, kind in enumerate(kinds)
            }
        )
        for n in (draw(st.integers(1, 8)), draw(st.integers(1, 8)))
    ]


def of_categories(X, weights=None):
    return fit(X, weights, categorical_features=list(X.columns))


@LAW
@given(two_tables())
def test_the_union_of_categories_is_what_all_rows_show(tables):
    first, second = (of_categories(X)[0] for X in tables)
    whole, _ = of_categories(pd.concat(tables))
    assert unite(first, second).to_dict() == whole.to_dict()
    assert unite(second, first).to_dict() == whole.to_dict()


@LAW
@given(two_tables())
def test_more_rows_get_the_codes_that_the_union_gives_them(tables):
    first, _ = of_categories(tables[0])
    named = list(tables[0].columns)
    grown, codes = encode_more(first, read_table(tables[1]), categorical_features=named)
    assert grown.to_dict() == unite(first, of_categories(tables[1])[0]).to_dict()
    np.testing.assert_array_equal(codes, grown.encode(read_table(tables[1])))


@LAW
@given(two_tables())
def test_old_codes_map_to_the_codes_of_the_same_values(tables):
    first, old_codes = of_categories(tables[0])
    grown = unite(first, of_categories(tables[1])[0])
    new_codes = grown.encode(read_table(tables[0]))
    for column, codes in enumerate(code_maps(first, grown)):
        assert len(codes) == first.cardinalities[column]
        np.testing.assert_array_equal(codes[old_codes[column]], new_codes[column])


def test_numbers_keep_the_first_cuts_and_a_missing_one_is_a_value_more():
    first, _ = fit([[1.0], [5.0], [1.0], [6.0]])
    grown, codes = encode_more(first, read_table([[0.0], [np.nan], [99.0]]))
    assert grown.columns[0].cuts.tolist() == first.columns[0].cuts.tolist()
    assert grown.value_names(0) == [*first.value_names(0), "missing"]
    assert codes.tolist() == [[0, 2, 1]]
    assert [codes.tolist() for codes in code_maps(first, grown)] == [[0, 1]]


def test_all_levels_of_a_number_gain_the_missing_value():
    numbers = np.arange(40.0)[:, None]
    first, _ = fit(numbers, levels=3)
    grown, codes = encode_more(first, read_table([[np.nan], [0.0]]))
    assert len(grown.columns) == len(first.columns) > 1
    assert (grown.cardinalities == first.cardinalities + 1).all()
    assert codes[:, 0].tolist() == (grown.cardinalities - 1).tolist()
    assert not codes[:, 1].any()


def test_an_encoding_that_nothing_changes_keeps_its_columns():
    first, _ = fit([["a", 1.0], ["b", 2.0]])
    grown, _ = encode_more(first, read_table([["b", 9.0]]))
    assert all(new is old for new, old in zip(grown.columns, first.columns, strict=True))


def test_rows_that_do_not_count_show_nothing():
    first, _ = fit([["a"], ["b"]])
    counted = np.array([True, False])
    grown, codes = encode_more(first, read_table([["c"], ["d"]]), counted)
    assert grown.value_names(0) == ["a", "b", "c"]
    assert codes.tolist() == [[2, 3]]


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ([["a"], ["b"]], [[1.5], [2.0]]),
        ([[1.5], [2.0]], [["a"], ["b"]]),
        ([[1.5], [2.0]], [[1.5], ["b"]]),
        ([[True], [False]], [[0.5], [7.0]]),
        ([[None], [None]], [[0.5], [7.0]]),
        ([[1.5], [2.0]], pd.DataFrame({"x0": pd.to_datetime(["2020-01-01"])})),
    ],
)
def test_a_column_that_changes_its_kind_is_refused_by_name(before, now):
    first, _ = fit(before)
    with pytest.raises(ValueError, match=r"Column 'x0' held .* in the batches so far"):
        encode_more(first, read_table(now))


def test_numbers_join_categories_that_hold_numbers_or_are_named():
    mixed, _ = fit([[1], ["b"]])
    grown, _ = encode_more(mixed, read_table([[2], [3]]))
    assert grown.value_names(0) == ["1", "2", "3", "b"]
    empty, _ = fit([[None], [None]], categorical_features=[0])
    grown, _ = encode_more(empty, read_table([[2], [3]]), categorical_features=[0])
    assert grown.value_names(0) == ["2", "3", "missing"]


def test_unions_of_different_columns_or_kinds_are_refused():
    text, _ = fit([["a"], ["b"]])
    number, _ = fit([[1.0], [2.0]])
    named, _ = fit(pd.DataFrame({"other": ["a", "b"]}))
    with pytest.raises(ValueError, match="'x0' is a number in one table and a category"):
        unite(text, number)
    with pytest.raises(ValueError, match="other"):
        unite(text, named)
    with pytest.raises(ValueError, match="X has 2 features"):
        encode_more(text, read_table([["a", "b"]]))
