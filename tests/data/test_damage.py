"""Damaged files and columns are refused by name, before anything follows them out of bounds."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepbroad.data.chosen_files import ChosenFiles
from deepbroad.data.damage import check_indices, naming
from deepbroad.data.files import open_files
from deepbroad.data.table import read_table

TEXTS = ["aa", "bbbb", "c"] * 7
CODES = np.array([0, 1, 2] * 7, np.int32)
TABLE = pa.table(
    {
        "text": TEXTS,
        "code": pa.DictionaryArray.from_arrays(CODES, ["x", "y", "z"]),
        "number": np.linspace(0.0, 1.0, 21),
    }
)
OFFSETS = np.cumsum([0, *map(len, TEXTS)]).astype(np.int32)
WRONG_CODES, WRONG_OFFSETS = CODES.copy(), OFFSETS.copy()
WRONG_CODES[5] = WRONG_OFFSETS[5] = 10**8
# The bytes of each column that are changed, and what they become.
DAMAGES = {
    "text": (OFFSETS.tobytes(), WRONG_OFFSETS.tobytes()),
    "code": (CODES.tobytes(), WRONG_CODES.tobytes()),
}


def write_arrow(path, table=TABLE, *, stream=False):
    create = pa.ipc.new_stream if stream else pa.ipc.new_file
    with create(str(path), table.schema) as writer:
        writer.write_table(table)
    return path


def change(path, old, new):
    """Write other bytes in the place of some that a file has."""
    content = path.read_bytes()
    assert old in content
    path.write_bytes(content.replace(old, new))
    return path


def read_all(X, **options):
    for batch in open_files(X, **options).batches():
        for i in range(batch.table.n_columns):
            batch.table.column(i).factor()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("column", DAMAGES)
def test_a_damaged_arrow_file_is_refused_and_its_column_named(tmp_path, column, stream):
    path = write_arrow(tmp_path / "a.arrow", stream=stream)
    read_all(path)
    change(path, *DAMAGES[column])
    message = rf"a\.arrow cannot be read: column '{column}' is damaged: .*copy or write it again"
    with pytest.raises(ValueError, match=message):
        read_all(path)
    with pytest.raises(ValueError, match=message):
        read_all(path, y=column)
    with pytest.raises(ValueError, match=message):
        open_files(path, y=column).read()
    read_all(path, columns=["number"])


@pytest.mark.parametrize("column", DAMAGES)
def test_damage_is_found_before_texts_are_read_as_numbers(tmp_path, column):
    path = change(write_arrow(tmp_path / "a.arrow"), *DAMAGES[column])
    with pytest.raises(ValueError, match=rf"a\.arrow cannot be read: column '{column}'"):
        read_all(ChosenFiles(path, numeric=(column,)))


@pytest.mark.parametrize("column", DAMAGES)
def test_a_damaged_file_of_a_data_set_is_named(tmp_path, column):
    for name in ("a", "b"):
        write_arrow(tmp_path / f"{name}.arrow")
    change(tmp_path / "b.arrow", *DAMAGES[column])
    with pytest.raises(ValueError, match=rf"b\.arrow cannot be read: column '{column}'"):
        read_all(ds.dataset(tmp_path, format="arrow"))


def test_a_damaged_parquet_file_is_refused_and_its_column_named(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(TABLE, path, use_dictionary=False, compression="none")
    change(path, b"bbbb", b"\xff\xfe\xfd\xfc")
    for X in (path, ds.dataset(path)):
        with pytest.raises(ValueError, match=r"a\.parquet cannot be read: column 'text'"):
            read_all(X)


@settings(max_examples=60)
@given(stream=st.booleans(), seed=st.integers(0, 10**6))
def test_whatever_bytes_are_changed_a_file_is_read_or_refused_by_name(
    tmp_path_factory, stream, seed
):
    path = write_arrow(tmp_path_factory.mktemp("damaged") / "a.arrow", stream=stream)
    content = np.frombuffer(path.read_bytes(), np.uint8).copy()
    random = np.random.default_rng(seed)
    content[random.integers(len(content), size=3)] = random.integers(256, size=3)
    path.write_bytes(content.tobytes())
    try:
        read_all(path)
    except (ValueError, MemoryError) as error:
        assert str(path) in str(error)  # noqa: PT017 - other bytes may change nothing that matters


def test_errors_of_the_operating_system_stay_what_they_are():
    def read():
        with naming("a.arrow"):
            raise PermissionError(13, "Permission denied", "a.arrow")

    with pytest.raises(PermissionError):
        read()


def damaged_columns():
    """Return columns of each library whose codes are of no category."""
    chunk = pa.DictionaryArray.from_arrays(WRONG_CODES, ["x", "y", "z"], safe=False)
    sound = pa.DictionaryArray.from_arrays(CODES, ["v", "y", "z"])
    frame = pd.DataFrame({"code": pd.Categorical.from_codes(CODES - 9, ["x"], validate=False)})
    offsets = pa.py_buffer(WRONG_OFFSETS.tobytes())
    texts = pa.StringArray.from_buffers(21, offsets, pa.py_buffer("".join(TEXTS).encode()))
    return {
        "arrow": pa.table({"code": chunk}),
        "chunks": pa.table({"code": pa.chunked_array([sound, chunk])}),
        "texts": pa.table({"code": texts}),
        "pandas": frame,
        "pandas arrow": pd.DataFrame({"code": pd.arrays.ArrowExtensionArray(chunk)}),
    }


@pytest.mark.parametrize("library", damaged_columns())
def test_a_damaged_column_in_memory_is_refused_by_name(library):
    table = read_table(damaged_columns()[library])
    with pytest.raises(ValueError, match="column 'code' is damaged: "):
        table.column(0)


@pytest.mark.parametrize(("codes", "shown"), [([-1, 0, 2], "2"), ([-2, 0, 1], "-2")])
def test_codes_are_those_of_the_categories(codes, shown):
    check_indices("c", np.array([-1, 0, 1]), 2)
    check_indices("c", np.array([], np.int8), 0)
    with pytest.raises(ValueError, match=f"'c' is damaged: it has the category code {shown}, but"):
        check_indices("c", np.array(codes), 2)
