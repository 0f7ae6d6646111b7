"""What a report says in tables: the data, the model's settings, its measures, its weak spots."""

from math import inf
from typing import Any

import numpy as np

from deepbroad.data.code_column import NumberColumn
from deepbroad.data.frequencies import Frequencies, finest_columns
from deepbroad.report.label import cut
from deepbroad.report.markup import Bar, paragraph, table
from deepbroad.report.quality import count_confusions, measure_rows
from deepbroad.report.scored_rows import ScoredRows
from deepbroad.report.slices import find_weak_slices

MOST_ATTRIBUTES = 100
MOST_SLICES = 20
MOST_TRIALS = 30
_FACTS = {
    "status_": "status",
    "n_iter_": "iterations",
    "n_evaluations_": "passes over the rows",
    "loss_": "training loss",
}


def count_values(model: Any, rows: ScoredRows) -> tuple[np.ndarray, ...]:
    """Return how many rows have each value, attribute by attribute, never-seen ones left out."""
    return Frequencies.of_codes(rows.codes, model._encoding).counts


def is_training_table(model: Any, rows: ScoredRows) -> bool:
    """Tell whether the rows have every value just as often as the training rows had.

    Then they are these, as good as certainly.
    """
    known = model._frequencies
    if known is None or rows.stride > 1:
        return False
    counts = count_values(model, rows)
    return all(np.array_equal(a, b) for a, b in zip(counts, known.counts, strict=True))


def summarise_data(model: Any, rows: ScoredRows, names: list[str], shown: np.ndarray) -> str:
    """Describe classes and attributes."""
    n = len(rows)
    per_class = np.bincount(rows.y, minlength=len(model.classes_))
    classes = [
        [name, int(per_class[c]), Bar(f"{per_class[c] / n:.1%}", per_class[c] / n)]
        for c, name in zip(shown.tolist(), names, strict=True)
    ]
    encoding, counts = model._encoding, count_values(model, rows)
    lines = []
    for i, own in zip(finest_columns(encoding.attributes), counts, strict=True):
        column = encoding.columns[i]
        known = own[: column.n_values]
        absent = 1 - known.sum() / n
        kind = "category"
        if isinstance(column, NumberColumn):
            kind = "number" if column.quantity == "number" else column.quantity
        common = np.argsort(-known, kind="stable")[:3]
        said = ", ".join(f"{cut(column.names()[v], 30)} ({known[v] / n:.0%})" for v in common)
        unit = "bins" if isinstance(column, NumberColumn) else "values"
        size = f"{column.n_values:,} {unit}"
        lines.append([cut(column.name), kind, size, Bar(f"{absent:.1%}", absent), said])
    headings = ["attribute", "kind", "in the model", "missing or never seen", "most frequent"]
    parts = [
        table(["class", "rows", "share"], classes, "Classes"),
        table(headings, lines[:MOST_ATTRIBUTES], "Attributes"),
    ]
    for what, all_of_them, most in (
        ("classes", len(model.classes_), len(shown)),
        ("attributes", len(lines), MOST_ATTRIBUTES),
    ):
        if all_of_them > most:
            parts.append(
                paragraph(f"{all_of_them - most:,} more {what} are left out here.", "note")
            )
    return "\n".join(parts)


def summarise_settings(model: Any) -> str:
    """Describe parameters, what the fit came to, and what an automatic choice tried."""
    found = {said: getattr(model, name, None) for name, said in _FACTS.items()}
    facts = [
        [said, f"{value:.6g}" if isinstance(value, float) else f"{value}"]
        for said, value in found.items()
        if value is not None
    ]
    facts.append(["tuples of attributes", f"{len(model.terms_):,}"])
    parts = [table(["fit", ""], facts, f"{type(model).__name__} as fitted")]
    if (recipe := getattr(model, "recipe_", None)) is not None:
        parts += [paragraph(f"{line}.", "note") for line in str(recipe).splitlines()]
    selection = getattr(model, "selection_", None)
    if selection:
        parts.append(_tabulate_selection(selection))
    own = model.get_params(deep=False)
    defaults = type(model)().get_params(deep=False)
    given = [
        [name, cut(value, 200), "" if same(value, defaults[name]) else "changed"]
        for name, value in own.items()
        if name not in ("callbacks", "checkpoint")
    ]
    settings = table(["parameter", "value", "default?"], given, "Parameters")
    parts.append(f"<details><summary>All parameters</summary>{settings}</details>")
    return "\n".join(parts)


def _tabulate_selection(selection: dict[str, Any]) -> str:
    """Describe what the automatic choice came to, and what it tried, the best first."""
    facts = [[name, _show(value)] for name, value in selection.items() if name != "trials"]
    parts = [table(["choice", ""], [fact for fact in facts if fact[1]], "The automatic choice")]
    trials = sorted(selection.get("trials", []), key=lambda trial: trial.get("loss", inf))
    headings = list(dict.fromkeys(name for trial in trials for name in trial))
    if headings:
        lines = [[_show(trial.get(name)) for name in headings] for trial in trials[:MOST_TRIALS]]
        parts.append(table(headings, lines, "What the automatic choice tried, the best first"))
    if (hidden := len(trials) - MOST_TRIALS) > 0:
        parts.append(paragraph(f"{hidden:,} worse trials are left out.", "note"))
    return "\n".join(parts)


def _show(value: Any) -> str:
    """Return plain data as text in one line."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, dict):
        return "; ".join(f"{name}: {_show(item)}" for name, item in value.items())
    if isinstance(value, list):
        return ", ".join(map(_show, value))
    return "" if value is None else f"{value}"


def same(value: Any, default: Any) -> bool:
    """Tell whether a parameter has its default; arrays are compared by their text."""
    return repr(value) == repr(default)


def summarise_measures(rows: ScoredRows, n_classes: int) -> str:
    """Tabulate the measures."""
    found = measure_rows(rows, n_classes)
    names = {"error": "error", "rmse": "RMSE", "log_loss": "log loss", "AUC": "area under ROC"}
    first = next(iter(found.values()))
    lines = [[who, *(f"{own[key]:.4f}" for key in first)] for who, own in found.items()]
    return table(["", *(names[key] for key in first)], lines, "On the rows of this report")


def summarise_confusions(rows: ScoredRows, shown: np.ndarray, names: list[str], n: int) -> str:
    """Tabulate how often each class is taken for each other."""
    counts = count_confusions(rows, shown, n)
    all_names = [*names, *(["other classes"] if len(counts) > len(names) else [])]
    totals = counts.sum(axis=1, keepdims=True)
    shares = counts / np.maximum(totals, 1)
    lines = [
        [name, *(Bar(f"{k:,} ({s:.0%})" if k else "0", s) for k, s in zip(own, share, strict=True))]
        for name, own, share in zip(all_names, counts.tolist(), shares.tolist(), strict=True)
    ]
    headings = ["true class ↓ predicted →", *all_names]
    return table(headings, lines, "Rows of each class by what was predicted (share of the class)")


def summarise_slices(model: Any, rows: ScoredRows) -> str:
    """Tabulate the values of attributes whose rows are predicted worse than others."""
    weak, n_tests = find_weak_slices(model._encoding, rows)
    if not weak:
        return paragraph(
            f"None of {n_tests:,} values and bins has a loss above that of the other rows beyond "
            "chance."
        )
    largest = weak[0].excess
    lines = [
        [
            f"{cut(one.attribute)}: {cut(one.value)}",
            one.rows,
            f"{one.loss:.3f}",
            f"{one.error:.1%}",
            f"{one.expected:.1%}",
            Bar(f"{one.excess:.4f}", one.excess / largest),
            "< 0.0001" if one.p < 1e-4 else f"{one.p:.4f}",
        ]
        for one in weak[:MOST_SLICES]
    ]
    headings = ["rows with", "rows", "log loss", "error", "error promised", "excess", "p"]
    rest = len(weak) - len(lines)
    note = f" {rest:,} weaker ones are left out." if rest else ""
    return table(headings, lines, "Values and bins at which the model is weak") + paragraph(
        f"{len(weak):,} of {n_tests:,} values and bins have a larger loss than the other rows, "
        "beyond chance (Welch's test at 5%, corrected for their number). Excess is what they add "
        "to the mean log loss of all rows. Where the error is above what the model's own "
        f"probabilities promise, it is too sure of itself; else the rows are hard.{note}",
        "note",
    )
