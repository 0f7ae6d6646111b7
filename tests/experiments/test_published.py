import numpy as np
import pytest

from deepbroad.experiments.published import (
    big_datasets,
    big_for_times,
    corrected_loss,
    dataset_sizes,
    printed_comparison,
    printed_loss,
    printed_methods,
    slips,
)
from deepbroad.experiments.statistics import WinDrawLoss, count_wins

PAIRS = [(f"DBL{n}", other) for n, other in [(2, "A2JE"), (3, "A3JE"), (2, "A1DE"), (3, "A2DE")]]
PAIRS += [("DBL2", "RF"), ("DBL3", "RF")]


def test_the_data_sets_are_as_many_as_the_text_says():
    rows = np.array([size.rows for size in dataset_sizes().values()])
    assert rows.size == 77
    # "Less than 1000" takes the two of exactly 1000 rows in.
    assert np.sum(rows <= 1000) == 40
    assert np.sum((rows > 1000) & (rows <= 10_000)) == 21
    assert np.sum(rows > 10_000) == 16
    assert np.sum(rows > 100_000) == 8


def test_lists_of_data_sets_name_those_of_the_table():
    sizes = dataset_sizes()
    assert all(sizes[name].rows > 100_000 for name in big_datasets())
    assert all(10_000 < sizes[name].rows < 200_000 for name in big_for_times())
    assert len(big_datasets()) == 8
    assert len(big_for_times()) == 9


def _count(ours, theirs, measure, look_up):
    values = [[look_up(measure, m, name) for name in big_datasets()] for m in (ours, theirs)]
    return count_wins(*values)


@pytest.mark.parametrize("measure", ["error", "rmse"])
@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_big_counts_follow_from_the_corrected_appendix(ours, theirs, measure):
    expected = printed_comparison("big", ours, theirs, measure).counts
    if (ours, theirs, measure) == ("DBL2", "A2JE", "error"):
        expected = WinDrawLoss(8, 0, 0)  # a slip: 7/0/1 is printed
    assert _count(ours, theirs, measure, corrected_loss) == expected


def test_poker_hands_slip_contradicts_the_printed_counts():
    assert printed_loss("rmse", "DBL2", "Poker-hand") == 0.1970
    assert corrected_loss("rmse", "DBL2", "Poker-hand") == 0.0197
    for other in ("A2JE", "RF"):
        printed = printed_comparison("big", "DBL2", other, "rmse").counts
        assert _count("DBL2", other, "rmse", printed_loss) != printed


@pytest.mark.parametrize("measure", ["bias", "variance", "error", "rmse"])
@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_printed_p_is_the_sign_test_of_the_printed_counts(ours, theirs, measure):
    for group in ("little", "big"):
        found = printed_comparison(group, ours, theirs, measure)
        if found is None:
            assert (group, measure) in [("big", "bias"), ("big", "variance")]
        elif found.p == "<0.001":
            assert found.counts.p < 0.001
        elif found.p not in ("1.092", "0.073"):  # slips
            assert found.counts.p == pytest.approx(float(found.p), abs=1e-3)


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_little_counts_are_over_75_data_sets(ours, theirs):
    for measure in ("bias", "variance", "error", "rmse"):
        assert printed_comparison("little", ours, theirs, measure).counts.total == 75


def test_printed_errors_and_rmse_are_possible_together():
    # A wrong row has (1 − P_y)² + P_k² ≥ ½ with P_k ≥ P_y, hence RMSE² ≥ error / (2C).
    impossible = set()
    for name in big_datasets():
        for method in printed_methods("rmse"):
            error, rmse = (corrected_loss(m, method, name) for m in ("error", "rmse"))
            if rmse**2 < error / (2 * dataset_sizes()[name].classes):
                impossible.add(name)
    assert impossible == {"Localization"}  # a slip: it has more than the 3 classes printed


def test_what_is_not_printed_is_none():
    assert printed_loss("error", "RF-raw", "MITFaceSetC") is None
    assert printed_loss("log_loss", "DBL2", "Covertype") is None
    assert corrected_loss("rmse", "LR2", "Covertype") is None
    assert printed_loss("error", "DBL2", "IrisClassification") is None
    assert printed_comparison("little", "DBL2", "LR2", "error") is None


def test_every_slip_says_where_and_what():
    assert len(slips()) >= 9
    assert all(all(slip) for slip in slips())
