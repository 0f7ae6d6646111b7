"""The look that all pictures share."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from deepbroad.estimators.effect_table import find_class
from deepbroad.report.label import cut

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 7.2  # inches
LINE = 0.27  # inches of a line of bars
# Okabe and Ito's colours, which the colour-blind can tell apart.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
UP, DOWN, GREY, PALE = "#c1443c", "#2f6fb0", "#555555", "#b8c4d0"
# Red for more, blue for less, white for nothing.
DIVERGING = "RdBu_r"
LONGEST = 24


def create_figure(width: float, height: float) -> "Figure":
    """Create an empty figure; ImportError that names the extra if there is no matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError('matplotlib is needed to draw: pip install "deepbroad[report]"') from None
    return Figure(figsize=(width, height), layout="constrained")


def bare_axes(axes: "Axes") -> None:
    """Take away what every picture can do without."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
    axes.set_axisbelow(True)


def shorten(text: Any, longest: int = LONGEST) -> str:
    """Return a text that fits beside an axis, dollar signs as they are."""
    return cut(text, longest).replace("$", r"\$")  # no mathematics


def most_frequent(weights: np.ndarray, count: int) -> np.ndarray:
    """Return the places of the most frequent values, in the order that they have."""
    return np.sort(np.argsort(-weights, kind="stable")[:count])


def shown_classes(classes: np.ndarray, label: Any, scores: np.ndarray) -> Sequence[int]:
    """Return the numbers of the classes to draw: the one asked for, or the most affected ones.

    Of two classes it is the second: what it gains the other loses.
    """
    if label is not None:
        return [find_class(classes, label)]
    if len(classes) == 2:
        return [1]
    spread = np.abs(scores).reshape(-1, len(classes)).mean(axis=0)
    return most_frequent(spread, len(COLOURS)).tolist()
