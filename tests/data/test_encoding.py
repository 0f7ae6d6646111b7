"""Tables become codes: the laws of Encoding, and the cases that people have."""

import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from deepbroad.data.encoding import Encoding
from deepbroad.data.table import read_table

LAW = settings(deadline=None, derandomize=True)
# A mixed column may have had only numbers in training.
STRANGERS = pytest.mark.filterwarnings(
    "ignore:column .* held numbers in training", "ignore:Column .* in training it held"
)
CELLS = st.sampled_from(
    [
        st.sampled_from(["red", "green", "blue", None]),
        st.sampled_from([1, 2, 3, None]),
        st.sampled_from([0.5, 1.5, 2.5, 3.5, float("nan"), float("inf")]),
        st.sampled_from([1, "1", b"1", 1.5, True, None, "", float("inf")]),
        st.booleans(),
        st.none(),
    ]
)


@st.composite
def tables(draw, min_rows=1):
    """Two tables of the same columns, labels and weights of the first."""
    n_train, n_test = draw(st.integers(min_rows, 12)), draw(st.integers(1, 6))
    cells = draw(st.lists(CELLS, min_size=1, max_size=3))
    train, test = (
        pd.DataFrame(
            {
                f"c{i}": pd.Series([draw(cell) for _ in range(n)], dtype=object)
                for i, cell in enumerate(cells)
            }
        )
        for n in (n_train, n_test)
    )
    labels = np.array(draw(st.lists(st.integers(0, 1), min_size=n_train, max_size=n_train)))
    weights = np.array(
        draw(st.lists(st.sampled_from([0.0, 1.0, 2.0]), min_size=n_train, max_size=n_train))
    )
    weights[0] = 1.0
    return train, test, labels, weights


def fit(X, labels=None, weights=None, **options):
    table = read_table(X)
    labels = np.arange(table.n_rows) % 2 if labels is None else labels
    return Encoding.fit(table, labels, 2, weights, **options)


@STRANGERS
@LAW
@given(tables())
def test_training_codes_are_those_that_encode_gives(case):
    train, _, labels, weights = case
    encoding, codes = fit(train, labels, weights)
    np.testing.assert_array_equal(codes, encoding.encode(read_table(train)))
    assert codes.flags.c_contiguous
    assert codes.dtype == np.uint8


@STRANGERS
@LAW
@given(tables())
def test_every_code_below_the_cardinality_occurs_in_rows_of_positive_weight(case):
    train, test, labels, weights = case
    encoding, codes = fit(train, labels, weights)
    for i, cardinality in enumerate(encoding.cardinalities):
        assert set(codes[i, weights > 0]) == set(range(cardinality))
        assert len(encoding.value_names(i)) == cardinality
        assert len(set(encoding.value_names(i))) == cardinality
    assert (encoding.encode(read_table(test)) <= encoding.cardinalities[:, None]).all()


@STRANGERS
@LAW
@given(tables())
def test_rows_of_weight_zero_are_as_if_absent(case):
    train, test, labels, weights = case
    kept = weights > 0
    with_them, _ = fit(train, labels, weights)
    without, _ = fit(train[kept], labels[kept], weights[kept])
    assert with_them.to_dict() == without.to_dict()
    np.testing.assert_array_equal(
        with_them.encode(read_table(test)), without.encode(read_table(test))
    )


@STRANGERS
@LAW
@given(tables(), st.randoms(use_true_random=False))
def test_permuting_rows_permutes_codes_only(case, random):
    train, _, labels, weights = case
    order = random.sample(range(len(train)), len(train))
    encoding, codes = fit(train, labels, weights)
    permuted, permuted_codes = fit(train.iloc[order], labels[order], weights[order])
    np.testing.assert_array_equal(permuted_codes, codes[:, order])
    np.testing.assert_array_equal(permuted.cardinalities, encoding.cardinalities)


@STRANGERS
@LAW
@given(tables())
def test_an_encoding_survives_json_and_pickle(case):
    train, test, labels, weights = case
    encoding, _ = fit(train, labels, weights)
    text = json.dumps(encoding.to_dict(), allow_nan=False)
    for again in (Encoding.from_dict(json.loads(text)), pickle.loads(pickle.dumps(encoding))):
        assert again.to_dict() == encoding.to_dict()
        np.testing.assert_array_equal(again.cardinalities, encoding.cardinalities)
        np.testing.assert_array_equal(
            again.encode(read_table(test)), encoding.encode(read_table(test))
        )


def test_the_same_table_of_another_library_has_the_same_codes():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 200)
    columns = {
        "text": rng.choice(["a", "b", "c"], 200).tolist(),
        "number": (labels + rng.normal(size=200)).tolist(),
        "flag": (rng.random(200) < 0.5).tolist(),
        "day": (np.datetime64("2020-01-01") + 100 * labels + rng.integers(0, 99, 200)).tolist(),
    }
    arrow = pa.table(columns)
    encoding, codes = fit(arrow, labels)
    assert encoding.cardinalities.tolist() == [3, 3, 2, 2]
    dictionary = pa.array(columns["text"]).dictionary_encode()
    for X in (
        pd.DataFrame(columns),
        pl.DataFrame(columns),
        pl.DataFrame(columns).with_columns(pl.col("text").cast(pl.Categorical)),
        pd.DataFrame(columns).astype({"text": "category"}),
        pd.DataFrame(columns).astype(object),
        arrow.set_column(0, "text", dictionary),
        np.array(list(zip(*columns.values(), strict=True)), dtype=object),
    ):
        np.testing.assert_array_equal(encoding.encode(read_table(X)), codes)


def test_sparse_and_dense_tables_have_the_same_codes():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (300, 6)) * rng.integers(0, 2, (300, 6)).astype(float)
    labels = (X[:, 0] > 2).astype(int)
    for options in ({}, {"categorical_features": [1, 2]}):
        dense, codes = fit(X, labels, **options)
        sparse, sparse_codes = fit(scipy.sparse.csr_array(X), labels, **options)
        assert dense.to_dict() == sparse.to_dict()
        np.testing.assert_array_equal(codes, sparse_codes)


def test_ints_floats_and_booleans_are_the_same_categories():
    encoding, codes = fit(pd.DataFrame({"c": [0, 1, 1, 0]}))
    for values in ([0.0, 1.0, 1.0, 0.0], [False, True, True, False]):
        np.testing.assert_array_equal(
            encoding.encode(read_table(pd.DataFrame({"c": values}))), codes
        )


def test_large_ids_are_told_apart_beside_nulls():
    ids = [2**60, 2**60 + 1, None]
    encoding, codes = fit(pl.DataFrame({"id": ids}), categorical_features=["id"])
    assert codes.tolist() == [[0, 1, 2]]
    assert encoding.value_names(0) == [str(2**60), str(2**60 + 1), "missing"]


def test_an_unseen_value_is_missing_if_training_had_missing_else_unknown():
    encoding, _ = fit([["a", "a"], ["b", None], ["a", "b"]])
    assert encoding.cardinalities.tolist() == [2, 3]
    codes = encoding.encode(read_table(np.array([["z", "z"], [None, None]], dtype=object)))
    assert codes.tolist() == [[2, 2], [2, 2]]


def test_a_missing_number_that_training_never_had_is_unknown():
    x = np.arange(40.0)
    encoding, _ = fit(x[:, None], (x > 20).astype(int))
    assert encoding.value_names(0) == ["< 20.5", ">= 20.5"]
    codes = encoding.encode(read_table([[np.nan], [-np.inf], [np.inf], [20.5]]))
    assert codes.tolist() == [[2, 0, 1, 1]]


def test_numbers_of_two_values_are_cut_between_them_where_that_is_left_to_us():
    X = [[0, 5], [1, 6], [0, 7], [1, 5]]
    labels = np.array([0, 0, 1, 1])
    cardinalities = {"auto": [2, 1], None: [1, 1], (1,): [1, 3]}
    for chosen, expected in cardinalities.items():
        encoding, _ = fit(X, labels, categorical_features=chosen)
        assert encoding.cardinalities.tolist() == expected
    encoding, _ = fit(X, labels)
    assert encoding.encode(read_table([[0.9, 5], [-3, 5], [2, 5]]))[0].tolist() == [1, 0, 1]


def test_numbers_of_two_values_are_told_by_rows_of_weight_alone():
    encoding, codes = fit([[1.5], [7.2], [9.0]], weights=np.array([1.0, 1.0, 0.0]))
    assert encoding.value_names(0) == ["< 4.35", ">= 4.35"]
    assert codes.tolist() == [[0, 1, 1]]


@pytest.mark.parametrize(("train", "new"), [([1, 2, 3], ["1", "2"]), (["1", "2"], [1, 2])])
def test_a_column_whose_type_changed_is_announced(train, new):
    X = pd.DataFrame({"zip": pd.Series(train, dtype=object if train[0] == "1" else None)})
    encoding, _ = fit(X, categorical_features=["zip"])
    with pytest.warns(UserWarning, match=r"Column 'zip' holds .* in training it held .* Convert"):
        codes = encoding.encode(read_table(pd.DataFrame({"zip": new})))
    assert codes.tolist() == [[len(train)] * 2]


def test_a_new_value_of_the_same_type_is_not_announced():
    encoding, _ = fit(pd.DataFrame({"a": ["x", "y"]}))
    assert encoding.encode(read_table(pd.DataFrame({"a": ["z"]}))).tolist() == [[2]]


def test_a_word_among_numbers_is_announced():
    X = pd.DataFrame({"v": pd.Series([*range(50), "n/a"], dtype=object)})
    with pytest.warns(UserWarning, match="Column 'v' holds 50 different numbers and text such as"):
        fit(X)
    fit(X, categorical_features=["v"])  # said so, it is no surprise


def test_text_is_always_a_category():
    encoding, _ = fit([["a"], ["b"], ["c"]], categorical_features=None)
    assert encoding.cardinalities.tolist() == [3]


@pytest.mark.parametrize("chosen", ["auto", None])
def test_an_all_missing_column_has_one_code(chosen):
    X = pd.DataFrame({"a": [np.nan] * 3, "b": [None] * 3})
    encoding, codes = fit(X, categorical_features=chosen)
    assert encoding.cardinalities.tolist() == [1, 1]
    assert not codes.any()
    assert encoding.encode(read_table([[1, "x"]])).tolist() == [[0], [0]]


def test_a_constant_column_has_one_code():
    encoding, codes = fit(pd.DataFrame({"a": [3.5] * 3, "b": ["x"] * 3}))
    assert encoding.cardinalities.tolist() == [1, 1]
    assert not codes.any()


@pytest.mark.parametrize(
    ("n", "dtype"), [(255, np.uint8), (256, np.uint16), (65535, np.uint16), (65536, np.uint32)]
)
def test_codes_have_the_smallest_type_that_holds_the_unknown_code(n, dtype):
    X = pd.DataFrame({"few": ["a"] * n, "many": [f"v{i}" for i in range(n)]})
    encoding, codes = fit(X)
    assert codes.dtype == dtype
    unknown = encoding.encode(read_table(pd.DataFrame({"few": ["a"], "many": ["?"]})))
    assert unknown.dtype == dtype
    assert unknown.tolist() == [[0], [n]]


def test_unused_categories_are_not_values():
    X = pd.DataFrame({"c": pd.Categorical(["b", "a"], categories=["a", "b", "z"])})
    assert fit(X)[0].value_names(0) == ["a", "b"]


def test_names_tell_alike_values_apart():
    encoding, _ = fit(np.array([[1], ["1"], ["missing"], [None]], dtype=object))
    assert encoding.value_names(0) == ["1", "'1'", "'missing'", "missing"]
    close = np.repeat([1.0, 1.0 + 1e-9, 1.0 + 2e-9], 50)[:, None]
    names = fit(close, np.repeat([0, 1, 0], 50))[0].value_names(0)
    assert names[1].startswith("[1.0000000005")
    assert fit([[1], [2], [3]])[0].value_names(0) == ["any"]


def test_cuts_between_dates_are_named_as_dates():
    days = pd.date_range("2020-01-01", periods=40)
    encoding, _ = fit(pd.DataFrame({"day": days}), (np.arange(40) > 19).astype(int))
    assert encoding.value_names(0) == ["< 2020-01-20 12:00:00", ">= 2020-01-20 12:00:00"]
    with pytest.raises(ValueError, match="column 'day' must hold dates"):
        encoding.encode(read_table(pd.DataFrame({"day": [1.5]})))


def test_text_where_training_had_numbers_is_an_error_that_names_the_column():
    encoding, _ = fit(pd.DataFrame({"age": [1, 2, 3]}))
    with pytest.raises(ValueError, match="column 'age' must hold numbers"):
        encoding.encode(read_table(pd.DataFrame({"age": ["old"]})))


def test_objects_that_are_no_numbers_are_unseen_values_of_a_numeric_column():
    encoding, _ = fit(np.arange(40.0)[:, None], (np.arange(40) > 19).astype(int))
    for rows in ([["n/a"], [3], [None]], [["n/a"]]):
        with pytest.warns(UserWarning, match=f"'x0' held numbers.*: 1 of {len(rows)} values"):
            codes = encoding.encode(read_table(np.array(rows, dtype=object)))
        assert codes.tolist() == [[2, 0, 2][: len(rows)]]


def test_rows_of_weight_zero_do_not_make_a_numeric_column_a_category():
    X = np.array([["n/a"], [1], [2], [3], ["n/a"]], dtype=object)
    encoding, codes = fit(X, np.array([0, 0, 0, 1, 1]), np.array([0.0, 20, 20, 20, 0]))
    assert encoding.value_names(0) == ["< 2.5", ">= 2.5"]
    assert codes.tolist() == [[2, 0, 0, 1, 2]]
    with pytest.warns(UserWarning, match="2 of 5 values"):
        np.testing.assert_array_equal(encoding.encode(read_table(X)), codes)


def test_another_number_of_columns_is_an_error():
    encoding, _ = fit([[1, 2], [3, 4]])
    with pytest.raises(ValueError, match="X has 3 features, but 2 were fitted"):
        encoding.encode(read_table([[1, 2, 3]]))


def test_weights_of_zero_only_are_an_error():
    with pytest.raises(ValueError, match="at least one non-zero"):
        fit([[1], [2]], weights=np.zeros(2))


def test_bytes_grow_with_the_values():
    few, _ = fit([["a"], ["b"]])
    many, _ = fit([[f"value {i}"] for i in range(1000)])
    numbers, _ = fit(np.arange(40.0)[:, None], (np.arange(40) > 19).astype(int))
    assert many.nbytes > 100 * few.nbytes / 2
    assert numbers.nbytes == 16
    assert repr(few) == "Encoding(1 attributes, 1 code columns)"


def number(**changes):
    column = {"kind": "number", "attribute": 0, "name": "a", "missing": False}
    return {**column, "quantity": "number", "cuts": [1.0, 2.0], **changes}


def category(**changes):
    column = {"kind": "category", "attribute": 0, "name": "a", "missing": False}
    return {**column, "values": ["x", "y"], **changes}


def test_the_data_that_is_spoilt_below_is_good():
    for column in (number(), category(), number(cuts=[1.0, {"float": "inf"}])):
        Encoding.from_dict({"names": ["a"], "columns": [column]})


@pytest.mark.parametrize(
    "column",
    [
        None,
        [],
        {},
        number(kind="evil"),
        number(extra=1),
        number(attribute="0"),
        number(attribute=True),
        number(attribute=-1),
        number(attribute=1),
        number(name=1),
        number(missing=0),
        number(quantity="text"),
        number(cuts="abc"),
        number(cuts=["1"]),
        number(cuts=[1]),
        number(cuts=[True]),
        number(cuts=[2.0, 1.0]),
        number(cuts=[1.0, 1.0]),
        number(cuts=[float("nan")]),
        number(cuts=[{"__reduce__": "os.system"}]),
        number(cuts=[10**400]),
        category(values=["x", "x"]),
        category(values=[1, 1.0]),
        category(values=[]),
        category(values=[["x"]]),
        category(values={"x": 1}),
        category(missing=None),
    ],
)
def test_spoilt_columns_are_refused(column):
    with pytest.raises(ValueError):
        Encoding.from_dict({"names": ["a"], "columns": [column]})


@pytest.mark.parametrize(
    "data",
    [
        None,
        {},
        {"names": ["a"], "columns": []},
        {"names": [], "columns": []},
        {"names": [1], "columns": [category()]},
        {"names": ["a"], "columns": [category()], "more": 1},
        {"names": ["a", "b"], "columns": [category(attribute=1), category()]},
        {"names": ["a", "b"], "columns": [category()]},
    ],
)
def test_spoilt_encodings_are_refused(data):
    with pytest.raises(ValueError):
        Encoding.from_dict(data)


def test_an_attribute_may_own_several_code_columns():
    columns = [number(), number(cuts=[1.5]), category(attribute=1)]
    encoding = Encoding.from_dict({"names": ["a", "b"], "columns": columns})
    codes = encoding.encode(read_table([[1.7, "x"], [9.0, "y"]]))
    assert codes.tolist() == [[1, 2], [1, 1], [0, 1]]
