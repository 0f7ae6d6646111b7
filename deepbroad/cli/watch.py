"""A fit as it goes on, in one line: what it does, passes, loss, rows per second, time left."""

import logging
from math import isfinite
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from deepbroad.cli.forecast import remaining_iterations
from deepbroad.data.printable import printable


class Watch(logging.Handler):
    """Shows what a fit logs and reports; a callback of estimators, and a context.

    Parameters
    ----------
    console : Console
        Where to; nothing is drawn if it is no terminal.
    n_rows : int
        Rows of a pass.
    tol : float
        The tolerance of the fit.
    """

    def __init__(self, console: Console, n_rows: int, tol: float) -> None:
        super().__init__(logging.INFO)
        self.n_rows, self.tol = n_rows, tol
        self.losses: list[float] = []
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task("reading")
        self._logger = logging.getLogger("deepbroad")
        self._level = self._logger.level

    def __enter__(self) -> "Watch":
        self._logger.addHandler(self)
        self._logger.setLevel(logging.INFO)
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()
        self._logger.removeHandler(self)
        self._logger.setLevel(self._level)

    def emit(self, record: logging.LogRecord) -> None:
        """Show what the library logs."""
        self._progress.update(self._task, description=printable(record.getMessage())[:100])

    def __call__(self, progress: Any) -> None:
        """Show where the solver stands."""
        if progress.iteration <= 1:
            del self.losses[progress.iteration :]
        self.losses.append(progress.loss)
        self._progress.update(self._task, description=self.describe(progress))

    def describe(self, progress: Any) -> str:
        """Return a line on where the solver stands."""
        line = (
            f"iteration {progress.iteration}, {progress.evaluations} passes, "
            f"loss {progress.loss:.5f}"
        )
        if progress.seconds > 0:
            line += f", {self.n_rows * progress.evaluations / progress.seconds:,.0f} rows/s"
        left = remaining_iterations(self.losses, self.tol, progress.max_iter - progress.iteration)
        if isfinite(left) and progress.iteration:
            seconds = left * progress.seconds / progress.iteration
            line += (
                f", about {seconds:.0f} s left"
                if seconds < 120
                else (f", about {seconds / 60:.0f} min left")
            )
        return line
