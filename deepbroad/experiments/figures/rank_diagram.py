"""Demšar's diagram of average ranks, with lines that join what Nemenyi's test cannot tell apart."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from deepbroad.experiments.figures.canvas import GREY, create_panels
from deepbroad.experiments.labels import measure_label, method_label
from deepbroad.experiments.results import Results
from deepbroad.experiments.tables.ranks import Ranking, rank_methods

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_STEP = 1.0


def draw_ranks(results: Results, measures: Sequence[str], methods: Sequence[str]) -> "Figure":
    """Draw one axis of ranks for each measure, rank 1 on the left."""
    rankings = [rank_methods(results, measure, methods) for measure in measures]
    lines = max((len(ranking.methods) for ranking in rankings if ranking), default=2) / 2
    figure, panels = create_panels(len(measures), 1, len(measures) * (0.95 + 0.2 * lines))
    for axes, measure, ranking in zip(panels, measures, rankings, strict=True):
        axes.set_axis_off()
        if ranking is not None:
            _draw_axis(axes, ranking)
            title = f"{measure_label(measure)}, {len(ranking.datasets)} Little data sets"
            axes.set_title(title, fontsize=10, loc="left")
    return figure


def join_alike(ranks: Sequence[float], distance: float) -> list[tuple[int, int]]:
    """Find the longest runs of sorted ranks whose ends are less than `distance` apart.

    >>> join_alike([1.0, 1.5, 2.6, 4.0], 1.2)
    [(0, 1), (1, 2)]
    """
    runs: list[tuple[int, int]] = []
    for first in range(len(ranks)):
        last = max(i for i in range(first, len(ranks)) if ranks[i] - ranks[first] < distance)
        if last > first and not (runs and runs[-1][1] >= last):
            runs.append((first, last))
    return runs


def _draw_axis(axes: "Axes", ranking: Ranking) -> None:
    """Draw the axis, the methods on both sides of it, and the lines that join them."""
    count = len(ranking.methods)
    low, high = 1, int(np.ceil(ranking.ranks.max()))
    span = max(high - low, 1)
    runs = join_alike([float(rank) for rank in ranking.ranks], ranking.distance)
    axes.plot([low, high], [0, 0], color="black", linewidth=1)
    for rank in range(low, high + 1):
        axes.plot([rank, rank], [0, 0.25], color="black", linewidth=1)
        axes.text(rank, 0.4, str(rank), ha="center", va="bottom", fontsize=8)
    for k, (first, last) in enumerate(runs):
        y = -0.35 - 0.3 * k
        ends = ranking.ranks[first] - 0.01 * span, ranking.ranks[last] + 0.01 * span
        axes.plot(ends, [y, y], color=GREY, linewidth=3, solid_capstyle="butt")
    top = -0.7 - 0.3 * len(runs)
    half = -(-count // 2)
    for i, (name, rank) in enumerate(zip(ranking.methods, ranking.ranks, strict=True)):
        is_left = i < half
        y = top - _STEP * (i if is_left else count - 1 - i)
        end = low - 0.03 * span if is_left else high + 0.03 * span
        axes.plot([rank, rank, end], [0, y, y], color="black", linewidth=0.8)
        label = f"{method_label(name)}  {rank:.2f}"
        side = -0.01 * span if is_left else 0.01 * span
        axes.text(end + side, y, label, ha="right" if is_left else "left", va="center", fontsize=8)
    axes.plot([high - ranking.distance, high], [1.9, 1.9], color=GREY, linewidth=2)
    text = f"critical distance {ranking.distance:.2f}"
    axes.text(high - ranking.distance - 0.01 * span, 1.9, text, ha="right", va="center", fontsize=8)
    axes.set_xlim(low - 0.22 * span, high + 0.22 * span)
    axes.set_ylim(top - _STEP * half, 2.4)
