"""Bar charts of geometric means over those of DBL²: losses, and times."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from deepbroad.experiments.figures.canvas import (
    COLOURS,
    GREY,
    add_legend,
    create_panels,
    draw_grid,
    scale_logarithmic,
)
from deepbroad.experiments.labels import group_label, measure_label, method_label
from deepbroad.experiments.results import Results
from deepbroad.experiments.tables.averages import LOSS_GROUPS, TIME_GROUPS, TIMES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_GROUP_WIDTH = 0.8
# Numbers stay readable where the line of DBL² runs behind them.
_BEHIND = {"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.85}


def draw_loss_bars(results: Results, methods: Sequence[str]) -> "Figure":
    """Draw average 0-1 loss and RMSE on Little and Big data sets."""
    figure, panels = create_panels(1, 2, 3.1)
    for axes, measure in zip(panels, ("error", "rmse"), strict=True):
        _draw_panel(axes, results, measure, methods, LOSS_GROUPS)
        axes.margins(y=0.12)
    add_legend(figure, panels, len(methods))
    return figure


def draw_time_bars(results: Results, methods: Sequence[str]) -> "Figure":
    """Draw average training and classification time, on a logarithmic axis."""
    figure, panels = create_panels(2, 1, 5.0)
    for axes, measure in zip(panels, TIMES, strict=True):
        ratios = _draw_panel(axes, results, measure, methods, TIME_GROUPS)
        low, high = min(ratios, default=1.0), max(ratios, default=1.0)
        scale_logarithmic(axes.yaxis, min(low / 2, 0.4), max(2 * high, 2.5))
    add_legend(figure, panels, len(methods))
    return figure


def _draw_panel(
    axes: "Axes", results: Results, measure: str, methods: Sequence[str], groups: Sequence[str]
) -> list[float]:
    """Draw the groups of bars of one measure and give all heights."""
    width = _GROUP_WIDTH / len(methods)
    ticks: list[str] = []
    heights: list[float] = []
    for i, group in enumerate(groups):
        averages, number = results.average(measure, methods, group)
        ticks.append(
            f"{group_label(group).replace(', ', chr(10))}\n({number} set{'s' * (number != 1)})"
        )
        for k, name in enumerate(methods):
            if name not in averages:
                continue
            x = i + (k - (len(methods) - 1) / 2) * width
            label = method_label(name)
            bar = axes.bar(x, averages[name], 0.9 * width, color=COLOURS[name], label=label)
            heights.append(averages[name])
            if name != "DBL2":
                axes.bar_label(bar, fmt=_write_ratio, fontsize=7.5, padding=2, bbox=_BEHIND)
    if heights:
        axes.axhline(1.0, color=GREY, linewidth=0.8, linestyle=(0, (4, 3)))
    axes.set_xticks(range(len(groups)), ticks, fontsize=8)
    axes.set_xlim(-0.6, len(groups) - 0.4)
    draw_grid(axes, "y")
    axes.set_title(f"{measure_label(measure)}, DBL² = 1", fontsize=10)
    axes.set_ylabel("geometric mean of ratios", fontsize=9)
    return heights


def _write_ratio(ratio: float) -> str:
    """Write a ratio with about three digits.

    >>> _write_ratio(0.01234), _write_ratio(1.234), _write_ratio(12.34), _write_ratio(123.4)
    ('0.012', '1.23', '12.3', '123')
    """
    if ratio < 0.1:
        return f"{ratio:.2g}"
    decimals = 2 - min(max(int(np.floor(np.log10(ratio))), 0), 2)
    return f"{ratio:.{decimals}f}"
