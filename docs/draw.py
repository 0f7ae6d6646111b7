"""Draw the pictures of the site from the library itself: `python docs/draw.py`.

Their numbers are those of the models that are fitted here; draw them anew when a model changes.
"""

import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from deepbroad import AnJEClassifier, DBLClassifier, LRClassifier
from deepbroad.datasets import poker_hand

ROOT = Path(__file__).parent
sys.path.insert(0, str(ROOT.parent / "examples"))

from survey import draw_survey  # noqa: E402

FOLDER = ROOT / "pictures"
COLOURS = ("#0072b2", "#d55e00", "#009e73")
ONE_ROW = {"sky": "rain", "wind": "strong", "warm": "yes"}


def weather():
    """Return a tiny table in which wind matters only with the sky, and a model of its pairs."""
    random = np.random.default_rng(0)
    sky = random.choice(["sunny", "cloudy", "rain"], 600)
    wind = random.choice(["weak", "strong"], 600)
    warm = random.choice(["no", "yes"], 600)
    score = (sky == "sunny") * 1.0 + (warm == "yes") * 0.8 - 0.6
    score = score + np.where((sky == "rain") == (wind == "strong"), -1.2, 1.2)
    play = np.where(random.random(600) < 1 / (1 + np.exp(-score)), "play", "stay")
    X = (sky, wind, warm)
    table = pa.table({name: column.tolist() for name, column in zip(ONE_ROW, X, strict=True)})
    return LRClassifier(n=2).fit(table, play)


def draw_lookups():
    """One row, its three pairs, the cell of each, and their sum."""
    model = weather()
    figure = Figure(figsize=(8.4, 3.3), layout="constrained")
    panels = figure.subplots(1, 3, width_ratios=[2, 3, 3])
    place = list(model.classes_).index("play")
    total = float(model.intercept_[place] - model.intercept_[1 - place])
    words = [f"{total:+.2f}"]
    for panel, names in zip(
        panels, [("wind", "warm"), ("sky", "wind"), ("sky", "warm")], strict=True
    ):
        down, across = reversed(names), names
        table = model.tables_[tuple(down)]
        scores = table.scores[..., place] - table.scores[..., 1 - place]
        panel.imshow(scores, cmap="RdBu_r", vmin=-2.2, vmax=2.2, aspect="auto")
        panel.set_xticks(range(scores.shape[1]), table.values[1], fontsize=8)
        panel.set_yticks(range(scores.shape[0]), table.values[0], fontsize=8)
        panel.set_xlabel(across[0], fontsize=9)
        panel.set_ylabel(across[1], fontsize=9)
        panel.tick_params(length=0)
        for (row, column), score in np.ndenumerate(scores):
            dark = "white" if abs(score) > 1.3 else "black"
            panel.text(
                column, row, f"{score:+.2f}", ha="center", va="center", fontsize=9, color=dark
            )
        row = table.values[0].index(ONE_ROW[names[1]])
        column = table.values[1].index(ONE_ROW[names[0]])
        panel.add_patch(_frame(column, row))
        total += scores[row, column]
        words.append(f"{scores[row, column]:+.2f}")
    said = ", ".join(f"{name} = {value}" for name, value in ONE_ROW.items())
    figure.suptitle(f"{said}:  log odds of play = {' '.join(words)} = {total:+.2f}", fontsize=10)
    return figure


def _frame(column, row):
    """Return the frame around a cell."""
    return Rectangle((column - 0.46, row - 0.46), 0.92, 0.92, fill=False, lw=2.5, ec="black")


def planted(rows):
    """Return codes and classes that depend on single values, pairs and triples, equally much."""
    random = np.random.default_rng(0)
    X = random.integers(0, 4, (rows, 8))
    score = np.zeros(rows)
    for order in (1, 2, 3):
        effects = np.zeros(rows)
        for columns in combinations(range(8), order):
            table = random.normal(size=[4] * order)
            effects += table[tuple(X[:, columns].T)]
        score += 1.5 * effects / effects.std()
    return X.astype(str), random.random(rows) < 1 / (1 + np.exp(-score))


def draw_depths():
    """The error on held-out rows by training rows, for three depths."""
    sizes = [300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000]
    X, y = planted(sizes[-1] + 50_000)
    test, truth = X[sizes[-1] :], y[sizes[-1] :]
    figure = Figure(figsize=(6.4, 3.8), layout="constrained")
    axes = figure.subplots()
    for n, colour in zip((1, 2, 3), COLOURS, strict=True):
        errors = []
        for size in sizes:
            model = LRClassifier(n=n, alpha=3.0).fit(X[:size], y[:size])
            errors.append(1 - model.score(test, truth))
        axes.plot(sizes, errors, "o-", color=colour, ms=4)
        axes.annotate(f"  n = {n}", (sizes[-1], errors[-1]), color=colour, va="center", fontsize=10)
    axes.set_xscale("log")
    axes.set_xlim(right=600_000)
    axes.set_xlabel("training rows")
    axes.set_ylabel("error on rows never seen")
    _bare(axes)
    return figure


def draw_fusion():
    """Look-ups per row with a table for each tuple, and with fused ones."""
    random = np.random.default_rng(0)
    hands, y = poker_hand(50_000, seed=0, return_X_y=True)
    board = random.choice(["b", "o", "x"], (30_000, 42))
    cases = {
        "poker hands, pairs\n(10 columns)": (hands, y, 2),
        "poker hands, triples": (hands, y, 3),
        "a board of 42 cells,\npairs": (board, board[:, 0] == board[:, 7], 2),
    }
    figure = Figure(figsize=(6.8, 2.9), layout="constrained")
    axes = figure.subplots()
    for place, (X, labels, n) in enumerate(cases.values()):
        found = AnJEClassifier(n=n).estimate(X, labels)
        for shift, count, colour in (
            (-0.19, found.lookups, "#b8c4d0"),
            (0.19, found.fused_lookups, COLOURS[0]),
        ):
            axes.barh(place + shift, count, 0.36, color=colour)
            axes.annotate(f" {count:,}", (count, place + shift), va="center", fontsize=9)
    axes.set_yticks(range(len(cases)), list(cases), fontsize=9)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlim(1, 3000)
    axes.set_xlabel("table look-ups per row: one for each tuple (grey), fused (blue)")
    _bare(axes)
    return figure


def draw_start():
    """Loss by iteration of the same model from AnJE's weights (DBL) and from zero (LR)."""
    X, y = poker_hand(100_000, seed=0, return_X_y=True)
    figure = Figure(figsize=(6.4, 3.4), layout="constrained")
    axes = figure.subplots()
    models = {
        "DBL²: starts as AnJE, weights on log probabilities": DBLClassifier.paper(2),
        "LR²: starts at zero": LRClassifier(n=2, alpha=0.01),
    }
    for (label, model), colour in zip(models.items(), COLOURS, strict=False):
        model.set_params(solver="lbfgs-plain", max_iter=500).fit(X, y)
        axes.plot(model.loss_curve_[:120], color=colour, label=label)
    axes.set_xlabel("iteration")
    axes.set_ylabel("training loss")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, fontsize=9)
    _bare(axes)
    return figure


def _bare(axes):
    """Take away what a picture can do without."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#e3e3e3", linewidth=0.6)
    axes.set_axisbelow(True)


def draw_explanations():
    """Yield the pictures that the library itself draws, of the survey of the examples."""
    table = draw_survey(20_000)
    X, y = table.drop_columns("income"), table["income"].to_numpy()
    model = DBLClassifier(n=2).fit(X, y)
    explanation = model.explain()
    yield "importances", explanation.plot(top=8)
    yield "curve", explanation.plot("age", label="high")
    yield "heat-map", explanation.plot("work", "hours", label="high")
    yield "waterfall", model.explain(X.slice(0, 1)).plot(row=0, label="high")


def main():
    """Draw them all, or those that are named."""
    drawn = {
        "lookups": draw_lookups,
        "depths": draw_depths,
        "fusion": draw_fusion,
        "start": draw_start,
    }
    wanted = sys.argv[1:] or [*drawn, "explanations"]
    FOLDER.mkdir(exist_ok=True)
    for name in wanted:
        pictures = draw_explanations() if name == "explanations" else [(name, drawn[name]())]
        for title, figure in pictures:
            figure.savefig(FOLDER / f"{title}.png", dpi=130)
            print("drew", title)


if __name__ == "__main__":
    main()
