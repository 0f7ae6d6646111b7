"""What `estimate` says against what a fit takes: seconds per pass and memory, for DBL^n.

Each data set and depth has a process of its own, with a time limit. It asks for the estimate and
then fits with the paper's settings, stopped after a few iterations; the time is the median over
iterations of seconds per evaluation, as callbacks see them, and where that is short, the median of
several fits: one of a few milliseconds in all may fall into a bad moment. Memory is the peak of
`tracemalloc` during a fit, which sees every NumPy array; above 100 MB it is the growth of the peak
resident set (Linux), since tracing would take too long. The shares count what lies within a factor.
An estimate is for all tuples: where a fit has no memory for them and keeps fewer, there is nothing
to compare.

    python benchmarks/estimates.py
    python benchmarks/estimates.py --datasets adult letter --n 1 2 --timeout 60 --out table.md
"""

import argparse
import gc
import json
import subprocess
import sys
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from common import find_data_folder, load
from fit_memory import read_status

from deepbroad import DBLClassifier
from deepbroad.engine.memory import release_freed

# The solver's history is full after ten; its first steps are cheaper than the rest.
ITERATIONS = 14
# A slow fit is stopped sooner, but not before it has a few evaluations to take the median of.
ENOUGH_SECONDS = 20.0
FEWEST = 4
# Seconds of an evaluation below which there are several fits, and how many.
SHORT_SECONDS, FITS = 0.01, 5
TRACED_BYTES = 100e6
# Up to here the kernels that a fit loads count beside it; so it loads them in a fit before.
WARMED_BYTES = 500e6
WARM_UP_ROWS_PER_CLASS = 20
FACTORS = (1.5, 2.0)
HEADER = (
    "| data set | n | rows | cells | ms per pass | estimated | ratio | MB | estimated | ratio |\n"
    "|---|---|---|---|---|---|---|---|---|---|"
)


class Watch:
    """A callback that takes the time of iterations and stops after a few."""

    def __init__(self) -> None:
        self.seen: list[tuple[float, int]] = []

    def __call__(self, progress: Any) -> bool:
        """Take note of an iteration and tell whether to stop."""
        self.seen.append((progress.seconds, progress.evaluations))
        slow = progress.seconds > ENOUGH_SECONDS and progress.iteration >= FEWEST
        return slow or progress.iteration >= ITERATIONS

    @property
    def seconds(self) -> float:
        """Median seconds of an evaluation, the solver's own work included."""
        seconds, evaluations = np.diff(np.array(self.seen), axis=0)[len(self.seen) // 3 :].T
        return float(median(seconds / np.maximum(evaluations, 1)))


def traced_peak(call: Callable[[], object]) -> int:
    """Return the most bytes that Python and NumPy held at once during a call."""
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def resident_peak(call: Callable[[], object]) -> int:
    """Return by how much the resident memory grew at most during a call."""
    # What the estimate has freed is handed back: else a fit would take it unseen.
    gc.collect()
    release_freed()
    before = read_status("VmRSS")
    # Writing 5 sets the peak back to what is resident now.
    Path("/proc/self/clear_refs").write_text("5")
    call()
    return read_status("VmHWM") - before


def make_model(n: int) -> tuple[DBLClassifier, Watch]:
    """Return a model that has not been fitted, and what takes the time of its fit."""
    watch = Watch()
    return DBLClassifier.paper(n).set_params(callbacks=[watch], tol=1e-6), watch


def measure(name: str, n: int) -> dict[str, Any]:
    """Estimate and fit in this process; return a row of the table."""
    warnings.simplefilter("ignore")
    X, y, labels = load(name)
    few = np.concatenate([np.flatnonzero(y == label)[:WARM_UP_ROWS_PER_CLASS] for label in labels])
    first = DBLClassifier.paper(1).set_params(max_iter=2)
    first.fit(X.take(few), y[few])
    begin = perf_counter()
    try:
        estimate = DBLClassifier.paper(n).estimate(X, y)
        estimating = perf_counter() - begin
        model, watch = make_model(n)
        if estimate.bytes > TRACED_BYTES:
            if estimate.bytes < WARMED_BYTES:
                DBLClassifier.paper(n).set_params(max_iter=1).fit(X, y)
            peak = resident_peak(lambda: model.fit(X, y))
        else:
            model.fit(X, y)
            peak = traced_peak(lambda: make_model(n)[0].fit(X, y))
        seconds = [watch.seconds]
        while seconds[0] < SHORT_SECONDS and len(seconds) < FITS:
            again, watch = make_model(n)
            again.fit(X, y)
            seconds.append(watch.seconds)
    except MemoryError as error:
        return {"status": f"refused: {str(error).split(' and ')[0]}"}
    if len(model.terms_) < estimate.terms:
        kept = f"{len(model.terms_):,} of {estimate.terms:,} tuples kept"
        return {"status": f"{kept}: all would take {estimate.bytes / 1e9:.0f} GB"}
    return {
        "status": "done",
        "rows": estimate.rows,
        "cells": estimate.cells,
        "seconds": median(seconds),
        "estimated_seconds": estimate.seconds_per_pass,
        "bytes": peak,
        "estimated_bytes": estimate.bytes,
        "estimating": estimating,
    }


def run_child(name: str, n: int, timeout: float) -> dict[str, Any]:
    """Measure in a fresh process; a failure becomes a status."""
    command = [sys.executable, __file__, "--child", "--datasets", name, "--n", str(n)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return {"status": f"more than {timeout:.0f} s"}
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"]
        return {"status": lines[-1][:100]}
    row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return row


def format_row(name: str, n: int, row: dict[str, Any]) -> str:
    """Return a line of the Markdown table."""
    if row["status"] != "done":
        return f"| {name} | {n} | {row['status']} ||||||||"
    time = row["estimated_seconds"] / row["seconds"]
    size = row["estimated_bytes"] / row["bytes"]
    return (
        f"| {name} | {n} | {row['rows']:,} | {row['cells']:,} "
        f"| {row['seconds'] * 1e3:.3g} | {row['estimated_seconds'] * 1e3:.3g} | {time:.2f} "
        f"| {row['bytes'] / 1e6:.3g} | {row['estimated_bytes'] / 1e6:.3g} | {size:.2f} |"
    )


def summarise(rows: list[dict[str, Any]]) -> list[str]:
    """Return the shares of fits whose estimates lie within each factor of the measurement."""
    done = [row for row in rows if row["status"] == "done"]
    if not done:
        return []
    lines = [""]
    for what in ("seconds", "bytes"):
        ratios = np.array([row[f"estimated_{what}"] / row[what] for row in done])
        shares = ", ".join(
            f"{np.mean(np.maximum(ratios, 1 / ratios) <= factor):.0%} within {factor:g}×"
            for factor in FACTORS
        )
        lines.append(
            f"{what}: {shares}; estimated over measured from {ratios.min():.2f} to "
            f"{ratios.max():.2f}, median {median(ratios):.2f} ({len(done)} of {len(rows)} fits)"
        )
    return lines


def main() -> None:
    """Compare on the chosen data sets and depths."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", help="names, default all of the data folder")
    parser.add_argument("--n", nargs="+", type=int, default=[1, 2, 3], help="depths")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds of each fit")
    parser.add_argument("--out", type=Path, help="file that the table is written to as well")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.child:
        print(json.dumps(measure(chosen.datasets[0], chosen.n[0])))
        return
    names = chosen.datasets or sorted(path.stem for path in find_data_folder().glob("*.parquet"))
    rows, lines = [], [HEADER]
    print(HEADER)
    for name in names:
        for n in chosen.n:
            rows.append(run_child(name, n, chosen.timeout))
            lines.append(format_row(name, n, rows[-1]))
            print(lines[-1], flush=True)
    lines += summarise(rows)
    print("\n".join(lines[len(rows) + 1 :]))
    if chosen.out:
        chosen.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
