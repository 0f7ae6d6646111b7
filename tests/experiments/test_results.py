import numpy as np
import pytest
from numpy.testing import assert_allclose

from deepbroad.experiments.decomposition import decompose_rows
from deepbroad.experiments.results import Results
from deepbroad.experiments.statistics import WinDrawLoss
from tests.experiments.rows_for_tests import PAPER_NAMES, fail, make_row


def _rows(dataset, method, errors, **columns):
    """One row for each error, fold after fold."""
    return [
        make_row(dataset, method, i // 2, i % 2, error=error, **columns)
        for i, error in enumerate(errors)
    ]


def test_methods_are_compared_on_the_folds_that_both_finished():
    rows = _rows("a", "DBL2", [0.1, 0.9]) + _rows("a", "A2JE", [0.3, 0.4])
    rows[1] = fail(rows[1], "timeout", "")
    found = Results(rows).compare("error", ["DBL2", "A2JE"])
    assert_allclose(found.values, [[0.1, 0.3]])


def test_a_data_set_that_one_method_did_not_finish_is_left_out_and_named():
    rows = _rows("a", "DBL2", [0.1]) + _rows("b", "DBL2", [0.1]) + _rows("b", "A2JE", [0.2])
    rows.append(fail(make_row("a", "A2JE"), "memory", ""))
    found = Results(rows).compare("error", ["DBL2", "A2JE"])
    assert found.datasets == ["b"]
    assert found.left_out == ["a"]


def test_wins_count_data_sets_not_folds():
    rows = _rows("a", "DBL2", [0.1, 0.1]) + _rows("a", "RF", [0.2, 0.2])
    rows += _rows("b", "DBL2", [0.3, 0.3]) + _rows("b", "RF", [0.2, 0.4])
    assert Results(rows).count_wins("error", "DBL2", "RF", "all") == WinDrawLoss(1, 1, 0)


def test_averages_add_half_a_row_to_losses_only():
    rows = _rows("a", "DBL2", [0.0], n_rows=10, train_seconds=2.0)
    rows += _rows("a", "RF", [0.1], n_rows=10, train_seconds=6.0)
    results = Results(rows)
    averages, number = results.average("error", ["RF"], "all")
    assert number == 1
    assert averages["RF"] == pytest.approx((0.1 + 0.05) / 0.05)
    assert results.average("train_seconds", ["RF"], "all")[0]["RF"] == pytest.approx(3.0)


def test_bias_and_variance_sum_to_the_mean_error_of_the_rows():
    rows = [make_row("a", "DBL2", round, fold, n_rows=41) for round in range(3) for fold in (0, 1)]
    found = decompose_rows(rows)
    votes = sum(row["error"] * row["n_test"] for row in rows)
    assert_allclose(sum(found), votes / (3 * 41))
    assert found.variance > 0


def test_bias_takes_whole_rounds_that_both_finished_and_two_at_least():
    rows = [make_row("a", m, r, f) for m in ("DBL2", "RF") for r in range(3) for f in (0, 1)]
    assert len(Results(rows).compare("bias", ["DBL2", "RF"]).datasets) == 1
    rows[0] = fail(rows[0], "timeout", "")
    found = Results(rows).compare("bias", ["DBL2", "RF"])
    expected = [decompose_rows(rows[2:6]).bias, decompose_rows(rows[8:]).bias]
    assert_allclose(found.values, [expected])
    rows[2] = fail(rows[2], "timeout", "")
    assert Results(rows).compare("bias", ["DBL2", "RF"]).left_out == ["a"]


def test_a_measure_that_a_method_does_not_have_compares_nowhere():
    rows = [make_row("a", "DBL2"), make_row("a", "RF")]
    assert not Results(rows).compare("iterations", ["DBL2", "RF"]).datasets


def test_groups_follow_the_papers_table():
    rows = [make_row(name, "DBL2", n_rows=100) for name in (*PAPER_NAMES, "other")]
    results = Results(rows, paper_names=PAPER_NAMES)
    assert results.datasets("big") == ["covertype", "poker-hand"]
    assert results.datasets("big-times") == ["adult", "connect-4"]
    assert results.datasets("little-times") == ["iris", "other", "wall-following"]
    assert len(results.datasets("little")) == 5
    with pytest.raises(KeyError):
        results.datasets("medium")


def test_data_sets_come_largest_first():
    sizes = {"a": 100, "b": 300, "c": 200}
    rows = [make_row(name, "RF", n_rows=n_rows) for name, n_rows in sizes.items()]
    assert Results(rows).datasets() == ["b", "c", "a"]
    assert np.array_equal(Results(rows).compare("error", ["RF"]).n_rows, [300, 200, 100])
