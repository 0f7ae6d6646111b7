"""The effect of one attribute over its values, and how frequent these are."""

from typing import TYPE_CHECKING, Any

import numpy as np

from deepbroad.estimators.effect_table import EffectTable
from deepbroad.report.canvas import (
    COLOURS,
    GREY,
    PALE,
    WIDTH,
    bare_axes,
    create_figure,
    most_frequent,
    shorten,
    shown_classes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_VALUES = 30


def draw_curve(table: EffectTable, label: Any) -> "Figure":
    """Draw a table of one attribute: steps over a number's bins, points over categories."""
    places = shown_classes(table.classes, label, table.scores)
    figure = create_figure(WIDTH, 4.2)
    curve, histogram = figure.subplots(2, 1, height_ratios=[3, 1], sharex=True)
    for axes in (curve, histogram):
        bare_axes(axes)
    cuts = table.cuts[0]
    if cuts is not None and len(cuts) and np.isfinite(cuts).all():
        _draw_number(curve, histogram, table, places, cuts)
    else:
        _draw_categories(curve, histogram, table, places)
    curve.axhline(0, color=GREY, linewidth=0.8, zorder=1)
    curve.grid(axis="y", color="#d9d9d9", linewidth=0.6)
    if len(places) > 1:
        curve.legend(frameon=False, fontsize=8)
        curve.set_ylabel("log odds of the class", fontsize=9)
    else:
        curve.set_ylabel(f"log odds of {shorten(table.classes[places[0]])}", fontsize=9)
    curve.set_title(f"Effect of {shorten(table.attributes[0], 60)}", fontsize=10)
    histogram.set_ylabel("share of rows", fontsize=9)
    histogram.set_xlabel(shorten(table.attributes[0], 60), fontsize=9)
    return figure


def _draw_number(
    curve: "Axes", histogram: "Axes", table: EffectTable, places: Any, cuts: np.ndarray
) -> None:
    """Draw steps between cuts, the outer bins open, and missing as a point beyond them."""
    margin = 0.08 * (cuts[-1] - cuts[0]) or max(1.0, abs(cuts[0]) * 0.1)
    edges = np.concatenate([[cuts[0] - margin], cuts, [cuts[-1] + margin]])
    n_bins = len(cuts) + 1
    beyond = edges[-1] + margin
    for i, place in enumerate(places):
        scores, colour = table.scores[:, place], COLOURS[i]
        steps = np.append(scores[:n_bins], scores[n_bins - 1])
        curve.step(edges, steps, where="post", color=colour, label=shorten(table.classes[place]))
        curve.plot([beyond] * len(scores[n_bins:]), scores[n_bins:], "D", color=colour, ms=4)
    weights = table.weights[0]
    histogram.bar(
        edges[:-1],
        weights[:n_bins],
        np.diff(edges),
        align="edge",
        color=PALE,
        edgecolor="white",
        linewidth=0.3,
    )
    if len(weights) > n_bins:
        histogram.bar([beyond], weights[n_bins:], margin * 0.6, color=PALE)
        ticks = [tick for tick in histogram.get_xticks() if edges[0] <= tick <= cuts[-1]]
        histogram.set_xticks([*ticks, beyond], [*(f"{tick:g}" for tick in ticks), "missing"])


def _draw_categories(curve: "Axes", histogram: "Axes", table: EffectTable, places: Any) -> None:
    """Draw a point per value, of many values the most frequent."""
    weights = table.weights[0]
    shown = most_frequent(weights, MOST_VALUES)
    across = np.arange(len(shown))
    shift = 0.5 / max(1, len(places))
    for i, place in enumerate(places):
        at = across + shift * (i - (len(places) - 1) / 2)
        scores, colour = table.scores[shown, place], COLOURS[i]
        curve.vlines(at, 0, scores, color=colour, linewidth=1.5)
        curve.plot(at, scores, "o", color=colour, ms=4, label=shorten(table.classes[place]))
    histogram.bar(across, weights[shown], 0.7, color=PALE)
    names = [shorten(table.values[0][v]) for v in shown]
    crowded = len(names) > 8 or sum(map(len, names)) > 70
    turned: dict[str, Any] = {"rotation": 45, "ha": "right"} if crowded else {}
    histogram.set_xticks(across, names, **turned)
    if len(shown) < len(weights):
        curve.annotate(
            f"the {len(shown)} most frequent of {len(weights):,} values",
            (1, 1),
            xycoords="axes fraction",
            ha="right",
            va="top",
            fontsize=7,
        )
