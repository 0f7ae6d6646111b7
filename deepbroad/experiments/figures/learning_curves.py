"""The paper's first figure: error on poker hands as training data grows."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from deepbroad.experiments.figures.canvas import COLOURS, create_panels, draw_grid
from deepbroad.experiments.labels import method_label
from deepbroad.experiments.learning_curves import Point

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MARKS = "osD^vP"


def draw_learning_curves(points: Sequence[Point]) -> "Figure":
    """Draw mean error by number of training hands, with the range of repeated samples."""
    figure, (axes,) = create_panels(1, 1, 3.8)
    methods = list(dict.fromkeys(point.method for point in points))
    for name, mark in zip(methods, _MARKS, strict=False):
        mine = [point for point in points if point.method == name]
        sizes = sorted({point.n_train for point in mine})
        errors = [[point.error for point in mine if point.n_train == size] for size in sizes]
        means = np.array([np.mean(line) for line in errors])
        lows, highs = (np.array([end(line) for line in errors]) for end in (min, max))
        axes.errorbar(
            sizes,
            means,
            yerr=[means - lows, highs - means],
            color=COLOURS[name],
            marker=mark,
            markersize=4.5,
            linewidth=1.6,
            capsize=2.5,
            label=method_label(name),
        )
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("training hands (logarithmic)", fontsize=9)
    axes.set_ylabel("0-1 loss on 100,000 other hands", fontsize=9)
    draw_grid(axes)
    if methods:
        axes.legend(frameon=False, fontsize=9)
    return figure
