"""Fit time of the default DBLClassifier over that of LightGBM's default.

Half of the rows train and half test (a permutation by `--seed`). Each data set has a process of its
own: one uncounted fit of each side, then five of each in turn, and the medians are the figures.
Preparing the frame is timed for neither side: both are given the same pandas frame, text as
categories, that was made before. What a fit makes of that frame (codes, bins) is timed for both.
The log loss of both on the test half is beside.

Data sets on which LightGBM takes 0.1 s or more count by the ratio, the others by our seconds.
`--final` also times `DBLClassifier(recipe=model.recipe_)`, the fit without the choice. `--big`
takes four large data sets instead, with fewer rounds.

The machine must be quiet: beside one busy process LightGBM's two threads wait for each other, and
a fit of 0.1 s may take 10 s. A row holds the load average at its start; `--threads 1` suffers less.

Each data set adds a row to the file `--rows`; a data set that has its row there is not run again,
so that a run can be resumed.

    pip install -r benchmarks/requirements.txt
    python benchmarks/default_speed.py --rows speed.jsonl
    python benchmarks/default_speed.py --rows speed.jsonl --final --datasets adult letter
    python benchmarks/default_speed.py --rows big.jsonl --big
"""

import argparse
import os
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from common import (
    REPEATS,
    THREADS,
    append_line,
    geometric_mean,
    list_data_sets,
    read_lines,
    report,
    split,
    time_once,
)
from peer_models import as_categories, category_frames
from process import run_in_child

from deepbroad import DBLClassifier
from deepbroad.measures import measure

MOST_ROWS = 70_000
BIG = ("covertype", "census-income-kdd", "flights-3m", "sba-loans")
BIG_REPEATS = 2
# Seconds of LightGBM from which on a ratio says something.
SHORT_SECONDS = 0.1
NAMED = ("adult", "bank-marketing-full", "electricity", "connect-4", "letter")
HEADER = (
    f"{'data':<26}{'train':>9}{'feat.':>6}{'cls':>4}{'LightGBM s':>12}{'ours s':>9}{'ratio':>8}"
    f"{'its loss':>10}{'our loss':>10}{'tables':>8}{'depth':>6}{'final s':>9}"
)


def run(name: str, seed: int, threads: int, repeats: int, final: bool) -> dict[str, Any]:
    """Time and measure both sides on one data set in this process."""
    from lightgbm import LGBMClassifier

    warnings.simplefilter("ignore")
    data = split(name, seed=seed)
    train, y, their_test = category_frames(data)
    # A value that training never had is missing to LightGBM; ours tells it from a missing one.
    our_test = as_categories(data.X_test).rename_columns(list(train.columns))
    makers: dict[str, Callable[[], Any]] = {
        "lightgbm": partial(LGBMClassifier, n_jobs=threads, verbosity=-1),
        "ours": partial(DBLClassifier, n_jobs=threads),
    }
    models = {side: make().fit(train, y) for side, make in makers.items()}
    if final:
        makers["final"] = partial(DBLClassifier, recipe=models["ours"].recipe_, n_jobs=threads)
        makers["final"]().fit(train, y)
    seconds: dict[str, list[float]] = {side: [] for side in makers}
    for _ in range(repeats):
        for side, make in makers.items():
            model = make()
            seconds[side].append(time_once(partial(model.fit, train, y)))
    row: dict[str, Any] = {
        "rows": len(y),
        "features": train.shape[1],
        "classes": len(models["ours"].classes_),
        "tables": len(models["ours"].terms_),
        "depth": max((len(term) for term in models["ours"].terms_), default=0),
        "seconds": {side: median(taken) for side, taken in seconds.items()},
        "log_loss": {},
    }
    for side, test in (("lightgbm", their_test), ("ours", our_test)):
        model = models[side]
        found = measure(
            data.y_test, model.predict_proba(test), classes=model.classes_, labels=data.labels
        )
        row["log_loss"][side] = found.log_loss
    return row


def find_rows(path: Path, names: list[str], seed: int, threads: int) -> dict[str, dict[str, Any]]:
    """Return the rows of data sets that are done; a later row replaces an earlier one."""
    return {
        row["data"]: row
        for row in read_lines(path)
        if (row["seed"], row["threads"], row["status"]) == (seed, threads, "done")
        and row["data"] in names
    }


def ratio_of(row: dict[str, Any], side: str = "ours") -> float:
    """Return our seconds over LightGBM's."""
    return row["seconds"][side] / row["seconds"]["lightgbm"]


def format_row(row: dict[str, Any]) -> str:
    """Return the line of one data set."""
    theirs, ours = (row["seconds"][side] for side in ("lightgbm", "ours"))
    losses = "".join(f"{row['log_loss'][side]:>10.4f}" for side in ("lightgbm", "ours"))
    final = f"{row['seconds']['final']:>9.3f}" if "final" in row["seconds"] else ""
    return (
        f"{row['data']:<26}{row['rows']:>9}{row['features']:>6}{row['classes']:>4}{theirs:>12.3f}"
        f"{ours:>9.3f}{ratio_of(row):>8.2f}{losses}{row['tables']:>8}{row['depth']:>6}{final}"
    )


def print_summary(rows: dict[str, dict[str, Any]], *, big: bool) -> None:
    """Print the figures over all data sets beside their targets."""
    if big:
        for name, row in rows.items():
            report_ratio(f"{name}: ours over LightGBM's", ratio_of(row), 5)
        return
    is_long = {name: row["seconds"]["lightgbm"] >= SHORT_SECONDS for name, row in rows.items()}
    ratios = {name: ratio_of(row) for name, row in rows.items() if is_long[name]}
    ours = [row["seconds"]["ours"] for name, row in rows.items() if not is_long[name]]
    print(f"\nLightGBM takes {SHORT_SECONDS} s or more on {len(ratios)} sets, less on {len(ours)}")
    if ratios:
        worst = max(ratios, key=ratios.__getitem__)
        report_ratio("ours over LightGBM's, geometric mean", geometric_mean(ratios.values()), 3)
        report_ratio(f"the worst: {worst}", ratios[worst], 12)
    if ours:
        middle, most = median(ours), max(ours)
        report("the others: our median seconds", f"{middle:.3f}", "≤ 0.15", middle <= 0.15)
        report("the others: our most seconds", f"{most:.3f}", "≤ 1", most <= 1)
    for name in NAMED:
        if name in rows:
            report_ratio(f"{name}: ours over LightGBM's", ratio_of(rows[name]), 5)
            if "final" in rows[name]["seconds"]:
                final = ratio_of(rows[name], "final")
                report_ratio(f"{name}: the final fit over LightGBM's", final, 2)


def report_ratio(what: str, ratio: float, most: float) -> None:
    """Print a ratio beside the most that it may be."""
    report(what, f"{ratio:.2f}", f"≤ {most}", ratio <= most)


def parse_arguments() -> argparse.Namespace:
    """Read the command line and leave with a message where it asks for what there is not."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=Path, required=True, help="file of JSON lines")
    parser.add_argument("--datasets", nargs="+", metavar="NAME")
    parser.add_argument("--repeats", type=int, help=f"default {REPEATS}, with --big {BIG_REPEATS}")
    parser.add_argument("--seed", type=int, default=0, help="of the permutation")
    parser.add_argument("--threads", type=int, default=THREADS, help="of both sides")
    parser.add_argument("--final", action="store_true", help="time the fit of the recipe as well")
    parser.add_argument("--big", action="store_true", help=f"{', '.join(BIG)} instead")
    parser.add_argument("--timeout", type=float, default=3600.0, help="seconds of each data set")
    parser.add_argument("--report-only", action="store_true")
    chosen = parser.parse_args()
    if chosen.final and "recipe" not in DBLClassifier().get_params():
        sys.exit("--final needs DBLClassifier(recipe=...), which this version of deepbroad lacks.")
    chosen.repeats = chosen.repeats or (BIG_REPEATS if chosen.big else REPEATS)
    chosen.datasets = chosen.datasets or (list(BIG) if chosen.big else list_data_sets(MOST_ROWS))
    return chosen


def run_anew(name: str, chosen: argparse.Namespace) -> dict[str, Any]:
    """Run one data set in a fresh process and return its row."""
    row = {"data": name, "seed": chosen.seed, "threads": chosen.threads, "repeats": chosen.repeats}
    row["load"] = os.getloadavg()[0]
    arguments = (name, chosen.seed, chosen.threads, chosen.repeats, chosen.final)
    outcome = run_in_child(run, *arguments, timeout=chosen.timeout)
    row["status"] = outcome.status
    return row | (outcome.value or {"note": outcome.message[:200]})


def main() -> None:
    """Run the data sets that have no row yet, then print the figures over all of them."""
    chosen = parse_arguments()
    done = find_rows(chosen.rows, chosen.datasets, chosen.seed, chosen.threads)
    load = os.getloadavg()[0]
    if not chosen.report_only and load > (os.cpu_count() or 1) - chosen.threads + 0.5:
        print(f"The machine is busy (load average {load:.1f}): seconds will say little.")
    print(HEADER)
    for name in chosen.datasets:
        known = name in done and (not chosen.final or "final" in done[name]["seconds"])
        if not known and not chosen.report_only:
            row = run_anew(name, chosen)
            append_line(chosen.rows, row)
            if row["status"] != "done":
                print(f"{name:<26}{row['status']}: {row['note']}", flush=True)
                continue
            done[name] = row
        if name in done:
            print(format_row(done[name]), flush=True)
    print_summary(done, big=chosen.big)


if __name__ == "__main__":
    main()
