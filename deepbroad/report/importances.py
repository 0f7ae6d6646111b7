"""Bars of the importances of effects."""

from typing import TYPE_CHECKING

import numpy as np

from deepbroad.estimators.explanation import Explanation
from deepbroad.report.canvas import COLOURS, LINE, WIDTH, bare_axes, create_figure, shorten

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ORDERS = {1: "one attribute", 2: "pair", 3: "triple"}


def plot_importances(explanation: Explanation, *, top: int = 15) -> "Figure":
    """Draw the most important effects as bars, coloured by how many attributes they join.

    Parameters
    ----------
    explanation : Explanation
        Of ``model.explain()``.
    top : int, default=15
        How many effects to draw.

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    table = explanation.importances.slice(0, top)
    importances = table["importance"].to_numpy()
    orders, shares = table["order"].to_numpy(), table["share"].to_numpy()
    names = [shorten(name, 40) for name in table["effect"].to_pylist()]
    figure = create_figure(WIDTH, 1.1 + LINE * len(names))
    axes = figure.subplots()
    bare_axes(axes)
    places = np.arange(len(names))
    for order in np.unique(orders).tolist():
        chosen = orders == order
        colour = COLOURS[(order - 1) % len(COLOURS)]
        what = ORDERS.get(order, f"{order} attributes")
        axes.barh(places[chosen], importances[chosen], color=colour, label=what, height=0.7)
    for place, importance, share in zip(places, importances, shares, strict=True):
        axes.annotate(
            f"{share:.1%}",
            (importance, place),
            (3, 0),
            textcoords="offset points",
            va="center",
            fontsize=7,
        )
    axes.set_yticks(places, names)
    axes.invert_yaxis()
    axes.margins(x=0.1)
    axes.grid(axis="x", color="#d9d9d9", linewidth=0.6)
    axes.set_xlabel("standard deviation of log odds (and share of their variance)", fontsize=9)
    axes.legend(frameon=False, fontsize=8, loc="lower right")
    left = explanation.importances.num_rows - len(names)
    rest = f" (and {left:,} smaller)" if left else ""
    axes.set_title(f"Importance of effects{rest}", fontsize=10)
    return figure
