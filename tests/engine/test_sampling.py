"""What a sample of the rows tells about all of them."""

import numpy as np
import pytest

from deepbroad.data.source import ArraySource
from deepbroad.engine.sampling import common_codes, estimate_seen, mean_sets
from deepbroad.kernels.threads import Threads
from deepbroad.model.terms import Terms


def make_source(codes, cardinalities):
    return ArraySource(codes, np.arange(codes.shape[1]) % 2, 2, cardinalities)


def count_pairs(codes):
    a = len(codes)
    return [len(set(zip(codes[i], codes[j], strict=True))) for i in range(a) for j in range(i)]


def test_joint_values_are_counted_where_all_rows_are_seen():
    codes = np.random.default_rng(0).integers(20, size=(4, 300)).astype(np.uint8)
    terms = Terms.of_order(2, np.full(4, 20))
    source = make_source(codes, terms.cardinalities)
    with Threads(3) as threads:
        found = estimate_seen(terms, np.arange(6), source, threads)
    assert sorted(found) == sorted(count_pairs(codes))


def test_a_sample_of_rows_tells_nearly_how_many_all_rows_show():
    codes = np.random.default_rng(0).integers(20, size=(4, 4000)).astype(np.uint8)
    terms = Terms.of_order(2, np.full(4, 20))
    truth = sum(count_pairs(codes))
    assert truth > 1.1 * sum(count_pairs(codes[:, ::8]))
    found = estimate_seen(terms, np.arange(6), make_source(codes, terms.cardinalities), rows=500)
    assert found.sum() == pytest.approx(truth, rel=0.1)


def test_without_a_sample_rows_or_joint_values_are_the_bound():
    codes = np.full((2, 4), 3, np.uint8)  # none of them seen
    terms = Terms.of_order(2, np.array([2, 3]))
    assert estimate_seen(terms, np.arange(1), make_source(codes, np.array([2, 3]))) == [4]
    many = np.full((2, 100), 3, np.uint8)
    assert estimate_seen(terms, np.arange(1), make_source(many, np.array([2, 3]))) == [6]


def test_sets_of_items_are_counted_by_how_many_values_are_not_common():
    sample = np.array([[0, 0, 0, 1], [2, 2, 0, 1], [1, 1, 1, 1]], np.uint8)
    common = common_codes(sample)
    assert common.tolist() == [0, 2, 1]
    # 0, 0, 1 and 2 items: 1, 1, 2 and 1 + 2 + 1 sets of up to two.
    assert mean_sets(sample, np.arange(3), common, 2) == (1 + 1 + 2 + 4) / 4
