"""`deepbroad export`: a model file as SQL, ONNX or JSON."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import deepbroad
from deepbroad.cli.failure import Debug, Quiet, plainly
from deepbroad.cli.output import check_output
from deepbroad.cli.screen import Screen
from deepbroad.export.json import dump_json


class Target(StrEnum):
    """What models can be written as."""

    sql = "sql"
    onnx = "onnx"
    json = "json"


class Database(StrEnum):
    """Whose SQL it is."""

    duckdb = "duckdb"
    postgresql = "postgresql"
    sqlite = "sqlite"


@plainly
def export(
    model: Annotated[Path, typer.Argument(help="Model file that `deepbroad fit` wrote.")],
    to: Annotated[Target, typer.Option(help="What to write.")] = Target.sql,
    dialect: Annotated[
        Database | None, typer.Option(help="Database, for SQL.", show_default="duckdb")
    ] = None,
    table: Annotated[
        str | None, typer.Option(help="Table that the SQL scores.", show_default="rows")
    ] = None,
    prefix: Annotated[
        str | None,
        typer.Option(
            help="What the names of the SQL's own tables begin with.", show_default="deepbroad"
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File to write; the screen if none.")
    ] = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write a model so that it predicts without Python."""
    given = {"dialect": dialect, "table": table, "prefix": prefix}
    options = {name: str(value) for name, value in given.items() if value is not None}
    if options and to is not Target.sql:
        option = f"--{next(iter(options))}"
        raise typer.BadParameter(
            f"--to {to} has no {option}; leave it out, or take --to sql.", param_hint=option
        )
    if out is None and to is Target.onnx:
        raise ValueError("ONNX is no text for the screen; name a file with --out.")
    check_output(out, model)
    classifier = deepbroad.load(model)
    exported = deepbroad.export(classifier, out, to=to.value, **options)
    if out is None:
        typer.echo(exported if to is Target.sql else dump_json(exported).decode(), nl=False)
    elif not quiet:
        size = out.stat().st_size
        Screen(stderr=True).print(
            f"{size:,} bytes of {to.name} in {out}", highlight=False, markup=False
        )
