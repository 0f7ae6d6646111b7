"""Samples of rows, and what is left of them for counting."""

import numpy as np
import pytest

from deepbroad.data.source import ArraySource
from deepbroad.model import sample as module
from deepbroad.model.sample import Sample, observe, sample_rows
from tests.parted import Parts


def numbered_source(rows, weights=None, labels=None):
    """A source whose first column is the number of the row."""
    codes = np.arange(rows, dtype=np.uint32)[None, :]
    labels = np.arange(rows) % 2 if labels is None else labels
    return ArraySource(codes, labels, 2, np.array([rows]), weights)


@pytest.mark.parametrize(
    ("rows", "n_tuples", "expected"),
    [(5000, 1, 5000), (5000, 100, 2000), (5000, 10**6, 1000), (700, 10**6, 700), (5000, 0, 5000)],
)
def test_budget_bounds_rows_times_tuples(rows, n_tuples, expected):
    sample = sample_rows(numbered_source(rows), n_tuples, budget=200_000)
    assert sample.codes.shape == (1, expected)


def test_rows_are_capped(monkeypatch):
    monkeypatch.setattr(module, "MAX_ROWS", 1500)
    assert len(sample_rows(numbered_source(5000), 1).labels) == 1500


def test_rows_come_one_from_each_stretch_with_their_labels_and_weights():
    weights = np.arange(5000) / 10
    sample = sample_rows(numbered_source(5000, weights), 100, budget=200_000)
    rows = sample.codes[0].astype(int)
    bounds = np.arange(2001) * 5000 // 2000
    assert (rows >= bounds[:-1]).all()
    assert (rows < bounds[1:]).all()
    np.testing.assert_array_equal(sample.labels, rows % 2)
    np.testing.assert_array_equal(sample.weights, rows / 10)


def test_a_period_of_the_data_is_not_followed():
    labels = sample_rows(numbered_source(4000), 1, budget=2000).labels
    assert 0.4 < labels.mean() < 0.6


def test_parts_do_not_matter():
    source = numbered_source(3000, np.ones(3000))
    whole = sample_rows(source, 2, budget=3000)
    parted = sample_rows(Parts.of(source, [1, 2, 700, 2999]), 2, budget=3000)
    for a, b in zip(whole, parted, strict=True):
        np.testing.assert_array_equal(a, b)


def test_only_rows_that_count_are_observed():
    codes = np.array([[0, 2, 1, 4, 2], [7, 7, 9, 0, 10]], np.uint16)
    weights = np.array([1.0, 2.0, 0.0, 1.0, 1.0])
    sample = Sample(codes, np.array([0, 2, 1, 2, 2]), weights, 3)
    observations = observe(sample, np.array([4, 10]))
    np.testing.assert_array_equal(observations.codes, [[0, 1], [0, 0]])
    np.testing.assert_array_equal(observations.labels, [0, 1])
    np.testing.assert_array_equal(observations.cardinalities, [2, 1])
    np.testing.assert_array_equal(observations.class_totals, [1.0, 2.0])
    assert observations.codes.dtype == np.uint8
    np.testing.assert_allclose(observations.logs, [0, 0, 2 * np.log(2), 3 * np.log(3)])


def test_fractional_weights_have_no_list_of_logarithms():
    sample = Sample(np.zeros((1, 2), np.uint8), np.array([0, 1]), np.array([0.5, 1.0]), 2)
    assert observe(sample, np.array([1])).logs.size == 0


def test_huge_cardinalities_are_numbered_by_what_occurs():
    codes = np.array([[90_000, 5, 90_000, 7]], np.uint32)
    observations = observe(Sample(codes, np.zeros(4, int), None, 1), np.array([100_000]))
    np.testing.assert_array_equal(observations.codes, [[2, 0, 2, 1]])
