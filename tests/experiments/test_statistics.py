import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats

from deepbroad.experiments.statistics import (
    WinDrawLoss,
    average_ranks,
    average_ratio,
    compare_pairs,
    correct_holm,
    count_wins,
    decompose_error,
    friedman_test,
    nemenyi_distance,
    sign_test,
)


def test_bias_and_variance_of_a_hand_worked_example():
    # Row 0 is always right. Row 1 is of class 1 and predicted 1, 1, 0, 0, 2: P = (.4, .4, .2), so
    # bias² = ½(.16 + .36 + .04) = .28 and variance = ½(1 − .36) = .32.
    found = decompose_error([0, 1], [[5, 0, 0], [2, 2, 1]])
    assert_allclose(found, [0.14, 0.16])


@given(
    st.integers(1, 6),
    st.lists(st.tuples(st.integers(0, 3), st.lists(st.integers(0, 3), min_size=6)), min_size=1),
)
def test_bias_and_variance_sum_to_the_mean_error(rounds, rows):
    truth = np.array([y for y, _ in rows])
    predicted = np.array([line[:rounds] for _, line in rows])
    votes = (predicted[:, :, None] == np.arange(4)).sum(axis=1)
    found = decompose_error(truth, votes)
    assert_allclose(sum(found), np.mean(predicted != truth[:, None]), atol=1e-12)
    assert found.bias >= 0
    assert found.variance >= -1e-15


def test_a_row_that_was_never_predicted_has_no_decomposition():
    with pytest.raises(ValueError, match="at least one prediction"):
        decompose_error([0, 1], [[1, 0], [0, 0]])


def test_sign_test_of_seven_wins_and_a_loss():
    # 2 · (C(8,0) + C(8,1)) / 2⁸
    assert_allclose(sign_test(7, 1), 18 / 256)


@pytest.mark.parametrize("wins", [0, 3, 37])
def test_sign_test_is_never_above_one(wins):
    assert sign_test(wins, wins) == 1.0


def test_wins_are_lower_values_and_draws_are_equal_at_four_decimals():
    ours = [0.10000, 0.20004, 0.30000, 0.5]
    theirs = [0.10006, 0.20000, 0.29990, 0.6]
    assert count_wins(ours, theirs) == WinDrawLoss(2, 1, 1)
    assert count_wins(theirs, ours) == WinDrawLoss(1, 1, 2)
    assert count_wins(ours, theirs).total == 4


def test_the_p_of_win_draw_loss_leaves_draws_out():
    assert WinDrawLoss(7, 30, 1).p == sign_test(7, 1)


def test_average_ratio_of_a_hand_worked_example():
    # (0.1 + 0.1) / (0 + 0.1) = 2 and (0.4 + 0.1) / (0.9 + 0.1) = 1/2, whose geometric mean is 1.
    assert_allclose(average_ratio([0.1, 0.4], [0.0, 0.9], added=0.1), 1.0)
    assert_allclose(average_ratio([0.1], [0.0], added=0.5 / 10), 3.0)


def test_average_ranks_of_a_hand_worked_example():
    values = [[0.1, 0.2, 0.3], [0.2, 0.20001, 0.1], [0.3, 0.1, 0.2]]
    assert_allclose(average_ranks(values), [(1 + 2.5 + 3) / 3, (2 + 2.5 + 1) / 3, 2.0])


def test_friedman_of_a_hand_worked_example():
    # Ranks 1, 2, 3 on each of 4 sets: χ² = 12·4/(3·4) · (1 + 4 + 9 − 3·16/4) = 8.
    values = np.array([[1.0, 2.0, 3.0]] * 4) + np.arange(4)[:, None]
    found = friedman_test(values)
    assert_allclose(found.statistic, 8.0)
    assert_allclose(found.p, stats.chi2.sf(8.0, 2))


def test_friedman_finds_nothing_where_all_are_equal():
    assert friedman_test(np.ones((5, 3))).p == 1.0


@pytest.mark.parametrize(
    ("methods", "datasets", "q"),
    # q of Demšar (2006), table 5a; his example of 4 methods on 14 data sets has CD = 1.25.
    [(4, 14, 2.569), (2, 30, 1.960), (10, 20, 3.164)],
)
def test_nemenyi_distance_is_demsars(methods, datasets, q):
    expected = q * np.sqrt(methods * (methods + 1) / (6 * datasets))
    assert_allclose(nemenyi_distance(methods, datasets), expected, rtol=5e-4)


def test_holm_of_a_hand_worked_example():
    # Sorted: .005·4, .01·3, .03·2, .04·1, and none below the one before.
    assert_allclose(correct_holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    assert_allclose(correct_holm([0.9, 0.8]), [1.0, 1.0])


def test_pairs_are_scipys_wilcoxon_with_holms_correction():
    random = np.random.default_rng(0)
    values = np.round(random.random((12, 3)) + np.array([0.0, 0.1, 0.5]), 4)
    found = compare_pairs(values)
    pairs = [(0, 1), (0, 2), (1, 2)]
    raw = [stats.wilcoxon(values[:, i], values[:, j]).pvalue for i, j in pairs]
    assert_allclose([found[pair] for pair in pairs], correct_holm(raw))
    assert_allclose(found, found.T)
    assert_allclose(np.diag(found), 1.0)


def test_pairs_that_never_differ_have_p_one():
    assert_allclose(compare_pairs(np.ones((6, 3))), 1.0)
    values = np.column_stack([np.arange(6) / 10, np.arange(6) / 10 + 1e-6])
    assert_allclose(compare_pairs(values), 1.0)
