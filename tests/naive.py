"""Slow, obvious twins of the engine: loops over rows and tuples, in double precision.

Codes are (a, N), labels and weights (N,), cardinalities (a,). Tables are a dictionary from a tuple
of ascending columns to an array (V_1, ..., V_n, C).
"""

from itertools import combinations
from math import comb, exp, log

import numpy as np
from scipy.optimize import minimize


def tuples_of(a, n):
    return list(combinations(range(a), n))


# Counts and the generative model.


def count_classes(labels, weights, n_classes):
    counts = np.zeros(n_classes)
    for y, weight in zip(labels, weights, strict=True):
        counts[y] += weight
    return counts


def count_tuple(codes, labels, weights, columns, cardinalities, n_classes):
    counts = np.zeros([*(cardinalities[c] for c in columns), n_classes])
    for r, (y, weight) in enumerate(zip(labels, weights, strict=True)):
        counts[(*(codes[c, r] for c in columns), y)] += weight
    return counts


def count_tuples(codes, labels, weights, n, cardinalities, n_classes):
    return {
        columns: count_tuple(codes, labels, weights, columns, cardinalities, n_classes)
        for columns in tuples_of(len(codes), n)
    }


def log_pi(class_counts, m):
    total, n_classes = sum(class_counts), len(class_counts)
    return np.array([log((count + m / n_classes) / (total + m)) for count in class_counts])


def log_theta(counts, class_counts, m):
    size = counts[..., 0].size
    return np.log((counts + m / size) / (np.asarray(class_counts) + m))


def log_thetas(codes, labels, weights, n, cardinalities, n_classes, m):
    class_counts = count_classes(labels, weights, n_classes)
    counts = count_tuples(codes, labels, weights, n, cardinalities, n_classes)
    return {columns: log_theta(table, class_counts, m) for columns, table in counts.items()}


def anje_tables(codes, labels, weights, n, cardinalities, n_classes, m=1.0):
    """Return log π, and log θ / p of every tuple."""
    class_scores = log_pi(count_classes(labels, weights, n_classes), m)
    thetas = log_thetas(codes, labels, weights, n, cardinalities, n_classes, m)
    p = comb(len(codes) - 1, n - 1)
    return class_scores, {columns: table / p for columns, table in thetas.items()}


def partitions_of(columns, n):
    """Return every way to split the columns into sets of n."""
    if not columns:
        return [[]]
    first, rest = columns[0], columns[1:]
    found = []
    for others in combinations(rest, n - 1):
        left = [c for c in rest if c not in others]
        found += [[(first, *others), *more] for more in partitions_of(left, n)]
    return found


def anje_by_partitions(codes, labels, weights, n, cardinalities, n_classes, m=1.0):
    """Return the scores (N, C) of the geometric mean of one joint estimator per partition."""
    class_scores = log_pi(count_classes(labels, weights, n_classes), m)
    thetas = log_thetas(codes, labels, weights, n, cardinalities, n_classes, m)
    partitions = partitions_of(list(range(len(codes))), n)
    scores = np.zeros((codes.shape[1], n_classes))
    for partition in partitions:
        for r in range(codes.shape[1]):
            scores[r] += class_scores
            for columns in partition:
                scores[r] += thetas[columns][tuple(codes[list(columns), r])]
    return scores / len(partitions)


# Scores and probabilities.


def score_rows(class_scores, tables, codes, cardinalities, *, rescale=False):
    """Return the scores (N, C) of rows; a code equal to its cardinality was never seen.

    Tuples that hold a never-seen value contribute nothing. `rescale` gives what is left the weight
    that AnJE over the columns whose values are known would give it.
    """
    columns_used = sorted({c for columns in tables for c in columns})
    a, n = len(columns_used), max(len(columns) for columns in tables)
    scores = np.zeros((codes.shape[1], len(class_scores)))
    for r in range(codes.shape[1]):
        unseen = {c for c in columns_used if codes[c, r] >= cardinalities[c]}
        evidence = np.zeros(len(class_scores))
        for columns, table in tables.items():
            if not unseen.intersection(columns):
                evidence = evidence + table[tuple(codes[list(columns), r])]
        known = a - len(unseen)
        if rescale and known >= n:
            evidence = evidence * comb(a - 1, n - 1) / comb(known - 1, n - 1)
        scores[r] = class_scores + evidence
    return scores


def softmax(scores):
    """Return probabilities of one row's scores."""
    largest = max(scores)
    powers = [exp(score - largest) for score in scores]
    return np.array(powers) / sum(powers)


def probabilities(scores):
    return np.array([softmax(row) for row in scores])


def softmax_loss(scores, labels, weights):
    """Return Σ ω·(-log P(y|x)) and the weighted residuals ω·(P - 1[y = c])."""
    loss, residuals = 0.0, np.zeros(np.shape(scores))
    for r, (row, y, weight) in enumerate(zip(scores, labels, weights, strict=True)):
        largest = max(row)
        loss += weight * (largest - row[y] + log(sum(exp(score - largest) for score in row)))
        residuals[r] = weight * softmax(row)
        residuals[r, y] -= weight
    return loss, residuals


# The objective.


def objective(class_u, tables_u, design, codes, labels, weights, cardinalities):
    """Return F, its gradient by class term (C,) and by cell (a dictionary of tables).

    `design` has class_scale (C,), and dictionaries of tables scale, target, strength and reached.
    """
    class_scores = class_u * design["class_scale"]
    beta = {columns: design["scale"][columns] * u for columns, u in tables_u.items()}
    scores = score_rows(class_scores, beta, codes, cardinalities)
    loss, residuals = softmax_loss(scores, labels, weights)
    total = sum(weights)
    class_gradient = residuals.sum(axis=0) * design["class_scale"] / total
    gradients = {}
    for columns, u in tables_u.items():
        gradient = np.zeros(u.shape)
        for r in range(codes.shape[1]):
            cell = tuple(codes[list(columns), r])
            gradient[cell] += residuals[r] * design["scale"][columns][cell]
        reached = design["reached"][columns]
        pull = np.where(reached, u - design["target"][columns], 0.0)
        loss += 0.5 * float((design["strength"][columns] * pull**2).sum())
        gradients[columns] = (gradient + design["strength"][columns] * pull) / total
    return loss / total, class_gradient, gradients


def reached_cells(codes, labels, weights, n, cardinalities, n_classes):
    """Return which cells a row of positive weight reaches, the same for every class."""
    counts = count_tuples(codes, labels, weights, n, cardinalities, n_classes)
    return {
        columns: np.repeat(table.any(axis=-1)[..., None], n_classes, axis=-1)
        for columns, table in counts.items()
    }


# Fits by SciPy on explicit features.


def one_hot_tuples(codes, n, cardinalities):
    """Return a dense matrix (N, cells) with a one where a row has a tuple's joint value."""
    blocks = []
    for columns in tuples_of(len(codes), n):
        shape = [int(cardinalities[c]) for c in columns]
        cell = np.ravel_multi_index(tuple(codes[list(columns)].astype(int)), shape)
        blocks.append(np.eye(int(np.prod(shape)))[cell])
    return np.hstack(blocks)


def fit_scipy(features, scale, start, target, strength, class_scale, labels, weights):
    """Return fitted class weights (C,) and weights (n_features, C) by SciPy in float64.

    Feature j counts scale[j, c] for class c; columns of `features` that are all 0 stay at `start`
    or go to `target`, and do not matter.
    """
    n_features, n_classes = scale.shape
    one_hot = np.eye(n_classes)[labels]
    total = weights.sum()

    def value_and_gradient(flat):
        class_u, u = flat[:n_classes], flat[n_classes:].reshape(n_features, n_classes)
        scores = features @ (scale * u) + class_scale * class_u
        scores -= scores.max(axis=1, keepdims=True)
        powers = np.exp(scores)
        sums = powers.sum(axis=1)
        loss = weights @ (np.log(sums) - (scores * one_hot).sum(axis=1))
        residuals = weights[:, None] * (powers / sums[:, None] - one_hot)
        loss += 0.5 * (strength * (u - target) ** 2).sum()
        gradient = scale * (features.T @ residuals) + strength * (u - target)
        class_gradient = class_scale * residuals.sum(axis=0)
        return loss / total, np.concatenate([class_gradient, gradient.ravel()]) / total

    found = minimize(
        value_and_gradient,
        np.concatenate([start[0], start[1].ravel()]),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 20_000, "maxfun": 40_000, "ftol": 0.0, "gtol": 1e-9, "maxcor": 30},
    )
    return found.x[:n_classes], found.x[n_classes:].reshape(n_features, n_classes)


def fit_dbl(problem, n, alpha, *, to_generative, m=1.0):
    """Return class scores and score tables of DBL^n, cells that no row reaches included."""
    codes, labels, weights = problem.codes, problem.labels, problem.omega
    cardinalities, n_classes = problem.cardinalities, problem.n_classes
    thetas = log_thetas(codes, labels, weights, n, cardinalities, n_classes, m)
    reached = reached_cells(codes, labels, weights, n, cardinalities, n_classes)
    columns_of = tuples_of(len(codes), n)
    scale = np.vstack([thetas[columns].reshape(-1, n_classes) for columns in columns_of])
    weight = 1.0 / comb(len(codes) - 1, n - 1)
    target = weight if to_generative else 0.0
    class_scale = log_pi(count_classes(labels, weights, n_classes), m)
    start = (np.ones(n_classes), np.full(scale.shape, weight))
    features = one_hot_tuples(codes, n, cardinalities)
    class_w, w = fit_scipy(
        features, scale, start, target, alpha, class_scale, labels, np.asarray(weights)
    )
    tables, at = {}, 0
    for columns in columns_of:
        theta = thetas[columns]
        size = theta[..., 0].size
        fitted = w[at : at + size].reshape(theta.shape)
        tables[columns] = theta * np.where(reached[columns], fitted, target)
        at += size
    return class_w * class_scale, tables


# Layouts of cells.


def read_tables(terms, cells):
    """Return a dictionary of tables, axes in ascending order of columns, from (n_cells, k)."""
    tables = {}
    for t in range(len(terms)):
        columns = terms.tuple(t)
        shape = [int(terms.cardinalities[c]) for c in columns]
        part = np.asarray(cells)[terms.offsets[t] : terms.offsets[t + 1]].reshape(*shape, -1)
        tables[tuple(sorted(columns))] = part.transpose(*np.argsort(columns), len(columns))
    return tables


def write_tables(terms, tables):
    """Return cells (n_cells, k) in the order of `terms` from a dictionary of tables."""
    parts = []
    for t in range(len(terms)):
        columns = terms.tuple(t)
        ascending = sorted(columns)
        axes = [ascending.index(c) for c in columns]
        table = tables[tuple(ascending)].transpose(*axes, len(columns))
        parts.append(table.reshape(-1, table.shape[-1]))
    return np.vstack(parts)


def expand_table(groups, supports, parts, cells_of, width):
    """Return one fused table (entries, k): for each joint code of `supports`, the sum of cells.

    `parts` lists terms (tuples of columns, in the order of their axes), `cells_of(columns, values)`
    gives a cell's numbers. A never-seen value contributes nothing.
    """
    sizes = [groups[g].size for g in supports]
    entries = []
    for joint in np.ndindex(*sizes):
        value = {}
        for g, code in zip(supports, joint, strict=True):
            group = groups[g]
            for place, column in enumerate(group.columns):
                digit = int(group.digits[place, code])
                value[int(column)] = digit if digit < group.cardinalities[place] else None
        entry = np.zeros(width)
        for columns in parts:
            values = [value[c] for c in columns]
            if None not in values:
                entry = entry + cells_of(columns, tuple(values))
        entries.append(entry)
    return np.array(entries)


# Twins of the kernels.


def add_entries(codes, members, offsets, sizes, base, tables):
    """Return the scores (N, W) of rows: `base` plus an entry of every table, by ravelled index."""
    scores = np.tile(np.asarray(base, float), (codes.shape[1], 1))
    for groups, offset in zip(members, offsets, strict=True):
        for r in range(codes.shape[1]):
            entry = np.ravel_multi_index([int(codes[g, r]) for g in groups], sizes[groups])
            scores[r] += tables[offset + entry]
    return scores


def sum_entries(codes, members, offsets, sizes, values, n_entries):
    """Return the entries (n_entries, W) that rows with these values (N, W) add up to."""
    entries = np.zeros((n_entries, values.shape[1]))
    for groups, offset in zip(members, offsets, strict=True):
        for r in range(codes.shape[1]):
            entry = np.ravel_multi_index([int(codes[g, r]) for g in groups], sizes[groups])
            entries[offset + entry] += values[r]
    return entries


# Structures: KDB, TAN, and ELR on them.


def conditional_information(x, z, given, weights):
    """Return I(x; z | given) in nats from the rows' values, by its definition."""
    total = sum(weights)
    joint, with_x, with_z, alone = {}, {}, {}, {}
    for u, v, g, weight in zip(x, z, given, weights, strict=True):
        for counts, key in ((joint, (u, v, g)), (with_x, (u, g)), (with_z, (v, g)), (alone, g)):
            counts[key] = counts.get(key, 0.0) + weight
    return sum(
        count / total * log(count * alone[g] / (with_x[u, g] * with_z[v, g]))
        for (u, v, g), count in joint.items()
        if count > 0
    )


def class_informations(codes, labels, weights):
    """Return I(x_i; y) of each column, rounded so that ties are ties."""
    nothing = [0] * len(labels)
    found = [conditional_information(x, labels, nothing, weights) for x in codes.tolist()]
    return [round(value, 10) for value in found]


def pair_informations(codes, labels, weights):
    """Return I(x_i; x_j | y) by pair, in either order, rounded so that ties are ties."""
    found = {}
    rows = codes.tolist()
    for i, j in combinations(range(len(codes)), 2):
        value = round(conditional_information(rows[i], rows[j], labels.tolist(), weights), 10)
        found[i, j] = found[j, i] = value
    return found


def kdb_parents(codes, labels, weights, k):
    """Return the parents of each column; ties go to the first column."""
    relevance = class_informations(codes, labels, weights)
    pairs = pair_informations(codes, labels, weights)
    order = sorted(range(len(codes)), key=lambda i: (-relevance[i], i))
    parents = {}
    for place, i in enumerate(order):
        ranked = sorted(order[:place], key=lambda j: (-pairs[i, j], j))
        parents[i] = tuple(ranked[:k])
    return [parents[i] for i in range(len(codes))]


def tan_parents(codes, labels, weights):
    """Return the parent of each column: Kruskal's tree, from the most relevant column outwards."""
    a = len(codes)
    pairs = pair_informations(codes, labels, weights)
    component = list(range(a))
    neighbours = [[] for _ in range(a)]
    for i, j in sorted(combinations(range(a), 2), key=lambda pair: (-pairs[pair], pair)):
        if component[i] != component[j]:
            old = component[j]
            component = [component[i] if c == old else c for c in component]
            neighbours[i].append(j)
            neighbours[j].append(i)
    relevance = class_informations(codes, labels, weights)
    root = min(range(a), key=lambda i: (-relevance[i], i))
    parents, waiting = {root: ()}, [root]
    while waiting:
        i = waiting.pop()
        for j in neighbours[i]:
            if j not in parents:
                parents[j] = (i,)
                waiting.append(j)
    return [parents[i] for i in range(a)]


def structure_tables(codes, labels, weights, parents, cardinalities, n_classes, m=1.0):
    """Return log π, and log θ_{x_i | parents, y} of every column by its columns, ascending."""
    class_counts = count_classes(labels, weights, n_classes)
    tables = {}
    for child, given in enumerate(parents):
        columns = tuple(sorted((child, *given)))
        counts = count_tuple(codes, labels, weights, columns, cardinalities, n_classes)
        table = np.zeros(counts.shape)
        for cell in np.ndindex(*counts.shape):
            below, space = class_counts[cell[-1]], 1
            if given:
                chosen = [c for c in columns if c != child]
                values = [cell[columns.index(c)] for c in chosen]
                same = (codes[chosen] == np.array(values)[:, None]).all(axis=0)
                below = weights[same & (labels == cell[-1])].sum()
                space = int(np.prod(cardinalities[chosen]))
            size = space * int(cardinalities[child])
            table[cell] = log((counts[cell] + m / size) / (below + m / space))
        tables[columns] = table
    return log_pi(class_counts, m), tables


def fit_elr(problem, parents, alpha, *, to_generative, m=1.0):
    """Return class scores and score tables of ELR on a structure, by SciPy."""
    codes, labels, weights = problem.codes, problem.labels, problem.omega
    n_classes = problem.n_classes
    class_scale, thetas = structure_tables(codes, labels, weights, parents, *problem.shape, m)
    features = []
    for columns in thetas:
        shape = [int(problem.cardinalities[c]) for c in columns]
        cell = np.ravel_multi_index(tuple(codes[list(columns)].astype(int)), shape)
        features.append(np.eye(int(np.prod(shape)))[cell])
    scale = np.vstack([table.reshape(-1, n_classes) for table in thetas.values()])
    start = (np.ones(n_classes), np.ones(scale.shape))
    target = float(to_generative)
    class_w, w = fit_scipy(
        np.hstack(features), scale, start, target, alpha, class_scale, labels, weights
    )
    tables, at = {}, 0
    for columns, theta in thetas.items():
        counts = count_tuple(codes, labels, weights, columns, *problem.shape)
        reached = counts.any(axis=-1)[..., None]
        size = theta[..., 0].size
        fitted = w[at : at + size].reshape(theta.shape)
        tables[columns] = theta * np.where(reached, fitted, target)
        at += size
    return class_w * class_scale, tables


# Averaged dependence estimators.


def ande_rows(problem, n, rows, *, m=1.0, min_count=1):
    """Return the log of P(y, x), up to a constant, of the rows (a, R) by AnDE, (R, C).

    A code equal to its cardinality was never seen.
    """
    return np.array([ande_row(problem, n, rows[:, r], m, min_count) for r in range(rows.shape[1])])


def ande_row(problem, n, row, m, min_count):
    columns = range(len(row))
    known = [c for c in columns if row[c] < problem.cardinalities[c]]
    submodels = []
    for parents in combinations(known, n):
        weight = sum(matching_weights(problem, parents, row))
        if n == 0 or (weight >= min_count if min_count > 1 else weight > 0):
            children = [c for c in known if c not in parents]
            submodels.append(ande_submodel(problem, parents, children, row, m))
    if not submodels:
        return ande_row(problem, n - 1, row, m, min_count)
    return np.logaddexp.reduce(submodels, axis=0)


def ande_submodel(problem, parents, children, row, m):
    """Return log π + log θ of the parents + the sum of log θ of children given parents, (C,)."""
    class_weights = np.array(matching_weights(problem, (), row))
    score = np.log((class_weights + m / problem.n_classes) / (class_weights.sum() + m))

    def theta(columns):
        size = np.prod([problem.cardinalities[c] for c in columns])
        return (np.array(matching_weights(problem, columns, row)) + m / size) / (class_weights + m)

    given = theta(parents) if parents else np.ones(problem.n_classes)
    score = score + np.log(given)
    for child in children:
        score = score + np.log(theta((*parents, child)) / given)
    return score


def matching_weights(problem, columns, row):
    """Return the weight, by class, of the training rows that agree with `row` on `columns`."""
    agrees = (problem.codes[list(columns)] == row[list(columns), None]).all(axis=0)
    weights = np.where(agrees, problem.omega, 0.0)
    return [float(weights[problem.labels == y].sum()) for y in range(problem.n_classes)]
