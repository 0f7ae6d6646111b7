"""Pictures of explanations show the numbers that the explanations have."""

import builtins
import io
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from deepbroad import DBLClassifier, LRClassifier
from deepbroad.report import plot_effect, plot_importances, plot_row
from tests.estimators.tables import mixed_table


@pytest.fixture(scope="module")
def fitted():
    X, y = mixed_table()
    X.loc[::7, "length"] = np.nan
    return DBLClassifier(n=2, alpha=[1.0, 3.0]).fit(X, y), X


@pytest.fixture(scope="module")
def explanation(fitted):
    return fitted[0].explain()


@pytest.fixture(scope="module")
def binary():
    X, y = mixed_table(n_classes=2)
    return LRClassifier(n=2).fit(X, y).explain()


def drawn(figure):
    """Return the figure's panels after it was rendered as a file."""
    file = io.BytesIO()
    figure.savefig(file, format="png")
    assert file.getvalue().startswith(b"\x89PNG")
    return figure.axes


def test_bars_are_the_importances(explanation):
    (axes,) = drawn(plot_importances(explanation, top=4))
    widths = {round(bar.get_y() + bar.get_height() / 2): bar.get_width() for bar in axes.patches}
    expected = explanation.importances["importance"].to_numpy()[:4]
    np.testing.assert_allclose([widths[i] for i in range(4)], expected)
    labels = [tick.get_text() for tick in axes.get_yticklabels()]
    assert labels == explanation.importances["effect"].to_pylist()[:4]
    assert "6 smaller" in axes.get_title()


def test_a_number_is_steps_over_its_bins_with_a_histogram(explanation):
    curve, histogram = drawn(explanation.plot("length"))
    table = explanation.tables["length"]
    n_bins = len(table.cuts[0]) + 1
    for i, label in enumerate(table.classes):
        steps = next(line for line in curve.lines if line.get_label() == label)
        np.testing.assert_allclose(steps.get_ydata()[:-1], table.scores[:n_bins, i])
        np.testing.assert_allclose(steps.get_xdata()[1:-1], table.cuts[0])
    heights = [bar.get_height() for bar in histogram.patches]
    np.testing.assert_allclose(heights, table.weights[0])
    assert histogram.get_xticklabels()[-1].get_text() == "missing"


def test_a_category_is_points_and_one_class_can_be_asked_for(explanation):
    curve, histogram = drawn(plot_effect(explanation, "colour", label="bee"))
    points = next(line for line in curve.lines if len(line.get_ydata()) == 3)
    np.testing.assert_allclose(points.get_ydata(), explanation.tables["colour"].of_class("bee"))
    assert [tick.get_text() for tick in histogram.get_xticklabels()] == ["blue", "green", "red"]
    assert curve.get_ylabel() == "log odds of bee"


def test_heat_maps_have_a_panel_per_class_on_one_scale(explanation):
    table = explanation.tables["colour", "length"]
    *panels, bar = drawn(explanation.plot("colour", "length"))
    assert len(panels) == 3
    for i, panel in enumerate(panels):
        (image,) = panel.images
        np.testing.assert_allclose(image.get_array(), table.scores[..., i])
        low, high = image.get_clim()
        assert low == -high == -np.abs(table.scores).max()
    assert bar.get_ylim() == (low, high)


def test_a_small_heat_map_of_two_classes_has_its_numbers_written(binary):
    panel, _ = drawn(binary.plot("colour", "shape"))
    table = binary.tables["colour", "shape"]
    written = [float(text.get_text()) for text in panel.texts]
    np.testing.assert_allclose(written, table.scores[..., 1].ravel(), atol=0.0051)


def test_a_waterfall_ends_at_the_log_odds(fitted):
    model, X = fitted
    rows = model.explain(X.iloc[:5])
    for top in (3, 50):
        (axes,) = drawn(plot_row(rows, 2, label="cow", top=top))
        *steps, total = axes.patches
        assert sum(bar.get_width() for bar in steps) == pytest.approx(total.get_width())
        assert total.get_width() == pytest.approx(model.decision_function(X.iloc[2:3])[0, 2])
        assert len(steps) == (5 if top == 3 else len(rows.effects))
    (axes,) = drawn(rows.plot(2))
    probability = model.predict_proba(X.iloc[2:3]).max()
    assert f"{probability:.1%}" in axes.get_title()
    assert str(model.predict(X.iloc[2:3])[0]) in axes.get_title()


def test_many_values_are_cut_to_the_most_frequent():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"id": rng.zipf(1.5, 400) % 97, "$": rng.choice(["$a$", "b_{"], 400)})
    model = LRClassifier(n=2).fit(X.astype(str), rng.integers(2, size=400))
    explanation = model.explain()
    curve, histogram = drawn(explanation.plot("id"))
    assert len(histogram.patches) == 30
    assert "most frequent of" in curve.texts[-1].get_text()
    figure = explanation.plot("id", "$")
    assert "most frequent" in figure.get_suptitle()
    assert drawn(figure)[0].images[0].get_array().shape == (32, 2)


def test_what_cannot_be_drawn_is_refused(explanation):
    with pytest.raises(KeyError, match="no class 'dog'"):
        explanation.plot("colour", label="dog")
    with pytest.raises(KeyError, match="no effect"):
        explanation.plot("colour", "nothing")
    X, y = mixed_table()
    deep = LRClassifier(n=3).fit(X, y).explain()
    with pytest.raises(ValueError, match="one or two attributes"):
        deep.plot("colour", "shape", "heavy")


def test_without_matplotlib_the_error_names_the_extra(explanation, monkeypatch):
    real = builtins.__import__

    def refuse(name, *rest, **named):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=r"deepbroad\[report\]"):
        explanation.plot()


def test_the_library_imports_no_plotting():
    code = "import deepbroad, sys; sys.exit(any(m.startswith('matplotlib') for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
