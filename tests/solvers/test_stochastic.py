"""Stochastic gradient descent on objectives whose minimum is known."""

import numpy as np
import pytest

from deepbroad.kernels.steps import Pull, take_step
from deepbroad.kernels.threads import Threads
from deepbroad.solvers import SGD
from deepbroad.solvers.walk import CHANCE, Judged

ROWS, COLUMNS, BATCHES = 600, 12, 6


class Bowls:
    """Least squares in batches: mean over batches of ½ mean (a·u - b)², plus ½ λ (u - t)²."""

    def __init__(self, seed: int = 0, strength: float = 0.1, noise: float = 0.5) -> None:
        random = np.random.default_rng(seed)
        self.A = random.normal(size=(ROWS, COLUMNS)) * np.geomspace(0.3, 3, COLUMNS)
        self.b = self.A @ random.normal(size=COLUMNS) + noise * random.normal(size=ROWS)
        self.strength = strength
        self.n_batches = BATCHES
        self.calls: list[tuple[int, int]] = []
        self.judged = 0

    @property
    def pull(self) -> Pull:
        return Pull(np.full(COLUMNS, self.strength), np.ones(COLUMNS))

    @property
    def curvature(self) -> np.ndarray:
        return (self.A**2).mean(axis=0) + self.strength

    def batch(self, u: np.ndarray, cycle: int, number: int) -> tuple[float, np.ndarray]:
        self.calls.append((cycle, number))
        order = np.random.default_rng(cycle).permutation(ROWS)[number::BATCHES]
        A, rest = self.A[order], self.A[order] @ u - self.b[order]
        return 0.5 * float((rest**2).mean()), A.T @ rest / len(rest)

    def held_loss(self, u: np.ndarray) -> float:
        self.judged += 1
        pull = 0.5 * self.strength * ((u - 1.0) ** 2).sum()
        return 0.5 * float(((self.A @ u - self.b) ** 2).mean()) + float(pull)

    def judge(self, u: np.ndarray) -> Judged:
        return Judged(self.held_loss(u), 0.0)

    @property
    def minimum(self) -> np.ndarray:
        """By the normal equations."""
        left = self.A.T @ self.A / ROWS + self.strength * np.eye(COLUMNS)
        return np.linalg.solve(left, self.A.T @ self.b / ROWS + self.strength)


def walk(problem: Bowls, **settings):
    state = settings.pop("state", None)
    callbacks = settings.pop("callbacks", ())
    return SGD(**settings).minimise(
        problem, np.zeros(COLUMNS), curvature=problem.curvature, callbacks=callbacks, state=state
    )


@pytest.mark.parametrize("strength", [0.0, 0.1, 1000.0])
def test_the_minimum_is_found(strength):
    problem = Bowls(strength=strength)
    found = walk(problem, max_iter=300, tol=1e-9)
    best = problem.held_loss(problem.minimum)
    assert found.loss == problem.held_loss(found.u)
    assert found.loss <= best * (1 + 1e-3)


def test_a_scale_of_the_parameters_does_not_matter():
    """Steps are of distances gone, not of units."""
    losses = []
    for scale in (1e-3, 1.0, 1e3):
        problem = Bowls(strength=0.0)
        problem.A *= scale
        losses.append(walk(problem, max_iter=5, tol=0.0).loss)
    np.testing.assert_allclose(losses, losses[0], rtol=0.05)


def test_every_pass_takes_every_batch_once():
    problem = Bowls()
    found = walk(problem, max_iter=3, tol=0.0, caution=0.1)
    first, *rest = problem.calls
    assert first == rest[0] == (0, 0)  # the curvature along the first gradient takes one more
    assert rest == [(cycle, number) for cycle in range(3) for number in range(BATCHES)]
    assert (found.n_iter, len(found.evaluation_curve), len(found.loss_curve)) == (3, 3, 4)
    assert found.status == "max_iter"


def test_passes_that_bring_nothing_end_the_walk():
    problem = Bowls()
    found = walk(problem, max_iter=1000, tol=0.003, caution=1.0)
    curve = found.loss_curve
    assert found.status == "converged"
    assert found.n_iter < 100
    best = np.minimum.accumulate(curve)
    gains = best[:-1] - np.array(curve[1:])
    small = gains <= 0.003 * np.array(curve[1:])
    assert small[-2:].all()
    assert not (small[:-2] & small[1:-1]).any()
    assert min(curve) <= found.loss <= 1.003 * min(curve)


@pytest.mark.parametrize("after", [0, 1, 2, 5])
def test_a_walk_that_resumes_takes_the_same_steps(after):
    kept = []

    def keep(progress):
        if progress.iteration == after:
            kept.append(progress.state().copy())

    # Steps far too long at first: the walk goes back on its way.
    settings = {"max_iter": 9, "tol": -np.inf, "caution": 30.0}
    whole = walk(Bowls(), **settings, callbacks=[keep])
    again = walk(Bowls(), **settings, state=kept[0])
    assert (np.diff(whole.loss_curve) > 0).any()
    assert np.array_equal(whole.u, again.u)
    assert whole.loss_curve == again.loss_curve
    assert whole.evaluation_curve == again.evaluation_curve


def test_a_rise_is_answered_by_shorter_steps_from_the_best_point(monkeypatch):
    monkeypatch.setattr("deepbroad.solvers.walk.OVERSHOT", np.inf)
    cautions = []
    problem = Bowls()
    found = walk(
        problem,
        max_iter=40,
        tol=-np.inf,
        caution=100.0,
        callbacks=[lambda progress: cautions.append(progress.state().caution)],
    )
    best = np.minimum.accumulate(found.loss_curve[:-1])
    rises = np.array(found.loss_curve[:-1]) > (1 + CHANCE) * best
    assert rises.any()
    halved = np.array(cautions[1:]) < np.array(cautions[:-1])
    assert (halved == rises).all()
    assert found.loss < 1.1 * problem.held_loss(problem.minimum)


def test_a_batch_that_went_too_far_turns_the_walk_back_at_once(monkeypatch):
    curves = {}
    for overshot in (np.inf, 3.0):
        monkeypatch.setattr("deepbroad.solvers.walk.OVERSHOT", overshot)
        found = walk(Bowls(), max_iter=1, tol=-np.inf, caution=100.0)
        curves[overshot] = found.loss_curve
        assert found.loss == min(found.loss_curve)
    start = curves[3.0][0]
    assert curves[3.0][1] < 3.0 * start < curves[np.inf][1]


@pytest.mark.parametrize(("noise", "turns"), [(0.04, False), (0.2, True)])
def test_a_rise_that_may_be_chance_does_not_turn_the_walk_back(noise, turns):
    """Half of the step size, and a pass, would be lost by the noise of few held-out rows."""

    class Noisy(Bowls):
        def held_loss(self, u):
            return super().held_loss(u) * (1 + noise * (-1) ** self.judged)

    cautions = []

    def note(progress):
        cautions.append(progress.state().caution)

    found = walk(Noisy(), max_iter=20, tol=0.0, caution=0.3, callbacks=[note])
    best = np.minimum.accumulate(found.loss_curve)
    assert (np.array(found.loss_curve) > best)[:-1].any()
    assert (cautions[-1] < 0.3) == turns


def test_after_a_rise_the_walk_keeps_the_pace_of_its_best_point():
    """Passes that found out how far to go are not wasted by one that went too far."""

    class Bumpy(Bowls):
        def held_loss(self, u):
            return super().held_loss(u) * (1.5 if self.judged in (4, 8) else 1.0)

    states = []
    walk(
        Bumpy(),
        max_iter=12,
        tol=-np.inf,
        callbacks=[lambda progress: states.append(progress.state().copy())],
    )
    losses = np.array([state.loss_curve[-1] for state in states])
    best = np.minimum.accumulate(losses)
    rises = np.flatnonzero(losses[1:-1] > (1 + CHANCE) * best[1:-1]) + 1
    assert len(rises) == 2
    for after in rises:
        best = states[int(losses[: after + 1].argmin())]
        assert best.steps > 0
        assert states[after + 1].radius >= best.radius
        assert states[after + 1].steps == best.steps + BATCHES


def test_steps_shrink_to_nothing_over_the_passes_that_are_planned(monkeypatch):
    sizes = []

    def spy(*arguments):
        sizes.append(arguments[-1][1])
        return take_step(*arguments)

    monkeypatch.setattr("deepbroad.solvers.walk.take_step", spy)
    found = walk(Bowls(), max_iter=100, tol=2e-3, caution=0.01)
    shares = np.array(sizes)
    assert found.status == "converged"
    assert found.n_iter <= 10
    walk(Bowls(), max_iter=4, tol=-np.inf, caution=0.01)
    last = sizes[len(shares) :]
    assert len(last) == 4 * BATCHES
    assert last[-1] < 0.1 * max(last)


def test_steps_shrink_to_nothing_in_the_pass_after_one_that_gained_nothing(monkeypatch):
    sizes = []

    def spy(*arguments):
        sizes.append(arguments[-1][1])
        return take_step(*arguments)

    problem = Bowls()
    # Held-out losses that fall, stay, fall again, and stay.
    told = iter([1000.0, 500.0, 500.0, 250.0, 250.0, 250.0, 100.0])
    monkeypatch.setattr(problem, "held_loss", lambda u: next(told))
    monkeypatch.setattr("deepbroad.solvers.walk.take_step", spy)
    found = walk(problem, max_iter=100, tol=2e-3)
    assert (found.status, found.n_iter) == ("converged", 5)
    passes = np.array(sizes).reshape(5, BATCHES)
    shrunk = passes[:, -1] / passes[:, 0] < 0.3
    assert shrunk.tolist() == [False, False, True, False, True]


def test_a_walk_that_first_leads_away_from_the_start_does_not_end_there(monkeypatch):
    problem = Bowls()
    told = iter([100.0, 105.0, 104.0, 90.0, 80.0, 80.0, 80.0, 80.0])
    monkeypatch.setattr(problem, "held_loss", lambda u: next(told))
    found = walk(problem, max_iter=100, tol=2e-3)
    assert (found.status, found.n_iter, found.loss) == ("converged", 6, 80.0)


def test_a_start_that_cannot_be_bettered_ends_the_walk(monkeypatch):
    problem = Bowls()
    monkeypatch.setattr(problem, "held_loss", lambda u: 100.0)
    found = walk(problem, max_iter=100, tol=2e-3)
    assert (found.status, found.n_iter) == ("converged", 2)


def test_a_penalty_that_outweighs_the_held_out_rows_counts(monkeypatch):
    problem = Bowls()
    # The loss rises, F falls to a tenth; then both stay.
    told = iter([Judged(1.0, 99.0), Judged(2.0, 8.0), Judged(2.0, 8.0), Judged(2.0, 8.0)])
    monkeypatch.setattr(problem, "judge", lambda u: next(told))
    found = walk(problem, max_iter=100, tol=2e-3)
    assert (found.status, found.n_iter, found.loss) == ("converged", 3, 2.0)
    assert found.u.any()  # not the start, which is 0


@pytest.mark.parametrize(
    ("max_iter", "tol", "passes"),
    [(500, 2e-3, 10), (3, 2e-3, 3), (500, 2e-5, 100), (50, 2e-5, 50), (500, 0.0, 500), (9, 0.1, 2)],
)
def test_the_smaller_the_tolerance_the_more_passes_are_planned(max_iter, tol, passes):
    assert SGD(max_iter=max_iter, tol=tol).horizon == passes


def test_what_ends_as_planned_has_converged_and_what_was_cut_short_has_not():
    class Steady(Bowls):
        def held_loss(self, u):
            return super().held_loss(u) * 0.5**self.judged

    planned, cut = (walk(Steady(), max_iter=m, tol=2e-3, caution=1e-3) for m in (50, 5))
    assert (planned.status, planned.n_iter) == ("converged", 10)
    assert (cut.status, cut.n_iter) == ("max_iter", 5)


def test_the_past_counts_for_more_as_the_walk_goes_on(monkeypatch):
    weights = []

    def spy(*arguments):
        weights.append(arguments[-1][0])
        return take_step(*arguments)

    monkeypatch.setattr("deepbroad.solvers.walk.take_step", spy)
    walk(Bowls(), max_iter=20, tol=-np.inf, caution=0.01)
    assert weights[0] < 0.1
    assert (np.diff(weights) >= 0).all()
    assert weights[-1] == 0.9  # of ten steps at least, where a quarter of a pass has fewer


def test_callbacks_and_ctrl_c_keep_the_best_mean():
    def stop(progress):
        return progress.iteration == 2

    stopped = walk(Bowls(), callbacks=[stop])
    assert (stopped.status, stopped.n_iter) == ("stopped", 2)

    def interrupt(progress):
        if progress.iteration == 2:
            raise KeyboardInterrupt

    interrupted = walk(Bowls(), callbacks=[interrupt])
    assert interrupted.status == "interrupted"
    assert np.array_equal(interrupted.u, stopped.u)


def test_threads_change_no_bit():
    found = []
    for count in (1, 2):
        with Threads(count) as threads:
            problem = Bowls()
            found.append(SGD(max_iter=3).minimise(problem, np.zeros(COLUMNS), threads=threads).u)
    assert np.array_equal(*found)


def test_a_start_without_a_loss_is_refused():
    problem = Bowls()
    problem.b[0] = np.nan
    with pytest.raises(FloatingPointError, match="not finite at the start"):
        walk(problem)


def test_a_state_of_another_problem_is_refused():
    kept = []
    walk(Bowls(), max_iter=1, callbacks=[lambda progress: kept.append(progress.state().copy())])
    with pytest.raises(ValueError, match="over 12 parameters, not 5"):
        SGD().minimise(Bowls(), np.zeros(5), state=kept[0])
