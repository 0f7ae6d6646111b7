"""`deepbroad info`: what a model file holds."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

import deepbroad
from deepbroad.cli.failure import Debug, plainly
from deepbroad.cli.screen import Screen, cell
from deepbroad.cli.summary import describe_file, describe_model, show
from deepbroad.data.code_column import NumberColumn

MOST_ATTRIBUTES = 50


@plainly
def info(
    model: Annotated[Path, typer.Argument(help="Model file that `deepbroad fit` wrote.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
    debug: Debug = False,
) -> None:
    """Show what a model file holds: settings, classes and attributes."""
    classifier = deepbroad.load(model)
    summary = {**describe_model(classifier), **describe_file(model)}
    columns = describe_attributes(classifier)
    if as_json:
        parameters = {
            name: value if isinstance(value, str | int | float | bool | None) else str(value)
            for name, value in classifier.get_params(deep=False).items()
        }
        show({**summary, "parameters": parameters, "columns": columns}, as_json=True)
        return
    show(summary, as_json=False)
    Screen().print(_tabulate(columns[:MOST_ATTRIBUTES]))
    if len(columns) > MOST_ATTRIBUTES:
        Screen().print(f"... and {len(columns) - MOST_ATTRIBUTES:,} more attributes (see --json)")


def describe_attributes(classifier: Any) -> list[dict[str, Any]]:
    """Return name, kind and number of values of each attribute, and some of their names."""
    found = []
    for owned in classifier._encoding.owned:
        finest = owned[-1]
        names = finest.value_names()
        found.append(
            {
                "name": finest.name,
                "kind": finest.quantity if isinstance(finest, NumberColumn) else "category",
                "values": len(names),
                "such as": names[:3] + (["..."] if len(names) > 3 else []),
            }
        )
    return found


def _tabulate(columns: list[dict[str, Any]]) -> Table:
    """Lay attributes out as a table."""
    table = Table(box=None, pad_edge=False)
    for heading in ("attribute", "kind", "values", "such as"):
        table.add_column(heading, justify="right" if heading == "values" else "left")
    for one in columns:
        cells = [one["name"], one["kind"], f"{one['values']:,}", ", ".join(one["such as"])]
        table.add_row(*map(cell, cells))
    return table
