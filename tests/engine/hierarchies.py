"""Small training sets of nested code columns, their terms of several orders, and plans for them."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from deepbroad.data.source import ArraySource
from deepbroad.engine.planning import Planner, group_source
from deepbroad.engine.training import Training
from deepbroad.model.groups import observe_groups, observe_tuples
from deepbroad.model.plan import Plan
from deepbroad.model.resolutions import Resolutions
from deepbroad.model.terms import NONE
from tests.engine.problems import ONE_THREAD, Problem, partitions


@dataclass(frozen=True)
class Nested(Problem):
    """A training set whose code columns are levels of attributes."""

    attributes: np.ndarray | None = None

    def source(self):
        return ArraySource(
            self.codes, self.labels, self.n_classes, self.cardinalities,
            weights=self.weights, attributes=self.attributes,
        )  # fmt: skip

    def levelled(self, levels):
        return Resolutions(self.attributes, self.cardinalities).terms(levels)


def cut(size, cuts):
    """Return the bin that each of so many finest bins lies in."""
    return np.searchsorted(cuts, np.arange(size), side="right")


def draw_nested(seed, *, rows=50, n_classes=3, weighted=False, n_attributes=3):
    """Return a number of three levels, a category of 3, and numbers of 3 and 4 values."""
    rng = np.random.default_rng(seed)
    # For each attribute the finest bins, and the coarser ones that they lie in.
    kinds = [
        (8, [cut(8, cuts) for cuts in ([4], [2, 6], [2, 4, 6], [1, 5], [3, 7], [1, 3, 5, 7])]),
        (3, []),
        (3, [cut(3, [1]), cut(3, [2])]),
        (4, [cut(4, [2]), cut(4, [1, 3])]),
    ][:n_attributes]
    codes, attributes, cardinalities = [], [], []
    scores = rng.gumbel(size=(rows, n_classes))
    pull = rng.normal(size=(n_attributes, 8, n_classes)) * 1.5
    for attribute, (size, coarser) in enumerate(kinds):
        finest = rng.integers(size, size=rows)
        scores += pull[attribute, finest]
        for bins in [*coarser, np.arange(size)]:
            codes.append(bins[finest])
            attributes.append(attribute)
            cardinalities.append(int(bins.max()) + 1)
    labels = scores.argmax(axis=1).astype(np.uint8)
    labels[:n_classes] = np.arange(n_classes)
    return Nested(
        np.stack(codes).astype(np.uint8),
        labels,
        np.array(cardinalities),
        n_classes,
        rng.choice([0.5, 1.0, 2.0], size=rows) if weighted else None,
        np.array(attributes),
    )


def single_plan(problem, terms):
    """Return the plan with a table per term."""
    return Planner(problem.source(), terms, compact=False).single()


@st.composite
def plans(draw, problem, terms):
    """Draw a plan of terms: the planner's, or fused, compact and item tables in any mixture."""
    kind = draw(st.sampled_from(["planner", "fused", "compact", "items"]))
    if kind == "planner":
        return Planner(problem.source(), terms, compact=False).fused()
    flags = st.booleans() if kind != "fused" else st.just(False)
    is_compact = np.array(draw(st.lists(flags, min_size=len(terms), max_size=len(terms))), bool)
    is_compact[-1] = False
    chosen = np.flatnonzero(is_compact).tolist()
    own = observe_tuples(
        [terms.tuple(t) for t in chosen], problem.cardinalities, problem.source().blocks(), 1
    )
    compact = dict(zip(chosen, own, strict=True))
    if kind == "items":
        common = [draw(st.integers(0, int(v) - 1)) for v in problem.cardinalities]
        return Plan.of(terms, (), compact, np.array(common))
    members = terms.members[~is_compact]
    used = set(members[members != NONE].tolist())
    drawn = draw(partitions(len(problem.codes)))
    kept = [tuple(c for c in columns if c in used) for columns in drawn]
    kept = [columns for columns in kept if columns]
    return Plan.of(terms, observe_groups(kept, problem.cardinalities, [problem.codes]), compact)


def train(problem, plan, *, threads=ONE_THREAD, dtype=np.float64, smoothing=1.0, min_count=1):
    return Training(
        group_source(problem.source(), plan),
        plan,
        smoothing=smoothing,
        dtype=np.dtype(dtype),
        threads=threads,
        min_count=min_count,
    )


def read_model(model):
    """Return class scores and dense tables by ascending tuple, compact ones spread out."""
    terms = model.plan.terms
    tuples = [tuple(sorted(terms.tuple(t))) for t in range(len(terms))]
    return model.class_scores, {columns: model.table(columns) for columns in tuples}
