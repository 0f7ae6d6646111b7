"""Our side of the benchmarks that look below the estimators: one pass, and scores from codes.

The only file here that knows modules which are not public; the rest uses what users have.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from common import THREADS
from numpy.typing import NDArray

from deepbroad.data.encoding import Encoding
from deepbroad.data.source import ArraySource
from deepbroad.data.table import read_table
from deepbroad.engine.passes import pass_dtype
from deepbroad.engine.planning import Planner, group_source
from deepbroad.engine.scoring import Scorer
from deepbroad.engine.training import Training
from deepbroad.kernels.threads import Threads
from deepbroad.model.family import Family
from deepbroad.model.terms import Terms
from deepbroad.solvers import Solution


class Prepared(NamedTuple):
    """A training set that is encoded, planned and counted, and its codes (columns × rows)."""

    training: Training
    encoding: Encoding
    codes: NDArray[Any]


class OurPass(NamedTuple):
    """A pass that is ready to run, and the codes (rows × columns) that it runs over."""

    run: Callable[[], object]
    codes: NDArray[Any]
    look_ups: int


class _Capture:
    """A solver that solves nothing: it keeps the objective, so that it can be timed alone."""

    objective: Any
    start: NDArray[np.float64]
    tol = 1e-5

    def minimise(
        self,
        objective: Any,
        start: NDArray[np.float64],
        *,
        curvature: NDArray[np.float64] | None = None,
        callbacks: Sequence[Any] = (),
        threads: Threads | None = None,
        state: Any = None,
    ) -> Solution:
        """Keep the objective and its start."""
        self.objective, self.start = objective, start
        return Solution(u=start, loss=np.inf, status="stopped", n_iter=0)


def prepare(X: pa.Table, y: NDArray[Any], n: int) -> Prepared:
    """Encode, plan and count a training set as a fit does."""
    classes, labels = np.unique(y, return_inverse=True)
    encoding, codes = Encoding.fit(read_table(X), labels, classes.size)
    source = ArraySource(
        codes, labels, n_classes=classes.size, cardinalities=encoding.cardinalities
    )
    plan = Planner(source, Terms.of_order(n, encoding.cardinalities)).cheapest()
    # The pool stays open until the process ends.
    threads = Threads(THREADS).__enter__()
    training = Training(
        group_source(source, plan),
        plan,
        smoothing=1.0,
        dtype=pass_dtype(plan, source.n_rows),
        threads=threads,
    )
    return Prepared(training, encoding, codes)


def encode(
    X_train: pa.Table, y_train: NDArray[Any], X: pa.Table
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64]]:
    """Return the codes (columns × rows) of a training table and of another, and the V_i."""
    classes, labels = np.unique(y_train, return_inverse=True)
    encoding, codes = Encoding.fit(read_table(X_train), labels, classes.size)
    return codes, encoding.encode(read_table(X)), encoding.cardinalities


def our_pass(X: pa.Table, y: NDArray[Any], n: int) -> OurPass:
    """Prepare one evaluation of DBL^n's objective at its start."""
    prepared = prepare(X, y, n)
    capture = _Capture()
    prepared.training.discriminative(Family(generative=True, strength=1e-2), capture)
    return OurPass(
        lambda: capture.objective(capture.start),
        np.ascontiguousarray(prepared.codes.T),
        prepared.training.plan.n_tables,
    )


def predict_from_codes(
    X_train: pa.Table, y_train: NDArray[Any], X: pa.Table, n: int
) -> Callable[[], object]:
    """Prepare the probabilities of rows that are encoded already.

    The scores are AnJE's: those of DBL lie in tables of the same shape, and cost the same.
    """
    prepared = prepare(X_train, y_train, n)
    scorer = Scorer(prepared.training.generative())
    codes = prepared.encoding.encode(read_table(X))
    return lambda: scorer.probabilities(codes, THREADS)
