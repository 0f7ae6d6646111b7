"""Small random training sets of codes, for the laws that the engine keeps."""

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

from deepbroad.data.source import ArraySource
from deepbroad.engine.passes import LossPass, PassDesign
from deepbroad.engine.planning import group_source
from deepbroad.engine.training import Training
from deepbroad.kernels.threads import Threads
from deepbroad.model.groups import observe_groups
from deepbroad.model.loss import LOG_LOSS
from deepbroad.model.objective import Design, Objective
from deepbroad.model.plan import Plan
from deepbroad.model.terms import Terms

ONE_THREAD = Threads(1)


@dataclass(frozen=True)
class Problem:
    """Codes (a, N), labels (N,) and weights (N,) or None."""

    codes: np.ndarray
    labels: np.ndarray
    cardinalities: np.ndarray
    n_classes: int
    weights: np.ndarray | None = None

    @property
    def omega(self):
        return np.ones(len(self.labels)) if self.weights is None else self.weights

    @property
    def shape(self):
        return self.cardinalities, self.n_classes

    def rows(self, chosen, weights=None):
        """Return the problem with some of its rows, once or more."""
        kept = None if self.weights is None else self.weights[chosen]
        return replace(
            self,
            codes=self.codes[:, chosen],
            labels=self.labels[chosen],
            weights=kept if weights is None else weights,
        )

    def source(self):
        return ArraySource(
            self.codes, self.labels, self.n_classes, self.cardinalities, weights=self.weights
        )

    def plan(self, n, partition=None):
        """Return the plan of all tuples of n columns, one group per column unless told."""
        if partition is None:
            partition = [(c,) for c in range(len(self.codes))]
        blocks = (block.codes for block in self.source().blocks())
        groups = observe_groups(partition, self.cardinalities, blocks)
        return Plan.of(Terms.of_order(n, self.cardinalities), groups)

    def training(self, n, partition=None, *, dtype=np.float64, threads=ONE_THREAD, smoothing=1.0):
        plan = self.plan(n, partition)
        return Training(
            group_source(self.source(), plan),
            plan,
            smoothing=smoothing,
            dtype=np.dtype(dtype),
            threads=threads,
        )


def objective_of(
    training, *, scale, start, target, strength, class_scale, class_start, loss=LOG_LOSS
):
    """Return the objective over the cells that a training set reaches; arrays (n_cells, C)."""
    reached = np.flatnonzero(training.counts.any(axis=1))
    design = Design(
        scale=scale[reached].astype(training.dtype),
        start=start[reached],
        target=target[reached],
        strength=strength[reached],
        class_scale=class_scale,
        class_start=class_start,
    )
    known = PassDesign(training.plan, reached, design.scale, None, training.dtype)
    run_pass = LossPass(training.source, known, training.threads, loss)
    return Objective(design, run_pass, float(training.class_counts.sum())), reached


def draw_routes(towns=100, routes=300, rows=20_000):
    """Return flights between towns: few of the pairs of these are routes, each with its length."""
    rng = np.random.default_rng(0)
    ends, length = rng.integers(towns, size=(2, routes)), rng.integers(towns, size=routes)
    route = rng.integers(routes, size=rows)
    when = [rng.integers(values, size=rows) for values in (31, 24, 12)]
    codes = np.stack([*ends[:, route], length[route], *when]).astype(np.uint8)
    return codes, rng.integers(2, size=rows)


def draw_problem(seed, *, a=4, rows=60, n_classes=3, weighted=False, largest=3):
    """Return a training set whose class depends on the columns, and has every class."""
    rng = np.random.default_rng(seed)
    cardinalities = rng.integers(2, largest + 1, size=a)
    codes = np.stack([rng.integers(v, size=rows) for v in cardinalities]).astype(np.uint8)
    leaning = rng.normal(size=(a, largest, n_classes))
    scores = sum(leaning[c, codes[c]] for c in range(a)) + rng.gumbel(size=(rows, n_classes))
    labels = scores.argmax(axis=1).astype(np.uint8)
    labels[:n_classes] = np.arange(n_classes)
    weights = rng.choice([0.5, 1.0, 2.0, 3.5], size=rows) if weighted else None
    return Problem(codes, labels, cardinalities, n_classes, weights)


@st.composite
def problems(draw, max_rows=40):
    """Draw a training set: few or many columns, constant columns, weights of 0 among others."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    cardinalities = np.array(draw(st.lists(st.integers(1, 4), min_size=2, max_size=5)))
    rows = draw(st.integers(1, max_rows))
    n_classes = draw(st.integers(2, 4))
    codes = np.stack([rng.integers(v, size=rows) for v in cardinalities]).astype(np.uint8)
    labels = rng.integers(n_classes, size=rows).astype(np.uint8)
    weights = None
    if draw(st.booleans()):
        weights = rng.choice([0.0, 0.5, 1.0, 3.0], size=rows)
        weights[0] = 1.0
    return Problem(codes, labels, cardinalities, n_classes, weights)


@st.composite
def partitions(draw, a):
    """Draw a partition of 0..a-1 into groups, columns and groups in any order."""
    columns = draw(st.permutations(range(a)))
    group_of = draw(st.lists(st.integers(0, a - 1), min_size=a, max_size=a))
    groups = {}
    for column, g in zip(columns, group_of, strict=True):
        groups.setdefault(g, []).append(column)
    return [tuple(columns) for columns in groups.values()]
