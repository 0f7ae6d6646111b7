"""Codes of files are those of the table in memory, bit for bit, wherever they lie."""

import shutil

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.data import code_store
from deepbroad.data.categorical import select_categorical
from deepbroad.data.code_store import CodeStore, encode_files
from deepbroad.data.files import open_files
from deepbroad.data.sketch import SketchRules, sketch_files
from deepbroad.data.source import ArraySource
from deepbroad.kernels.threads import Threads
from tests.data.typed_tables import PLAIN, cases, write

pytestmark = pytest.mark.filterwarnings("ignore:Column .* in training it held")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


def encode(path, case, threads=None, **options):
    """Encoding, target and codes of files."""
    files = open_files(path, y="class", weights="weight" if case.weighted else None, **options)
    if not case.weighted:
        files = open_files(path, y="class", columns=case.names, **options)
    rules = SketchRules(select_categorical(case.categorical, files.names), case.ignored)
    encoding, target = sketch_files(files, rules, threads).finish(**case.finishing)
    return encoding, target, encode_files(files, encoding, target, CodeStore(), threads)


def assert_as_in_memory(case, encoding, target, rows):
    labels, expected, columns, codes, weights = case.in_memory()
    assert encoding.to_dict() == expected.to_dict()
    assert target.labels.classes.dtype == labels.classes.dtype
    np.testing.assert_array_equal(target.labels.classes, labels.classes)
    np.testing.assert_array_equal(rows.codes, columns)
    np.testing.assert_array_equal(rows.labels, codes)
    assert (rows.codes.dtype, rows.labels.dtype) == (columns.dtype, codes.dtype)
    if weights is None:
        assert rows.weights is None
    else:
        np.testing.assert_allclose(rows.weights, weights, rtol=1e-15)


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "feather"])
@given(case=cases(), sizes=st.lists(st.integers(1, 9), max_size=3), rows=st.integers(1, 9))
def test_files_give_the_codes_of_the_table_in_memory(suffix, case, sizes, rows, folder):
    path = write(folder / f"{suffix}-files", case.table, suffix, sizes, rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("deepbroad.data.files.BATCH_ROWS", rows)
        found = encode(path, case)
    assert_as_in_memory(case, *found)


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "tsv"])
@given(case=cases(PLAIN), sizes=st.lists(st.integers(1, 9), max_size=3), rows=st.integers(1, 9))
def test_csv_gives_the_codes_of_the_table_that_it_was_written_from(
    suffix, case, sizes, rows, folder
):
    # A column of nothing has no type in CSV, and one that begins with nothing gets its own.
    path = write(folder / f"{suffix}-files", case.table, suffix, sizes, rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("deepbroad.data.files.BATCH_ROWS", rows)
        found = encode(path, case)
    assert_as_in_memory(case, *found)


@given(cases(min_rows=4), st.integers(2, 4))
def test_threads_change_no_bit(folder, case, count):
    path = write(folder / "threads", case.table, "parquet", [2], 3)
    with Threads(count) as threads:
        *_, many = encode(path, case, threads)
    *_, one = encode(path, case)
    for first, second in zip(many, one, strict=True):
        np.testing.assert_array_equal(first, second)


def test_a_source_takes_mapped_arrays_as_they_are():
    store = CodeStore()
    codes, labels = store.empty((2, 5), np.uint8), store.empty(5, np.uint8)
    weights = store.empty(5, np.float64)
    source = ArraySource(codes, labels, 2, np.ones(2), weights)
    for mine, theirs in ((codes, source.codes), (labels, source.labels), (weights, source.weights)):
        assert np.shares_memory(mine, theirs)


def test_arrays_keep_what_was_written_after_pages_are_dropped(tmp_path):
    with CodeStore(tmp_path) as store:
        array = store.empty((3, 1000), np.uint16)
        assert not array.any()
        array[:] = np.arange(3000).reshape(3, 1000)
        store.settle()
        np.testing.assert_array_equal(array.ravel(), np.arange(3000))
        assert store.nbytes == 6000
    np.testing.assert_array_equal(array.ravel(), np.arange(3000))
    assert list(tmp_path.iterdir()) == []


def test_pages_are_settled_as_writing_goes_on(monkeypatch):
    settled = []
    monkeypatch.setattr(CodeStore, "settle", lambda self: settled.append(self._unsettled))
    monkeypatch.setattr(code_store, "_UNSETTLED", 100)
    store = CodeStore()
    store.wrote(60)
    assert not settled
    store.wrote(60)
    assert settled == [120]


def test_empty_arrays_need_no_file():
    assert CodeStore().empty((3, 0), np.uint8).shape == (3, 0)


def test_a_full_disk_is_said_before_anything_is_written(monkeypatch, tmp_path):
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: shutil._ntuple_diskusage(9, 8, 1))
    with pytest.raises(OSError, match=r"scratch space.* set TMPDIR"):
        CodeStore(tmp_path).empty(2, np.uint8)


def test_scratch_files_go_where_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    assert CodeStore().folder == tmp_path


def test_labels_that_only_the_second_pass_finds_are_refused(tmp_path):
    table = pa.table({"a": [1, 2], "class": ["x", "y"]})
    path = write(tmp_path, table, "parquet", [], 5)
    files = open_files(path, y="class")
    encoding, target = sketch_files(files, SketchRules()).finish()
    other = write(tmp_path / "b", table.set_column(1, "class", [["x", "z"]]), "parquet", [], 5)
    with pytest.raises(ValueError, match="previously unseen labels: 'z'"):
        encode_files(open_files(other, y="class"), encoding, target, CodeStore())
