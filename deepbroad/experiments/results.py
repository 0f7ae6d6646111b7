"""Rows of an experiment, read as the numbers that tables and figures compare.

Methods are compared on the folds that all of them finished, so that one that ran out of time on
some folds is never measured on easier ones; data sets without such folds are left out and named.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deepbroad.experiments.decomposition import Row, decompose_rows
from deepbroad.experiments.published import big_for_times, dataset_sizes
from deepbroad.experiments.statistics import Decomposition, WinDrawLoss, average_ratio, count_wins

_DECOMPOSED = ("bias", "variance")
_SMALL = 1000
_BIG = 100_000


class Compared(NamedTuple):
    """Values of some methods on the data sets that all of them finished.

    values : ndarray of float64 of shape (data sets, methods)
    n_rows : ndarray of int of shape (data sets,)
    left_out : names of data sets of the group where some of the methods did not finish
    """

    datasets: list[str]
    values: NDArray[np.float64]
    n_rows: NDArray[np.int64]
    left_out: list[str]


class Results:
    """All rows of an experiment.

    Parameters
    ----------
    rows : iterable of mappings
        One for each data set, method, round and fold.
    paper_names : mapping
        The paper's name of each data set, where it has one.
    """

    def __init__(
        self, rows: Iterable[Row], *, paper_names: Mapping[str, str] | None = None
    ) -> None:
        self.rows = list(rows)
        self.paper_names = dict(paper_names or {})
        self._parts: dict[tuple[Any, ...], Decomposition] = {}
        self._done: dict[tuple[str, str], dict[tuple[int, int], Row]] = defaultdict(dict)
        self._n_rows: dict[str, int] = {}
        for row in self.rows:
            self._n_rows[row["dataset"]] = row["n_rows"] or self._n_rows.get(row["dataset"], 0)
            if row["status"] == "done":
                folds = self._done[row["dataset"], row["method"]]
                folds[row["round"], row["fold"]] = row

    @property
    def methods(self) -> list[str]:
        """Name the methods that finished at least one fold."""
        return sorted({method for _, method in self._done})

    def datasets(self, group: str = "all") -> list[str]:
        """Name the data sets of a group, the largest first."""
        names = sorted(self._n_rows, key=lambda name: (-self._n_rows[name], name))
        return [name for name in names if self._belongs(name, group)]

    def n_rows(self, dataset: str) -> int:
        """Give the size of a data set."""
        return self._n_rows[dataset]

    def finished(self, dataset: str, method: str) -> list[Row]:
        """Give the rows of finished folds, in order."""
        folds = self._done.get((dataset, method), {})
        return [folds[key] for key in sorted(folds)]

    def compare(self, measure: str, methods: Sequence[str], group: str = "all") -> Compared:
        """Give a measure of some methods on the data sets that all of them finished."""
        names, values, left_out = [], [], []
        for name in self.datasets(group):
            found = self._values(name, measure, methods)
            if found is None:
                left_out.append(name)
            else:
                names.append(name)
                values.append(found)
        table = np.asarray(values, dtype=np.float64).reshape(len(names), len(methods))
        sizes = np.array([self._n_rows[name] for name in names], dtype=np.int64)
        return Compared(names, table, sizes, left_out)

    def count_wins(self, measure: str, ours: str, theirs: str, group: str) -> WinDrawLoss:
        """Count on how many data sets `ours` is lower, equal and higher than `theirs`."""
        found = self.compare(measure, [ours, theirs], group)
        return count_wins(found.values[:, 0], found.values[:, 1])

    def average(
        self, measure: str, methods: Sequence[str], group: str, *, reference: str = "DBL2"
    ) -> tuple[dict[str, float], int]:
        """Give each method's geometric mean over that of `reference`, and on how many data sets.

        Losses have 1/(2N) added, since some are 0.
        """
        found = self.compare(measure, [reference, *methods], group)
        if not found.datasets:
            return {}, 0
        is_loss = measure in ("error", "rmse", "log_loss", *_DECOMPOSED)
        added = 0.5 / found.n_rows if is_loss else 0.0
        base = found.values[:, 0]
        ratios = [average_ratio(column, base, added=added) for column in found.values.T[1:]]
        return dict(zip(methods, ratios, strict=True)), len(found.datasets)

    def _belongs(self, name: str, group: str) -> bool:
        """Say whether a data set is of a group."""
        printed = self.paper_names.get(name)
        # By the paper's table where it has the set, since ours may be smaller.
        size = dataset_sizes()[printed].rows if printed else self._n_rows[name]
        is_big, is_timed = size > _BIG, printed in big_for_times()
        return {
            "all": True,
            "big": is_big,
            "largest": is_big,
            "little": not is_big,
            "small": self._n_rows[name] < _SMALL,
            "big-times": is_timed,
            "little-times": not is_big and not is_timed,
        }[group]

    def _values(self, dataset: str, measure: str, methods: Sequence[str]) -> list[float] | None:
        """Average a measure over the folds that all methods finished; None where there are none."""
        folds = [self._done.get((dataset, method), {}) for method in methods]
        common = sorted(set(folds[0]).intersection(*folds[1:]))
        if measure in _DECOMPOSED:
            rounds = [round for round, fold in common if fold == 0 and (round, 1) in common]
            # One prediction of each row has no variance.
            if len(rounds) < 2:
                return None
            return [
                getattr(self._decompose(dataset, method, rounds), measure) for method in methods
            ]
        values: list[list[Any]] = [[rows[key][measure] for key in common] for rows in folds]
        if not common or any(value is None for line in values for value in line):
            return None
        return [float(np.mean(line)) for line in values]

    def _decompose(self, dataset: str, method: str, rounds: Sequence[int]) -> Decomposition:
        """Split the error of a method over whole rounds, once."""
        key = (dataset, method, *rounds)
        if key not in self._parts:
            folds = self._done[dataset, method]
            self._parts[key] = decompose_rows([folds[r, fold] for r in rounds for fold in (0, 1)])
        return self._parts[key]
