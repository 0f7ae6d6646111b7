"""Effects of a model and of rows as plain data for a page, no more than a page can hold."""

from typing import Any

import numpy as np

from deepbroad.estimators.effect_table import EffectTable
from deepbroad.estimators.explanation import Explanation, RowExplanations
from deepbroad.report.canvas import most_frequent
from deepbroad.report.label import LONGEST, cut
from deepbroad.report.scored_rows import ScoredRows

# What a page has of effects at most: bars, values along an axis, and numbers in all.
MOST_BARS = 25
MOST_VALUES = 24
MOST_BINS = 128
MOST_NUMBERS = 250_000
# Rows to explore, how many of them are those of largest loss, and effects of each.
MOST_ROWS = 300
WORST_ROWS = 100
MOST_STEPS = 15
MOST_CONTRIBUTIONS = 3e7


def describe_effects(explanation: Explanation, shown: np.ndarray) -> dict[str, Any]:
    """Return the importances of effects, and tables of one and two attributes while there is room.

    Parameters
    ----------
    explanation : Explanation
    shown : int array
        The numbers of the classes to write; of two classes only the second is written, since the
        other has its negative.

    Returns
    -------
    dict
        "bars" are [name, attributes, importance, share]; "effects" have the "attributes", their
        "values" and "weights", the "cuts" of a single number, and "scores", class by class.
    """
    table = explanation.importances.slice(0, MOST_BARS)
    columns = (table[name].to_pylist() for name in ("effect", "order", "importance", "share"))
    bars = [
        [cut(name), order, round(importance, 5), round(share, 5)]
        for name, order, importance, share in zip(*columns, strict=True)
    ]
    drawable = [names for names in explanation.effects if len(names) <= 2]
    written = shown[1:] if len(explanation.classes) == 2 else shown
    effects, room = [], MOST_NUMBERS
    # Single attributes first: their effects are small, and every attribute should have its own.
    for names in sorted(drawable, key=len):
        effect = _describe_table(explanation.tables[names], written)
        room -= len(written) * len(effect["scores"][0])
        if room < 0:
            break
        effects.append(effect)
    return {
        "bars": bars,
        "n_effects": len(explanation.effects),
        "effects": effects,
        "left_out": len(drawable) - len(effects),
        "deeper": len(explanation.effects) - len(drawable),
        "distribution": explanation.distribution,
    }


def _describe_table(table: EffectTable, classes: np.ndarray) -> dict[str, Any]:
    """Return the effect of one attribute or of a pair."""
    cuts = table.cuts[0] if len(table.attributes) == 1 else None
    is_curve = cuts is not None and 0 < len(cuts) < MOST_BINS and bool(np.isfinite(cuts).all())
    most = MOST_BINS + 1 if is_curve else MOST_VALUES
    places = [most_frequent(weights, most) for weights in table.weights]
    scores = table.among(*places)[..., classes]
    return {
        "attributes": list(table.attributes),
        "importance": round(table.importance, 5),
        "values": [
            [cut(names[v]) for v in own] for names, own in zip(table.values, places, strict=True)
        ],
        "weights": [
            weights[own].round(5).tolist()
            for weights, own in zip(table.weights, places, strict=True)
        ],
        "of": [len(weights) for weights in table.weights],
        "cuts": cuts.tolist() if is_curve and cuts is not None else None,
        "scores": [own.ravel().round(3).tolist() for own in np.moveaxis(scores, -1, 0)],
    }


def choose_rows(rows: ScoredRows, n_effects: int, shown: np.ndarray) -> np.ndarray:
    """Return the places of the rows to explore, ascending: the worst, and some by chance.

    Only of rows whose predicted class is shown.
    """
    n_classes = rows.probabilities.shape[1]
    most = int(min(MOST_ROWS, max(10, MOST_CONTRIBUTIONS // (n_effects * n_classes))))
    places = np.flatnonzero(np.isin(rows.predicted, shown))
    if len(places) <= most:
        return places
    order = np.argsort(-rows.losses[places], kind="stable")
    worst = places[order[: most * WORST_ROWS // MOST_ROWS]]
    others = np.setdiff1d(places, worst)
    drawn = np.random.default_rng(0).choice(others, most - len(worst), replace=False)
    return np.sort(np.concatenate([worst, drawn]))


def describe_rows(
    explained: RowExplanations, rows: ScoredRows, places: np.ndarray, shown: np.ndarray
) -> list[dict[str, Any]]:
    """Return the explained rows: classes, probabilities, values and their largest contributions.

    "steps" are the effects in words, "scores" what they add, class by class, and "rest" what all
    others add; of two classes only the second is written.
    """
    contributions, losses = explained.contributions, rows.losses[places]
    written = shown[1:] if len(explained.classes) == 2 else shown
    found = []
    for i, place in enumerate(places.tolist()):
        own = contributions[i][:, written]
        order = 1 + np.argsort(-np.abs(own[1:]).max(axis=1), kind="stable")
        kept, rest = order[:MOST_STEPS], order[MOST_STEPS:]
        found.append(
            {
                "row": place * rows.stride,
                "y": int(rows.y[place]),
                "best": int(rows.predicted[place]),
                "loss": round(float(losses[i]), 4),
                "p": rows.probabilities[place, shown].round(4).tolist(),
                "values": [cut(value) for value in explained.values[i][:MOST_ROWS]],
                "steps": [cut(explained.name_values(i, int(k)), 2 * LONGEST) for k in kept],
                "scores": own[kept].T.round(3).tolist(),
                "intercept": own[0].round(3).tolist(),
                "rest": own[rest].sum(axis=0).round(3).tolist(),
                "n_rest": len(rest),
            }
        )
    return found
