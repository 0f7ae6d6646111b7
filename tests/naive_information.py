"""Screening by its definitions, with dictionaries: slow and obvious."""

from collections import Counter
from itertools import combinations
from math import log


def contingency(sample, members, cardinalities):
    """Return weights by (joint value, label), by joint value and by label."""
    cells, joint, labels = Counter(), Counter(), Counter()
    for r in range(len(sample.labels)):
        weight = 1.0 if sample.weights is None else float(sample.weights[r])
        unseen = any(sample.codes[i, r] >= v for i, v in enumerate(cardinalities))
        if weight == 0 or unseen:
            continue
        x = tuple(int(sample.codes[i, r]) for i in members)
        y = int(sample.labels[r])
        cells[x, y] += weight
        joint[x] += weight
        labels[y] += weight
    return cells, joint, labels


def freedom(sample, members, cardinalities):
    _, joint, labels = contingency(sample, members, cardinalities)
    return (len(joint) - 1) * (len(labels) - 1)


def information(sample, members, cardinalities):
    """Mutual information as it is in the sample."""
    cells, joint, labels = contingency(sample, members, cardinalities)
    total = sum(labels.values())
    return sum(
        n_xy / total * log(n_xy * total / (joint[x] * labels[y])) for (x, y), n_xy in cells.items()
    )


def relevance(sample, members, cardinalities):
    _, _, labels = contingency(sample, members, cardinalities)
    expected = freedom(sample, members, cardinalities) / (2 * sum(labels.values()))
    return information(sample, members, cardinalities) - expected


def gain(sample, members, cardinalities, criterion="cmi"):
    if criterion == "chi2":
        return excess_chi_square(sample, members, cardinalities)
    own = relevance(sample, members, cardinalities)
    if len(members) == 1:
        return own
    parts = combinations(members, len(members) - 1)
    return own - max(relevance(sample, part, cardinalities) for part in parts)


def excess_chi_square(sample, members, cardinalities):
    cells, joint, labels = contingency(sample, members, cardinalities)
    total = sum(labels.values())
    statistic = sum(
        (cells[x, y] - joint[x] * labels[y] / total) ** 2 / (joint[x] * labels[y] / total)
        for x in joint
        for y in labels
    )
    return (statistic - freedom(sample, members, cardinalities)) / total


def choose(sample, n, cardinalities, max_terms, criterion="cmi"):
    """Return the chosen tuples, in lexicographic order."""
    tuples = list(combinations(range(len(cardinalities)), n))
    relevances = {t: round(relevance(sample, t, cardinalities), 10) for t in tuples}
    gains = {t: round(gain(sample, t, cardinalities, criterion), 10) for t in tuples}
    kept = {
        max((t for t in tuples if i in t), key=lambda t: relevances[t])
        for i in range(len(cardinalities))
    }
    chosen = sorted(sorted(kept), key=lambda t: -relevances[t])[:max_terms]
    for t in sorted(tuples, key=lambda t: -gains[t]):
        if len(chosen) < max_terms and t not in chosen:
            chosen.append(t)
    return sorted(chosen)
