"""Weights in any unit: the mean of rows is brought near to 1, and strengths back."""

import numpy as np
import pytest

from deepbroad.data.source import ArraySource
from deepbroad.engine.weight_unit import divide_weights, weight_unit
from tests.engine.hierarchies import draw_nested
from tests.engine.problems import ONE_THREAD


def source_of(weights):
    problem = draw_nested(0, rows=12)
    source = problem.source()
    return ArraySource(
        source.codes, source.labels, source.n_classes, source.cardinalities,
        weights=weights, attributes=source.attributes,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("weight", "unit"),
    [(1.0, 1.0), (0.5, 1.0), (3.0, 1.0), (4.0, 10.0), (2e-7, 1e-7), (1e20, 1e20)],
)
def test_the_unit_is_the_power_of_ten_next_to_the_mean_of_rows_of_weight(weight, unit):
    weights = np.full(12, weight)
    weights[:6] = 0.0
    assert weight_unit(source_of(weights), ONE_THREAD) == pytest.approx(unit)


def test_rows_without_weights_weigh_one():
    source = source_of(None)
    assert weight_unit(source, ONE_THREAD) == 1.0
    np.testing.assert_array_equal(divide_weights(source, 4.0, ONE_THREAD).weights, 0.25)


def test_a_divided_part_has_the_same_rows():
    source = source_of(np.arange(12.0))
    divided = divide_weights(source, 2.0, ONE_THREAD)
    np.testing.assert_array_equal(divided.weights, np.arange(12) / 2)
    assert divided.codes is source.codes
    np.testing.assert_array_equal(divided.attributes, source.attributes)
    assert divided.n_given == source.n_given
