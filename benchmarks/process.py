"""A call in a fresh process, and what it took: peak of resident memory, time-out, death.

Models that are compared in memory must not share a process: what one leaves behind, allocated or
imported, would count against the next. Linux only, since the kernel's counters are files there.
"""

import ctypes
import multiprocessing
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

GIBIBYTE = 2**30
_POLL_SECONDS = 0.2
_PR_SET_PDEATHSIG = 1  # of prctl(2)


class Outcome(NamedTuple):
    """How a call in a process of its own ended.

    `status` is "done", "refused" (MemoryError, nothing was run), "error" (any other exception),
    "timeout" or "killed"; `value` is what the call returned, `message` what went wrong, and `peak`
    the largest resident set of the process in bytes, imports and data included.
    """

    status: str
    value: Any
    peak: int
    message: str = ""

    @property
    def peak_gibibytes(self) -> str:
        """The peak as a figure to print."""
        return f"{self.peak / GIBIBYTE:.2f}"


def read_status(field: str, process: int | str = "self") -> int:
    """Return a memory field of a process in bytes."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/{process}/status has no field {field}.")


def reset_peak() -> None:
    """Set this process's peak back to what is resident now."""
    Path("/proc/self/clear_refs").write_text("5")


def run_in_child(
    call: Callable[..., Any], *arguments: Any, timeout: float | None = None
) -> Outcome:
    """Run `call(*arguments)` in a fresh Python process and wait for it.

    Parameters
    ----------
    call : callable
        A function at the top of a module; its arguments and result must pickle.
    timeout : float, optional
        Seconds after which the process is killed.
    """
    # A forked process would start with the parent's memory.
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    # Not a daemon: joblib would give a peer that it serves one core only.
    child = context.Process(target=_answer, args=(sender, call, arguments), daemon=False)
    child.start()
    sender.close()
    began, peak = perf_counter(), 0
    try:
        # A pipe that the dying process closed counts as ready as well.
        while not receiver.poll(_POLL_SECONDS):
            peak = _peak_so_far(child.pid, peak)
            if timeout is not None and perf_counter() - began > timeout:
                return Outcome("timeout", None, peak, f"killed after {timeout:.0f} s")
        return receiver.recv()
    except EOFError:
        child.join()
        return Outcome("killed", None, peak, f"exit code {child.exitcode}")
    finally:
        receiver.close()
        if child.is_alive():
            child.kill()
        child.join()


def _peak_so_far(process: int, known: int) -> int:
    """Return the peak of a process that may be gone already."""
    try:
        return read_status("VmHWM", process)
    except (OSError, RuntimeError):
        return known


def _answer(sender: Connection, call: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """Run the call in this process and send how it ended."""
    # A parent that is killed would leave this process, and all its memory, behind.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    status, value, message = "done", None, ""
    try:
        value = call(*arguments)
    except MemoryError as error:
        status, message = "refused", str(error)
    except Exception as error:
        status, message = "error", f"{type(error).__name__}: {error}"
    sender.send(Outcome(status, value, read_status("VmHWM"), message))
