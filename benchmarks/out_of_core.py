"""Fits from files under a memory limit: how much memory they take, and how fast they are.

Each fit is a process of its own. Memory is the growth of its anonymous resident memory (RssAnon in
/proc/self/status, Linux) from after the import to the highest point of a thread that looks every
few milliseconds; pages of mapped files are not anonymous, and the system may drop them.

    python benchmarks/out_of_core.py                         # flights-3m and sba-loans, 512 MB
    python benchmarks/out_of_core.py growth --rows 10 20 40  # poker hands, millions, 1 GiB

Fits of growing files take turns in some rounds; what is compared are medians.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import warnings
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from common import CLASS, find_data_folder

from deepbroad import DBLClassifier
from deepbroad.datasets import poker_hand

MILLION = 1_000_000
# Seconds between two looks at the memory.
LOOK = 0.005


def anonymous_bytes() -> int:
    """Return the anonymous resident memory of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    raise OSError("no RssAnon in /proc/self/status: this needs Linux")


class Peak(threading.Thread):
    """Looks at the memory until it is stopped."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.before = self.highest = anonymous_bytes()
        self._ended = threading.Event()

    def run(self) -> None:
        """Look again and again."""
        while not self._ended.is_set():
            self.highest = max(self.highest, anonymous_bytes())
            sleep(LOOK)

    def stop(self) -> float:
        """Return by how many MB the memory grew at most."""
        self._ended.set()
        self.join()
        return (self.highest - self.before) / 1e6


def fit_once(settings: dict[str, Any]) -> dict[str, Any]:
    """Fit in this process, and return what it took."""
    limit = settings["limit"]
    model = DBLClassifier.paper(2).set_params(
        max_iter=settings["max_iter"], memory_limit=limit, tol=1e-6
    )
    marks: list[tuple[float, int]] = []
    model.set_params(callbacks=[lambda p: marks.append((perf_counter(), p.evaluations)) and None])
    peak = Peak()
    peak.start()
    began = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if settings["route"] == "memory":
            table = pq.read_table(settings["path"])
            model.fit(table.drop_columns([CLASS]), table.column(CLASS))
        else:
            model.fit(settings["path"], CLASS)
    (first, passes), (last, all_passes) = marks[0], marks[-1]
    return {
        "megabytes": peak.stop(),
        "seconds": perf_counter() - began,
        "reading": first - began,
        "pass": (last - first) / max(all_passes - passes, 1),
        "passes": all_passes,
        "loss": model.loss_,
        "terms": len(model.terms_),
    }


def fit_apart(path: Path, route: str, limit: str | None, max_iter: int) -> dict[str, Any]:
    """Fit in a process of its own."""
    settings = {"path": str(path), "route": route, "limit": limit, "max_iter": max_iter}
    command = [sys.executable, __file__, "child", json.dumps(settings)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def print_row(name: str, route: str, rows: int, found: dict[str, Any]) -> None:
    """Print a line of the table."""
    print(
        f"| {name} | {route} | {rows:,} | {found['megabytes']:,.0f} | {found['reading']:.1f} | "
        f"{found['pass']:.3f} | {rows / found['pass']:,.0f} | {found['passes']} | "
        f"{found['seconds']:.1f} | {found['terms']:,} | {found['loss']:.6f} |",
        flush=True,
    )


HEADER = (
    "| data | route | rows | MB | seconds to first pass | per pass | rows per second | passes | "
    "in all | terms | loss |\n|---|---|---|---|---|---|---|---|---|---|---|"
)


def run_files(names: list[str], limit: str, max_iter: int) -> None:
    """Fit data sets from files under a limit, and from memory without one."""
    print(HEADER)
    for name in names:
        path = find_data_folder() / f"{name}.parquet"
        rows = pq.read_metadata(path).num_rows
        print_row(name, f"files, {limit}", rows, fit_apart(path, "files", limit, max_iter))
        print_row(name, "memory", rows, fit_apart(path, "memory", None, max_iter))


def write_hands(path: Path, millions: int) -> None:
    """Write poker hands, a million at a time."""
    writer = None
    for seed in range(millions):
        X, y = poker_hand(MILLION, seed=seed, return_X_y=True)
        table = X.append_column(CLASS, pa.array(np.asarray(y)))
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def run_growth(millions: list[int], limit: str, max_iter: int, rounds: int) -> None:
    """Fit more and more poker hands from files, in rounds after one that loads the kernels."""
    print(HEADER)
    found: dict[int, list[dict[str, Any]]] = {count: [] for count in millions}
    with tempfile.TemporaryDirectory() as folder:
        paths = {count: Path(folder) / f"{count}.parquet" for count in millions}
        for count, path in paths.items():
            write_hands(path, count)
        fit_apart(paths[min(millions)], "files", limit, 1)
        for _ in range(rounds):
            for count, path in paths.items():
                found[count].append(fit_apart(path, "files", limit, max_iter))
                print_row("poker-hand", f"files, {limit}", count * MILLION, found[count][-1])
    for a, b in pairwise(millions):
        memory, seconds, each = (
            median(row[what] for row in found[b]) / median(row[what] for row in found[a])
            for what in ("megabytes", "seconds", "pass")
        )
        print(
            f"{a} -> {b} million, medians of {rounds}: memory {memory:.2f}x, "
            f"time {seconds * a / b:.2f}x of linear, per pass {each * a / b:.2f}x"
        )


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=["files", "growth", "child"], default="files")
    parser.add_argument("settings", nargs="?", help=argparse.SUPPRESS)
    parser.add_argument("--datasets", nargs="+", default=["flights-3m", "sba-loans"])
    parser.add_argument("--rows", nargs="+", type=int, default=[10, 20, 40], help="millions")
    parser.add_argument("--limit", help="memory limit, 512MB of files and 1GiB of growth")
    parser.add_argument("--max-iter", type=int, default=18)
    parser.add_argument("--rounds", type=int, default=3, help="of growth")
    given = parser.parse_args()
    if given.what == "child":
        print(json.dumps(fit_once(json.loads(given.settings))))
    elif given.what == "growth":
        run_growth(given.rows, given.limit or "1GiB", given.max_iter, given.rounds)
    else:
        run_files(given.datasets, given.limit or "512MB", given.max_iter)


if __name__ == "__main__":
    main()
