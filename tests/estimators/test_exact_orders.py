"""Models of tuples of one order alone, whose depth is chosen."""

import numpy as np
import pytest

from deepbroad import DBLClassifier


@pytest.mark.parametrize("depth", [1, 2])
def test_the_depth_of_exact_orders_is_the_best_of_all_that_are_tried(depth):
    rng = np.random.default_rng(5)
    X = rng.integers(0, 4, (800, 4)).astype(str)
    high = (X > "1")[:, :depth]
    y = (rng.random(800) < np.where(high.sum(axis=1) % 2, 0.9, 0.1)).astype(int)
    model = DBLClassifier(orders="exact").fit(X, y)
    assert model.selection_["n"] == depth
    assert {trial["order"] for trial in model.selection_["trials"]} >= {1, 2}
    assert set(map(len, model.terms_)) == {depth}
    given = [DBLClassifier(n=n, orders="exact").fit(X, y).selection_["loss"] for n in (1, 2, 3)]
    # A deeper order must be better by more than chance.
    assert model.selection_["loss"] <= 1.02 * min(given)
