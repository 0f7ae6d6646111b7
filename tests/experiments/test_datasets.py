import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.utils import Bunch

from deepbroad.experiments.dataset import (
    FOLDER_VARIABLE,
    MismatchError,
    MissingDataError,
    Shape,
    checksum_of,
)
from deepbroad.experiments.datasets import DATASETS, RECONSTRUCTED, find, load, sample_hands
from deepbroad.experiments.published import dataset_sizes
from tests.experiments.small_trials import make_dataset, make_table


@pytest.fixture(autouse=True)
def _no_folder(monkeypatch):
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)


def write_table(folder, X, y, name="small"):
    pq.write_table(X.append_column("class", pa.array(y)), folder / f"{name}.parquet")


def filed(**changes):
    """A data set that is only to be had as a file."""
    return make_dataset(make=None, **changes)


def test_all_data_sets_of_the_paper_are_listed_once():
    assert sorted(one.paper_name for one in DATASETS.values()) == sorted(dataset_sizes())
    assert len(DATASETS) == 77
    assert sum(one.is_big for one in DATASETS.values()) == 8
    files = [one for one in DATASETS.values() if one.shape is not None]
    assert len({one.checksum for one in files}) == len(files)


def test_what_is_nowhere_to_be_had_says_so():
    gone = [one.name for one in DATASETS.values() if one.shape is None]
    assert sorted(gone) == ["localization", "mitfaceset-a", "mitfaceset-b", "mitfaceset-c"]
    assert not DATASETS["localization"].available()
    with pytest.raises(MissingDataError, match="could be obtained"):
        load("localization")


def test_a_file_is_read_without_its_class_and_what_is_no_attribute(tmp_path):
    X, y = make_table()
    write_table(tmp_path, X.append_column("number of row", pa.array(np.arange(y.size))), y)
    found, classes = filed(drop=("number of row",)).load(tmp_path)
    assert found.column_names == ["text", "number"]
    np.testing.assert_array_equal(classes, y)


def test_the_folder_comes_from_the_environment(tmp_path, monkeypatch):
    X, y = make_table()
    write_table(tmp_path, X, y)
    assert "no data folder" in filed().why_missing()
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    assert filed().available()
    assert filed().load()[0].equals(X)


def test_a_file_comes_before_what_can_be_made(tmp_path):
    X, y = make_table()
    write_table(tmp_path, X.rename_columns(["a", "b"]), y)
    assert make_dataset().load(tmp_path)[0].column_names == ["a", "b"]
    assert make_dataset().load()[0].column_names == ["text", "number"]


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(MissingDataError, match=r"small.parquet is not in the data folder"):
        filed().load(tmp_path)
    assert "OpenML has it" in filed(openml_id=1).why_missing(tmp_path)


def test_another_shape_is_refused(tmp_path):
    X, y = make_table()
    write_table(tmp_path, X.slice(1), y[1:])
    with pytest.raises(MismatchError, match=r"39 rows.*expected are 40 rows"):
        filed().load(tmp_path)
    assert filed().load(tmp_path, checked=False)[1].size == 39


def test_other_content_is_refused(tmp_path):
    X, y = make_table()
    dataset = filed(checksum=checksum_of(X, y))
    write_table(tmp_path, X, y)
    dataset.load(tmp_path)
    write_table(tmp_path, X.set_column(1, "number", pa.array(np.zeros(y.size))), y)
    with pytest.raises(MismatchError, match="other content"):
        dataset.load(tmp_path)


def test_a_checksum_is_of_values_and_not_of_their_encoding():
    X, y = make_table()
    encoded = X.set_column(0, "text", X["text"].dictionary_encode())
    chunked = pa.concat_tables([X.slice(0, 7), X.slice(7)])
    assert checksum_of(encoded, y) == checksum_of(chunked, y) == checksum_of(X, y)


@pytest.mark.parametrize("change", ["value", "name", "missing", "class", "order"])
def test_a_checksum_sees_every_change(change):
    X, y = make_table()
    before = checksum_of(X, y)
    texts = X["text"].to_pylist()
    match change:
        case "value":
            X = X.set_column(0, "text", pa.array(["other", *texts[1:]]))
        case "missing":
            X = X.set_column(0, "text", pa.array([None, *texts[1:]]))
        case "name":
            X = X.rename_columns(["text", "Number"])
        case "class":
            y = np.where(y == "yes", "no", "yes")
        case "order":
            X = X.select(["number", "text"])
    assert checksum_of(X, y) != before


def openml(X, y):
    """Answer as scikit-learn's function does."""

    def fetch(*, data_id, as_frame, parser, n_retries):
        assert (data_id, as_frame) == (61, True)
        return Bunch(data=X.to_pandas(), target=pd.Series(y, dtype="category"))

    return fetch


def test_openml_is_asked_where_there_is_no_file(tmp_path, monkeypatch):
    X, y = make_table()
    monkeypatch.setattr("sklearn.datasets.fetch_openml", openml(X, y))
    found, classes = filed(openml_id=61, checksum="of a file").load(tmp_path)
    assert found.equals(X.cast(found.schema))
    assert classes.tolist() == y.tolist()


def test_a_table_of_openml_with_another_shape_is_refused(tmp_path, monkeypatch):
    X, y = make_table()
    monkeypatch.setattr("sklearn.datasets.fetch_openml", openml(X.slice(2), y[2:]))
    with pytest.raises(MismatchError, match="38 rows"):
        filed(openml_id=61).load(tmp_path)


def test_no_way_to_openml_is_missing_data(tmp_path, monkeypatch):
    def fetch(**_):
        raise OSError("no network")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    with pytest.raises(MissingDataError, match="data set 61 could not be fetched: no network"):
        filed(openml_id=61).load(tmp_path)


@pytest.mark.parametrize("name", ["iris", "wine"])
def test_bundled_data_sets_need_no_folder(name):
    X, y = load(name)
    assert DATASETS[name].shape == Shape(X.num_rows, X.num_columns, np.unique(y).size)


def test_few_poker_hands_are_the_same_data_set_but_smaller():
    few = sample_hands(500)
    assert (few.name, few.is_big) == ("poker-hand", True)
    assert few.load()[0].num_rows == 500


def test_data_sets_are_found_by_groups():
    assert len(find(["big"])) == 8
    assert len(find(["little"])) == 69
    assert {one.name for one in find(["big", "iris"])} > {"iris", "covertype"}
    with pytest.raises(ValueError, match="no data set irises"):
        find(["irises"])


def test_reconstructed_data_sets_belong_to_no_group():
    grouped = {one.name for one in find(["all"])}
    for name, one in RECONSTRUCTED.items():
        assert name not in grouped
        assert find([name]) == [one]
        assert one.is_big == DATASETS[one.base].is_big


def test_a_derived_data_set_is_made_of_anothers_file(tmp_path):
    X, y = make_table()
    write_table(tmp_path, X, y, name="base")
    derived = filed(
        base="base",
        shape=Shape(y.size, 1, 2),
        derive=lambda X, _: X.select(["text"]),
    )
    assert derived.available(tmp_path)
    assert derived.load(tmp_path)[0].column_names == ["text"]
    with pytest.raises(MissingDataError, match=r"base\.parquet is not in the data folder"):
        derived.load(tmp_path / "elsewhere")
