"""All trials that have no row yet, side by side and the cheap ones first.

It may be stopped, or killed, at any time: the rows that are there are not made again.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from deepbroad.experiments.dataset import (
    Dataset,
    MismatchError,
    MissingDataError,
    Shape,
    checksum_of,
)
from deepbroad.experiments.evaluation import Means
from deepbroad.experiments.machine import count_cores, total_memory
from deepbroad.experiments.methods import Method
from deepbroad.experiments.protocol import FOLDS, Protocol
from deepbroad.experiments.rows import make_row, read_row, write_row
from deepbroad.experiments.schedule import Forecast, order
from deepbroad.experiments.trial import Subject, Trial
from deepbroad.experiments.worker import Outcome, Worker

# What models may plan to take of the machine's memory; the rest is for data and the system.
_MODELS_SHARE = 0.7
# After these, other folds of the same data set and method would end the same way.
_HOPELESS = ("timeout", "memory")


class Progress(NamedTuple):
    """Where a run stands: rows there and wanted, seconds left, and the row just made."""

    done: int
    total: int
    seconds_left: float
    row: dict[str, Any]


@dataclass(frozen=True)
class Settings:
    """How trials are run.

    Parameters
    ----------
    rows : Path
        Folder of the rows.
    jobs : int, default=2
        Trials side by side; they share the cores.
    timeout : float, default=600
        Seconds that fit and predict of a trial may take together.
    retry : bool, default=False
        Try again what has a row with another status than done.
    """

    rows: Path
    jobs: int = 2
    timeout: float = 600.0
    retry: bool = False

    @property
    def means(self) -> Means:
        """What each trial may use."""
        threads = max(1, count_cores() // self.jobs)
        return Means(threads, int(total_memory() * _MODELS_SHARE / self.jobs))


def find_subjects(
    datasets: Iterable[Dataset], folder: Path | None, *, checked: bool = True
) -> tuple[list[Subject], dict[str, str]]:
    """Return the data sets that can be loaded, and why others cannot, by name."""
    subjects, missing = [], {}
    for dataset in datasets:
        try:
            X, y = dataset.load(folder, checked=checked)
        except (MissingDataError, MismatchError) as error:
            missing[dataset.name] = str(error)
            continue
        shape = Shape(X.num_rows, X.num_columns, np.unique(y).size)
        subjects.append(Subject(dataset, folder, shape, checksum_of(X, y)))
    return subjects, missing


def list_trials(
    subjects: Iterable[Subject], methods: Sequence[Method], protocol: Protocol
) -> list[Trial]:
    """List all trials, cheap ones first."""
    return order(
        Trial(subject, method, round, fold, protocol)
        for subject in subjects
        for method in methods
        for round in range(protocol.rounds)
        for fold in range(FOLDS)
    )


class Runner:
    """Makes the rows of trials.

    Parameters
    ----------
    trials : list of Trial
        In the order in which to try them.
    settings : Settings
        Where rows go, and what trials may use.
    """

    def __init__(self, trials: Sequence[Trial], settings: Settings) -> None:
        self.settings = settings
        self.total = len(trials)
        self.forecast = Forecast(settings.timeout)
        self._hopeless: dict[tuple[str, str], dict[str, Any]] = {}
        self.pending = [trial for trial in trials if not self._has_row(trial)]

    def run(self, watch: Callable[[Progress], object] = lambda _: None) -> None:
        """Make all rows that are missing, and tell `watch` of each.

        However it ends, no process is left behind.
        """
        workers = [Worker(self.settings.means, self.settings.timeout) for _ in self._jobs()]
        try:
            for trial, outcome in self._carry_out(workers):
                row = make_row(trial, outcome.status, outcome.columns, self.settings.timeout)
                write_row(self.settings.rows, trial, row)
                self._take_in(trial, row)
                busy = [worker.trial for worker in workers if worker.trial is not None]
                left = self.forecast.total([*self.pending, *busy]) / self.settings.jobs
                done = self.total - len(self.pending) - len(busy)
                watch(Progress(done, self.total, left, row))
        finally:
            for worker in workers:
                worker.stop()

    def _jobs(self) -> range:
        """Return the numbers of the workers that are needed."""
        return range(min(self.settings.jobs, len(self.pending)))

    def _carry_out(self, workers: Sequence[Worker]) -> Iterator[tuple[Trial, Outcome]]:
        """Keep all workers busy and give the outcomes as they come."""
        while True:
            for worker in workers:
                while worker.trial is None and self.pending:
                    trial = self.pending.pop(0)
                    if (before := self._hopeless.get(trial.names)) is None:
                        worker.begin(trial)
                    else:
                        yield trial, _repeat(before)
            busy = [worker for worker in workers if worker.trial is not None]
            if not busy:
                return
            patience = max(0.0, min(worker.deadline for worker in busy) - monotonic())
            wait([worker.connection for worker in busy], timeout=patience)
            for worker in busy:
                given, outcome = worker.trial, worker.collect()
                if given is not None and outcome is not None:
                    yield given, outcome

    def _has_row(self, trial: Trial) -> bool:
        """Say whether a trial needs no run, and take in its row."""
        row = read_row(self.settings.rows, trial)
        if row is None:
            return False
        if row["status"] != "done" and self.settings.retry:
            return False
        if row["status"] == "timeout" and row["limit_seconds"] < self.settings.timeout:
            return False
        self._take_in(trial, row)
        return True

    def _take_in(self, trial: Trial, row: dict[str, Any]) -> None:
        """Learn from a row how long trials take, and which are hopeless."""
        if row["status"] == "done":
            self.forecast.learn(trial, row["train_seconds"] + row["predict_seconds"])
        elif row["status"] in _HOPELESS:
            self._hopeless.setdefault(trial.names, row)


def _repeat(row: dict[str, Any]) -> Outcome:
    """Return the outcome of a trial that is not worth a try after another fold's row."""
    message = row["message"]
    if not message.startswith("not tried"):
        message = f"not tried after round {row['round']}, fold {row['fold']}: {message}"
    return Outcome(row["status"], {"message": message})
