"""What a trial may cost: to do cheap ones first, and to say how much time is left."""

from collections import defaultdict
from collections.abc import Iterable
from math import comb
from statistics import mean, median

from deepbroad.experiments.trial import Trial

# Scores that a core looks up and adds in a second, to begin with; measured trials correct it.
_LOOKUPS_PER_SECOND = 3e8
# Dividing the rows, sending the trial and writing its row.
_AROUND_SECONDS = 0.03


def guess_seconds(trial: Trial) -> float:
    """Guess what a trial takes, from the size of its data set and the depth of its method."""
    shape, method = trial.subject.shape, trial.method
    tuples = comb(shape.attributes, min(method.depth, shape.attributes))
    lookups = shape.rows * tuples * shape.classes * method.effort
    return lookups / _LOOKUPS_PER_SECOND + _AROUND_SECONDS


def order(trials: Iterable[Trial]) -> list[Trial]:
    """Put cheap trials first; the folds of a data set and method stay together."""
    return sorted(trials, key=lambda one: (guess_seconds(one), *one.names, one.round, one.fold))


class Forecast:
    """How long trials take, learned from those that are done.

    Parameters
    ----------
    limit : float
        Seconds after which a trial is ended.
    """

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self._seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
        self._ratios: dict[str, list[float]] = defaultdict(list)

    def learn(self, trial: Trial, seconds: float) -> None:
        """Take in what a trial took."""
        self._seconds[trial.names].append(seconds)
        self._ratios[trial.method.name].append(seconds / guess_seconds(trial))

    def expect(self, trial: Trial) -> float:
        """Return what a trial is expected to take, in seconds."""
        if known := self._seconds.get(trial.names):
            return mean(known)
        # Ratios of the latest, since those are of the size that comes next.
        ratios = self._ratios.get(trial.method.name, [1.0])
        return min(self.limit, guess_seconds(trial) * median(ratios[-20:]))

    def total(self, trials: Iterable[Trial]) -> float:
        """Return what trials are expected to take, one after the other."""
        return sum(self.expect(trial) for trial in trials)
