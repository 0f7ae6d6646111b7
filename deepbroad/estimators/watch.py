"""A fit as it goes on, in one line of a terminal or notebook: what it does, loss, time left."""

from math import isfinite
from time import perf_counter
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from deepbroad.data.printable import printable
from deepbroad.estimators.forecast import remaining_iterations

# A name in what is tried may be as long as it likes.
WIDEST = 100


class Watch:
    """A live line: a context, a callback of estimators, and what an automatic choice reports to.

    Parameters
    ----------
    console : Console
        Where to; nothing is drawn if it is neither a terminal nor a notebook.
    tol : float
        The tolerance of the fit.
    """

    def __init__(self, console: Console, tol: float) -> None:
        self.tol, self.n_rows = tol, 0
        self.losses: list[float] = []
        self._began = perf_counter()
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not (console.is_terminal or console.is_jupyter),
        )
        self._task = self._progress.add_task("reading")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def show(self, line: str) -> None:
        """Show a line in place of the one before."""
        self._progress.update(self._task, description=printable(line)[:WIDEST])

    def begin_choice(self) -> None:
        """Measure the time left of a choice from now on."""
        self._began = perf_counter()

    def note_trial(self, what: str, loss: float | None, share: float) -> None:
        """Show what a choice tries, the held-out loss so far, and the share of its work done."""
        self.show(describe_trial(what, loss, share, perf_counter() - self._began))

    def __call__(self, progress: Any) -> None:
        """Show where the solver stands."""
        if progress.iteration <= 1:
            del self.losses[progress.iteration :]
        self.losses.append(progress.loss)
        self.show(self.describe(progress))

    def describe(self, progress: Any) -> str:
        """Return a line on where the solver stands."""
        line = (
            f"fitting: iteration {progress.iteration}, {progress.evaluations} passes, "
            f"loss {progress.loss:.5f}"
        )
        if progress.seconds > 0 and self.n_rows:
            line += f", {self.n_rows * progress.evaluations / progress.seconds:,.0f} rows/s"
        left = remaining_iterations(self.losses, self.tol, progress.max_iter - progress.iteration)
        if isfinite(left) and progress.iteration:
            line += f", {describe_left(left * progress.seconds / progress.iteration)}"
        return line


def describe_trial(what: str, loss: float | None, share: float, seconds: float) -> str:
    """Return a line on where a choice stands after so many seconds.

    Examples
    --------
    >>> describe_trial("pairs", 0.25, 0.4, 2.0)
    'choosing: pairs, held-out loss 0.25000, 40 % done, about 3 s left'
    """
    line = f"choosing: {what}"
    if loss is not None:
        line += f", held-out loss {loss:.5f}"
    line += f", {100 * share:.0f} % done"
    return f"{line}, {describe_left(seconds * (1 - share) / share)}" if share > 0 else line


def describe_left(seconds: float) -> str:
    """Return the time left in words.

    Examples
    --------
    >>> describe_left(7.3), describe_left(600)
    ('about 7 s left', 'about 10 min left')
    """
    return f"about {seconds:.0f} s left" if seconds < 120 else f"about {seconds / 60:.0f} min left"
