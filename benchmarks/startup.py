"""A fresh process that imports the library and fits iris, with kernels compiled on disk already.

The wall time of the whole process is what someone at a prompt waits for. It is taken in turn with
a process that fits scikit-learn's `LogisticRegression` on iris, imports included; the uncounted
first round compiles and caches the kernels.

    python benchmarks/startup.py
"""

import argparse
import subprocess
import sys
from statistics import median

from common import REPEATS, alternate, report

LIMIT = 3.0
DATA = "from sklearn.datasets import load_iris; X, y = load_iris(return_X_y=True); "
OURS = DATA + "from deepbroad import DBLClassifier; DBLClassifier().fit(X, y)"
THEIRS = (
    DATA + "from sklearn.linear_model import LogisticRegression; "
    "LogisticRegression(max_iter=1000).fit(X, y)"
)


def run(code: str) -> None:
    """Run `code` in a fresh Python."""
    subprocess.run([sys.executable, "-c", code], check=True)


def main() -> None:
    """Time both processes in turn."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=REPEATS, help="timed rounds, default 5")
    timing = alternate(lambda: run(OURS), lambda: run(THEIRS), repeats=parser.parse_args().repeats)
    seconds = median(timing.ours)
    report(
        "iris, process with imports and fit", f"{seconds:.2f} s", f"≤ {LIMIT} s", seconds <= LIMIT
    )
    print(f"  a process that fits scikit-learn's takes {timing.ratio:.2f}x as long")


if __name__ == "__main__":
    main()
