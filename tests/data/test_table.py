"""Any table reads as the same columns, whatever library it came from."""

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from deepbroad.data.table import read_table

DAY = datetime.date(2020, 1, 2)
NOON = datetime.datetime(2020, 1, 2, 12)
COLUMNS = {
    "text": ["a", None, "b"],
    "flag": [True, None, False],
    "whole": [1, None, 3],
    "real": [1.5, None, -2.0],
    "day": [DAY, None, datetime.date(1960, 5, 5)],
    "noon": [NOON, None, datetime.datetime(1960, 5, 5, 1, 2, 3, 4)],
    "span": [datetime.timedelta(1), None, datetime.timedelta(microseconds=5)],
    "clock": [datetime.time(1), None, datetime.time(2, 3, 4, 5)],
    "money": [decimal.Decimal("1.50"), None, decimal.Decimal("2")],
    "void": [None, None, None],
    "raw": [b"a", None, b"b"],
}
ARROW = pa.table(COLUMNS)


def as_values(X):
    """Return every column as its values, whatever its levels."""
    table = read_table(X)
    result = {}
    for i, name in enumerate(table.names):
        factor = table.column(i).factor()
        levels = [*factor.levels, None]
        result[name] = (table.column(i).kind, [levels[j] for j in factor.indices])
    return result


def as_objects(columns):
    return pd.DataFrame({name: np.array(v, dtype=object) for name, v in columns.items()})


@pytest.mark.parametrize(
    "table",
    [
        pl.from_arrow(ARROW),
        pd.DataFrame(COLUMNS),
        as_objects(COLUMNS),
        ARROW.to_pandas(types_mapper=pd.ArrowDtype),
        ARROW.to_batches()[0],
        pa.concat_tables([ARROW.slice(0, 1), ARROW.slice(1)]),
    ],
    ids=["polars", "pandas", "objects", "pandas-arrow", "batch", "chunks"],
)
def test_the_same_table_of_another_library_has_the_same_values(table):
    expected = as_values(ARROW)
    found = as_values(table)
    assert found == expected
    assert [kind for kind, _ in found.values()] == [
        *("category", "category", "number", "number", "number", "number", "number", "number"),
        *("number", "category", "category"),
    ]


@pytest.mark.parametrize("repeats", [1, 100])
def test_shared_and_unshared_objects_read_alike(repeats):
    values = [1, "a", None, 2.5, b"a", True, float("nan"), pd.NA, pd.NaT, "1", NOON] * repeats
    objects = np.array(values, dtype=object)[:, None]
    [(kind, found)] = as_values(objects).values()
    assert kind == "category"
    noon = ("datetime", 1577966400e6)
    assert found == [1, "a", None, 2.5, b"a", True, None, None, None, "1", noon] * repeats


def test_categories_read_by_their_values_whatever_the_dictionary():
    values = ["x", "y", None, "x"]
    tables = [
        pd.DataFrame({"c": pd.Categorical(values)}),
        pd.DataFrame({"c": pd.Categorical(values, categories=["z", "y", "x"], ordered=True)}),
        pl.DataFrame({"c": pl.Series(values, dtype=pl.Categorical)}),
        pl.DataFrame({"c": pl.Series(values, dtype=pl.Enum(["y", "x"]))}),
        pa.table({"c": pa.array(values).dictionary_encode()}),
        pa.table({"c": pa.array(["x", "y", None]).dictionary_encode().take([0, 1, 2, 0])}),
        pa.table({"c": pa.array(values, pa.string_view())}),
        pd.DataFrame({"c": pd.array(values, dtype="string[python]")}),
    ]
    for table in tables:
        assert as_values(table) == {"c": ("category", values)}


def test_chunks_may_have_different_dictionaries():
    chunks = [pa.array(["a", "b"]).dictionary_encode(), pa.array(["b", "c"]).dictionary_encode()]
    assert as_values(pa.table({"c": pa.chunked_array(chunks)})) == {
        "c": ("category", ["a", "b", "b", "c"])
    }


def test_categories_of_numbers_stay_categories():
    assert as_values(pd.DataFrame({"c": pd.Categorical([3, 1, 3])})) == {
        "c": ("category", [3, 1, 3])
    }


def test_an_object_column_of_only_numbers_is_numeric():
    X = np.array([[1, 2**70], [2.5, 1], [None, np.float32(0.5)]], dtype=object)
    table = read_table(X)
    assert [table.column(i).kind for i in (0, 1)] == ["number", "number"]
    np.testing.assert_array_equal(table.column(0).numbers(), [1, 2.5, np.nan])
    np.testing.assert_array_equal(table.column(1).numbers(), [2.0**70, 1, 0.5])


def test_numbers_beyond_float_are_infinite():
    column = read_table(np.array([[10**400], [-(10**400)], [1]], dtype=object)).column(0)
    np.testing.assert_array_equal(column.numbers(), [np.inf, -np.inf, 1])


def test_numbers_beside_strings_in_a_list_of_rows_stay_numbers():
    assert as_values([[1, "a"], [2.5, "b"]]) == {
        "x0": ("number", [1, 2.5]),
        "x1": ("category", ["a", "b"]),
    }


@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "f2", "f4", "f8", ">f8", "g", "U3", "S3", "O"])
def test_arrays_of_any_type_and_order_read_alike(dtype):
    X = np.array([[0, 1], [1, 0]]).astype(dtype)
    expected = as_values(np.ascontiguousarray(X))
    assert as_values(np.asfortranarray(X)) == expected
    assert as_values(X[::-1][::-1]) == expected
    assert len(expected["x0"][1]) == 2


def test_numpy_strings_of_its_own_string_type_read_as_strings():
    X = np.array([["a"], ["b"]], dtype=np.dtypes.StringDType())
    assert as_values(X) == {"x0": ("category", ["a", "b"])}
    assert as_values(np.array([[""], [""]], dtype="U")) == {"x0": ("category", ["", ""])}


@pytest.mark.parametrize("unit", ["Y", "D", "h", "s", "ms", "us", "ns"])
def test_an_instant_is_the_same_number_in_every_unit(unit):
    X = np.array([["2020-01-01"], ["NaT"]], dtype="M8[D]").astype(f"M8[{unit}]")
    column = read_table(X).column(0)
    np.testing.assert_array_equal(column.numbers("datetime"), [1577836800e6, np.nan])
    assert column.factor().levels[0] == ("datetime", 1577836800e6)


def test_nanoseconds_keep_the_microseconds_of_today():
    exact = np.array([["2020-01-02T03:04:05.123456789"]], dtype="M8[ns]")
    coarse = exact.astype("M8[us]")
    fine, rough = (read_table(X).column(0).numbers("datetime")[0] for X in (exact, coarse))
    assert rough == 1577934245123456.0
    assert fine == pytest.approx(rough + 0.789, abs=0.25)


@pytest.mark.parametrize(
    "kind", [scipy.sparse.csr_matrix, scipy.sparse.coo_array, scipy.sparse.csc_array]
)
def test_a_sparse_column_reads_as_its_dense_one(kind):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (50, 4)) * rng.integers(0, 2, (50, 4)) * 1.0
    X[3, 1] = np.nan
    dense, sparse = read_table(X), read_table(kind(X))
    assert dense.names == sparse.names
    for i in range(4):
        np.testing.assert_array_equal(dense.column(i).numbers(), sparse.column(i).numbers())


def test_sparse_entries_given_twice_are_summed_and_left_as_they_are():
    X = scipy.sparse.csc_matrix(
        (np.array([1.0, 2.0]), np.array([0, 0]), np.array([0, 2])), shape=(2, 1)
    )
    assert read_table(X).column(0).numbers().tolist() == [3, 0]
    assert X.nnz == 2


def test_values_of_unknown_types_are_known_by_type_and_text():
    frame = pd.DataFrame({"bin": pd.cut([1, 2, 3], 2), "month": pd.period_range("2020", periods=3)})
    values = as_values(frame)
    assert values["bin"][1][0] == ("other", "pandas.Interval", "(0.998, 2.0]")
    assert values["month"][1][0] == ("other", "pandas.Period", "2020-01-01")


def test_anything_that_exports_an_arrow_stream_is_a_table():
    class Stream:
        def __arrow_c_stream__(self, requested_schema=None):
            return pa.table({"a": [1, 2]}).__arrow_c_stream__(requested_schema)

    assert as_values(Stream()) == {"a": ("number", [1, 2])}


def test_polars_objects_and_pandas_sparse_columns_are_read():
    assert as_values(pl.DataFrame({"o": pl.Series([1, "a"], dtype=pl.Object)})) == {
        "o": ("category", [1, "a"])
    }
    assert as_values(pd.DataFrame({"s": pd.arrays.SparseArray([0.0, 1.0])})) == {
        "s": ("number", [0, 1])
    }


def test_names_are_text_and_columns_are_found_by_position():
    table = read_table(pd.DataFrame([[1, "a"]], columns=[7, 8]))
    assert table.names == ("7", "8")
    assert table.column(1).factor().levels == ["a"]
    assert repr(table) == "Table(1 rows, 2 columns)"


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (pl.LazyFrame({"a": [1]}), TypeError, r"\.collect\(\)"),
        (pd.Series([1.0]), ValueError, "Reshape your data"),
        (np.ones(3), ValueError, "Reshape your data"),
        (np.ones((2, 2, 2)), ValueError, "dim 3"),
        (np.ones((0, 3)), ValueError, r"0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1"),
        (np.ones((3, 0)), ValueError, r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1"),
        (pd.DataFrame({"a": []}), ValueError, r"0 sample\(s\) \(shape=\(0, 1\)\) while"),
        (pl.DataFrame(), ValueError, r"0 feature\(s\) \(shape=\(0, 0\)\) while"),
        (np.ones((2, 1)) * 1j, ValueError, "Complex data not supported"),
        ([[1], [2, 3]], ValueError, "inhomogeneous"),
        (
            pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"]),
            ValueError,
            r"column names must differ: 'a' is there twice or more. Rename",
        ),
        (
            pa.Table.from_arrays([pa.array([1])] * 3, ["a", "b", "a"]),
            ValueError,
            r"column names must differ: 'a' is there twice or more. Rename",
        ),
    ],
)
def test_what_is_no_table_is_refused_in_the_words_of_scikit_learn(X, error, message):
    with pytest.raises(error, match=message):
        read_table(X)


@pytest.mark.parametrize(
    "X",
    [
        pl.DataFrame({"a": [[1]]}),
        pd.DataFrame({"a": [{}]}),
        np.array([[{"b": 1}], [1.5]], dtype=object),
        np.array([[{"b": 1}]] * 9, dtype=object),
        pd.DataFrame({"a": [[1], [2, 3]]}),
        pd.DataFrame({"a": ["x", {1, 2}]}),
        pd.DataFrame({"a": pd.Categorical([(1, 2), (3, 4)])}),
        np.zeros((2, 1), dtype=[("a", "f8")]),
    ],
    ids=["polars", "pandas", "mixed", "shared", "lists", "sets", "categories", "structured"],
)
def test_nested_values_are_refused_and_their_column_is_named(X):
    message = r"argument must be a string or a number.* column '(a|x0)'.*split nested columns"
    with pytest.raises(TypeError, match=message):
        read_table(X).column(0)


def test_complex_values_are_refused():
    for X in (pd.DataFrame({"a": [1j]}), np.array([[1j]], dtype=object)):
        with pytest.raises(ValueError, match="Complex data not supported"):
            read_table(X).column(0)


def test_numbers_are_not_read_out_of_another_quantity():
    table = read_table(pd.DataFrame({"text": ["a"], "day": [NOON]}))
    with pytest.raises(ValueError, match=r"column 'text' must hold numbers.*but holds text"):
        table.column(0).numbers()
    with pytest.raises(ValueError, match=r"column 'day' must hold durations.*but holds dates"):
        table.column(1).numbers("duration")


def test_a_sparse_matrix_with_indices_beyond_its_shape_is_refused():
    matrix = scipy.sparse.csr_matrix((2, 3))
    matrix.indices, matrix.data = np.array([7], np.int32), np.array([1.0])
    matrix.indptr = np.array([0, 1, 1], np.int32)
    with pytest.raises(ValueError, match="ind"):
        read_table(matrix)
