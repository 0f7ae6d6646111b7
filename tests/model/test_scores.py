"""Score tables by columns, in whatever order of axes."""

import numpy as np
import pytest

from deepbroad.model.scores import ScoreTables
from tests.engine.problems import draw_problem


@pytest.fixture
def tables():
    problem = draw_problem(0, a=4, n_classes=3)
    plan = problem.plan(2, [(3, 1), (0,), (2,)])
    rng = np.random.default_rng(0)
    shape = (plan.terms.n_cells, 3)
    scale = -rng.uniform(0.1, 1, shape)
    scale[0] = 0
    return ScoreTables(plan, rng.normal(size=3), rng.normal(size=shape), scale)


def test_a_table_has_its_axes_in_the_order_asked_for(tables):
    v = tables.plan.terms.cardinalities
    table = tables.table((1, 3))
    assert table.shape == (v[1], v[3], 3)
    np.testing.assert_array_equal(table, tables.table((3, 1)).transpose(1, 0, 2))


def test_weights_times_scale_are_scores(tables):
    for t in range(len(tables.plan.terms)):
        columns = tables.plan.terms.tuple(t)
        cells = tables.cells_of(t)
        scale = tables.scale[cells].reshape(*tables.table(columns).shape)
        product = tables.table(columns, "weights") * scale
        np.testing.assert_allclose(product[scale != 0], tables.table(columns)[scale != 0])
    first = tables.table(tables.plan.terms.tuple(0), "weights")
    assert (first.reshape(-1, 3)[0] == 1).all()  # where log θ is 0, any weight will do


def test_unknown_tuples_are_refused(tables):
    for columns in [(0, 0), (0, 1, 2), (0,), (0, 9)]:
        with pytest.raises(KeyError):
            tables.table(columns)


def test_a_model_without_scale_has_no_weights(tables):
    plain = ScoreTables(tables.plan, tables.class_scores, tables.scores, None)
    with pytest.raises(ValueError, match="no generative side"):
        plain.table((0, 1), "weights")


def test_scores_can_be_reordered_for_another_plan_of_the_same_terms(tables):
    plan = draw_problem(0, a=4, n_classes=3).plan(2, [(2, 0), (1,), (3,)])
    assert tables.has_terms_of(plan)
    other = tables.reordered(plan)
    for t in range(len(plan.terms)):
        columns = plan.terms.tuple(t)
        np.testing.assert_array_equal(other.table(columns), tables.table(columns))


def test_relative_scores_are_less_those_of_the_first_class(tables):
    classes, cells = tables.relative()
    np.testing.assert_allclose(classes, tables.class_scores[1:] - tables.class_scores[0])
    np.testing.assert_allclose(cells, tables.scores[:, 1:] - tables.scores[:, [0]])


def test_bytes_are_those_of_the_arrays(tables):
    n_cells = tables.plan.terms.n_cells
    assert tables.nbytes == 8 * 3 * (2 * n_cells + 1)
