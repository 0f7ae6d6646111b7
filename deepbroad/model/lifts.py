"""Lifts of joint values, from which averaged dependence estimators are summed.

The lift of a joint value is R(x_α) = log θ_{x_α|y} - Σ_{i∈α} log θ_{x_i|y}: how much likelier it is
than its parts by themselves. With log θ_{x_i|x_α,y} = log θ_{x_α,x_i|y} - log θ_{x_α|y}, a
sub-model's score is naive Bayes's plus lifts alone:

    log π_y + log θ_{x_α|y} + Σ_{i∉α} log θ_{x_i|x_α,y}
        = log π_y + Σ_i log θ_{x_i|y} + (1 - c)·R(x_α) + Σ_{i∉α} R(x_α, x_i)

for c children. Lifts are small where log θ are large, which single precision needs.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deepbroad.kernels.dependence import Joints, lift_cells
from deepbroad.model.generative import log_likelihoods, log_priors, refuse_zeros
from deepbroad.model.groups import Group
from deepbroad.model.pickling import FieldsOnly
from deepbroad.model.plan import Plan
from deepbroad.model.terms import NONE, Terms, list_tuples, stack_tuples


@dataclass(frozen=True, eq=False)
class JointCounts(FieldsOnly):
    """Counts of all joint values of 1..depth columns, and log probabilities made of them.

    Parameters
    ----------
    plan : Plan
        Its terms are all tuples of up to depth columns.
    class_counts : ndarray of shape (C,)
    counts : ndarray of shape (n_cells, C)
    smoothing : float
    """

    plan: Plan
    class_counts: np.ndarray
    counts: np.ndarray
    smoothing: float

    def check(self, depth: int) -> None:
        """Raise ValueError if these cannot be the counts of all tuples of up to depth columns."""
        terms = self.plan.terms
        expected = all_tuples(depth, terms.cardinalities)
        last = np.iinfo(np.int64).max
        members = np.sort(np.where(terms.members == NONE, last, terms.members), axis=1)
        if not np.array_equal(np.where(members == last, NONE, members), expected.members):
            raise ValueError(f"the terms are not all tuples of up to {depth} columns")
        with np.errstate(over="ignore"):
            total = self.counts.sum(dtype=np.float64) + self.class_counts.sum()
        if not np.isfinite(total) or min(self.counts.min(), self.class_counts.min()) < 0:
            raise ValueError("counts must be finite and not negative")
        refuse_zeros(self.counts, self.smoothing)

    @cached_property
    def log_priors(self) -> np.ndarray:
        """Log π, (C,)."""
        return log_priors(self.class_counts, self.smoothing)

    def log_likelihoods(self, order: int | None = None) -> np.ndarray:
        """Return log θ of the cells of the terms of one order, or of all, (n, C), float64."""
        cells = slice(0, self.plan.terms.n_cells) if order is None else self.cells_of(order)
        spaces = self.plan.terms.spaces_of(cells)
        return log_likelihoods(self.counts[cells], self.class_counts, spaces, self.smoothing)

    def cells_of(self, order: int) -> slice:
        """Return the cells of the terms of one order."""
        first, last = np.searchsorted(self.plan.terms.orders, [order, order + 1])
        offsets = self.plan.terms.offsets
        return slice(int(offsets[first]), int(offsets[last]))

    def plan_of(self, order: int) -> Plan:
        """Return the plan with a table for each term of one order, never-seen values included."""
        terms, own = self.plan.terms, self.plan.compact_groups
        chosen = np.flatnonzero(terms.orders == order)
        compact = {i: own[t] for i, t in enumerate(chosen.tolist()) if t in own}
        members = terms.members[chosen, :order]
        return Plan.of(Terms(members, terms.cardinalities), self._columns, compact)

    @cached_property
    def _columns(self) -> tuple[Group, ...]:
        """All columns as groups of their own, in the order that the axes of terms follow."""
        cardinalities = self.plan.terms.cardinalities
        placed = [int(c) for group in self.plan.groups if not group.compact for c in group.columns]
        rest = sorted(set(range(len(cardinalities))) - set(placed))
        singles = (Group.single(c, int(cardinalities[c])) for c in (*placed, *rest))
        return tuple(single.with_unseen() for single in singles)

    def lifts(self, order: int) -> np.ndarray:
        """Return R of the cells of the terms of one order, (n, C), float64.

        The shared cell of a compact term keeps its log θ: its lift differs from row to row.
        """
        cells = self.log_likelihoods(order)
        if order == 1:
            return np.zeros_like(cells)
        single, plan = self.log_likelihoods(1), self.plan_of(order)
        terms = plan.terms
        first = np.concatenate([[0], np.cumsum(terms.cardinalities)])
        dense = np.flatnonzero(~terms.is_compact)
        bounds = np.stack([terms.offsets[dense], terms.offsets[dense + 1]], axis=1)
        lift_cells(terms.members[dense], terms.shapes[dense], bounds, first, single, cells)
        for term, group in plan.compact_groups.items():
            start = terms.offsets[term]
            for column, digits in zip(group.columns, group.digits, strict=True):
                cells[start : start + len(group.keys)] -= single[first[column] + digits]
        return cells

    def enough(self, order: int, min_count: float) -> np.ndarray:
        """Return which cells of one order have weight enough for parents, (n,) bool.

        Up to a `min_count` of 1, all that some row of positive weight has.
        """
        weights = self.counts[self.cells_of(order)].sum(axis=1)
        return weights >= min_count if min_count > 1 else weights > 0


def all_tuples(depth: int, cardinalities: np.ndarray) -> Terms:
    """Return all tuples of 1..depth columns, the short ones first."""
    members = stack_tuples([list_tuples(len(cardinalities), k) for k in range(1, depth + 1)])
    return Terms(members, np.asarray(cardinalities, np.int64))


def list_children(parents: Plan, joints: Plan | None) -> Joints:
    """Return which tables of `joints` hold each table of `parents` with one column more.

    The plans have all tuples of n and of n + 1 columns; None for `joints` where there are no more
    columns than n.
    """
    n, a = parents.terms.members.shape[1], len(parents.terms.cardinalities)
    if joints is None:
        none = np.empty((1, 0), np.int64)
        return Joints(none, none[0], none)
    tuples = np.sort(joints.terms.members, axis=1)
    sets = number_tuples(np.sort(parents.terms.members, axis=1), a)
    # Each tuple holds n + 1 parent sets: itself but for one column.
    held = [number_tuples(np.delete(tuples, k, axis=1), a) for k in range(n + 1)]
    parent = parents.table_of[np.searchsorted(sets, np.concatenate(held))]
    table = np.tile(joints.table_of, n + 1)
    order = np.lexsort((table, parent))
    shared = np.full(len(tuples), NONE)
    own = joints.compact_groups
    tables = joints.table_of[list(own)]
    shared[tables] = joints.index.offsets[tables] + [len(group.keys) for group in own.values()]
    members = np.empty_like(tuples)
    members[joints.table_of] = tuples
    return Joints(table[order].reshape(len(sets), a - n), shared, members)


def number_tuples(tuples: np.ndarray, a: int) -> np.ndarray:
    """Return a number for each ascending tuple of columns, ascending as they do."""
    numbers = np.zeros(len(tuples), np.int64)
    for column in tuples.T:
        numbers = numbers * a + column
    return numbers
