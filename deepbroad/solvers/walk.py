"""One run of stochastic gradient descent: its steps and passes, and when it ends."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from math import isfinite, sqrt
from time import perf_counter
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

import numpy as np

from deepbroad.kernels.steps import probe_gradient, square_change, square_gradient, take_step
from deepbroad.solvers.chunks import Chunks
from deepbroad.solvers.solver import Callback, Moment, Progress, Runner, Solution, Status

if TYPE_CHECKING:
    from deepbroad.solvers.stochastic import StochasticObjective

# Weight of late points in the mean: the k-th has a share of (RECENT + 1)/(k + RECENT) when it
# comes, so that the mean is of about the last eighth of all points.
RECENT = 7
# The length, in the coordinates of the walk, over which the first curvature is taken.
PROBE = 1e-2
# The part of a gradient step that the walk begins with: a batch knows little of the curvature, and
# a radius that is too small grows within a few steps, where one that is too large overshoots.
FIRST = 0.1
# The part of the passes over which steps shrink to nothing.
FADING = 0.85
# A rise of the held-out loss by less than this part of it is no reason to go back: held-out rows
# are few, long steps are noisy, and shorter ones will come anyway.
CHANCE = 0.1
# A mean at which F by held-out rows is less than this part of what it is at the best one is better,
# whatever they lose: the penalty is so strong that they would not choose it.
OUTWEIGHED = 0.5
# A batch that loses so many times what F is by it at the best mean comes after a step that went too
# far: the walk goes back at once. Only those are looked at that lose as much more than the first
# batch at the start. Held-out rows have no part in that.
OVERSHOT = 3.0
# Passes without a gain after which the walk comes to its end: so many at least, and this share of
# those planned. Steps shrink to nothing in the pass that follows; if that gains nothing either, it
# was the last.
PATIENCE, SHARE_OF_PATIENCE = 1, 0.1
# The k-th gradient meets a past of weight k/(k + WARMING) at most: while the radius still grows,
# a long memory brings what was right some steps ago, and the walk overshoots.
WARMING = 10
# Then m is of a quarter of a pass: in longer ones, batches are many and each tells less. It is of
# ten steps at least.
MEMORY = 0.25
LEAST_MOMENTUM = 0.9


class Judged(NamedTuple):
    """What a point is by rows that no batch has: their mean loss, and the penalty, if it is apart.

    Where no rows are held out, the loss is F itself, and the penalty 0.
    """

    loss: float
    penalty: float

    @property
    def whole(self) -> float:
        """F by these rows."""
        return self.loss + self.penalty


class Settings(Protocol):
    """What a walk is told by its solver; see `SGD`."""

    @property
    def max_iter(self) -> int: ...  # noqa: D102
    @property
    def tol(self) -> float: ...  # noqa: D102
    @property
    def momentum(self) -> float: ...  # noqa: D102
    @property
    def caution(self) -> float: ...  # noqa: D102
    @property
    def horizon(self) -> int: ...  # noqa: D102


@dataclass
class WalkState:
    """Where a walk stands after a pass: enough to go on as if it had never stopped.

    Attributes
    ----------
    u, mean, best : ndarray of shape (n,)
        The point, the mean of the points, and the best mean.
    momentum, origin : ndarray of shape (n,)
        The running mean of gradients by z, and where the penalty alone would have led.
    radius, squares : float
        r, and the sum of r²·‖κg‖².
    caution : float
        a.
    ceiling : float
        What a batch may lose without being looked at; 0 before the first.
    steps, patience : int
        Steps so far, without those that the walk went back on, and passes since the last gain.
    best_loss, best_whole, lowest_loss, seconds : float
        The held-out loss at the best mean, the same with the penalty, and the lowest since that
        fell by much.
    best_radius, best_squares : float
    best_steps : int
        As they were at the best mean.
    loss_curve, evaluation_curve : list of float
        As in `Solution`.
    """

    # Whose last axis runs over the parameters.
    along_parameters: ClassVar[tuple[str, ...]] = ("u", "mean", "best", "momentum", "origin")

    u: np.ndarray
    mean: np.ndarray
    best: np.ndarray
    momentum: np.ndarray
    origin: np.ndarray
    radius: float
    squares: float
    caution: float
    ceiling: float
    steps: int
    patience: int
    best_loss: float
    best_whole: float
    lowest_loss: float
    best_radius: float
    best_squares: float
    best_steps: int
    seconds: float
    loss_curve: list[float]
    evaluation_curve: list[float]

    def __post_init__(self) -> None:
        # Kernels trust these, and a state may come from a file.
        vectors = [getattr(self, name) for name in self.along_parameters]
        if any(v.ndim != 1 or v.shape != self.u.shape or v.dtype.kind != "f" for v in vectors):
            raise ValueError("The arrays of the state do not belong together.")

    def copy(self) -> "WalkState":
        """Return a state of its own, which the walk does not change."""
        return deepcopy(self)


class Walk:
    """The point that a descent has reached, and how it got there.

    Vectors are those of the objective, u, and of z = u/κ, κ being the `scaling`.
    """

    def __init__(
        self,
        settings: Settings,
        objective: "StochasticObjective",
        scaling: np.ndarray,
        callbacks: Sequence[Callback],
        threads: Runner | None,
    ) -> None:
        self.settings, self.objective, self.callbacks = settings, objective, callbacks
        self.scaling = scaling
        self.chunks = Chunks(len(scaling), threads)
        self._pull = objective.pull
        past = 1.0 - 1.0 / (MEMORY * objective.n_batches)
        self._momentum = min(max(LEAST_MOMENTUM, past), settings.momentum)
        self._stopped = False
        self._norm = float("inf")  # ‖κg‖ of the latest batch
        self._began = perf_counter()

    def begin(self, start: np.ndarray) -> None:
        """Take over the start and judge it; callbacks may already stop there."""
        dtype = self.scaling.dtype
        self.state = WalkState(
            u=start,
            mean=start.copy(),
            best=start.copy(),
            momentum=np.zeros(len(start), dtype),
            origin=start.astype(dtype),
            radius=0.0,
            squares=0.0,
            caution=self.settings.caution,
            ceiling=0.0,
            steps=0,
            patience=0,
            best_loss=float("inf"),
            best_whole=float("inf"),
            lowest_loss=float("inf"),
            best_radius=0.0,
            best_squares=0.0,
            best_steps=0,
            seconds=0.0,
            loss_curve=[],
            evaluation_curve=[],
        )
        found = self.objective.judge(start)
        if not isfinite(found.whole):
            raise FloatingPointError(
                f"The objective is not finite at the start: it is {found.whole}."
            )
        self._judge(found)

    def resume(self, state: WalkState, length: int) -> None:
        """Go on from a state, whose arrays are taken over."""
        if state.u.shape != (length,):
            raise ValueError(
                f"The state is of a walk over {state.u.size} parameters, not {length}."
            )
        if not state.loss_curve:
            raise ValueError("The state is of a walk that has not begun.")
        self.state, dtype = state, self.scaling.dtype
        for name, kind in (("u", np.float64), ("mean", np.float64), ("best", np.float64)):
            setattr(state, name, np.require(getattr(state, name), kind, ["C", "W"]))
        for name in ("momentum", "origin"):
            setattr(state, name, np.require(getattr(state, name), dtype, ["C", "W"]))
        self._began -= state.seconds

    def run(self) -> Status:
        """Pass after pass to the end, and tell why it is one."""
        while (status := self._ended()) is None:
            if self._has_risen():
                self._go_back()
            cycle, total = len(self.state.evaluation_curve), 0.0
            for number in range(self.objective.n_batches):
                loss = self._step(cycle, number)
                total += loss
                if self._went_too_far(loss, cycle, number):
                    self._go_back()
            self.state.evaluation_curve.append(total / self.objective.n_batches)
            self._judge(self.objective.judge(self.state.mean))
        return status

    def solution(self, status: Status) -> Solution:
        """Return the best mean that the walk came to."""
        state = self.state
        return Solution(
            u=state.best,
            loss=state.best_loss,
            status=status,
            n_iter=len(state.evaluation_curve),
            loss_curve=state.loss_curve,
            evaluation_curve=state.evaluation_curve,
        )

    def _step(self, cycle: int, number: int) -> float:
        """Take the step of a batch; return its loss."""
        state = self.state
        loss, gradient = self.objective.batch(state.u, cycle, number)
        if not state.ceiling:
            state.ceiling = OVERSHOT * (float(loss) + self._penalty(state.u))
        square = sum(self.chunks.each(lambda a, b: square_gradient(a, b, gradient, self.scaling)))
        self._norm = sqrt(square)
        if not isfinite(square) or square == 0.0:
            # Rows that are all fitted, or a step that went too far: the held-out loss will tell.
            return float(loss)
        if state.radius == 0.0:
            gradient = gradient.copy()
            state.radius = self._first_radius(gradient, cycle, number)
        state.steps += 1
        state.squares += state.radius**2 * square
        sizes = (
            min(self._momentum, state.steps / (state.steps + WARMING)),
            self._fade(cycle, number) * state.caution * state.radius**2 / sqrt(state.squares),
            (RECENT + 1.0) / (state.steps + RECENT),
        )
        moved = sum(
            self.chunks.each(
                lambda a, b: take_step(
                    a, b, state.u, state.momentum, gradient, self._pull, self.scaling,
                    state.origin, state.mean, sizes,
                )
            )
        )  # fmt: skip
        state.radius = max(state.radius, sqrt(moved))
        return float(loss)

    def _went_too_far(self, loss: float, cycle: int, number: int) -> bool:
        """Tell whether a batch loses far more than it does at the best mean, penalty and all."""
        if loss <= self.state.ceiling:
            return False
        best = self.state.best
        usual, _ = self.objective.batch(best, cycle, number)
        return not loss <= OVERSHOT * (float(usual) + self._penalty(best))

    def _penalty(self, u: np.ndarray) -> float:
        strength, target = self._pull
        return 0.5 * float((strength * (u - target) ** 2).sum())

    def _fade(self, cycle: int, number: int) -> float:
        """Return which part of a step is taken: all at first, none at the end."""
        through = number / self.objective.n_batches
        way = (cycle + through) / self.settings.horizon
        left = 1.0 - through if self.state.patience >= self._patience else 1.0
        return left * min(1.0, (1.0 - way) / FADING)

    @property
    def _patience(self) -> float:
        """Passes without a gain after which the next may be the last."""
        return max(PATIENCE, SHARE_OF_PATIENCE * self.settings.horizon)

    def _first_radius(self, gradient: np.ndarray, cycle: int, number: int) -> float:
        """Return how far a step down the gradient goes, by the curvature along it."""
        u, scaling = self.state.u, self.scaling
        trial, length = np.empty_like(u), PROBE / self._norm
        self.chunks.each(lambda a, b: probe_gradient(a, b, u, gradient, scaling, length, trial))
        _, changed = self.objective.batch(trial, cycle, number)
        change = sum(self.chunks.each(lambda a, b: square_change(a, b, gradient, changed, scaling)))
        curvature = sqrt(change) / PROBE
        return FIRST * self._norm / curvature if 0.0 < curvature < float("inf") else PROBE

    def _judge(self, found: Judged) -> None:
        """Record what the mean came to, keep it if it is best, and tell the callbacks.

        Of means whose held-out losses differ by less than `tol` the last is best: its steps were
        the shortest.
        """
        state, loss = self.state, found.loss
        if found.whole < OUTWEIGHED * state.best_whole:
            # Held-out rows know nothing of the penalty, and would have the walk go back for ever.
            state.lowest_loss = float("inf")
        lowest, enough = state.lowest_loss, self.settings.tol * abs(loss)
        has_gained = lowest - loss > enough
        # Long first steps may lead away from a good start: that is not the end of the way.
        is_astray = state.best_steps == 0 and loss - lowest > enough
        state.patience = 0 if has_gained or is_astray else state.patience + 1
        state.lowest_loss = min(lowest, loss)
        state.loss_curve.append(loss)
        if loss <= lowest + max(enough, 0.0):
            state.best_loss, state.best_whole = loss, found.whole
            state.best[:] = state.mean
            state.best_radius, state.best_squares = state.radius, state.squares
            state.best_steps = state.steps
        self._report(loss)

    def _has_risen(self) -> bool:
        """Tell whether the latest loss is above the best one by more than may be chance."""
        state = self.state
        rise = state.loss_curve[-1] - state.best_loss
        return not rise <= max(self.settings.tol, CHANCE) * abs(state.best_loss)

    def _go_back(self) -> None:
        """Go on from the best mean with half of a, radius and squares as they were there.

        With the first radius again, the walk would take passes to come to its old pace.
        """
        state = self.state
        for vector in (state.u, state.mean, state.origin):
            vector[:] = state.best
        state.momentum[:] = 0.0
        state.caution, state.steps = 0.5 * state.caution, state.best_steps
        state.radius, state.squares = state.best_radius, state.best_squares

    def _report(self, loss: float) -> None:
        """Tell the callbacks."""
        state = self.state
        state.seconds = perf_counter() - self._began
        moment = Moment(lambda: state)
        progress = Progress(
            iteration=len(state.evaluation_curve),
            max_iter=self.settings.horizon,
            evaluations=len(state.evaluation_curve),
            loss=loss,
            gradient_norm=self._norm,
            seconds=state.seconds,
            state=moment,
        )
        try:
            for callback in self.callbacks:
                if callback(progress):
                    self._stopped = True
        finally:
            moment.pass_by()

    def _ended(self) -> Status | None:
        """Tell whether it is time to end, and why."""
        if self._stopped:
            return "stopped"
        passes, horizon = len(self.state.evaluation_curve), self.settings.horizon
        if self.state.patience >= self._patience + 1:
            return "converged"
        if passes < horizon:
            return None
        # Steps have come to nothing, as planned, or sooner.
        return "converged" if horizon < self.settings.max_iter else "max_iter"
