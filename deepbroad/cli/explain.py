"""`deepbroad explain`: the effects that a model is made of, or what they add to a row."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

import deepbroad
from deepbroad.cli.failure import Debug, plainly
from deepbroad.cli.screen import Screen, cell
from deepbroad.cli.summary import show
from deepbroad.cli.table import OptionalTable
from deepbroad.data.names import suggest
from deepbroad.estimators.explanation import Explanation, RowExplanations


@plainly
def explain(
    model: Annotated[Path, typer.Argument(help="Model file that `deepbroad fit` wrote.")],
    table: OptionalTable = None,
    row: Annotated[
        int | None,
        typer.Option(min=0, help="Which row of the table, from 0.", show_default="0"),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option("--class", help="Class to explain; by default a row's likeliest, or all."),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many effects to print.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
    debug: Debug = False,
) -> None:
    """Show the most important effects of a model, or what each adds to a row's log odds."""
    if table is None and row is not None:
        raise typer.BadParameter("give the table that --row is a row of.", param_hint="--row")
    classifier = deepbroad.load(model)
    named = None if label is None else find_label(classifier, label)
    explanation = classifier.explain()
    if table is None:
        found = describe_importances(explanation, named, top)
        headings = ["effect", "importance", "share"]
        lines = [[e["effect"], f"{e['importance']:.4f}", f"{e['share']:.1%}"] for e in found]
        summary: dict[str, Any] = {} if label is None else {"class": label}
        summary["effects"] = found
        title = "Effects by the standard deviation of their log odds"
        title += "" if label is None else f" of {label}"
        rest = len(explanation.effects) - len(found)
    else:
        row = row or 0
        rows = find_row(classifier, explanation, table, row)
        name = rows.best_class(0) if label is None else named
        summary = describe_row(rows, name, top)
        headings = ["effect", "log odds"]
        steps = [("intercept", summary["intercept"])]
        steps += [(one["values"], one["log odds"]) for one in summary["effects"]]
        rest = len(rows.effects) - 1 - len(summary["effects"])
        if rest:
            steps.append((f"{rest:,} smaller effects", summary["rest"]))
        steps.append(("together", summary["log odds"]))
        lines = [[text, f"{score:+.4f}"] for text, score in steps]
        title = f"Row {row}: probability {summary['probability']:.1%} of {name}"
        rest = 0
    if as_json:
        show(summary, as_json=True)
        return
    console = Screen()
    # By itself, since rich would fold the title of a table to the width of that.
    console.print(cell(title, style="italic"), soft_wrap=True)
    console.print(_tabulate(headings, lines))
    if rest:
        console.print(f"... and {rest:,} smaller effects (--top {len(explanation.effects)})")


def describe_importances(explanation: Explanation, label: Any, top: int) -> list[dict[str, Any]]:
    """Return the most important effects as plain data, those on one class unless that is None."""
    found = explanation.importances
    # Of two classes the log odds of one are those of the other with another sign.
    if label is not None and len(explanation.classes) > 2:
        own = found[f"importance for {label}"].to_numpy()
        total = float((own**2).sum())
        found = found.select(["effect", "attributes", "order"])
        found = found.append_column("importance", [own])
        found = found.append_column("share", [own**2 / total if total else own])
        found = found.sort_by([("importance", "descending")])
    effects: list[dict[str, Any]] = found.slice(0, top).to_pylist()
    return effects


def find_row(classifier: Any, explanation: Explanation, table: Path, row: int) -> RowExplanations:
    """Return one row of files, explained; only the batches up to it are read."""
    begin = 0
    for codes in classifier._batches(table):
        if row < begin + codes.shape[1]:
            own: RowExplanations = classifier._explain_codes(
                explanation, codes[:, row - begin : row - begin + 1]
            )
            return own
        begin += codes.shape[1]
    raise ValueError(f"{table} has {begin:,} rows, the last is --row {begin - 1}; got {row}.")


def find_label(classifier: Any, text: str) -> Any:
    """Return the class of a name."""
    for label in classifier.classes_.tolist():
        if str(label) == text:
            return label
    known = [str(label) for label in classifier.classes_.tolist()]
    raise ValueError(f"There is no class {text!r}. {suggest(text, known, 'classes')}")


def describe_row(rows: RowExplanations, label: Any, top: int) -> dict[str, Any]:
    """Return what the effects add to the log odds of a class, the largest first, as plain data."""
    own = rows.of_class(label)[0]
    order = sorted(range(1, len(own)), key=lambda i: -abs(own[i]))
    place = rows.classes.tolist().index(label)
    effects = [
        {
            "effect": " & ".join(rows.effects[i]),
            "values": rows.name_values(0, i),
            "log odds": float(own[i]),
        }
        for i in order[:top]
    ]
    return {
        "class": str(label),
        "probability": float(rows.probabilities[0, place]),
        "log odds": float(own.sum()),
        "intercept": float(own[0]),
        "effects": effects,
        "rest": float(sum(own[i] for i in order[top:])),
    }


def _tabulate(headings: list[str], lines: list[list[str]]) -> Table:
    """Lay effects out as a table; names are no markup."""
    table = Table(box=None, pad_edge=False)
    for i, heading in enumerate(headings):
        table.add_column(heading, justify="right" if i else "left")
    for line in lines:
        table.add_row(*map(cell, line))
    return table
