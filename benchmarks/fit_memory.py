"""Growth of resident memory in the fit of DBL² on poker-hand, against what the fit must hold.

A fresh process makes the table, fits a small one so that compiled code is loaded, resets the
kernel's peak counter and fits: the growth is the peak (VmHWM) minus what was resident before
(VmRSS). The bound is 3 × (codes + scores + parameters × L-BFGS history) + 50 MB, with one byte
per code, float32 scores for every class (unpadded), and 10 float64 vectors of the parameters,
which are the pairs that training rows show times the classes. Linux only.

    python benchmarks/fit_memory.py
"""

import argparse
import sys
from statistics import median

import numpy as np
from common import REPEATS, OneHot, encode_categories, find_few, report, split
from process import read_status, reset_peak, run_in_child

from deepbroad import DBLClassifier

HISTORY = 10
MEGABYTE = 1e6
WARM_UP_ROWS_PER_CLASS = 500


def measure_growth(rows: int | None) -> int:
    """Fit in this process and return by how many bytes its resident memory grew at most."""
    data = split("poker-hand", rows=rows)
    few = find_few(data.y_train, WARM_UP_ROWS_PER_CLASS)
    DBLClassifier.paper(2).fit(data.X_train.take(few), data.y_train[few])
    before = read_status("VmRSS")
    # Without it, making the table counts.
    reset_peak()
    DBLClassifier.paper(2).fit(data.X_train, data.y_train)
    return read_status("VmHWM") - before


def compute_bound(rows: int | None) -> float:
    """Return the bound in bytes."""
    data = split("poker-hand", rows=rows)
    codes = encode_categories(data.X_train)
    n_classes = np.unique(data.y_train).size
    scores = data.y_train.size * n_classes * 4
    parameters = OneHot(codes, n=2).n_columns * n_classes
    return 3 * (codes.size + scores + parameters * HISTORY * 8) + 50 * MEGABYTE


def main() -> None:
    """Measure in fresh processes and print the median growth over the bound."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, help="hands, default 1,025,010")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="processes, default 5")
    chosen = parser.parse_args()
    outcomes = [run_in_child(measure_growth, chosen.rows) for _ in range(chosen.repeats)]
    for outcome in outcomes:
        if outcome.status != "done":
            sys.exit(f"The fit ended as {outcome.status!r}: {outcome.message}")
    growth = median(outcome.value for outcome in outcomes)
    bound = compute_bound(chosen.rows)
    found = f"{growth / MEGABYTE:.0f} MB, {growth / bound:.2f} of bound"
    target = f"≤ {bound / MEGABYTE:.0f} MB"
    report("poker-hand, growth in the fit, n=2", found, target, growth <= bound)


if __name__ == "__main__":
    main()
