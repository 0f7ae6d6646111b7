"""The line search of Moré and Thuente: a step that lowers F enough and flattens its slope.

It works on numbers alone; the caller evaluates F at `step` and tells what it found.
"""

from math import inf, isfinite, sqrt
from typing import Literal, NamedTuple

# Sufficient decrease and curvature, as Nocedal's L-BFGS has them.
DECREASE = 1e-3
FLATTENING = 0.9
# A bracket shorter than this, relative to its upper end, is not searched any further.
NARROW = 0.1
LONGEST = 1e10
# Without a bracket, steps grow at least and at most by these factors of the last move.
GROW_LEAST, GROW_MOST = 1.1, 4.0
# A bracket that two trials did not shrink to this part is halved.
SHRINK = 0.66

# "found": both conditions hold; "exhausted": no better step can be told apart; None: go on.
Verdict = Literal["found", "exhausted"] | None


class Trial(NamedTuple):
    """F and its slope along the line at one step."""

    step: float
    loss: float
    slope: float

    def tilt(self, slope: float) -> "Trial":
        """Return the trial on F less a line of that slope."""
        return Trial(self.step, self.loss - self.step * slope, self.slope - slope)


class LineSearch:
    """Looks for a step with F(s) ≤ F(0) + 1e-3·s·F'(0) and \\|F'(s)\\| ≤ 0.9·\\|F'(0)\\|.

    Parameters
    ----------
    loss, slope : float
        F and its slope at step 0; the slope is negative.
    step : float
        The first step to try.

    Attributes
    ----------
    step : float
        The step to evaluate next.

    References
    ----------
    Moré and Thuente, Line search algorithms with guaranteed sufficient decrease, 1994.
    """

    def __init__(self, loss: float, slope: float, step: float) -> None:
        self.step = step
        self.origin = Trial(0.0, loss, slope)
        self.best = self.other = self.origin  # the ends of the interval that holds the minimum
        self.bracketed = False
        self.decreasing = True  # no step has yet satisfied the first condition at a rising slope
        self.low, self.high = 0.0, (1 + GROW_MOST) * step
        self.width, self.width_before = LONGEST, 2 * LONGEST
        self.ceiling = inf  # the shortest step, seen without a bracket, where F is not finite

    def judge(self, loss: float, slope: float) -> Verdict:
        """Take F and its slope at `step`; unless the search is over, choose the next step."""
        if not (isfinite(loss) and isfinite(slope)):
            self._shorten()
            return None
        trial = Trial(self.step, loss, slope)
        least = DECREASE * self.origin.slope
        limit = self.origin.loss + trial.step * least
        if loss <= limit and abs(slope) <= -FLATTENING * self.origin.slope:
            return "found"
        if self._exhausted() or (trial.step == LONGEST and loss <= limit and slope <= least):
            return "exhausted"
        if loss <= limit and slope >= 0:
            self.decreasing = False
        # Until then a function is searched whose minimum satisfies the first condition.
        tilt = least if self.decreasing and limit < loss <= self.best.loss else 0.0
        try:
            self._narrow(trial, tilt)
        except ZeroDivisionError:  # two trials that rounding does not tell apart
            return "exhausted"
        return "exhausted" if self.step == trial.step else None

    def _shorten(self) -> None:
        """Go half the way back to the best step, for F has no value here."""
        if not self.bracketed:
            self.ceiling = self.step
        self.step = (self.best.step + self.step) / 2

    def _exhausted(self) -> bool:
        """Tell whether rounding, or the width of the bracket, leaves no other step."""
        if not self.bracketed:
            return False
        outside = not self.low < self.step < self.high
        return outside or self.high - self.low <= NARROW * self.high

    def _narrow(self, trial: Trial, tilt: float) -> None:
        """Replace one end of the interval by the trial, and choose the next step."""
        best, other, tilted = self.best.tilt(tilt), self.other.tilt(tilt), trial.tilt(tilt)
        opposed = best.slope * tilted.slope < 0
        higher = tilted.loss > best.loss
        step = choose_step(best, other if self.bracketed else None, tilted, (self.low, self.high))
        self.bracketed |= higher or opposed
        if higher:
            self.other = trial
        else:
            if opposed:
                self.other = self.best
            self.best = trial
        self._bound(step)

    def _bound(self, step: float) -> None:
        """Keep the next step within the interval, or within bounds where there is none yet."""
        start, end = self.best.step, self.other.step
        if self.bracketed:
            width = abs(end - start)
            if width >= SHRINK * self.width_before or not isfinite(step):
                step = start + (end - start) / 2
            self.width_before, self.width = self.width, width
            self.low, self.high = min(start, end), max(start, end)
        else:
            self.low = step + GROW_LEAST * (step - start)
            self.high = step + GROW_MOST * (step - start)
            if not step < self.ceiling:
                step = (start + self.ceiling) / 2
        self.step = min(max(step, 0.0), LONGEST)
        if self._exhausted():
            self.step = start


def choose_step(
    best: Trial, other: Trial | None, trial: Trial, bounds: tuple[float, float]
) -> float:
    """Return the next step from cubic and quadratic fits; `other` is the far end of a bracket."""
    low, high = bounds
    far = high if trial.step > best.step else low
    if trial.loss > best.loss:
        # The minimum lies between both. The cubic step if it is closer to the best, else half way.
        cubic = cubic_step(best, trial)
        quadratic = quadratic_step(best, trial)
        close = abs(cubic - best.step) < abs(quadratic - best.step)
        return cubic if close else cubic + (quadratic - cubic) / 2
    if best.slope * trial.slope < 0:
        cubic, secant = cubic_step(trial, best), secant_step(trial, best)
        return cubic if abs(cubic - trial.step) > abs(secant - trial.step) else secant
    if abs(trial.slope) < abs(best.slope):
        # The slope flattens: the cubic counts only if it has its minimum beyond the trial.
        cubic, secant = cubic_step(trial, best, beyond=far), secant_step(trial, best)
        is_far = abs(cubic - trial.step) > abs(secant - trial.step)
        if other is None:
            return min(max(cubic if is_far else secant, low), high)
        step = secant if is_far else cubic
        within = trial.step + SHRINK * (other.step - trial.step)
        return min(within, step) if trial.step > best.step else max(within, step)
    return far if other is None else cubic_step(trial, other)


def cubic_step(near: Trial, end: Trial, *, beyond: float | None = None) -> float:
    """Return where the cubic through two trials and their slopes has its minimum.

    With `beyond`, the minimum must lie on the other side of `near` than `end`; else that is
    returned.
    """
    length = end.step - near.step
    theta = 3 * (near.loss - end.loss) / length + near.slope + end.slope
    # Divided by the largest, nothing overflows.
    size = max(abs(theta), abs(near.slope), abs(end.slope))
    root = size * sqrt(max(0.0, (theta / size) ** 2 - near.slope / size * (end.slope / size)))
    root = root if length > 0 else -root
    ratio = ((root - near.slope) + theta) / (((root - near.slope) + root) + end.slope)
    if beyond is not None and not (ratio < 0 and root != 0):
        return beyond
    return near.step + ratio * length


def quadratic_step(near: Trial, end: Trial) -> float:
    """Return where the parabola through two trials and the near slope has its minimum."""
    length = end.step - near.step
    chord = (near.loss - end.loss) / length
    return near.step + near.slope / (chord + near.slope) / 2 * length


def secant_step(near: Trial, end: Trial) -> float:
    """Return where the line through both slopes is 0."""
    return near.step + near.slope / (near.slope - end.slope) * (end.step - near.step)
