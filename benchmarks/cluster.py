"""The same fit in memory, from files, and on a Dask cluster of which one worker is killed.

A training table is written to a folder of Parquet files, in as many parts as `--parts` says. The
fits in memory and from the files have two threads; the cluster has two workers of one thread each,
which read the folder and keep their parts. Seconds per pass are those between the first and the
last iteration over the evaluations in between; in the last run the worker that has most is killed
with SIGKILL at iteration 5. How far apart rounding alone drives a fit is seen from one in memory
with its rows permuted. (Tables of less than 524,288 training rows are one part on the cluster
whatever `--parts` says.)
"""

import argparse
import os
import signal
import tempfile
import warnings
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from common import CLASS, THREADS, Split, report, split
from distributed import Client, LocalCluster
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from deepbroad import DBLClassifier


class Fit(NamedTuple):
    """What a fit took and gave."""

    seconds: float
    per_pass: float
    status: str
    first_loss: float
    probabilities: NDArray[np.float64]


def fit(rows: Split, X: Any, y: Any, settings: dict[str, Any], client: Client | None = None) -> Fit:
    """Fit DBL² and time it; with a client, a worker of it is killed."""
    moments: list[float] = []

    def tell(progress: Any) -> None:
        moments.append(perf_counter())
        if client is not None and progress.iteration == 5:
            held = client.has_what()
            fullest = max(held, key=lambda worker: len(held[worker]))
            os.kill(client.run(os.getpid)[fullest], signal.SIGKILL)

    model = DBLClassifier.paper(2).set_params(**settings, callbacks=[tell], n_jobs=THREADS)
    began = perf_counter()
    model.fit(X, y)
    seconds = perf_counter() - began
    per_pass = (moments[-1] - moments[0]) / max(model.n_evaluations_ - 1, 1)
    probabilities = model.predict_proba(rows.X_test)
    return Fit(seconds, per_pass, model.status_, model.evaluation_curve_[0], probabilities)


def write_parts(rows: Split, folder: Path, parts: int) -> None:
    """Write the training half as Parquet files."""
    table = rows.X_train.append_column(CLASS, pa.array(rows.y_train))
    edges = np.linspace(0, len(table), parts + 1).astype(int)
    for i, (begin, end) in enumerate(pairwise(edges)):
        pq.write_table(table.slice(begin, end - begin), folder / f"{i:03}.parquet")


def main() -> None:
    """Print the runs, and the figures beside their targets."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", default="flights-3m")
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--max-iter", type=int, default=30)
    parser.add_argument("--alpha", type=float, default=0.01, help="the paper's by default")
    parser.add_argument("--tol", type=float, default=1e-5)
    options = parser.parse_args()
    settings = {"alpha": options.alpha, "tol": options.tol, "max_iter": options.max_iter}
    warnings.simplefilter("ignore", ConvergenceWarning)
    rows = split(options.dataset)
    print(f"{options.dataset}: {len(rows.y_train):,} training rows, {settings}")
    memory = fit(rows, rows.X_train, rows.y_train, settings)
    order = np.random.default_rng(1).permutation(len(rows.y_train))
    permuted = fit(rows, rows.X_train.take(order), rows.y_train[order], settings)
    with tempfile.TemporaryDirectory() as folder:
        write_parts(rows, Path(folder), options.parts)
        files = fit(rows, folder, CLASS, settings)
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            dask = fit(rows, folder, CLASS, settings)
            killed = fit(rows, folder, CLASS, settings, client)
    runs = (("memory", memory), ("files", files), ("dask", dask), ("killed", killed))
    for name, one in runs:
        print(f"{name:<8} fit {one.seconds:8.1f} s   a pass {one.per_pass:8.3f} s   {one.status}")
    print(f"a pass of Dask over one in memory: {dask.per_pass / memory.per_pass:.2f}")
    for name, one in runs[1:3]:
        first = abs(one.first_loss / memory.first_loss - 1)
        apart = float(np.abs(one.probabilities - memory.probabilities).max())
        report(f"{name}: loss of one pass, apart", f"{first:.1e}", "<= 1e-6", first <= 1e-6)
        report(f"{name}: probabilities, apart", f"{apart:.1e}", "<= 1e-4", apart <= 1e-4)
    noise = float(np.abs(permuted.probabilities - memory.probabilities).max())
    same = bool((killed.probabilities == dask.probabilities).all())
    print(f"the same of memory with its rows permuted: {noise:.1e}")
    report("same bits after a worker was killed", str(same), "True", same)


if __name__ == "__main__":
    main()
