"""Slow, obvious twins of the default model: nested cuts, terms at several levels, and their fit.

Tables are dictionaries from a tuple of ascending code columns to an array (V_1, ..., V_n, C), as in
`tests/naive.py`; here tuples may be of several lengths.
"""

import math
from itertools import combinations, pairwise

import numpy as np

from tests import naive
from tests.naive_cuts import midpoint

# Nested cuts.


def places(levels):
    """Return the level of each code column of a number, and its shift in parts of a bin.

    A column comes with the first level that has all of its cuts, which are halves or quarters.
    """
    found = []
    for level in range(1, levels + 1):
        if level <= 6:
            found += [(level - 2, 0.25), (level - 2, 0.75), (level - 1, 0.5)]
        found.append((level, 0.0))
    return [place for place in found if place[0] > 0]


def nested_cuts(values, weights, levels):
    """Return the cuts of each code column: those of levels, and shifted ones inside their bins."""
    by_level = [[], *halved_cuts(values, weights, levels)]
    if by_level[-1] == []:
        return [[]]
    found = []
    for level, shift in places(len(by_level) - 1):
        cuts = by_level[level]
        if shift:
            finer = by_level[level + (1 if shift == 0.5 else 2)]
            coarser = by_level[level + (0 if shift == 0.5 else 1)]
            inside = [cut for cut in finer if cut not in coarser]
            if shift != 0.5:
                # In the lower half of a bin, the next cut above is one within the bin.
                after = [min([c for c in coarser if c > cut], default=math.inf) for cut in inside]
                lower = [c in coarser and c not in cuts for c in after]
                inside = [
                    cut for cut, low in zip(inside, lower, strict=True) if low == (shift == 0.25)
                ]
            cuts = inside or cuts
        found.append(cuts)
    return found


def halved_cuts(values, weights, levels):
    """Return the cuts of each level: every bin of two values or more is cut where halves are most
    nearly equal, the lower of two such places."""
    mass = {}
    for x, weight in zip(values, weights, strict=True):
        if not math.isnan(x) and weight > 0:
            mass[float(x)] = mass.get(float(x), 0.0) + float(weight)
    bins, found = [sorted(mass)], []
    for _ in range(levels):
        halves = [half for one in bins for half in _halve(one, mass)]
        if len(halves) == len(bins):
            break
        bins = halves
        found.append([midpoint(low[-1], high[0]) for low, high in pairwise(bins)])
    return found or [[]]


def _halve(values, mass):
    if len(values) < 2:
        return [values]
    places = range(1, len(values))
    best = min(places, key=lambda place: imbalance(values[:place], values[place:], mass))
    return [values[:best], values[best:]]


def imbalance(low, high, mass):
    return abs(sum(mass[x] for x in low) - sum(mass[x] for x in high))


# Terms at several levels.


def columns_of(attribute, attributes):
    return [c for c, owner in enumerate(attributes) if owner == attribute]


def levelled_tuples(attributes, cardinalities, order, levels, among=None):
    """Return the least level at which each tuple of code columns appears, by tuple."""
    found = {}
    for tuple_ in among or combinations(range(max(attributes) + 1), order):
        owned = [columns_of(attribute, attributes) for attribute in tuple_]
        most = max(len(columns_of(attribute, attributes)) for attribute in set(attributes))
        deepest = max(level for level, _ in known_places(most))
        # Beyond pairs, no cut is finer than those of the finest level.
        every = places(deepest if order <= 2 else min(levels, deepest))
        # Shifted ones have cuts of level 5 at most: of a half, a level finer, of a quarter two.
        finer = {0.0: -9, 0.5: 1, 0.25: 2, 0.75: 2}
        free = [place for place in every if place[0] + finer[place[1]] <= 5]
        for place in [place for place in free if place[0] <= levels]:
            columns = tuple(column_at(own, place) for own in owned)
            if all(cardinalities[c] > 1 for c in columns):
                found[columns] = min(place[0], found.get(columns, place[0]))
    return found


def known_places(count):
    """Return the places of so many code columns."""
    return next(places(levels) for levels in range(1, 9) if len(places(levels)) == count)


def column_at(own, place):
    """Return the code column of an attribute that has a place, or the nearest one."""
    known = known_places(len(own))
    if place not in known:
        place = (min(place[0], max(level for level, _ in known)), 0.0)
    return own[known.index(place)]


def evidence_weights(tuples, attributes):
    """Return the weight of each tuple of code columns in the generative model, by tuple.

    Every order has the same share of the evidence, in it every tuple of attributes, and in that
    every level; so each attribute counts once, on average over those that an order uses.
    """
    by_order = {}
    for columns in tuples:
        owners = tuple(attributes[c] for c in columns)
        by_order.setdefault(len(columns), {}).setdefault(owners, []).append(columns)
    weights = {}
    for order, by_owner in by_order.items():
        used = len({attribute for owners in by_owner for attribute in owners})
        p = order * len(by_owner) / used
        for members in by_owner.values():
            for columns in members:
                weights[columns] = 1.0 / (p * len(members) * len(by_order))
    return weights


# Fits on explicit features.


def one_hot(codes, tuples, cardinalities):
    """Return a dense matrix (N, cells) with a one where a row has a tuple's joint value."""
    blocks = []
    for columns in tuples:
        shape = [int(cardinalities[c]) for c in columns]
        cell = np.ravel_multi_index(tuple(codes[list(columns)].astype(int)), shape)
        blocks.append(np.eye(int(np.prod(shape)))[cell])
    return np.hstack(blocks)


def count_tables(problem, tuples):
    return {
        columns: naive.count_tuple(
            problem.codes, problem.labels, problem.omega, columns, *problem.shape
        )
        for columns in tuples
    }


def fit_hierarchy(problem, strengths, weights, *, to_generative, by_score=True, m=1.0):
    """Return class scores and tables of the model with these tuples, by SciPy in float64.

    `strengths` and `weights` are dictionaries by tuple: λ, and the weight in the generative model.
    Cells that no row reaches score 0 in tuples of two columns or more, else s·t.
    """
    n_classes = problem.n_classes
    class_counts = naive.count_classes(problem.labels, problem.omega, n_classes)
    class_scale = naive.log_pi(class_counts, m)
    counts = count_tables(problem, strengths)
    thetas = {columns: naive.log_theta(table, class_counts, m) for columns, table in counts.items()}

    def stack(tables):
        return np.vstack([tables[columns].reshape(-1, n_classes) for columns in strengths])

    scale = stack(thetas)
    like = {columns: np.ones(table.shape) for columns, table in counts.items()}
    start = stack({columns: weights[columns] * like[columns] for columns in strengths})
    strength = stack({columns: strengths[columns] * like[columns] for columns in strengths})
    if by_score:
        strength = strength * scale**2
    class_w, w = naive.fit_scipy(
        one_hot(problem.codes, strengths, problem.cardinalities),
        scale,
        (np.ones(n_classes), start),
        start * to_generative,
        strength,
        class_scale,
        problem.labels,
        problem.omega,
    )
    tables, at = {}, 0
    for columns, theta in thetas.items():
        size = theta[..., 0].size
        fitted = w[at : at + size].reshape(theta.shape)
        fixed = weights[columns] * to_generative if len(columns) == 1 else 0.0
        reached = counts[columns].any(axis=-1)[..., None]
        tables[columns] = theta * np.where(reached, fitted, fixed)
        at += size
    return class_w * class_scale, tables


def log_loss(class_scores, tables, problem):
    """Return Σ ω·(-log P(y|x)) of rows, and their weight."""
    scores = naive.score_rows(class_scores, tables, problem.codes, problem.cardinalities)
    return naive.softmax_loss(scores, problem.labels, problem.omega)[0], problem.omega.sum()
