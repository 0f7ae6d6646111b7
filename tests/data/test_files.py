"""Tables in files: the same rows in the same order, whatever their format, and clear errors."""

import os
import pickle
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.data import csv_file
from deepbroad.data.chosen_files import ChosenFiles
from deepbroad.data.files import is_files, open_files
from tests.data.typed_tables import PLAIN, cases, write

TABLE = pa.table(
    {
        "a": [1.5, None, 3.0, 4.0, 5.5],
        "b": ["x", "y", None, "x", "z"],
        "class": ["p", "q", "p", "q", "q"],
        "w": [1.0, 0.0, 2.0, 1.0, 1.0],
    }
)


def rows_of(files, rows=None):
    """All rows as lists, column by column; labels and weights beside them."""
    columns, y, weights = [[] for _ in files.names], [], []
    for batch in files.batches(rows):
        assert rows is None or batch.table.n_rows <= rows
        for i, values in enumerate(columns):
            indices, levels = batch.table.column(i).factor()
            values += [None if j < 0 else levels[j] for j in indices.tolist()]
        y += [] if batch.y is None else batch.y.to_pylist()
        weights += [] if batch.weights is None else batch.weights.tolist()
    return columns, y, weights


@pytest.mark.parametrize("suffix", ["parquet", "feather", "arrow", "csv", "csv.gz", "tsv"])
@pytest.mark.parametrize("sizes", [[], [2], [1, 1, 2]])
@pytest.mark.parametrize("rows", [1, 2, None])
def test_all_formats_give_the_same_rows_any_number_of_times(tmp_path, suffix, sizes, rows):
    path = write(tmp_path / "table", TABLE, suffix, sizes, 2)
    files = open_files(path, y="class", weights="w")
    assert files.names == ("a", "b")
    for _ in range(2):
        columns, y, weights = rows_of(files, rows)
        assert columns == [[1.5, None, 3, 4, 5.5], ["x", "y", None, "x", "z"]]
        assert y == TABLE["class"].to_pylist()
        assert weights == TABLE["w"].to_pylist()
    assert files.n_rows == 5
    assert open_files(path).n_rows == 5
    assert open_files(str(path), columns=["b"]).names == ("b",)


def test_files_may_be_listed_and_keep_that_order(tmp_path):
    write(tmp_path / "table", TABLE, "parquet", [2], 2)
    paths = [tmp_path / "table" / "part-1.parquet", str(tmp_path / "table" / "part-0.parquet")]
    (_, b), *_ = rows_of(open_files(paths, y="class", weights="w"))
    assert b == [None, "x", "z", "x", "y"]


def test_columns_may_stand_in_another_order_in_another_file(tmp_path):
    pq.write_table(TABLE[:2], tmp_path / "1.parquet")
    pq.write_table(TABLE[2:].select(["w", "class", "b", "a"]), tmp_path / "2.parquet")
    columns, *_ = rows_of(open_files(tmp_path, y="class", weights="w"))
    assert columns[1] == TABLE["b"].to_pylist()


def test_hidden_files_and_summaries_are_left_out(tmp_path):
    write(tmp_path / "table", TABLE, "parquet", [2], 2)
    for name in (".hidden.parquet", "_metadata", "_SUCCESS"):
        (tmp_path / "table" / name).write_text("nothing")
    (tmp_path / "table" / "_temporary").mkdir()
    (tmp_path / "table" / "_temporary" / "half.parquet").write_text("nothing")
    assert open_files(tmp_path / "table").n_rows == 5


@pytest.mark.parametrize("file_format", ["parquet", "csv", "feather"])
def test_folders_that_name_values_are_columns(tmp_path, file_format):
    ds.write_dataset(
        TABLE.drop(["w"]),
        tmp_path,
        format=file_format,
        partitioning=ds.partitioning(pa.schema([("class", pa.string())]), flavor="hive"),
    )
    if file_format == "feather":
        for path in tmp_path.rglob("*.feather"):
            path.rename(path.with_suffix(".arrow"))
    files = open_files(tmp_path, y="class")
    columns, y, _ = rows_of(files)
    assert files.names == ("a", "b")
    assert sorted(zip(columns[0], y, strict=True), key=str) == sorted(
        zip([1.5, None, 3, 4, 5.5], TABLE["class"].to_pylist(), strict=True), key=str
    )
    (only,), *_ = rows_of(open_files(tmp_path, columns=["class"]))
    assert only == y


def test_a_data_set_of_pyarrow_is_read_as_it_is_filtered(tmp_path):
    path = write(tmp_path / "table", TABLE, "parquet", [2], 1)
    whole = ds.dataset(path)
    for dataset, expected in (
        (whole, slice(None)),
        (whole.filter(ds.field("w") > 0.5), [0, 2, 3, 4]),
    ):
        columns, y, _ = rows_of(open_files(dataset, y="class", weights="w"), 2)
        assert y == np.array(TABLE["class"].to_pylist())[expected].tolist()
        assert columns[1] == np.array(TABLE["b"].to_pylist())[expected].tolist()
    assert open_files(ds.dataset(TABLE), y="class").n_rows == 5


def test_a_data_set_fills_in_what_a_file_lacks(tmp_path):
    pq.write_table(TABLE.select(["a"]), tmp_path / "1.parquet")
    schema = pa.schema([("a", pa.float64()), ("new", pa.string())])
    columns, *_ = rows_of(open_files(ds.dataset(tmp_path, schema=schema)))
    assert columns == [[1.5, None, 3, 4, 5.5], [None] * 5]


@given(case=cases(PLAIN), rows=st.integers(1, 5))
def test_files_can_be_sent_to_another_process(tmp_path_factory, case, rows):
    path = write(tmp_path_factory.getbasetemp() / "sent", case.table, "parquet", [3], rows)
    for X in (path, ds.dataset(path)):
        files = open_files(X, y="class")
        assert rows_of(pickle.loads(pickle.dumps(files))) == rows_of(files)


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_a_file_that_changes_is_noticed(tmp_path, suffix):
    path = write(tmp_path / "table", TABLE, suffix, [], 2)
    files = open_files(path, y="class")
    rows_of(files)
    write(tmp_path / "table", TABLE[:4], suffix, [], 2)
    os.utime(path, ns=(1, 1))
    with pytest.raises(RuntimeError, match=r"changed while it was being read.* Fit again"):
        rows_of(files)


def test_a_file_that_has_other_rows_the_second_time_is_noticed(tmp_path):
    path = write(tmp_path / "table", TABLE, "csv", [], 2)
    files = open_files(path, y="class")
    rows_of(files)
    files._counts[0] = 4
    with pytest.raises(RuntimeError, match="changed while it was being read"):
        rows_of(files)


class TestCsv:
    """What CSV does not say by itself."""

    @pytest.fixture(autouse=True)
    def _small_blocks(self, monkeypatch):
        monkeypatch.setattr(csv_file, "_BLOCK", 64)

    def write(self, tmp_path, *lines, name="t.csv"):
        path = tmp_path / name
        path.write_text("\n".join(lines) + "\n")
        return path

    def test_empty_text_and_na_are_missing(self, tmp_path):
        path = self.write(tmp_path, "a,b", "1,x", "NA,NA", ',""', "2,y")
        columns, *_ = rows_of(open_files(path))
        assert columns == [[1, None, None, 2], ["x", None, None, "y"]]

    def test_whole_numbers_may_go_on_with_fractions_unless_they_are_labels(self, tmp_path):
        path = self.write(tmp_path, "a,class", *["1,0"] * 30, "2.5,1")
        columns, y, _ = rows_of(open_files(path, y="class"))
        assert columns == [[1] * 30 + [2.5]]
        assert set(map(type, y)) == {int}

    def test_another_type_later_is_an_error_that_says_what_to_do(self, tmp_path):
        path = self.write(tmp_path, "b,a,c", *["u,1,2"] * 30, "u,zz,2")
        with pytest.raises(
            ValueError,
            match=r"t\.csv: column 'a' began with values of type double, but has .*'zz'. Name it "
            r"in `categorical_features` \(--categorical\) to have it read as text",
        ):
            rows_of(open_files(path, y="c"))

    def test_another_type_in_the_next_file_is_such_an_error_too(self, tmp_path):
        self.write(tmp_path, "a,b", "1,2", name="1.csv")
        self.write(tmp_path, "a,b", "1,2", "1,zz", name="2.csv")
        with pytest.raises(
            ValueError, match=r"2\.csv: column 'b' began with values of type double"
        ):
            rows_of(open_files(tmp_path))

    def test_an_error_about_a_type_says_what_helps(self, tmp_path):
        path = self.write(tmp_path, "a,c", *["1,2"] * 30, "zz,2")
        with pytest.raises(ValueError, match=r"categorical_features` .* in --numeric"):
            rows_of(open_files(path, y="c"))
        assert set(rows_of(open_files(path, y="c", categories=["a"]))[0][0]) == {"1", "zz"}
        assert set(rows_of(open_files(ChosenFiles(path, (), ("a",)), y="c"))[0][0]) == {1, None}

    def test_whole_weights_may_go_on_with_fractions(self, tmp_path):
        path = self.write(tmp_path, "a,w", *["1,2"] * 30, "2,0.5")
        assert rows_of(open_files(path, weights="w"))[2] == [2.0] * 30 + [0.5]

    def test_rows_are_counted_whatever_they_hold(self, tmp_path):
        path = self.write(tmp_path, "a,c", *["1,2"] * 30, "zz,2")
        assert open_files(path, y="c").n_rows == 31
        assert open_files(ChosenFiles(path, (), ("a",)), y="c").n_rows == 31

    def test_text_is_text_whatever_it_looks_like(self, tmp_path):
        path = self.write(tmp_path, "a,b", "007,1", "x,2")
        columns, *_ = rows_of(open_files(path, text=["a", "b"]))
        assert columns == [["007", "x"], ["1", "2"]]

    def test_categories_are_text_if_they_are_not_all_of_one_type(self, tmp_path):
        self.write(tmp_path, "a,b,c,d", *["1,1,1,x"] * 30, "zz,2,1,y", "1,2,qq,y", name="1.csv")
        self.write(tmp_path, "a,b,c,d", "1,3,4,x", name="2.csv")
        files = open_files(tmp_path, categories=["a", "b", "c", "d"])
        columns, *_ = rows_of(files)
        assert set(columns[0]) == {"1", "zz"}
        assert set(columns[1]) == {1, 2, 3}
        assert set(columns[2]) == {"1", "qq", "4"}

    @pytest.mark.parametrize("late", ["007", "1.5", "1" * 19])
    def test_categories_are_text_if_numbers_would_lose_how_they_are_written(self, tmp_path, late):
        path = self.write(tmp_path, "a,y", *["7,1"] * 30, f"{late},1")
        columns, *_ = rows_of(open_files(path, y="y", categories=["a"]))
        assert set(columns[0]) == {"7", late}

    def test_what_begins_with_a_zero_is_text_unless_it_must_be_a_number(self, tmp_path):
        lines = ["7,07,0,01,0.5,,01,1", "007,08,10,02,0.25,,1,01", *["1,1,1,1,1,,1,1"] * 60]
        path = self.write(tmp_path, "a,b,c,w,d,e,y,f", *lines, "1,1,1,1,1,09,1,1")
        files = open_files(ChosenFiles(path, ("f",), ("b",)), y="y", weights="w")
        (a, b, c, d, e), y, weights = rows_of(files)
        assert (a[:2], b[:2], c[:2]) == (["7", "007"], [7, 8], [0, 10])
        assert (d[:2], e[-1], y[:2], weights[:2]) == ([0.5, 0.25], "09", ["01", "1"], [1, 2])

    def test_a_column_that_begins_with_nothing_has_the_type_of_its_first_values(self, tmp_path):
        self.write(tmp_path, "a,b,c,d", *["1,,,"] * 60, "2,3.5,,", "1,,,", name="1.csv")
        self.write(tmp_path, "a,b,c,d", "1,4,word,", name="2.csv")
        columns, *_ = rows_of(open_files(tmp_path))
        assert columns[1] == [None] * 60 + [3.5, None, 4]
        assert columns[2] == [None] * 62 + ["word"]
        assert set(columns[3]) == {None}

    def test_lines_of_other_lengths_are_refused(self, tmp_path):
        path = self.write(tmp_path, "a,b", *["1,2"] * 30, "1,2,3")
        with pytest.raises(ValueError, match=r"t\.csv cannot be read as CSV: .*Expected 2 columns"):
            rows_of(open_files(path))
        with pytest.raises(ValueError, match=r"t\.csv cannot be read as CSV"):
            open_files(path, categories=["a"])

    def test_a_line_longer_than_a_block_is_refused_with_words(self, tmp_path):
        path = self.write(tmp_path, "a,b", "1,2", "x" * 2_500_000 + ",3", "1,2")
        with pytest.raises(ValueError, match=r"t\.csv has a line of more than [0-9,]+ bytes"):
            rows_of(open_files(path))

    def test_no_lines_at_all_are_refused(self, tmp_path):
        with pytest.raises(ValueError, match=r"cannot be read as CSV: .*Empty CSV file"):
            open_files(self.write(tmp_path, ""))
        with pytest.raises(ValueError, match="holds no rows"):
            rows_of(open_files(self.write(tmp_path, "a,b")))

    def test_names_must_differ(self, tmp_path):
        with pytest.raises(ValueError, match="column names must differ"):
            open_files(self.write(tmp_path, "a,a", "1,2"))


def test_a_missing_file_is_said(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no file or folder .*none\.parquet"):
        open_files(tmp_path / "none.parquet")
    with pytest.raises(FileNotFoundError, match="For other file systems"):
        open_files("s3://bucket/none.parquet")


def test_an_empty_folder_is_said(tmp_path):
    with pytest.raises(ValueError, match=r"holds no files; .*Parquet, CSV, Arrow or ARFF"):
        open_files(tmp_path)


def test_formats_must_be_known_and_the_same(tmp_path):
    write(tmp_path / "table", TABLE, "parquet", [], 2)
    (tmp_path / "table" / "notes.xlsx").write_text("")
    with pytest.raises(ValueError, match=r"format of .*notes\.xlsx' is unknown; files end in"):
        open_files(tmp_path / "table")
    (tmp_path / "table" / "notes.xlsx").rename(tmp_path / "table" / "a.csv")
    with pytest.raises(ValueError, match="different formats cannot be one table"):
        open_files(tmp_path / "table")


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_a_file_of_another_format_than_its_name_says_is_refused(tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    path.write_text("words, words and more words")
    with pytest.raises(ValueError, match="is no file of the format that its name says"):
        open_files(path)


def test_files_of_different_columns_are_refused(tmp_path):
    pq.write_table(TABLE, tmp_path / "1.parquet")
    pq.write_table(TABLE.drop(["b"]), tmp_path / "2.parquet")
    with pytest.raises(ValueError, match=r"have different columns \('b'\)"):
        open_files(tmp_path)


def test_columns_that_files_do_not_have_are_refused(tmp_path):
    path = write(tmp_path, TABLE, "parquet", [], 2)
    for options in ({"y": "no"}, {"weights": "no"}, {"columns": ["a", "no"]}):
        with pytest.raises(ValueError, match=r"has no column 'no'\. All columns: 'a', 'b'"):
            open_files(path, **options)
    pq.write_table(TABLE.select(["class"]), path)
    with pytest.raises(ValueError, match="needs attributes"):
        open_files(path, y="class")


def test_weights_of_a_batch_may_all_be_zero_but_not_negative_or_missing(tmp_path):
    for bad, message in ((-1.0, "Negative"), (None, "NaN")):
        path = write(tmp_path / "t", pa.table({"a": [1, 2], "w": [0.0, bad]}), "parquet", [], 1)
        batches = open_files(path, weights="w").batches(1)
        assert next(batches).weights.tolist() == [0.0]
        with pytest.raises(ValueError, match=rf"column 'w' holds weights.*{message}"):
            next(batches)


def test_weights_that_are_no_numbers_are_refused_by_name(tmp_path):
    path = write(tmp_path / "t", pa.table({"a": [1, 2], "w": ["low", "high"]}), "csv", [], 1)
    message = r"csv: column 'w' holds weights, which are numbers of 0 or more: .*'low'"
    with pytest.raises(ValueError, match=message):
        next(open_files(path, weights="w").batches())


def test_what_is_a_table_in_files_is_told_from_what_is_not():
    assert is_files("a.parquet")
    assert is_files(Path("folder"))
    assert is_files(["a.csv", Path("b.csv")])
    assert is_files(ds.dataset(TABLE))
    for table in (TABLE, [["a", "b"]], ["red", "blue"], [], np.zeros((2, 2)), None):
        assert not is_files(table)


def test_wide_tables_come_in_fewer_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("deepbroad.data.files._BATCH_BYTES", 8 * 3 * 1500)
    table = pa.table({name: np.zeros(4000) for name in "abc"})
    path = write(tmp_path / "t", table, "parquet", [], 4000)
    assert [batch.table.n_rows for batch in open_files(path).batches()] == [1500, 1500, 1000]
    shutil.rmtree(tmp_path / "t")
