"""What a model is, in a few lines or as JSON."""

import json
from pathlib import Path
from typing import Any

import typer
from rich.table import Table

from deepbroad.cli.screen import Screen, cell


def describe_model(model: Any) -> dict[str, Any]:
    """Return what a fitted model is, as plain data; what it has not is left out."""
    selection = getattr(model, "selection_", None) or {}
    recipe = getattr(model, "recipe_", None)
    depth = getattr(model, "n", getattr(model, "k", None))
    found = {
        "model": type(model).__name__,
        "n": depth if recipe is None else recipe.depth,
        "alpha": getattr(model, "alpha", None) if recipe is None else None,
        "attributes": int(model.n_features_in_),
        "classes": [str(label) for label in model.classes_.tolist()],
        "tuples": len(model.terms_),
        "tables": None if recipe is None else len(recipe.tables),
        "held-out loss": selection.get("loss"),
        "not tried": selection.get("skipped") or None,
        "loss": getattr(model, "loss_", None),
        "iterations": getattr(model, "n_iter_", None),
        "status": getattr(model, "status_", None),
    }
    return {name: value for name, value in found.items() if value is not None}


def describe_file(path: Path) -> dict[str, Any]:
    """Return where a model is and how large."""
    return {"file": str(path), "bytes": path.stat().st_size}


def show(summary: dict[str, Any], *, as_json: bool, quiet: bool = False) -> None:
    """Print a summary for machines or for people, or not at all."""
    if as_json:
        # The one control character that JSON may have as it is.
        typer.echo(json.dumps(summary).replace("\x7f", "\\u007f"))
    elif not quiet:
        Screen().print(tabulate(summary))


def tabulate(summary: dict[str, Any]) -> Table:
    """Lay a summary out as a table of two columns."""
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column()
    for name, value in summary.items():
        table.add_row(cell(name), cell(format_value(value)))
    return table


def format_value(value: Any) -> str:
    """Return a value as people read it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, dict):
        return "; ".join(f"{name} ({format_value(one)})" for name, one in value.items())
    if isinstance(value, list | tuple):
        # Lists of lists: a comma would not tell where one ends.
        mark = "; " if any(isinstance(one, list | tuple) for one in value) else ", "
        shown = mark.join(map(format_value, value[:10]))
        return shown + (f"{mark}... ({len(value)})" if len(value) > 10 else "")
    return str(value)
