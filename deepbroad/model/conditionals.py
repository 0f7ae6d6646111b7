"""Counts of the parents of cells: what conditional probabilities are conditioned on."""

import numpy as np

from deepbroad.model.groups import Group
from deepbroad.model.plan import Plan


def parent_counts(
    plan: Plan, counts: np.ndarray, class_counts: np.ndarray, children: np.ndarray
) -> np.ndarray:
    """Return for each cell the counts of its values but the child's, of the shape of `counts`.

    A term's counts are summed over the axis of its child, so that nothing is counted again and
    probabilities of the child's values sum to 1. A term of the child alone has the counts of the
    classes. The cell that joint values of a compact term share stands for many parents; there it
    is as if no row had had them, so that its θ is 1/V for every class.

    Parameters
    ----------
    plan : Plan
    counts : ndarray of shape (n_cells, C)
    class_counts : ndarray of shape (C,)
    children : ndarray of shape (n_terms,)
        The column of each term that is given the others.
    """
    terms, groups = plan.terms, plan.compact_groups
    given = np.empty_like(counts)
    for term, child in enumerate(children.tolist()):
        cells = slice(int(terms.offsets[term]), int(terms.offsets[term + 1]))
        if terms.orders[term] == 1:
            given[cells] = class_counts
        elif term in groups:
            given[cells] = _sum_compact(groups[term], counts[cells], child)
        else:
            own = terms.tuple(term)
            table = counts[cells].reshape(*terms.cardinalities[list(own)], -1)
            sums = table.sum(axis=own.index(child), keepdims=True, dtype=np.float64)
            given[cells] = np.broadcast_to(sums, table.shape).reshape(-1, counts.shape[1])
    return given


def _sum_compact(group: Group, counts: np.ndarray, child: int) -> np.ndarray:
    """Return the sums over stored cells of the same parents, 0 for the shared cell."""
    others = group.columns != child
    keys = np.ravel_multi_index(tuple(group.digits[others]), tuple(group.radices[others]))
    different, place = np.unique(keys, return_inverse=True)
    sums = np.zeros(counts.shape)
    for label, column in enumerate(counts[:-1].T):
        sums[:-1, label] = np.bincount(place, column, len(different))[place]
    return sums
