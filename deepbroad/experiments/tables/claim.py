"""Kinds of claim that a paper makes about methods, and how each is judged from results.

A claim holds if most data sets say so and the sign test is significant.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from deepbroad.experiments.labels import group_label, measure_label, method_label, p_label
from deepbroad.experiments.learning_curves import Point
from deepbroad.experiments.published import printed_comparison
from deepbroad.experiments.results import Results
from deepbroad.experiments.statistics import SIGNIFICANT, WinDrawLoss, average_ratio, count_wins

HELD, LEANING, NOT_HELD, REVERSED, TOO_FEW, UNKNOWN = (
    "held",
    "held, not significant",
    "not held",
    "reversed",
    "too few data sets",
    "no rows",
)
# So many data sets that do not draw have to agree for the sign test to be significant at all.
FEWEST = 6


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
        if len(others) < FEWEST:
            verdict = TOO_FEW
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
    """The claim that `late` has the higher error on less training data and the lower on most."""

    early: str
    late: str

    def judge(self, results: Results, points: Sequence[Point]) -> Evidence:
        """Compare the learning curves at the largest size, and where `early` is most ahead."""
        what = (
            f"{method_label(self.late)} above {method_label(self.early)} on fewer poker hands and "
            "below on most: error"
        )
        errors = {size: self._average(points, size) for size in self._find_sizes(points)}
        if not errors:
            return Evidence(what, "–", "–", "–", UNKNOWN)
        last = max(errors)
        ahead = max(errors, key=lambda size: errors[size][1] - errors[size][0])
        told = [
            f"{errors[size][1]:.3f} and {errors[size][0]:.3f} at {size:,} hands"
            for size in (ahead, last)
        ]
        crosses = errors[ahead][1] > errors[ahead][0] and errors[last][1] < errors[last][0]
        verdict = HELD if crosses and ahead < last else NOT_HELD
        return Evidence(f"{what} ({', '.join(told)})", "–", "–", "–", verdict)

    def _find_sizes(self, points: Sequence[Point]) -> list[int]:
        """List the sizes that both methods were trained on."""
        early, late = (
            {point.n_train for point in points if point.method == name}
            for name in (self.early, self.late)
        )
        return sorted(early & late)

    def _average(self, points: Sequence[Point], size: int) -> tuple[float, float]:
        """Average both errors over the samples of a size."""
        early, late = (
            float(np.mean([p.error for p in points if (p.method, p.n_train) == (name, size)]))
            for name in (self.early, self.late)
        )
        return early, late


def judge_counts(counts: WinDrawLoss) -> str:
    """Say whether wins are more than losses, and significantly so."""
    if counts.losses and counts.wins + counts.losses < FEWEST:
        return TOO_FEW
    if counts.wins == counts.losses:
        return NOT_HELD
    is_significant = counts.p <= SIGNIFICANT
    if counts.wins > counts.losses:
        return HELD if is_significant else LEANING
    return REVERSED if is_significant else NOT_HELD
