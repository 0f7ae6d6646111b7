"""How fast DBL^n and LR^n converge: the training loss after each iteration."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from deepbroad.experiments.figures.canvas import COLOURS, add_legend, create_panels, draw_grid
from deepbroad.experiments.labels import method_label
from deepbroad.experiments.published import big_for_times
from deepbroad.experiments.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLUMNS = 3
_MOST = 15
_SAMPLES = 2


def draw_convergence(results: Results, n: int) -> "Figure":
    """Draw the curves of depth `n` on the largest data sets that have both, fifteen at most."""
    methods = (f"DBL{n}", f"LR{n}")
    names = _find_curves(results, methods)[:_MOST]
    rows = max(1, -(-len(names) // _COLUMNS))
    figure, panels = create_panels(rows, _COLUMNS, 0.6 + 1.55 * rows)
    for axes, name in zip(panels, names, strict=False):
        _draw_curves(axes, results, name, methods)
        axes.set_title(name, fontsize=9)
    for axes in panels[len(names) :]:
        axes.set_axis_off()
    _finish(figure, panels, len(methods))
    return figure


def draw_depths(results: Results) -> "Figure":
    """Draw the curves of n = 1, 2, 3 side by side, on two sample data sets."""
    depths = (1, 2, 3)
    methods = [f"{name}{n}" for n in depths for name in ("DBL", "LR")]
    names = _choose_samples(results, methods)
    rows = max(1, len(names))
    figure, panels = create_panels(rows, len(depths), 0.6 + 2.1 * rows)
    for i, name in enumerate(names):
        for k, n in enumerate(depths):
            axes = panels[len(depths) * i + k]
            _draw_curves(axes, results, name, (f"DBL{n}", f"LR{n}"))
            axes.set_title(f"{name}, n = {n}", fontsize=9)
    if not names:
        for axes in panels:
            axes.set_axis_off()
    _finish(figure, panels, len(methods))
    return figure


def _choose_samples(results: Results, methods: Sequence[str]) -> list[str]:
    """Choose the paper's sample, Localization, or else what comes next among its larger ones."""
    order = {printed: i for i, printed in enumerate(big_for_times())}
    names = _find_curves(results, methods)
    names.sort(key=lambda name: order.get(results.paper_names.get(name, ""), len(order)))
    return names[:_SAMPLES]


def _find_curves(results: Results, methods: Sequence[str]) -> list[str]:
    """Name the data sets of which all methods finished the same fold and kept their curves."""
    return [
        name
        for name in results.compare("iterations", methods).datasets
        if all(
            row["loss_curve"] is not None
            for method in methods
            for row in results.finished(name, method)
        )
    ]


def _draw_curves(axes: "Axes", results: Results, name: str, methods: Sequence[str]) -> None:
    """Draw the curves of the first fold that all methods finished."""
    folds = [
        {(row["round"], row["fold"]): row for row in results.finished(name, method)}
        for method in methods
    ]
    first = min(set(folds[0]).intersection(*folds[1:]))
    for method, rows in zip(methods, folds, strict=True):
        curve = rows[first]["loss_curve"]
        style = "-" if method.startswith("DBL") else "--"
        axes.plot(
            curve,
            style,
            color=COLOURS[method],
            linewidth=1.5,
            label=method_label(method),
            # A dot where the search ended.
            marker="o",
            markersize=3.5,
            markevery=[len(curve) - 1],
        )
    # Linear up to 1, so that the start, iteration 0, has a place on a logarithmic axis.
    axes.set_xscale("symlog", linthresh=1, linscale=0.3)
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_formatter("{x:g}")
    draw_grid(axes)


def _finish(figure: "Figure", panels: Sequence["Axes"], columns: int) -> None:
    """Add one legend and the names of both axes."""
    add_legend(figure, panels, columns)
    figure.supxlabel("iteration (logarithmic; 0 is the start)", fontsize=9)
    figure.supylabel("training objective (nats per row)", fontsize=9)
