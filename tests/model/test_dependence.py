"""Information between columns, against its definition."""

import numpy as np
import pytest
from hypothesis import given

from deepbroad.kernels.threads import Threads
from deepbroad.model.dependence import dependence_of, measure_dependence
from deepbroad.model.sample import Sample
from tests import naive
from tests.engine.problems import draw_problem, problems


def measure(problem, threads=None):
    sample = Sample(problem.codes, problem.labels, problem.weights, problem.n_classes)
    return measure_dependence(sample, problem.cardinalities, threads)


@given(problems())
def test_information_is_its_definition(problem):
    found = measure(problem)
    kept = problem.omega > 0
    codes, labels, weights = problem.codes[:, kept], problem.labels[kept], problem.omega[kept]
    expected = naive.class_informations(codes, labels, weights)
    np.testing.assert_allclose(found.relevance, expected, atol=1e-9)
    for (i, j), value in naive.pair_informations(codes, labels, weights).items():
        assert found.conditional[i, j] == pytest.approx(value, abs=1e-9)
    assert (np.diag(found.conditional) == 0).all()


def test_columns_of_more_pairs_than_a_table_holds_are_hashed():
    rng = np.random.default_rng(0)
    codes = rng.integers(90, size=(3, 100)).astype(np.uint16)
    sample = Sample(codes, rng.integers(3, size=100).astype(np.uint8), None, 3)
    found = measure_dependence(sample, np.full(3, 90))
    for (i, j), value in naive.pair_informations(codes, sample.labels, np.ones(100)).items():
        assert found.conditional[i, j] == pytest.approx(value, abs=1e-9)


def test_threads_change_no_bit():
    problem = draw_problem(0, a=7, weighted=True)
    expected = measure(problem)
    with Threads(3) as threads:
        found = measure(problem, threads)
    np.testing.assert_array_equal(found.conditional, expected.conditional)
    np.testing.assert_array_equal(found.relevance, expected.relevance)


def test_rows_without_weight_tell_nothing():
    problem = draw_problem(0)
    sample = Sample(problem.codes, problem.labels, np.zeros(60), 3)
    found = measure_dependence(sample, problem.cardinalities)
    assert not found.relevance.any()
    assert not found.conditional.any()


def test_a_small_source_is_measured_whole():
    problem = draw_problem(3, rows=200, weighted=True)
    found = dependence_of(problem.source(), Threads(1))
    np.testing.assert_array_equal(found.conditional, measure(problem).conditional)
