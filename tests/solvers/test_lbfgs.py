"""L-BFGS finds minima, tells how it got there, and lets itself be stopped."""

from itertools import pairwise

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from deepbroad.solvers import LBFGS


class Counted:
    """An objective that remembers where it was evaluated."""

    def __init__(self, function):
        self.function = function
        self.losses = []

    def __call__(self, u):
        loss, gradient = self.function(u)
        self.losses.append(loss)
        return loss, gradient


def quadratic(seed=0, size=12):
    """Return ½ (u - c)ᵀ A (u - c) + 1, and c."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(size, size))
    matrix = root @ root.T + 0.1 * np.eye(size)
    centre = rng.normal(size=size)

    def value(u):
        gradient = matrix @ (u - centre)
        return 1 + 0.5 * float((u - centre) @ gradient), gradient

    return value, centre


def rosenbrock(u):
    x, y = u
    slope = y - x * x
    return (1 - x) ** 2 + 100 * slope**2, np.array([2 * (x - 1) - 400 * x * slope, 200 * slope])


def test_the_minimum_of_a_quadratic_is_found():
    value, centre = quadratic()
    found = LBFGS(tol=1e-14).minimise(value, np.zeros(len(centre)))
    np.testing.assert_allclose(found.u, centre, atol=1e-5)
    assert found.loss == pytest.approx(1, abs=1e-10)
    assert found.status == "converged"


def test_the_end_of_rosenbrocks_valley_is_found():
    found = LBFGS(tol=1e-12).minimise(rosenbrock, np.array([-1.2, 1.0]))
    np.testing.assert_allclose(found.u, [1, 1], atol=1e-5)
    assert found.status == "converged"


def test_a_start_at_the_minimum_is_converged_at_once():
    value, centre = quadratic()
    found = LBFGS().minimise(value, centre)
    assert found.status == "converged"
    assert found.n_iter <= 1
    np.testing.assert_array_equal(found.u, centre)


def test_the_start_is_left_as_it_was():
    value, centre = quadratic()
    start = np.zeros(len(centre))
    LBFGS().minimise(value, start)
    assert not start.any()


def test_curves_begin_at_the_start_and_the_loss_curve_never_rises():
    objective = Counted(rosenbrock)
    start = np.array([-1.2, 1.0])
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
    found = LBFGS(max_iter=max_iter, tol=0).minimise(rosenbrock, np.array([-1.2, 1.0]))
    assert found.status == "max_iter"
    assert found.n_iter == max_iter


def test_no_iteration_evaluates_the_start_alone():
    objective = Counted(rosenbrock)
    start = np.array([-1.2, 1.0])
    found = LBFGS(max_iter=0).minimise(objective, start)
    assert found.status == "max_iter"
    assert found.n_iter == 0
    assert found.loss_curve == found.evaluation_curve == [rosenbrock(start)[0]]
    np.testing.assert_array_equal(found.u, start)


def test_a_looser_tolerance_stops_earlier_at_a_loss_not_much_higher():
    value, centre = quadratic(size=40)
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
        rosenbrock, np.array([-1.2, 1.0]), callbacks=[lambda progress: seen.append(progress)]
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
        np.array([-1.2, 1.0]),
        callbacks=[lambda progress: progress.iteration == 4, lambda p: others.append(p.iteration)],
    )
    assert found.status == "stopped"
    assert found.n_iter == 4
    assert others == [0, 1, 2, 3, 4]
    assert rosenbrock(found.u)[0] == found.loss == min(found.evaluation_curve)


def test_a_callback_that_stops_at_the_start_lets_no_iteration_happen():
    found = LBFGS().minimise(rosenbrock, np.array([-1.2, 1.0]), callbacks=[lambda progress: True])
    assert found.status == "stopped"
    assert found.n_iter == 0


@pytest.mark.parametrize("after", [2, 10])
def test_ctrl_c_inside_the_objective_keeps_the_best_so_far(after):
    objective = Counted(rosenbrock)

    def interrupted(u):
        if len(objective.losses) == after:
            raise KeyboardInterrupt
        return objective(u)

    found = LBFGS().minimise(interrupted, np.array([-1.2, 1.0]))
    assert found.status == "interrupted"
    assert found.loss == min(objective.losses)
    assert rosenbrock(found.u)[0] == found.loss


def test_ctrl_c_in_a_callback_keeps_the_best_so_far():
    def press(progress):
        if progress.iteration == 3:
            raise KeyboardInterrupt

    found = LBFGS().minimise(rosenbrock, np.array([-1.2, 1.0]), callbacks=[press])
    assert found.status == "interrupted"
    assert found.n_iter == 3
    assert rosenbrock(found.u)[0] == found.loss == min(found.evaluation_curve)


def test_any_other_error_of_the_objective_is_raised():
    def broken(u):
        raise ZeroDivisionError("of the objective")

    with pytest.raises(ZeroDivisionError, match="of the objective"):
        LBFGS().minimise(broken, np.zeros(2))


def test_a_loss_that_is_not_a_number_is_never_taken_for_converged():
    def value(u):
        return np.nan, np.full(2, np.nan)

    assert LBFGS().minimise(value, np.zeros(2)).status != "converged"


def test_a_search_that_breaks_off_while_the_loss_still_falls_has_stalled():
    objective = Counted(rosenbrock)

    def misleading(u):
        loss, gradient = objective(u)
        return loss, gradient if len(objective.losses) < 8 else -gradient

    found = LBFGS(tol=1e-6).minimise(misleading, np.array([-1.2, 1.0]))
    assert found.status == "stalled"
    assert found.loss == min(objective.losses)


def test_blas_has_one_thread_during_the_search_and_its_own_again_after():
    def threads():
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    seen = set()

    def value(u):
        seen.update(threads())
        return rosenbrock(u)

    with threadpool_limits(2, user_api="blas"):
        before = threads()
        LBFGS().minimise(value, np.array([-1.2, 1.0]))
        assert threads() == before
    assert seen <= {1}


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
