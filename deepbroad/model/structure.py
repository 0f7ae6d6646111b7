"""Structures of Bayesian networks: which columns each column depends on beside the class.

A structure is a tuple of parents for each column. Its model has one term per column: the column,
its child, and the child's parents.
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from deepbroad.model.dependence import Dependence
from deepbroad.model.selection import descending
from deepbroad.model.terms import Terms

Parents: TypeAlias = Sequence[tuple[int, ...]]


def dependence_order(dependence: Dependence, k: int) -> Parents:
    """Return KDB's structure: up to k parents for each column (Sahami, 1996).

    Columns are ordered by I(x_i; y); the parents of each are the k earlier ones, or all if they
    are fewer, of largest I(x_i; x_j | y). Of equal ones the first in the table is first.

    Examples
    --------
    >>> conditional = np.array([[0.0, 0.2, 0.1], [0.2, 0.0, 0.3], [0.1, 0.3, 0.0]])
    >>> dependence_order(Dependence(np.array([0.5, 0.1, 0.3]), conditional), k=1)
    [(), (2,), (0,)]
    """
    order = descending(dependence.relevance)
    parents: list[tuple[int, ...]] = [()] * len(order)
    for place, column in enumerate(order.tolist()):
        earlier = np.sort(order[:place])
        best = earlier[descending(dependence.conditional[column, earlier])[:k]]
        parents[column] = tuple(best.tolist())
    return parents


def dependence_tree(dependence: Dependence) -> Parents:
    """Return TAN's structure: the tree of largest sum of I(x_i; x_j | y) (Chow and Liu, 1968).

    Its root is the column of largest I(x_i; y). Of equal ones the first in the table is chosen,
    of equal pairs the first in lexicographic order.

    Examples
    --------
    >>> conditional = np.array([[0.0, 0.2, 0.1], [0.2, 0.0, 0.3], [0.1, 0.3, 0.0]])
    >>> dependence_tree(Dependence(np.array([0.5, 0.1, 0.3]), conditional))
    [(), (0,), (1,)]
    """
    root = int(descending(dependence.relevance)[0])
    # Places are all different, so that there is one such tree; to SciPy a 0 is no edge.
    tree = minimum_spanning_tree(rank_pairs(dependence.conditional))
    _, before = breadth_first_order(tree, root, directed=False)
    return [(int(column),) if column >= 0 else () for column in before]


def rank_pairs(conditional: np.ndarray) -> np.ndarray:
    """Return the place of each pair, from 1 for the largest information; symmetric, 0 on itself."""
    n_columns = len(conditional)
    upper = np.triu_indices(n_columns, 1)
    places = np.zeros((n_columns, n_columns), np.int64)
    places[upper] = 1 + np.argsort(descending(conditional[upper]))
    return places + places.T


def structure_terms(parents: Parents, cardinalities: np.ndarray) -> Terms:
    """Return the term of each column and its parents."""
    return Terms.of([(child, *given) for child, given in enumerate(parents)], cardinalities)


def children_of(terms: Terms) -> np.ndarray:
    """Return the child of each term, (n_terms,); ValueError if the terms are no structure's.

    Since nothing depends on itself, some term is a child alone; and once columns whose children
    are known are taken away, some other term has one column left, which must be its child.
    """
    n_columns = len(terms.cardinalities)
    left = [set(terms.tuple(term)) for term in range(len(terms))]
    holding: list[list[int]] = [[] for _ in range(n_columns)]
    for term, columns in enumerate(left):
        for column in columns:
            holding[column].append(term)
    children = np.full(len(terms), -1)
    ready = [term for term, columns in enumerate(left) if len(columns) == 1]
    while ready:
        term = ready.pop()
        if not left[term]:
            break
        child = left[term].pop()
        children[term] = child
        for other in holding[child]:
            left[other].discard(child)
            if len(left[other]) == 1:
                ready.append(other)
    if len(terms) != n_columns or (np.sort(children) != np.arange(n_columns)).any():
        raise ValueError("The terms are not those of columns and their parents, one for each.")
    return children


def parents_of(terms: Terms) -> Parents:
    """Return the structure that has these terms."""
    parents: list[tuple[int, ...]] = [()] * len(terms)
    for term, child in enumerate(children_of(terms).tolist()):
        parents[child] = tuple(sorted(c for c in terms.tuple(term) if c != child))
    return parents
