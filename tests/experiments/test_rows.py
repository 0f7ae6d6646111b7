from dataclasses import replace

import numpy as np
import pytest

from deepbroad.experiments.evaluation import Bench, Means
from deepbroad.experiments.protocol import folds
from deepbroad.experiments.rows import SCHEMA, make_row, read_row, read_rows, test_rows, write_row
from tests.experiments.small_trials import ROWS, make_trials


@pytest.fixture
def trial():
    return make_trials("prior")[0]


@pytest.fixture
def row(trial):
    found = Bench(Means(1, 2**30)).evaluate(trial, lambda: None)
    return make_row(trial, "done", found, 10.0)


def test_a_row_comes_back_as_it_was_written(tmp_path, trial, row):
    write_row(tmp_path, trial, row)
    found = read_row(tmp_path, trial)
    assert list(found) == SCHEMA.names == list(row)
    for name, value in row.items():
        np.testing.assert_equal(found[name], value, err_msg=name)
    assert found["predicted"].dtype == found["actual"].dtype == np.int16


def test_a_row_without_results_has_none(tmp_path, trial):
    write_row(tmp_path, trial, make_row(trial, "timeout", {"message": "late"}, 10.0))
    (found,) = read_rows(tmp_path)
    assert (found["status"], found["message"], found["n_rows"]) == ("timeout", "late", ROWS)
    for name in ("error", "predicted", "loss_curve", "iterations", "test_bits"):
        assert found[name] is None


def test_a_row_knows_the_rows_that_it_was_tested_on(trial, row):
    test = folds(ROWS, None, 0)[0][1]
    np.testing.assert_array_equal(test_rows(row), test)
    assert row["n_test"] == test.size == row["predicted"].size


def test_a_row_with_another_key_takes_the_place_of_the_old_one(tmp_path, trial, row):
    write_row(tmp_path, trial, row)
    other = replace(trial, protocol=replace(trial.protocol, seed=1))
    assert read_row(tmp_path, other) is None
    write_row(tmp_path, other, make_row(other, "error", {"message": ""}, 10.0))
    assert [one["status"] for one in read_rows(tmp_path)] == ["error"]
    assert read_row(tmp_path, trial) is None


def test_what_was_not_written_to_its_end_is_no_row(tmp_path, trial, row):
    write_row(tmp_path, trial, row)
    (path,) = tmp_path.glob("*/*.parquet")
    path.rename(path.with_suffix(".unfinished"))
    assert read_rows(tmp_path) == []
    write_row(tmp_path, trial, row)
    assert len(read_rows(tmp_path)) == len(list(tmp_path.glob("*/*"))) == 1
