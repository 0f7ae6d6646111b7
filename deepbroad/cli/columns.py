"""Options that say what columns are, and files read by them."""

from pathlib import Path
from typing import Annotated, Any

import typer

from deepbroad.data.chosen_files import ChosenFiles

Categorical = Annotated[
    list[str] | None, typer.Option(help="A column of numbers that are categories; repeatable.")
]
Numeric = Annotated[
    list[str] | None,
    typer.Option(help="A column of numbers, whatever else is in it is missing; repeatable."),
]
Drop = Annotated[list[str] | None, typer.Option(help="A column to leave out; repeatable.")]


def choose_columns(table: Path, numeric: list[str] | None, drop: list[str] | None) -> Any:
    """Return files with the columns that were asked for."""
    if not numeric and not drop:
        return table
    return ChosenFiles(table, tuple(drop or ()), tuple(numeric or ()))
