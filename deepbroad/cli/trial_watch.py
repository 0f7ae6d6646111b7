"""Trials as they go on: a bar with the time left in a terminal, now and then a line elsewhere."""

from collections import Counter
from time import monotonic
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bar

from deepbroad.experiments.runner import Progress

_SECONDS_BETWEEN_LINES = 60.0


class TrialWatch:
    """Shows the progress of a `Runner`, and at the end how its trials ended.

    Parameters
    ----------
    console : Console
        Where to.
    total, pending : int
        Trials in all, and those without a row.
    """

    def __init__(self, console: Console, total: int, pending: int) -> None:
        self.console, self.total = console, total
        self.statuses: Counter[str] = Counter()
        self._line_at = monotonic()
        self._bar = Bar(
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn("{task.description}"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("starting", total=total, completed=total - pending)
        console.print(f"{total} trials, {total - pending} of them have their row.")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()
        if self.statuses:
            ended = ", ".join(f"{count} {status}" for status, count in self.statuses.items())
            self.console.print(f"Rows made: {ended}.")

    def __call__(self, progress: Progress) -> None:
        """Show where the run stands."""
        self.statuses[progress.row["status"]] += 1
        line = _describe(progress)
        self._bar.update(self._task, completed=progress.done, description=line)
        now = monotonic()
        if not self.console.is_terminal and now - self._line_at > _SECONDS_BETWEEN_LINES:
            self._line_at = now
            self.console.print(f"{progress.done}/{self.total} {line}", soft_wrap=True)


def _describe(progress: Progress) -> str:
    """Return a line on the row just made and the time left."""
    row = progress.row
    ended = "" if row["status"] == "done" else f" ({row['status']})"
    return f"{row['dataset']} {row['method']}{ended}, about {_duration(progress.seconds_left)} left"


def _duration(seconds: float) -> str:
    """Return a time in words.

    >>> _duration(42), _duration(600), _duration(9000)
    ('42 s', '10 min', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
