"""Which rows a choice looks at, and which fold holds them out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepbroad.data.source import ArraySource
from deepbroad.engine.choice.dealing import deal_rows
from tests.engine.choice.tables_for_tests import make_source, noise


def permuted(source, order):
    weights = None if source.weights is None else source.weights[order]
    return make_source(source.codes[:, order], source.labels[order], weights)


def as_rows(dealt):
    """Return each distinct row with its weights in the folds."""
    source = dealt.source
    rows = zip(source.codes.T.tolist(), source.labels.tolist(), dealt.held.tolist(), strict=True)
    return sorted((*codes, label, *held) for codes, label, held in rows)


@settings(max_examples=30, deadline=None)
@given(st.integers(10, 200), st.integers(0, 5), st.sampled_from([20, 60, 1000]))
def test_the_order_of_rows_does_not_matter(rows, seed, count):
    source = noise(rows, features=3, seed=seed)
    order = np.random.default_rng(seed).permutation(rows)
    first = deal_rows(source, count, 5, seed)
    second = deal_rows(permuted(source, order), count, 5, seed)
    np.testing.assert_array_equal(first.source.codes, second.source.codes)
    np.testing.assert_array_equal(first.held, second.held)
    np.testing.assert_array_equal(first.trained, second.trained)


@settings(max_examples=30, deadline=None)
@given(st.integers(5, 60), st.integers(0, 5), st.sampled_from([20, 1000]))
def test_a_weight_of_three_is_three_rows(rows, seed, count):
    source = noise(rows, features=3, seed=seed)
    times = np.random.default_rng(seed).integers(1, 4, rows)
    weighted = make_source(source.codes, source.labels, times.astype(float))
    repeated = permuted(source, np.repeat(np.arange(rows), times))
    assert as_rows(deal_rows(weighted, count, 5, seed)) == as_rows(
        deal_rows(repeated, count, 5, seed)
    )


def test_every_row_is_held_out_by_one_fold_and_trained_by_the_others():
    dealt = deal_rows(noise(200, features=8), 4000, 5, 0)
    assert dealt.n_folds == 5
    weights = dealt.held.sum(axis=1)
    np.testing.assert_array_equal(weights[:, None] - dealt.held, dealt.trained)
    assert weights.sum() == 200


def test_classes_are_spread_evenly_over_folds():
    source = noise(103, features=8)
    dealt = deal_rows(source, 4000, 5, 0)
    assert dealt.n_folds == 5
    for label in range(2):
        held = dealt.held[dealt.source.labels == label].sum(axis=0)
        assert held.max() - held.min() <= 1


def test_a_class_of_one_row_is_always_trained():
    codes = np.arange(12)[None]
    source = make_source(codes, [0] * 6 + [1] * 5 + [2], n_classes=3)
    dealt = deal_rows(source, 1000, 5, 0)
    lonely = dealt.source.labels == 2
    assert not dealt.held[lonely].any()
    assert (dealt.trained[lonely] == 1).all()


def test_fractional_weights_have_the_mean_1_and_stay_whole_in_a_fold():
    rng = np.random.default_rng(0)
    source = make_source(np.arange(50)[None], rng.integers(0, 2, 50), rng.uniform(0.1, 7.3, 50))
    dealt = deal_rows(source, 1000, 5, 0)
    assert np.count_nonzero(dealt.held, axis=1).max() == 1
    assert dealt.held.sum() == pytest.approx(50, rel=1e-5)
    assert not dealt.counts_rows
    assert deal_rows(noise(50), 1000, 5, 0).counts_rows


def test_fractional_weights_whose_mean_is_1_count_no_rows():
    source = make_source(
        np.arange(50)[None], np.arange(50) % 2, np.tile([0.5, 0.5, 1.5, 1.5], 13)[:50]
    )
    source.weights[-2:] = 1.0
    assert source.weights.mean() == 1.0
    dealt = deal_rows(source, 1000, 5, 0)
    assert (dealt.trained >= 0).all()
    assert np.count_nonzero(dealt.held, axis=1).max() == 1


def test_a_sample_has_about_as_many_rows_as_asked_for_and_two_folds():
    dealt = deal_rows(noise(20_000, features=12), 2_000, 5, 0)
    assert dealt.n_folds == 2
    assert 1_800 < dealt.held.sum() < 2_200
    assert dealt.total == 20_000


def test_the_fewer_rows_there_are_the_more_folds_train_on_no_more_than_a_quarter_of_the_count():
    count, before = 4000, 11
    for rows in (50, 150, 250, 400, 900, 3000):
        dealt = deal_rows(noise(rows, features=12), count, 10, 0)
        assert 2 <= dealt.n_folds <= min(before, 10)
        assert dealt.n_folds == 2 or dealt.n_folds * rows <= count / 4 + rows / 2
        before = dealt.n_folds
    assert before == 2


def test_many_classes_have_fewer_folds():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 5, (4, 300)).astype(np.uint8)
    source = ArraySource(codes, rng.integers(0, 12, 300), 12, np.full(4, 5))
    few = ArraySource(codes, source.labels % 2, 2, np.full(4, 5))
    assert deal_rows(source, 12_000, 10, 0).n_folds < deal_rows(few, 12_000, 10, 0).n_folds


def test_rows_of_weight_0_are_as_if_absent():
    source = noise(100, features=6)
    weights = (np.arange(100) < 60).astype(float)
    with_zeros = make_source(source.codes, source.labels, weights)
    only = permuted(source, np.arange(60))
    assert as_rows(deal_rows(with_zeros, 1000, 5, 0)) == as_rows(deal_rows(only, 1000, 5, 0))
