"""Kinds of claim that a paper makes about methods, and how each is judged from results.

A claim holds if most data sets say so and the sign test is significant.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from deepbroad.experiments.labels import group_label, measure_label, method_label, p_label
from deepbroad.experiments.learning_curves import Point
from deepbroad.experiments.published import printed_comparison
from deepbroad.experiments.results import Results
from deepbroad.experiments.statistics import SIGNIFICANT, WinDrawLoss, average_ratio, count_wins

HELD, LEANING, NOT_HELD, REVERSED, UNKNOWN = (
    "held",
    "held, not significant",
    "not held",
    "reversed",
    "no rows",
)


# Two losses are alike if they are this close: less than the mark of a point in a scatter.
ALIKE = 0.02


class Evidence(NamedTuple):
    """What one comparison says: in words, as win-draw-loss with p, the paper's, the verdict."""

    what: str
    counts: str
    p: str
    printed: str
    verdict: str


class Check(Protocol):
    """One comparison that a claim rests on."""

    def judge(self, results: Results, points: Sequence[Point]) -> Evidence:
        """Find the evidence."""


@dataclass(frozen=True)
class Lower:
    """The claim that `ours` has the lower value of a measure on most data sets of a group."""

    ours: str
    theirs: str
    measure: str
    group: str = "little"

    def judge(self, results: Results, points: Sequence[Point]) -> Evidence:
        """Count the data sets that say so."""
        what = (
            f"{method_label(self.ours)} below {method_label(self.theirs)}: "
            f"{measure_label(self.measure)}, {group_label(self.group)}"
        )
        counts = results.count_wins(self.measure, self.ours, self.theirs, self.group)
        if counts.total == 0:
            return Evidence(what, "–", "–", self._printed(), UNKNOWN)
        averages, _ = results.average(self.measure, [self.ours], self.group, reference=self.theirs)
        what += f" (on average {averages[self.ours]:.2f}×)"
        return Evidence(what, str(counts), p_label(counts.p), self._printed(), judge_counts(counts))

    def _printed(self) -> str:
        """Write the paper's counts, seen from `ours`."""
        found = printed_comparison(self.group, self.ours, self.theirs, self.measure)
        if found is None:
            turned = printed_comparison(self.group, self.theirs, self.ours, self.measure)
            return str(WinDrawLoss(*reversed(turned.counts))) if turned else "–"
        return str(found.counts)


@dataclass(frozen=True)
class Alike:
    """The claim that two methods have about the same loss, but for the data sets in `apart`.

    It holds if nine of ten data sets differ by no more than `within`.
    """

    ours: str
    theirs: str
    measure: str
    group: str = "all"
    within: float = ALIKE
    apart: tuple[str, ...] = ()

    def judge(self, results: Results, points: Sequence[Point]) -> Evidence:
        """Count the data sets that differ by more, and name them."""
        what = (
            f"{method_label(self.ours)} and {method_label(self.theirs)} within {self.within}: "
            f"{measure_label(self.measure)}, {group_label(self.group)}"
        )
        found = results.compare(self.measure, [self.ours, self.theirs], self.group)
        if not found.datasets:
            return Evidence(what, "–", "–", "–", UNKNOWN)
        differences = found.values[:, 0] - found.values[:, 1]
        far = {
            name: difference
            for name, difference in zip(found.datasets, differences, strict=True)
            if abs(difference) > self.within
        }
        others = [name for name in found.datasets if name not in self.apart]
        near = sum(name not in far for name in others)
        counts = count_wins(found.values[:, 0], found.values[:, 1])
        what += f" on {len(found.datasets) - len(far)} of {len(found.datasets)}"
        if far:
            named = sorted(far, key=lambda name: -abs(far[name]))[:5]
            what += f"; most apart: {', '.join(f'{name} {far[name]:+.3f}' for name in named)}"
        verdict = HELD if near >= 0.9 * len(others) else NOT_HELD
        return Evidence(what, str(counts), p_label(counts.p), "–", verdict)


@dataclass(frozen=True)
class Growing:
    """The claim that `theirs` over `ours` of a measure is larger at depth `n` than at n - 1.

    Methods are named by their letters, to which the depth is added.
    """

    ours: str
    theirs: str
    measure: str
    n: int
    group: str = "all"

    def judge(self, results: Results, points: Sequence[Point]) -> Evidence:
        """Count the data sets whose ratio grows."""
        ratio = f"{self.theirs}/{self.ours}"
        what = f"{ratio} of {measure_label(self.measure)} larger at n = {self.n} than {self.n - 1}"
        methods = [f"{name}{n}" for n in (self.n - 1, self.n) for name in (self.ours, self.theirs)]
        found = results.compare(self.measure, methods, self.group)
        if not found.datasets:
            return Evidence(what, "–", "–", "–", UNKNOWN)
        before_ours, before_theirs, ours, theirs = np.maximum(found.values.T, 1e-9)
        what += (
            f" (on average {average_ratio(theirs, ours):.2f}× after "
            f"{average_ratio(before_theirs, before_ours):.2f}×)"
        )
        counts = count_wins(before_theirs / before_ours, theirs / ours)
        return Evidence(what, str(counts), p_label(counts.p), "–", judge_counts(counts))


@dataclass(frozen=True)
class Crossing:
    """The claim that `late` has the higher error on little training data and the lower on much."""

    early: str
    late: str

    def judge(self, results: Results, points: Sequence[Point]) -> Evidence:
        """Compare the ends of both learning curves."""
        what = (
            f"{method_label(self.late)} above {method_label(self.early)} on few poker hands and "
            "below on many: error"
        )
        ends = [self._errors(points, end) for end in (min, max)]
        if None in ends:
            return Evidence(what, "–", "–", "–", UNKNOWN)
        (size, first, second), (last, early, late) = ends  # type: ignore[misc]
        what += (
            f" ({second:.3f} and {first:.3f} at {size:,} hands, {late:.3f} and {early:.3f} at "
            f"{last:,})"
        )
        verdict = HELD if second > first and late < early else NOT_HELD
        return Evidence(what, "–", "–", "–", verdict)

    def _errors(
        self, points: Sequence[Point], end: Callable[[Iterable[int]], int]
    ) -> tuple[int, float, float] | None:
        """Average both errors at the smallest or largest size that both have."""
        sizes = [
            {point.n_train for point in points if point.method == name}
            for name in (self.early, self.late)
        ]
        common = set.intersection(*sizes)
        if not common:
            return None
        size = end(common)
        means = [
            float(np.mean([p.error for p in points if (p.method, p.n_train) == (name, size)]))
            for name in (self.early, self.late)
        ]
        return size, means[0], means[1]


def judge_counts(counts: WinDrawLoss) -> str:
    """Say whether wins are more than losses, and significantly so."""
    if counts.wins == counts.losses:
        return NOT_HELD
    is_significant = counts.p <= SIGNIFICANT
    if counts.wins > counts.losses:
        return HELD if is_significant else LEANING
    return REVERSED if is_significant else NOT_HELD
