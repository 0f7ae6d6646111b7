"""Scores that follow a stream: drawn to those before, as firmly as rows made them."""

import numpy as np

from deepbroad.engine.online import LATER, Before, Learned, Scored, anchor, anchor_classes, average
from deepbroad.model.objective import Design


def before_of(counts, cells, classes, *, known=None, batches=1):
    counts, cells = np.asarray(counts, float), np.asarray(cells, float)
    known = np.broadcast_to(counts.any(axis=1)[:, None], counts.shape) if known is None else known
    scored = Scored(np.asarray(classes, float), cells)
    return Before(counts.sum(axis=0), counts, np.asarray(known), Learned(scored, scored, batches))


def design_of(scale):
    scale = np.asarray(scale, float)
    n_classes = scale.shape[1]
    return Design(scale, 0.5, 0.0, 2.0, np.full(n_classes, -1.0), np.ones(n_classes))


def test_cells_are_drawn_to_the_scores_before_the_more_the_more_rows_they_had():
    counts = [[30, 10], [3, 1], [0, 0]]
    before = before_of(counts, [[-4.0, 2.0], [1.0, -1.0], [0, 0]], [0.5, -0.5])
    design = anchor(design_of([[-2.0, -1.0]] * 3), before, np.arange(3))
    np.testing.assert_allclose(design.target, [[2.0, -2.0], [-0.5, 1.0], [0.0, 0.0]])
    np.testing.assert_allclose(design.start, [[2.0, -2.0], [-0.5, 1.0], [0.5, 0.5]])
    firmness = design.strength - 2.0
    assert (firmness[0] > 5 * firmness[1]).all()
    assert (firmness[1] > 0).all()
    assert (firmness[2] == 0).all()
    np.testing.assert_allclose(design.class_start, [-0.5, 0.5])


def test_a_new_class_is_as_a_first_batch_has_it():
    known = np.array([[True, False]])
    before = before_of([[5, 0]], [[1.0, 0.0]], [0.25, 0.0], known=known)
    design = anchor(design_of([[1.0, 1.0]]), before, np.arange(1))
    assert design.start.tolist() == [[1.0, 0.5]]
    assert design.target.tolist() == [[1.0, 0.0]]
    assert design.strength[0, 1] == 2.0
    assert design.class_start.tolist() == [-0.25, 1.0]
    learned = average(before, Scored(np.array([1.0, 7.0]), np.array([[3.0, 9.0]])))
    assert learned.mean.cells[0, 1] == 9.0
    assert learned.mean.classes[1] == 7.0


def test_class_scores_are_drawn_back_by_a_gradient_that_matches_the_loss():
    before = before_of([[30, 10], [3, 1]], np.zeros((2, 2)), [0.5, -0.5])

    def flat(classes, cells, gradient):
        return 0.0, np.zeros(2)

    run = anchor_classes(flat, before)
    point, step = np.array([1.5, 0.25]), 1e-6
    loss, gradient = run(point, None, None)
    for c in range(2):
        ahead = run(point + step * np.eye(2)[c], None, None)[0]
        np.testing.assert_allclose((ahead - loss) / step, gradient[c], rtol=1e-4)
    assert run(np.array([0.5, -0.5]), None, None)[0] == 0.0


def test_the_mean_weighs_later_batches_more():
    before = before_of([[1, 1]], [[0.0, 0.0]], [0.0, 0.0], batches=3)
    learned = average(before, Scored(np.ones(2), np.ones((1, 2))))
    share = LATER / (4 + LATER - 1)
    assert share > 1 / 4
    np.testing.assert_allclose(learned.mean.cells, share)
    np.testing.assert_allclose(learned.mean.classes, share)
    assert learned.batches == 4
    np.testing.assert_array_equal(learned.last.cells, 1.0)
