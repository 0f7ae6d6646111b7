"""The losses that there are, and the order in which a fit minimises them."""

import pytest

from deepbroad.model.loss import LOG_LOSS, LOSSES, MSE, SQUARED_HINGE, Loss


def test_losses_are_found_by_their_names():
    assert list(LOSSES) == ["log_loss", "mse", "squared_hinge"]
    assert all(LOSSES[name].name == name for name in LOSSES)


def test_a_convex_loss_is_minimised_at_once():
    assert LOG_LOSS.stages == [LOG_LOSS]
    assert SQUARED_HINGE.stages == [SQUARED_HINGE]


def test_one_that_is_not_convex_comes_after_the_log_loss():
    assert MSE.stages == [LOG_LOSS, MSE]
    assert Loss("another", MSE.rows, after=MSE).stages[:2] == [LOG_LOSS, MSE]


@pytest.mark.parametrize("loss", LOSSES.values(), ids=list(LOSSES))
def test_only_the_squared_hinge_has_scores_that_are_no_log_odds(loss):
    assert loss.is_likelihood == (loss is not SQUARED_HINGE)
    assert loss.from_target == (loss is SQUARED_HINGE)
