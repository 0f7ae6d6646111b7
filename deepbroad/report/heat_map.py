"""The effect of a pair of attributes: a heat map for each class."""

from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from deepbroad.estimators.effect_table import EffectTable
from deepbroad.report.canvas import (
    DIVERGING,
    WIDTH,
    create_figure,
    most_frequent,
    shorten,
    shown_classes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_VALUES = 32
# Cells up to so many have their numbers in them.
NUMBERED = 64


def draw_heat_maps(table: EffectTable, label: Any) -> "Figure":
    """Draw a table of a pair, side by side for several classes on one scale of colours."""
    shown = [most_frequent(weights, MOST_VALUES) for weights in table.weights]
    scores = table.among(*shown)
    places = shown_classes(table.classes, label, scores)
    columns = 2 if len(places) == 4 else min(3, len(places))
    rows = ceil(len(places) / columns)
    tall = (
        min(4.2, max(1.8, 0.28 * len(shown[0])))
        if columns > 1
        else min(7.0, 1 + 0.3 * len(shown[0]))
    )
    figure = create_figure(WIDTH if columns < 3 else 1.35 * WIDTH, 0.9 + rows * (tall + 0.5))
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
    largest = float(np.abs(scores[..., places]).max()) or 1.0
    image = None
    for panel, place in zip(panels, places, strict=False):
        image = panel.imshow(
            scores[..., place], cmap=DIVERGING, vmin=-largest, vmax=largest, aspect="auto"
        )
        panel.set_title(f"log odds of {shorten(table.classes[place])}", fontsize=9)
        _name_axes(panel, table, shown)
        if columns == 1 and scores[..., place].size <= NUMBERED:
            _write_numbers(panel, scores[..., place], largest)
    for panel in panels[len(places) :]:
        panel.set_visible(False)
    for panel in panels[::columns]:
        panel.set_ylabel(shorten(table.attributes[0], 40), fontsize=9)
    for panel in panels[max(0, len(places) - columns) : len(places)]:  # none is below
        panel.set_xlabel(shorten(table.attributes[1], 40), fontsize=9)
        panel.tick_params(labelbottom=True)
    if image is not None:
        figure.colorbar(image, ax=list(panels), shrink=0.8).ax.tick_params(labelsize=8)
    hidden = any(len(own) < len(weights) for own, weights in zip(shown, table.weights, strict=True))
    rest = " (most frequent values)" if hidden else ""
    figure.suptitle(
        f"{' & '.join(shorten(a, 30) for a in table.attributes)} together{rest}", fontsize=10
    )
    return figure


def _name_axes(panel: "Axes", table: EffectTable, shown: list[np.ndarray]) -> None:
    """Write the names of values beside their rows and columns."""
    down, across = (
        [shorten(names[v], 16) for v in own] for names, own in zip(table.values, shown, strict=True)
    )
    turned: dict[str, Any] = {"rotation": 45, "ha": "right"} if sum(map(len, across)) > 30 else {}
    size = 8 if max(len(down), len(across)) <= 16 else 6
    panel.set_xticks(range(len(across)), across, fontsize=size, **turned)
    panel.set_yticks(range(len(down)), down, fontsize=size)
    panel.tick_params(length=0)


def _write_numbers(panel: "Axes", scores: np.ndarray, largest: float) -> None:
    """Write the effect of each cell, white where the cell is dark."""
    for (row, column), score in np.ndenumerate(scores):
        colour = "white" if abs(score) > 0.6 * largest else "black"
        panel.text(column, row, f"{score:.2f}", ha="center", va="center", fontsize=7, color=colour)
