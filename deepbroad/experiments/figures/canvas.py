"""The look that all figures share: size, colours, and files of them."""

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

# As wide as the text of a page, in inches; the height follows what is shown.
WIDTH = 7.2
_DOTS_PER_INCH = 150
_FEW_DECADES = 500
# Okabe and Ito's colours, which the colour-blind can tell apart; DBL is always blue, the deeper
# the darker.
COLOURS = {
    "DBL1": "#8ecae6",
    "DBL2": "#2f8fd0",
    "DBL3": "#0b4a7d",
    "LR1": "#f4a261",
    "LR2": "#e07b20",
    "LR3": "#b3470b",
    "A1JE": "#b7e4c7",
    "A2JE": "#52b788",
    "A3JE": "#1b7a4b",
    "A1DE": "#e3a7cf",
    "A2DE": "#b0478c",
    "RF": "#8a8a8a",
    "RF-raw": "#4d4d4d",
    "NB": "#52b788",
    "KDB5": "#b0478c",
}
GREY = "#555555"


def create_panels(
    rows: int, columns: int, height: float, *, sharex: bool = False
) -> tuple["Figure", list["Axes"]]:
    """Create a figure of page width with a grid of panels, read line by line."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, sharex=sharex)
    panels = list(grid.flat)
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8)
        axes.set_axisbelow(True)
    return figure, panels


def draw_grid(axes: "Axes", axis: Literal["both", "x", "y"] = "both") -> None:
    """Draw the pale lines behind a panel."""
    axes.grid(axis=axis, color="#d9d9d9", linewidth=0.6)


def scale_logarithmic(axis: "Axis", low: float, high: float) -> None:
    """Make an axis logarithmic from `low` to `high`, its ticks written as plain numbers."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axes = axis.axes
    if axis is axes.xaxis:
        axes.set(xscale="log", xlim=(low, high))
    else:
        axes.set(yscale="log", ylim=(low, high))
    # Few decades have ticks at 2 and 5 too, so that there are always some.
    subs = (1.0, 2.0, 5.0) if high / low < _FEW_DECADES else (1.0,)
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def add_legend(
    figure: "Figure",
    panels: Sequence["Axes"],
    columns: int,
    *,
    side: Literal["outside upper center", "outside lower center"] = "outside upper center",
) -> None:
    """Add one legend for all panels, outside of them; none if nothing is drawn."""
    handles: dict[str, Artist] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    if handles:
        figure.legend(
            list(handles.values()),
            list(handles),
            loc=side,
            ncols=min(columns, len(handles)),
            frameon=False,
            fontsize=9,
        )


def render(figure: "Figure") -> tuple[bytes, bytes]:
    """Render a figure as PNG and SVG files, always the same for the same figure."""
    from matplotlib import rc_context

    png, svg = io.BytesIO(), io.BytesIO()
    figure.savefig(png, format="png", dpi=_DOTS_PER_INCH, metadata={"Software": None})
    # The second picture has the first one's layout, which takes most of the time.
    figure.set_layout_engine("none")
    with rc_context({"svg.hashsalt": "deepbroad", "svg.fonttype": "path"}):
        figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    return png.getvalue(), svg.getvalue()
