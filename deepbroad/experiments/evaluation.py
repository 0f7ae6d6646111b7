"""A trial carried out in this process: fit, predict, measure. Only fit and predict are timed."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from deepbroad.experiments.dataset import Dataset
from deepbroad.experiments.protocol import folds
from deepbroad.experiments.trial import Trial
from deepbroad.measures import measure

_FEW_ROWS = 1000


class Coded(NamedTuple):
    """Attributes, and classes as positions in the sorted classes."""

    X: pa.Table
    codes: NDArray[np.int16]
    n_classes: int


@dataclass(frozen=True)
class Means:
    """What a trial may use: threads, and bytes that models may take beside their input."""

    threads: int
    memory: int


class Bench:
    """Where trials are carried out, one after the other; it keeps the last data set at hand."""

    def __init__(self, means: Means) -> None:
        self.means = means
        self._dataset: Dataset | None = None
        self._data: Coded | None = None
        self._warm: set[tuple[str, str]] = set()

    def evaluate(self, trial: Trial, begin: Callable[[], None]) -> dict[str, Any]:
        """Carry out a trial and return the columns of its row.

        Parameters
        ----------
        trial : Trial
            What to do.
        begin : callable
            Called when data and compiled code are loaded and the work that counts begins.
        """
        data = self._load(trial)
        protocol = trial.protocol
        divided = folds(
            data.codes.size, data.codes, trial.round, protocol.seed, protocol.stratified
        )
        train, test = divided[trial.fold]
        X_train, X_test = data.X.take(train), data.X.take(test)
        y_train, y_test = data.codes[train], data.codes[test]
        if trial.names not in self._warm:
            self._load_code(trial, X_train, y_train, X_test.slice(0, _FEW_ROWS))
            self._warm.add(trial.names)
        model = _provide(trial.method.create(), self.means)
        begin()
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            start = perf_counter()
            model.fit(X_train, y_train)
            fitted = perf_counter()
            probabilities = model.predict_proba(X_test)
            predicted = perf_counter()
        known = np.asarray(model.classes_)
        found = measure(
            y_test, probabilities, classes=known, labels=np.arange(data.n_classes, dtype=np.int16)
        )
        in_test = np.zeros(data.codes.size, dtype=bool)
        in_test[test] = True
        return {
            **found._asdict(),
            "train_seconds": fitted - start,
            "predict_seconds": predicted - fitted,
            **_describe_search(model),
            "n_train": train.size,
            "n_test": test.size,
            "predicted": known[np.argmax(probabilities, axis=1)].astype(np.int16),
            "actual": y_test,
            "test_bits": np.packbits(in_test).tobytes(),
            "message": _join(warned),
        }

    def _load(self, trial: Trial) -> Coded:
        """Load the data set, unless it is at hand."""
        dataset = trial.subject.dataset
        if self._data is None or dataset != self._dataset:
            self._data = None  # the old one goes before the new one comes
            X, y = dataset.load(trial.subject.folder, checked=False)
            classes, codes = np.unique(y, return_inverse=True)
            self._data = Coded(X.combine_chunks(), codes.astype(np.int16), classes.size)
            self._dataset = dataset
        return self._data

    def _load_code(self, trial: Trial, X: pa.Table, y: NDArray[np.int16], X_test: pa.Table) -> None:
        """Compile, or load from disk, the code that a fit runs, by one that ends at once.

        It is on all training rows, since what is compiled depends on the values that are seen.
        """
        model = _provide((trial.method.first or trial.method.create)(), self.means)
        _set(model, max_iter=1, n_estimators=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y).predict_proba(X_test)


def _join(warned: list[warnings.WarningMessage]) -> str:
    """Return what a fit warned of, each sentence once; not what other libraries deprecate."""
    own = [one for one in warned if issubclass(one.category, UserWarning | RuntimeWarning)]
    return "; ".join(dict.fromkeys(str(one.message) for one in own))


def _provide(model: Any, means: Means) -> Any:
    """Give a model its threads and memory."""
    return _set(model, n_jobs=means.threads, memory_limit=means.memory)


def _set(model: Any, **values: Any) -> Any:
    """Set those parameters that a model, or a step of a pipeline, has."""
    named = {name: values.get(name.rsplit("__", 1)[-1]) for name in model.get_params()}
    return model.set_params(**{name: value for name, value in named.items() if value is not None})


def _describe_search(model: Any) -> dict[str, Any]:
    """Return iterations, passes and the loss curve of models that search for their weights."""
    curve = getattr(model, "loss_curve_", None)
    if curve is None:
        return {"iterations": None, "passes": None, "loss_curve": None}
    return {
        "iterations": int(model.n_iter_),
        "passes": int(model.n_evaluations_),
        "loss_curve": np.asarray(curve, dtype=np.float64),
    }
