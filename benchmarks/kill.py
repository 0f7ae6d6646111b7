"""Fits that are killed with SIGKILL at random moments, and go on from their checkpoint.

One process after the other runs the same fit with the same folder. Each is killed at a moment drawn
evenly from the seconds that the fit takes without interruption; one that comes to its end first is
compared with the uninterrupted one, and the next begins afresh. After the last kill the fit is left
to end. A process that is killed before its first iteration had the table to read and encode.
"""

import argparse
import multiprocessing
import signal
import tempfile
from multiprocessing.connection import Connection
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from common import THREADS, load, report

from deepbroad import DBLClassifier


class Run(NamedTuple):
    """What a process came to: seconds in the fit, iterations, and the loss of one that ended."""

    seconds: float
    first: int | None
    last: int | None
    loss: float | None
    n_iter: int | None


def fit(sender: Connection, dataset: str, settings: dict[str, Any], folder: str | None) -> None:
    """Fit in this process; send each iteration, and at last the loss."""
    X, y, _ = load(dataset)

    def tell(progress: Any) -> None:
        sender.send(progress.iteration)

    model = DBLClassifier(**settings, checkpoint=folder, callbacks=[tell], n_jobs=THREADS)
    sender.send(None)
    model.fit(X, y)
    sender.send((model.loss_, model.n_iter_))


def run(*arguments: Any, kill_at: float | None = None) -> Run:
    """Run a fit in a process, to its end or to a second of the fit."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=fit, args=(sender, *arguments), daemon=True)
    process.start()
    sender.close()
    sent: list[Any] = [receiver.recv()]
    began = perf_counter()
    try:
        while True:
            left = None if kill_at is None else began + kill_at - perf_counter()
            if left is not None and not receiver.poll(max(left, 0.0)):
                process.kill()
                break
            sent.append(receiver.recv())
            if left is not None and left <= 0:
                process.kill()
                break
    except EOFError:
        pass
    process.join()
    if process.exitcode not in (0, -signal.SIGKILL):
        raise SystemExit("A fit failed by itself.")
    seconds = perf_counter() - began
    iterations = [one for one in sent if isinstance(one, int)]
    ended = sent[-1] if sent and isinstance(sent[-1], tuple) else (None, None)
    first, last = (iterations[0], iterations[-1]) if iterations else (None, None)
    return Run(seconds, first, last, ended[0], ended[1])


def print_run(found: Run, number: int, whole: Run) -> None:
    """Print what a process came to."""
    after = "" if found.first is None else str(max(found.first - 1, 0))
    reached = "" if found.last is None else str(found.last)
    killed, ending = str(number), ""
    if found.loss is not None:
        killed, ending = "", f"{found.loss - whole.loss:.1e}, {found.n_iter} iterations"
    print(f"{killed:>4} {found.seconds:>10.2f} {after:>14} {reached:>8}   {ending}", flush=True)


def main() -> None:
    """Print a line per process, and the figures beside their targets."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", default="connect-4")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--automatic", action="store_true", help="the default model, not n=2")
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    settings = {"tol": options.tol} | ({} if options.automatic else {"n": 2, "alpha": 1.0})
    random = np.random.default_rng(options.seed)
    whole = run(options.dataset, settings, None)
    if whole.loss is None:
        raise SystemExit("The uninterrupted fit failed.")
    print(f"uninterrupted: {whole.seconds:.1f} s, {whole.n_iter} iterations, loss {whole.loss!r}")
    print(f"{'kill':>4} {'at second':>10} {'resumed after':>14} {'reached':>8}   loss - whole")
    kills, resumed = 0, 0
    ends: list[Run] = []
    with tempfile.TemporaryDirectory() as folder:
        is_over = False
        while not is_over:
            moment = random.uniform(0.0, whole.seconds) if kills < options.kills else None
            found = run(options.dataset, settings, folder, kill_at=moment)
            resumed += bool(found.first)
            kills += found.loss is None
            is_over = moment is None
            ends += [] if found.loss is None else [found]
            print_run(found, kills, whole)
    worst = max(abs(end.loss - whole.loss) for end in ends) / whole.loss
    same = all(end.n_iter == whole.n_iter for end in ends)
    print(f"{len(ends)} fits ended, {resumed} processes went on from an iteration of another")
    report("largest relative difference of the loss", f"{worst:.1e}", "<= 1e-9", worst <= 1e-9)
    report("iterations as in the uninterrupted fit", str(same), "all", same)


if __name__ == "__main__":
    main()
