"""A process that carries out trials and can be killed: for its time, or by the system.

It imports the library and loads compiled code once for many trials. The other side of the pipe
learns when a trial begins, so that loading does not count against its time.
"""

import multiprocessing
import os
import signal
import threading
from contextlib import suppress
from multiprocessing.connection import Connection
from time import monotonic
from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits

from deepbroad.experiments.evaluation import Bench, Means
from deepbroad.experiments.trial import Trial

# Compiling everything for the first time takes minutes on a slow machine.
_LOADING_SECONDS = 900.0


class Outcome(NamedTuple):
    """How a trial ended: its status, and the columns that were found or a message."""

    status: str
    columns: dict[str, Any]


class Worker:
    """A process that carries out one trial at a time.

    Parameters
    ----------
    means : Means
        Threads and memory of each trial.
    timeout : float
        Seconds that fit and predict together may take.
    """

    def __init__(self, means: Means, timeout: float) -> None:
        self.means, self.timeout = means, timeout
        self.trial: Trial | None = None
        self.deadline = 0.0
        self._process: Any = None
        self.connection: Connection

    def begin(self, trial: Trial) -> None:
        """Give the process a trial; start it if there is none."""
        if self._process is None or not self._process.is_alive():
            self.stop()
            # A forked process would inherit threads in whatever state they are.
            context = multiprocessing.get_context("spawn")
            self.connection, theirs = context.Pipe()
            # No daemon: joblib gives those one thread only. It ends with its parent all the same.
            self._process = context.Process(target=_serve, args=(theirs, self.means))
            self._process.start()
            theirs.close()
        self.trial = trial
        self.deadline = monotonic() + max(_LOADING_SECONDS, self.timeout)
        self.connection.send(trial)

    def collect(self) -> Outcome | None:
        """Return how the trial ended; None while it goes on. The worker is then idle."""
        outcome = self._listen()
        if outcome is not None:
            self.trial = None
        return outcome

    def stop(self) -> None:
        """Kill the process, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self.connection.close()
            self._process = None

    def _listen(self) -> Outcome | None:
        """Hear what the process says, or see that it is late or dead."""
        while self.connection.poll():
            try:
                said = self.connection.recv()
            except (EOFError, OSError):
                return self._bury()
            if isinstance(said, Outcome):
                return said
            self.deadline = monotonic() + self.timeout
        if monotonic() < self.deadline:
            return None
        self.stop()
        return Outcome("timeout", {"message": f"It took longer than {self.timeout:g} s."})

    def _bury(self) -> Outcome:
        """Say what a dead process died of."""
        self._process.join()
        code = self._process.exitcode
        self.stop()
        if code == -signal.SIGKILL:
            message = "The system killed the process, most likely for its memory."
            return Outcome("memory", {"message": message})
        return Outcome("error", {"message": f"The process ended with exit code {code}."})


def _serve(connection: Connection, means: Means) -> None:
    """Carry out trials as they come."""
    # Ctrl-C reaches all processes of a terminal; the parent decides what becomes of this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    bench = Bench(means)
    # A pipe whose other end is gone is the end.
    with threadpool_limits(means.threads), suppress(EOFError, OSError):
        while True:
            connection.send(_carry_out(bench, connection.recv(), connection))


def _carry_out(bench: Bench, trial: Trial, connection: Connection) -> Outcome:
    """Carry out a trial, whatever comes of it."""
    try:
        return Outcome("done", bench.evaluate(trial, begin=lambda: connection.send("begun")))
    except MemoryError as error:
        return Outcome("memory", {"message": str(error) or "MemoryError"})
    except Exception as error:
        return Outcome("error", {"message": f"{type(error).__name__}: {error}"})


def _end_with_parent() -> None:
    """End this process when its parent is gone, by whatever death."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
