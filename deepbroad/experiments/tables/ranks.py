"""Average ranks of all methods, with Friedman's, Nemenyi's and Wilcoxon's tests."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deepbroad.experiments.labels import group_label, measure_label, method_label, p_label
from deepbroad.experiments.results import Results
from deepbroad.experiments.statistics import (
    Friedman,
    average_ranks,
    compare_pairs,
    friedman_test,
    nemenyi_distance,
)
from deepbroad.experiments.tables.table import Table

# A method that finished on fewer than this share of the data sets would shrink the comparison of
# all others, and is left out.
_LEAST_SHARE = 0.5


class Ranking(NamedTuple):
    """Methods from the best average rank to the worst, and the tests of their differences.

    p : corrected p of Wilcoxon's test of each pair, in the order of `methods`
    """

    methods: list[str]
    ranks: NDArray[np.float64]
    p: NDArray[np.float64]
    friedman: Friedman
    distance: float
    datasets: list[str]
    left_out: list[str]


def rank_methods(
    results: Results, measure: str, methods: Sequence[str], group: str = "little"
) -> Ranking | None:
    """Rank the methods; None with fewer than three methods or two data sets in common."""
    covered = {name: len(results.compare(measure, [name], group).datasets) for name in methods}
    most = max(covered.values(), default=0)
    kept = [name for name in methods if covered[name] > _LEAST_SHARE * most]
    found = results.compare(measure, kept, group) if kept else None
    if found is None or len(kept) < 3 or len(found.datasets) < 2:
        return None
    ranks = average_ranks(found.values)
    order = np.argsort(ranks, kind="stable")
    return Ranking(
        [kept[i] for i in order],
        ranks[order],
        compare_pairs(found.values)[np.ix_(order, order)],
        friedman_test(found.values),
        nemenyi_distance(len(kept), len(found.datasets)),
        found.datasets,
        [name for name in methods if name not in kept],
    )


def tabulate_ranks(results: Results, measure: str, methods: Sequence[str]) -> Table:
    """List average ranks, and the corrected p of every pair."""
    ranking = rank_methods(results, measure, methods)
    if ranking is None:
        return Table(("method", "average rank"), [], "Too few methods or data sets finished.")
    labels = [method_label(name) for name in ranking.methods]
    lines = []
    for i, label in enumerate(labels):
        p = [p_label(ranking.p[i, j]) if j > i else "" for j in range(1, len(labels))]
        lines.append((label, f"{ranking.ranks[i]:.2f}", *p))
    return Table(("method", "rank", *labels[1:]), lines, _describe(ranking, measure))


def _describe(ranking: Ranking, measure: str) -> str:
    """Say what is compared, and what the tests over all methods find."""
    note = (
        f"Average ranks of {measure_label(measure)} on {len(ranking.datasets)} "
        f"{group_label('little')} data sets that all these methods finished; beside them, p of "
        "Wilcoxon's signed-rank test of each pair with Holm's correction. Friedman's χ² = "
        f"{ranking.friedman.statistic:.1f}, p {_compare_p(ranking.friedman.p)}; Nemenyi's critical "
        f"distance of ranks at 0.05 is {ranking.distance:.2f}."
    )
    if ranking.left_out:
        left_out = ", ".join(map(method_label, ranking.left_out))
        note += f" Left out, having finished on too few: {left_out}."
    return note


def _compare_p(p: float) -> str:
    """Write p after its sign."""
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"
