import numpy as np
import pytest

pytest.importorskip("matplotlib")

from deepbroad.experiments.figures.bars import draw_loss_bars, draw_time_bars
from deepbroad.experiments.figures.canvas import create_panels, render, scale_logarithmic
from deepbroad.experiments.figures.convergence import draw_convergence, draw_depths
from deepbroad.experiments.figures.learning_curves import draw_learning_curves
from deepbroad.experiments.figures.rank_diagram import draw_ranks, join_alike
from deepbroad.experiments.figures.scatter import draw_scatter
from deepbroad.experiments.results import Results
from tests.experiments.rows_for_tests import PAPER_NAMES, make_points, make_row, make_rows

METHODS = ("DBL2", "A2JE", "DBL3", "A3JE")


@pytest.fixture(scope="module")
def results():
    return Results(make_rows(8, rounds=1), paper_names=PAPER_NAMES)


def _legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_bars_are_the_averages_over_dbl2(results):
    figure = draw_loss_bars(results, METHODS)
    for axes, measure in zip(figure.axes, ("error", "rmse"), strict=True):
        expected = [
            results.average(measure, METHODS, group)[0][name]
            for group in ("little", "big")
            for name in METHODS
        ]
        heights = [patch.get_height() for patch in axes.patches]
        np.testing.assert_allclose(heights, expected)
    assert _legend(figure) == ["DBL²", "A2JE", "DBL³", "A3JE"]


def test_bars_say_how_many_data_sets_they_average(results):
    figure = draw_time_bars(results, METHODS)
    ticks = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert ticks == [
        "Little\nwithout the nine\n(6 sets)",
        "the paper's nine\n(2 sets)",
        "over 100,000 rows\n(2 sets)",
    ]
    assert all(axes.get_yscale() == "log" for axes in figure.axes)


@pytest.mark.parametrize("measure", ["error", "rmse", "iterations", "train_seconds"])
def test_scatters_have_a_point_for_each_data_set(results, measure):
    figure = draw_scatter(results, measure)
    for axes in figure.axes:
        points = sum(len(collection.get_offsets()) for collection in axes.collections)
        assert points == 10
        (marked,) = [c for c in axes.collections if c.get_label() == "wall-following"]
        n = axes.get_xlabel()[2].translate(str.maketrans("²³", "23"))
        found = results.compare(measure, [f"LR{n}", f"DBL{n}"])
        expected = found.values[found.datasets.index("wall-following")]
        np.testing.assert_allclose(marked.get_offsets()[0], expected)
        assert axes.get_xlim() == axes.get_ylim()
        assert "LR" in axes.get_xlabel()
        assert "DBL" in axes.get_ylabel()
    assert _legend(figure) == [
        "Little",
        "covertype (Big)",
        "poker-hand (Big)",
        "wall-following",
    ]


def test_convergence_draws_both_curves_of_each_data_set(results):
    figure = draw_convergence(results, 2)
    titles = [axes.get_title() for axes in figure.axes if axes.lines]
    assert titles[:2] == ["poker-hand", "covertype"]
    assert len(titles) == 10
    for axes, name in zip(figure.axes, titles, strict=False):
        curves = [results.finished(name, method)[0]["loss_curve"] for method in ("DBL2", "LR2")]
        for line, curve in zip(axes.lines, curves, strict=True):
            np.testing.assert_allclose(line.get_ydata(), curve)
    assert _legend(figure) == ["DBL²", "LR²"]


def test_convergence_shows_fifteen_data_sets_at_most():
    rows = [make_row(f"set-{i}", name, n_rows=30) for i in range(17) for name in ("DBL2", "LR2")]
    figure = draw_convergence(Results(rows), 2)
    assert sum(bool(axes.lines) for axes in figure.axes) == 15


def test_depths_are_drawn_on_the_papers_larger_data_sets(results):
    titles = [axes.get_title() for axes in draw_depths(results).axes]
    assert titles[:3] == [f"connect-4, n = {n}" for n in (1, 2, 3)]
    assert titles[3].startswith("adult")


def test_learning_curves_average_repeated_samples():
    points = make_points()
    (axes,) = draw_learning_curves(points).axes
    line = axes.lines[0]
    mean = np.mean([p.error for p in points if (p.method, p.n_train) == ("NB", 100)])
    assert line.get_xdata()[0] == 100
    assert line.get_ydata()[0] == pytest.approx(mean)
    assert axes.get_legend().get_texts()[0].get_text() == "naive Bayes"


def test_rank_diagrams_name_every_method(results):
    figure = draw_ranks(results, ["error", "rmse"], METHODS)
    for axes in figure.axes:
        texts = " ".join(text.get_text() for text in axes.texts)
        assert all(name in texts for name in ("DBL²", "A2JE", "DBL³", "A3JE"))
        assert "critical distance" in texts


def test_runs_of_ranks_are_the_longest():
    assert join_alike([1.0, 2.0, 3.0], 5.0) == [(0, 2)]
    assert join_alike([1.0, 2.0, 3.0], 0.5) == []
    assert join_alike([1.0, 2.0, 3.0, 3.5], 1.6) == [(0, 1), (1, 3)]


@pytest.mark.parametrize(
    "draw",
    [
        lambda: draw_loss_bars(Results([]), METHODS),
        lambda: draw_time_bars(Results([]), METHODS),
        lambda: draw_scatter(Results([]), "train_seconds"),
        lambda: draw_convergence(Results([]), 3),
        lambda: draw_depths(Results([])),
        lambda: draw_learning_curves([]),
        lambda: draw_ranks(Results([]), ["error"], METHODS),
    ],
)
def test_figures_of_nothing_can_be_drawn(draw):
    png, svg = render(draw())
    assert png.startswith(b"\x89PNG")
    assert b"<svg" in svg


def test_the_same_figure_gives_the_same_files():
    first, second = (render(draw_learning_curves(make_points())) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("high", [1.5, 30.0, 1e6])
def test_logarithmic_axes_have_ticks(high):
    _, (axes,) = create_panels(1, 1, 2)
    scale_logarithmic(axes.xaxis, 0.7, high)
    ticks = axes.get_xticks()
    assert np.sum((ticks >= 0.7) & (ticks <= high)) >= 1
