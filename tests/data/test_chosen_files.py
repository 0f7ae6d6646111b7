"""Columns of text that are read as numbers say what they lose by it."""

import warnings

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deepbroad import AnJEClassifier
from deepbroad.data.chosen_files import ChosenFiles
from deepbroad.data.files import open_files


def write(path, texts):
    table = pa.table({"a": pa.array(texts), "y": ["u", "v"] * (len(texts) // 2)})
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=2)
    else:
        path.write_text("".join(f"{a or ''},{y}\n" for a, y in [("a", "y"), *rows_of(table)]))
    return path


def rows_of(table):
    return zip(table["a"].to_pylist(), table["y"].to_pylist(), strict=True)


@pytest.fixture(params=["t.csv", "t.parquet"])
def path(tmp_path, request):
    return tmp_path / request.param


def test_words_among_the_numbers_of_a_model_are_counted_in_a_warning(path):
    model = AnJEClassifier(n=1).fit(pa.table({"a": [1.0, 2.0] * 9}), ["u", "v"] * 9)
    write(path, ["1.5", "bar", "?", None, "2", "12 km"])
    message = r"t\.\w+: column 'a' holds numbers, but 2 of its 6 values, such as 'bar', are none"
    with pytest.warns(UserWarning, match=message) as seen:
        model.predict(path)
    assert len(seen) == 1


def test_signs_that_stand_for_missing_need_no_warning(path):
    write(path, ["1.5", "?", "-", None, "2", "*"])
    assert open_files(path, columns=["a"], numbers=["a"]).read()[0]["a"].null_count == 4


def test_a_column_that_is_said_to_hold_numbers_may_hold_words_too(path):
    write(path, ["1", "bar", "bar", "foo"])
    X, _ = open_files(ChosenFiles(path, (), ("a",)), y="y").read()
    assert X["a"].to_pylist() == [1, None, None, None]


def test_a_column_that_is_said_to_hold_numbers_and_has_none_is_warned_of_once(path):
    files = open_files(ChosenFiles(write(path, ["b", "c", "b", "c"]), (), ("a",)), y="y")
    message = r"column 'a' is said to hold numbers, but none of its 4 values, such as 'b', is one"
    with pytest.warns(UserWarning, match=message):
        files.read()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        files.read()
