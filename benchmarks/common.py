"""What the benchmarks share: data by name, splits, one-hot tuples, timing in turn, rows, verdicts.

The scripts print ratios measured in one run. Seconds depend on the machine and its neighbours, so
two sides are timed in turn, again and again, and the median of the ratios is the figure.
"""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations
from math import comb
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy import sparse

from deepbroad.datasets import HANDS, poker_hand

THREADS = 2
REPEATS = 5
CLASS = "class"
_DROPPED = {"census-income-kdd": ["instance_weight"], "splice": ["Instance_name"]}
_BESIDE_THE_REPOSITORY = Path(__file__).resolve().parents[2] / "shared" / "data"


class Split(NamedTuple):
    """Training and test half of a data set, and the classes of the whole."""

    X_train: pa.Table
    y_train: NDArray[Any]
    X_test: pa.Table
    y_test: NDArray[Any]
    labels: NDArray[Any]


def find_data_folder() -> Path:
    """Return the folder of the Parquet files, or leave with a message that says how to set it."""
    folder = Path(os.environ.get("DEEPBROAD_DATA", _BESIDE_THE_REPOSITORY))
    if not folder.is_dir():
        sys.exit(
            f"No data folder at {folder}. Set DEEPBROAD_DATA to a folder of Parquet files whose "
            f"last column is named {CLASS!r}."
        )
    return folder


def load(name: str, *, rows: int | None = None) -> tuple[pa.Table, NDArray[Any], NDArray[Any]]:
    """Return attributes, classes and the distinct classes of a data set.

    "poker-hand" is generated (1,025,010 hands unless `rows` says otherwise); every other name is
    a file of the data folder, of which `rows` keeps the first.
    """
    if name == "poker-hand":
        X, y = poker_hand(**({} if rows is None else {"rows": rows}), seed=0, return_X_y=True)
        return X, y, np.arange(len(HANDS))
    path = find_data_folder() / f"{name}.parquet"
    if not path.exists():
        sys.exit(f"No file {path}; DEEPBROAD_DATA must name the folder that holds it.")
    table = pq.read_table(path)
    table = table.slice(0, rows) if rows is not None else table
    y = table[CLASS].to_numpy()
    return table.drop_columns([CLASS, *_DROPPED.get(name, [])]), y, np.unique(y)


def split(name: str, *, rows: int | None = None, seed: int = 0) -> Split:
    """Load a data set and cut a permutation of its rows into halves."""
    X, y, labels = load(name, rows=rows)
    order = np.random.default_rng(seed).permutation(y.size)
    train, test = order[: y.size // 2], order[y.size // 2 :]
    return Split(X.take(train), y[train], X.take(test), y[test], labels)


def list_data_sets(most_rows: int) -> list[str]:
    """Return the data sets of the folder up to so many rows, smallest first."""
    found = []
    for path in find_data_folder().glob("*.parquet"):
        about = pq.read_metadata(path)
        if about.num_rows <= most_rows:
            found.append((about.num_rows * about.num_columns, path.stem))
    return [name for _, name in sorted(found)]


def find_few(y: NDArray[Any], per_class: int) -> NDArray[np.intp]:
    """Return the first rows of every class, for a fit that warms up the kernels.

    Kernels are compiled, and loaded from disk, for the number of classes: all must take part.
    """
    return np.concatenate([np.flatnonzero(y == label)[:per_class] for label in np.unique(y)])


def encode_categories(X: pa.Table) -> NDArray[np.int32]:
    """Number the values of every column, for tables that hold nothing but categories."""
    columns = []
    for column in X.columns:
        if not pa.types.is_dictionary(column.type):
            column = pc.dictionary_encode(column, null_encoding="encode")
        columns.append(column.combine_chunks().indices.to_numpy(zero_copy_only=False))
    return np.column_stack(columns).astype(np.int32)


class OneHot:
    """One-hot columns for the tuples of n codes that training rows show.

    Tuples that no training row shows get no column, as they are no parameters of ours either.
    """

    def __init__(self, codes: NDArray[Any], n: int) -> None:
        self.n = n
        self.sizes = codes.max(axis=0).astype(np.int64) + 1
        self.columns: list[NDArray[np.int32]] = []
        self.n_columns = 0
        for tuples in self._tuples(codes):
            seen = np.bincount(tuples.values, minlength=tuples.size) > 0
            column = np.where(seen, self.n_columns + np.cumsum(seen) - 1, -1).astype(np.int32)
            self.columns.append(column)
            self.n_columns += int(seen.sum())

    def transform(self, codes: NDArray[Any]) -> sparse.csr_matrix:
        """Return the float32 CSR matrix of `codes`; unseen tuples leave their entries out."""
        n_rows, n_tuples = codes.shape[0], comb(codes.shape[1], self.n)
        indices = np.empty((n_rows, n_tuples), dtype=np.int32)
        for place, tuples in enumerate(self._tuples(codes)):
            indices[:, place] = self.columns[place][tuples.values]
        known = indices >= 0
        if known.all():
            start = np.arange(n_rows + 1, dtype=np.int64) * n_tuples
            flat = indices.ravel()
        else:
            start = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
            flat = indices[known]
        index_type = np.int32 if start[-1] < 2**31 else np.int64
        return sparse.csr_matrix(
            (np.ones(flat.size, dtype=np.float32), flat, start.astype(index_type)),
            shape=(n_rows, self.n_columns),
        )

    def _tuples(self, codes: NDArray[Any]) -> "Iterator[_Tuples]":
        """Number the joint values of every n columns in turn."""
        for chosen in combinations(range(codes.shape[1]), self.n):
            values = np.zeros(codes.shape[0], dtype=np.int64)
            for column in chosen:
                values *= self.sizes[column]
                values += codes[:, column]
            yield _Tuples(values, int(np.prod(self.sizes[list(chosen)])))


class _Tuples(NamedTuple):
    """Joint values of one set of columns, and how many there could be."""

    values: NDArray[np.int64]
    size: int


class Alternation(NamedTuple):
    """Seconds of two sides that were timed in turn."""

    ours: list[float]
    theirs: list[float]

    @property
    def ratio(self) -> float:
        """Median over the rounds of their seconds over ours."""
        return median(t / o for o, t in zip(self.ours, self.theirs, strict=True))

    @property
    def spread(self) -> str:
        """Smallest and largest ratio of a round."""
        ratios = [t / o for o, t in zip(self.ours, self.theirs, strict=True)]
        return f"{min(ratios):.1f}-{max(ratios):.1f}"


def alternate(
    ours: Callable[[], object], theirs: Callable[[], object], *, repeats: int = REPEATS
) -> Alternation:
    """Time both sides in turn, after one round that is not counted."""
    ours(), theirs()
    result = Alternation([], [])
    for _ in range(repeats):
        result.ours.append(time_once(ours))
        result.theirs.append(time_once(theirs))
    return result


def time_once(call: Callable[[], object]) -> float:
    """Return the seconds that one call takes."""
    start = perf_counter()
    call()
    return perf_counter() - start


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file of JSON lines; one that does not exist has none."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def append_line(path: Path, row: dict[str, Any]) -> None:
    """Add a row to a file of JSON lines."""
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean, NaN if there is nothing to take it of."""
    logs = np.log(list(values))
    return float(np.exp(logs.mean())) if logs.size else float("nan")


def report(what: str, found: str, target: str, reached: bool) -> None:
    """Print one figure beside its target."""
    print(f"{what:<52} {found:>22}   target {target:<28} {'ok' if reached else 'MISSED'}")
