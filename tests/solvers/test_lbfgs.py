"""L-BFGS finds minima, tells how it got there, and lets itself be stopped."""

from itertools import pairwise

import numpy as np
import pytest

from deepbroad.solvers import LBFGS
from tests.solvers.problems import VALLEY, Counted, quadratic, rosenbrock


def test_the_minimum_of_a_quadratic_is_found():
    value, centre, _ = quadratic()
    found = LBFGS(tol=1e-14).minimise(value, np.zeros(len(centre)))
    np.testing.assert_allclose(found.u, centre, atol=1e-5)
    assert found.loss == pytest.approx(1, abs=1e-10)
    assert found.status == "converged"


def test_the_end_of_rosenbrocks_valley_is_found():
    found = LBFGS(tol=1e-12).minimise(rosenbrock, VALLEY)
    np.testing.assert_allclose(found.u, [1, 1], atol=1e-5)
    assert found.status == "converged"


def test_a_start_at_the_minimum_is_converged_at_once():
    value, centre, _ = quadratic()
    found = LBFGS().minimise(value, centre)
    assert found.status == "converged"
    assert found.n_iter <= 1
    np.testing.assert_array_equal(found.u, centre)


def test_the_start_is_left_as_it_was():
    value, centre, _ = quadratic()
    start = np.zeros(len(centre))
    LBFGS().minimise(value, start)
    assert not start.any()


def test_curves_begin_at_the_start_and_the_loss_curve_never_rises():
    objective = Counted(rosenbrock)
    start = VALLEY
    found = LBFGS(tol=1e-12).minimise(objective, start)
    assert found.loss_curve[0] == found.evaluation_curve[0] == rosenbrock(start)[0]
    assert found.evaluation_curve == objective.losses
    assert len(found.loss_curve) == found.n_iter + 1
    assert len(found.evaluation_curve) >= len(found.loss_curve)
    assert (np.diff(found.loss_curve) <= 0).all()
    assert set(found.loss_curve) <= set(found.evaluation_curve)
    assert found.loss == min(found.evaluation_curve)
    assert rosenbrock(found.u)[0] == found.loss


@pytest.mark.parametrize("max_iter", [1, 3])
def test_iterations_end_at_max_iter(max_iter):
    found = LBFGS(max_iter=max_iter, tol=0).minimise(rosenbrock, VALLEY)
    assert found.status == "max_iter"
    assert found.n_iter == max_iter


def test_no_iteration_evaluates_the_start_alone():
    objective = Counted(rosenbrock)
    start = VALLEY
    found = LBFGS(max_iter=0).minimise(objective, start)
    assert found.status == "max_iter"
    assert found.n_iter == 0
    assert found.loss_curve == found.evaluation_curve == [rosenbrock(start)[0]]
    np.testing.assert_array_equal(found.u, start)


def test_a_looser_tolerance_stops_earlier_at_a_loss_not_much_higher():
    value, centre, _ = quadratic(size=40)
    loose = LBFGS(tol=1e-2).minimise(value, np.zeros(len(centre)))
    tight = LBFGS(tol=1e-12).minimise(value, np.zeros(len(centre)))
    assert loose.status == tight.status == "converged"
    assert loose.n_iter < tight.n_iter
    assert tight.loss < loose.loss
    last = loose.loss_curve[-6:]
    assert last[0] - last[-1] <= 5 * 1e-2 * last[-1]


def test_a_callback_sees_every_iteration():
    seen = []
    found = LBFGS(max_iter=30).minimise(
        rosenbrock, VALLEY, callbacks=[lambda progress: seen.append(progress)]
    )
    assert [progress.iteration for progress in seen] == list(range(found.n_iter + 1))
    assert [progress.loss for progress in seen] == found.loss_curve
    assert seen[0].evaluations == 1
    assert seen[-1].evaluations == len(found.evaluation_curve)
    assert all(progress.max_iter == 30 for progress in seen)
    assert seen[-1].gradient_norm < seen[0].gradient_norm
    assert all(a.seconds <= b.seconds for a, b in pairwise(seen))


def test_a_callback_that_returns_true_stops_the_search_and_others_still_run():
    others = []
    found = LBFGS().minimise(
        rosenbrock,
        VALLEY,
        callbacks=[lambda progress: progress.iteration == 4, lambda p: others.append(p.iteration)],
    )
    assert found.status == "stopped"
    assert found.n_iter == 4
    assert others == [0, 1, 2, 3, 4]
    assert rosenbrock(found.u)[0] == found.loss == min(found.evaluation_curve)


def test_a_callback_that_stops_at_the_start_lets_no_iteration_happen():
    found = LBFGS().minimise(rosenbrock, VALLEY, callbacks=[lambda progress: True])
    assert found.status == "stopped"
    assert found.n_iter == 0


@pytest.mark.parametrize("after", [2, 10])
def test_ctrl_c_inside_the_objective_keeps_the_best_so_far(after):
    objective = Counted(rosenbrock)

    def interrupted(u):
        if len(objective.losses) == after:
            raise KeyboardInterrupt
        return objective(u)

    found = LBFGS().minimise(interrupted, VALLEY)
    assert found.status == "interrupted"
    assert found.loss == min(objective.losses)
    assert rosenbrock(found.u)[0] == found.loss


def test_ctrl_c_in_a_callback_keeps_the_best_so_far():
    def press(progress):
        if progress.iteration == 3:
            raise KeyboardInterrupt

    found = LBFGS().minimise(rosenbrock, VALLEY, callbacks=[press])
    assert found.status == "interrupted"
    assert found.n_iter == 3
    assert rosenbrock(found.u)[0] == found.loss == min(found.evaluation_curve)


def test_any_other_error_of_the_objective_is_raised():
    def broken(u):
        raise ZeroDivisionError("of the objective")

    with pytest.raises(ZeroDivisionError, match="of the objective"):
        LBFGS().minimise(broken, np.zeros(2))


@pytest.mark.parametrize("loss", [np.nan, np.inf, 1.0])
def test_a_start_that_is_not_finite_is_an_error(loss):
    def value(u):
        return loss, np.array([1.0, np.nan if loss == 1.0 else 0.0])

    with pytest.raises(FloatingPointError, match="not finite at the start"):
        LBFGS().minimise(value, np.zeros(2))


@pytest.mark.parametrize("beyond", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("in_gradient", [False, True])
def test_a_step_to_where_there_is_no_loss_is_too_long(beyond, in_gradient):
    # -log(1 - u) has its pole right behind the minimum of the sum, and the first step crosses it.
    def barrier(u):
        if u[0] >= 1:
            return (5.0, np.array([beyond])) if in_gradient else (beyond, np.zeros(1))
        return -np.log(1 - u[0]) - 50 * u[0], np.array([1 / (1 - u[0]) - 50])

    objective = Counted(barrier)
    found = LBFGS(tol=1e-14).minimise(objective, np.zeros(1))
    assert found.u[0] == pytest.approx(0.98, abs=1e-6)
    assert found.status == "converged"
    assert (np.diff(found.loss_curve) <= 0).all()
    assert any(loss in (5.0, beyond) or np.isnan(loss) for loss in objective.losses)


def test_an_objective_may_write_its_gradients_to_one_array():
    buffer = np.empty(2)

    def thrifty(u):
        loss, buffer[:] = rosenbrock(u)
        return loss, buffer

    assert (
        LBFGS().minimise(thrifty, VALLEY).evaluation_curve
        == LBFGS().minimise(rosenbrock, VALLEY).evaluation_curve
    )


def test_gradients_of_single_precision_or_with_strides_are_taken():
    def strided(u):
        return float(u @ u), np.repeat(2 * u, 2).astype(np.float32)[::2]

    np.testing.assert_allclose(LBFGS().minimise(strided, np.ones(3)).u, 0, atol=1e-6)


def test_no_parameters_are_converged_at_once():
    found = LBFGS().minimise(lambda u: (1.0, np.zeros(0)), np.zeros(0))
    assert (found.status, found.n_iter, found.loss) == ("converged", 0, 1.0)


def test_the_lowest_trial_of_a_line_search_broken_off_is_kept_to_the_bit():
    # The first step, of length 1, is far too short: the search doubles it and is cut short there.
    objective = Counted(lambda u: (float((u - 1e3) @ (u - 1e3)), 2 * (u - 1e3)))

    def interrupted(u):
        if len(objective.losses) == 3:
            raise KeyboardInterrupt
        return objective(u)

    found = LBFGS().minimise(interrupted, np.arange(7.0))
    assert found.n_iter < 2
    assert found.loss == min(objective.losses) == objective.function(found.u)[0]


def test_a_search_that_breaks_off_while_the_loss_still_falls_has_stalled():
    objective = Counted(rosenbrock)

    def misleading(u):
        loss, gradient = objective(u)
        return loss, gradient if len(objective.losses) < 8 else -gradient

    found = LBFGS(tol=1e-6).minimise(misleading, VALLEY)
    assert found.status == "stalled"
    # Not to the bit: of a direction that was given up no trial is kept.
    assert found.loss == pytest.approx(min(objective.losses), rel=1e-14)
    assert found.loss == rosenbrock(found.u)[0] <= found.loss_curve[-1]


def test_preconditioning_finds_the_same_minimum_in_fewer_evaluations():
    # Curvatures over four orders of magnitude, known to the solver up to a factor of 3.
    h = np.logspace(-2, 2, 60)
    centre = np.linspace(-1, 1, 60)
    rough = h * np.resize([1 / 3, 1.0, 3.0], 60)

    def bowl(u):
        return 0.5 * float(h @ (u - centre) ** 2) + 1.0, h * (u - centre)

    plain = LBFGS(tol=1e-12, preconditioning=0.0).minimise(bowl, np.zeros(60), curvature=rough)
    eager = LBFGS(tol=1e-12).minimise(bowl, np.zeros(60), curvature=rough)
    np.testing.assert_allclose(eager.u, centre, atol=1e-3)
    assert eager.loss == pytest.approx(plain.loss, abs=1e-9)
    assert len(eager.evaluation_curve) < len(plain.evaluation_curve)


def test_without_curvature_nothing_is_preconditioned():
    def bowl(u):
        return float(u @ u), 2 * u

    solutions = [
        LBFGS(preconditioning=q).minimise(bowl, np.array([3.0, -1.0])) for q in (0.0, 0.25)
    ]
    assert solutions[0].evaluation_curve == solutions[1].evaluation_curve


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_curvature_may_be_of_either_precision(dtype):
    value, centre, diagonal = quadratic(size=20)
    found = LBFGS(tol=1e-14).minimise(value, np.zeros(20), curvature=diagonal.astype(dtype))
    np.testing.assert_allclose(found.u, centre, atol=1e-5)


def test_a_history_of_nothing_is_refused():
    with pytest.raises(ValueError, match="at least 1, got 0"):
        LBFGS(history=0)
