"""How values are separated in CSV files is seen from their first lines."""

import gzip

import pytest

from deepbroad import AnJEClassifier
from deepbroad.data.chosen_files import ChosenFiles
from deepbroad.data.csv_dialect import Dialect, sniff_dialect
from deepbroad.data.files import open_files


def write(path, *lines, encoding="utf-8"):
    data = ("\n".join(lines) + "\n").encode(encoding)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize(
    ("name", "lines", "expected"),
    [
        ("t.csv", ["a,b", "1,x"], Dialect(",", ".")),
        ("t.csv", ["a;b", "1.5;x"], Dialect(";", ".")),
        ("t.csv.gz", ["a;b", "1,5;x"], Dialect(";", ",")),
        ("t.csv", ["a;b", "1,5;2.5"], Dialect(";", ".")),
        ("t.csv", ["a;b", 'x;"-1,5"'], Dialect(";", ",")),
        ("t.csv", ["a\tb", "1,5\tx"], Dialect("\t", ".")),
        ("t.tsv", ["a;b", "1"], Dialect("\t", ".")),
        ("t.csv", ["", '"a, first";"b"', "1;2"], Dialect(";", ".")),
        ("t.csv", ["a;b,c", "1;2,3"], Dialect(",", ".")),
        ("t.csv", ["a", "1;2"], Dialect(",", ".")),
        ("t.csv", [], Dialect(",", ".")),
    ],
)
def test_a_header_without_commas_tells_what_separates(tmp_path, name, lines, expected):
    assert sniff_dialect(write(tmp_path / name, *lines)) == expected


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_any_separator_gives_the_same_rows(tmp_path, separator):
    lines = [separator.join(line) for line in (["a", "b", "c"], ["1.5", "x", "7"], ["", "y", "8"])]
    X, y = open_files(write(tmp_path / "t.csv", *lines), y="c").read()
    assert X.to_pydict() == {"a": [1.5, None], "b": ["x", "y"]}
    assert y.to_pylist() == [7, 8]


def test_decimal_commas_are_numbers(tmp_path):
    path = write(tmp_path / "t.csv", "a;b;c", "1,5;;?", "2;-0,25;3,5")
    X, _ = open_files(ChosenFiles(path, (), ("c",))).read()
    assert X.to_pydict() == {"a": [1.5, 2.0], "b": [None, -0.25], "c": [None, 3.5]}


def test_decimal_commas_that_come_late_are_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr("deepbroad.data.csv_file._BLOCK", 64)
    path = write(tmp_path / "t.csv", "a;b", *["1,5;"] * 60, "2;-0,25")
    X, _ = open_files(path).read()
    assert X["b"].to_pylist() == [None] * 60 + [-0.25]


def test_files_of_a_folder_may_differ(tmp_path):
    write(tmp_path / "1.csv", "a;y", *["1,5;no", "2,5;yes"] * 5)
    write(tmp_path / "2.csv", "a,y", *["1.5,no", "2.5,yes"] * 5)
    assert AnJEClassifier(n=1).fit(tmp_path, "y").score(tmp_path, "y") == 1.0


def test_a_single_column_is_said_to_be_one(tmp_path):
    path = write(tmp_path / "t.csv", "a|y", "1|no")
    with pytest.raises(ValueError, match=r"t\.csv has no column 'y'\. All columns: 'a\|y'\. Are"):
        open_files(path, y="y")


@pytest.mark.parametrize(
    "lines", [["größe,y", "1,no"], ["a,y", "ü,no", "x,no"], ["a,y", *["x,no"] * 40, "ü,no"]]
)
@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_other_encodings_are_refused_by_name(tmp_path, monkeypatch, lines, encoding):
    monkeypatch.setattr("deepbroad.data.csv_file._BLOCK", 64)
    path = write(tmp_path / "t.csv", *lines, encoding=encoding)
    with pytest.raises(ValueError, match=r"t\.csv is not in UTF-8.*iconv"):
        open_files(path, categories=["y"]).read()
