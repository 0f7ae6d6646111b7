import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.experiments.protocol import folds

sizes = st.integers(2, 60)
seeds = st.integers(0, 5)


@given(n_rows=sizes, round=seeds, seed=seeds, stratified=st.booleans())
def test_every_row_is_tested_once_in_a_round(n_rows, round, seed, stratified):
    labels = np.arange(n_rows) % 3
    (train, test), (other_train, other_test) = folds(n_rows, labels, round, seed, stratified)
    np.testing.assert_array_equal(train, other_test)
    np.testing.assert_array_equal(test, other_train)
    np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(n_rows))
    assert 0 <= test.size - train.size <= 1


@given(labels=st.lists(st.sampled_from("abc"), min_size=4, max_size=60), round=seeds)
def test_stratified_folds_halve_every_class(labels, round):
    labels = np.array(labels)
    (train, test), _ = folds(labels.size, labels, round, stratified=True)
    for label in np.unique(labels):
        assert abs(np.sum(labels[train] == label) - np.sum(labels[test] == label)) <= 1


def test_folds_come_from_seed_and_round_alone():
    def drawn(*arguments):
        return [part.tolist() for fold in folds(50, *arguments) for part in fold]

    assert drawn(None, 1, 2) == drawn(np.zeros(50), 1, 2)
    assert drawn(None, 1, 2) != drawn(None, 2, 2)
    assert drawn(None, 1, 2) != drawn(None, 1, 3)
    assert drawn(None, 1, 2) != drawn(None, 2, 1)


def test_random_folds_do_not_halve_classes():
    labels = np.repeat([0, 1], 50)
    (train, test), _ = folds(100, labels, 0)
    assert np.sum(labels[train]) != np.sum(labels[test])


def test_stratified_folds_need_labels():
    with pytest.raises(ValueError, match="labels"):
        folds(10, None, 0, stratified=True)
