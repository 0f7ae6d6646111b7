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


def choose_columns(
    table: Path,
    target: str,
    categorical: list[str] | None,
    numeric: list[str] | None,
    drop: list[str] | None,
    weight: str | None = None,
) -> Any:
    """Return files with the columns that were asked for; a usage error if options contradict."""
    _check_roles(
        {
            "--target": [target],
            "--weight": [] if weight is None else [weight],
            "--drop": drop or [],
            # Texts may well be read as numbers that are weights.
            "--numeric": [name for name in numeric or [] if name != weight],
            "--categorical": categorical or [],
        }
    )
    if not numeric and not drop:
        return table
    return ChosenFiles(table, tuple(drop or ()), tuple(numeric or ()))


def _check_roles(roles: dict[str, list[str]]) -> None:
    """Raise a usage error for a column that two options name."""
    first: dict[str, str] = {}
    for option, names in roles.items():
        for name in names:
            other = first.setdefault(name, option)
            if other != option:
                raise typer.BadParameter(
                    f"Column {name!r} is given to {other} and {option}; leave one of them out.",
                    param_hint=option,
                )
