"""How the effects of a row add up to its log odds."""

from typing import TYPE_CHECKING, Any

import numpy as np

from deepbroad.estimators.explanation import RowExplanations
from deepbroad.report.canvas import (
    DOWN,
    GREY,
    LINE,
    UP,
    WIDTH,
    bare_axes,
    create_figure,
    shorten,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_row(rows: RowExplanations, row: int = 0, *, label: Any = None, top: int = 12) -> "Figure":
    """Draw a row's waterfall: from the intercept, effect by effect, to the log odds of a class.

    Parameters
    ----------
    rows : RowExplanations
        Of ``model.explain(X)``.
    row : int, default=0
        Which of them.
    label : class, optional
        The class; by default the most probable one.
    top : int, default=12
        How many effects to draw; the others come as one.

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    if not -len(rows) <= row < len(rows):
        raise IndexError(f"row {row} of {len(rows):,} rows that are explained; they count from 0")
    label = rows.best_class(row) if label is None else label
    contributions = rows.of_class(label)[row]
    order = 1 + np.argsort(-np.abs(contributions[1:]), kind="stable")
    kept, others = order[:top], order[top:]
    steps = [float(contributions[0]), *contributions[kept].tolist()]
    names = ["intercept", *(rows.name_values(row, int(i)) for i in kept)]
    if len(others):
        steps.append(float(contributions[others].sum()))
        names.append(f"{len(others):,} smaller effects")
    ends = np.cumsum(steps)
    starts = ends - steps
    figure = create_figure(WIDTH, 1.2 + LINE * (len(steps) + 1))
    axes = figure.subplots()
    bare_axes(axes)
    places = np.arange(len(steps))
    colours = [GREY, *(UP if step > 0 else DOWN for step in steps[1:])]
    axes.barh(places, steps, left=starts, color=colours, height=0.7)
    axes.vlines(ends[:-1], places[:-1] + 0.35, places[1:] - 0.35, color=GREY, linewidth=0.6)
    axes.barh([len(steps)], [ends[-1]], color=GREY, height=0.7)
    for place, step in enumerate([*steps, float(ends[-1])]):
        right = max(starts[place], ends[place]) if place < len(steps) else max(0.0, ends[-1])
        text = f"{step:+.2f}" if 0 < place < len(steps) else f"{step:.2f}"
        axes.annotate(
            text, (right, place), (3, 0), textcoords="offset points", va="center", fontsize=7
        )
    axes.axvline(0, color=GREY, linewidth=0.8)
    axes.set_yticks(range(len(steps) + 1), [*(shorten(name, 56) for name in names), "log odds"])
    axes.tick_params(axis="y", labelsize=7)
    axes.invert_yaxis()
    axes.use_sticky_edges = False  # room for the numbers
    axes.margins(x=0.1, y=0.02)
    axes.grid(axis="x", color="#d9d9d9", linewidth=0.6)
    against = " against the mean of all classes" if len(rows.classes) > 2 else ""
    axes.set_xlabel(f"log odds of {shorten(label)}{against}", fontsize=9)
    place = rows.classes.tolist().index(label)
    probability = rows.probabilities[row, place]
    axes.set_title(
        f"Row {row}: log odds {ends[-1]:.2f}, probability {probability:.1%} of {shorten(label)}",
        fontsize=10,
    )
    return figure
