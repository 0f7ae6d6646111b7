"""Scatters of DBL^n against LR^n, one point for each data set."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from deepbroad.experiments.figures.canvas import (
    GREY,
    add_legend,
    create_panels,
    draw_grid,
    scale_logarithmic,
)
from deepbroad.experiments.labels import method_label
from deepbroad.experiments.results import Results
from deepbroad.experiments.statistics import count_wins

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_UNITS = {
    "error": "0-1 loss",
    "rmse": "RMSE",
    "iterations": "iterations",
    "train_seconds": "training time (s)",
}
_LOGARITHMIC = ("iterations", "train_seconds")
_LITTLE = "#2f8fd0"
# Big data sets, and the one that the paper excepts, have marks of their own.
_MARKS = ("D", "s", "^", "v", "P", "X", "*", "h")
_BIG_COLOURS = (
    "#d55e00",
    "#117733",
    "#aa4499",
    "#ddaa00",
    "#882255",
    "#44aa99",
    "#000000",
    "#999933",
)
_EXCEPTED = "wall-following"


def draw_scatter(results: Results, measure: str) -> "Figure":
    """Draw a measure of DBL² against LR², and of DBL³ against LR³."""
    figure, panels = create_panels(1, 2, 4.05)
    for axes, n in zip(panels, (2, 3), strict=True):
        _draw_panel(axes, results, measure, n)
    add_legend(figure, panels, 4, side="outside lower center")
    return figure


def _draw_panel(axes: "Axes", results: Results, measure: str, n: int) -> None:
    """Draw the points of one depth."""
    found = results.compare(measure, [f"LR{n}", f"DBL{n}"])
    big = results.datasets("big")
    marked = [*sorted(big), _EXCEPTED]
    is_plain = np.array([name not in marked for name in found.datasets], dtype=bool)
    # What takes no time to speak of still has a place on a logarithmic axis.
    values = np.maximum(found.values, 1e-4) if measure in _LOGARITHMIC else found.values
    plain = values[is_plain]
    axes.scatter(plain[:, 0], plain[:, 1], s=16, color=_LITTLE, alpha=0.7, label="Little", zorder=3)
    for i, name in enumerate(marked):
        if name in found.datasets:
            x, y = values[found.datasets.index(name)]
            label = name if name == _EXCEPTED else f"{name} (Big)"
            colour, mark = ("black", "o") if name == _EXCEPTED else (_BIG_COLOURS[i], _MARKS[i])
            axes.scatter(x, y, s=34, color=colour, marker=mark, label=label, zorder=4)
    _draw_diagonal(axes, values, logarithmic=measure in _LOGARITHMIC)
    counts = count_wins(found.values[:, 1], found.values[:, 0])
    axes.set_title(
        f"DBL lower on {counts.wins} of {counts.total} data sets, higher on {counts.losses}",
        fontsize=9,
    )
    axes.set_xlabel(f"{method_label(f'LR{n}')}: {_UNITS[measure]}", fontsize=9)
    axes.set_ylabel(f"{method_label(f'DBL{n}')}: {_UNITS[measure]}", fontsize=9)
    draw_grid(axes)


def _draw_diagonal(axes: "Axes", values: NDArray[np.float64], *, logarithmic: bool) -> None:
    """Draw where both are equal, over the same range of both axes."""
    if not values.size:
        return
    low, high = float(values.min()), float(values.max())
    if logarithmic:
        low, high = low / 1.4, high * 1.4
        for axis in (axes.xaxis, axes.yaxis):
            scale_logarithmic(axis, low, high)
    else:
        low, high = 0.0, 1.05 * high or 1.0
        axes.set_xlim(low, high)
        axes.set_ylim(low, high)
    axes.set_aspect("equal")
    axes.plot([low, high], [low, high], color=GREY, linewidth=0.8, linestyle=(0, (4, 3)))
