"""`deepbroad report`: one HTML file about a model and some rows."""

from pathlib import Path
from typing import Annotated

import typer

import deepbroad
from deepbroad.cli.failure import Debug, Quiet, plainly
from deepbroad.cli.output import check_output
from deepbroad.cli.screen import Screen
from deepbroad.cli.table import TableArgument
from deepbroad.report import write_report


@plainly
def report(
    model: Annotated[Path, typer.Argument(help="Model file that `deepbroad fit` wrote.")],
    table: TableArgument,
    target: Annotated[str, typer.Option(help="Column that holds the classes.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="HTML file to write.")] = Path(
        "report.html"
    ),
    title: Annotated[str | None, typer.Option(help="Heading of the page.")] = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write a report: measures, weak spots, effects and rows, in one file that works offline.

    Better on other rows than those of the fit, on which every model looks better than it is.
    """
    check_output(out, model, table)
    console = Screen(stderr=True, quiet=quiet)
    with console.status("Writing the report"):
        page = write_report(
            deepbroad.load(model),
            table,
            target,
            out,
            title=title or f"{model.name} on {table.name}",
        )
    size = page.stat().st_size
    console.print(f"{size:,} bytes in {page}; open it in a browser", highlight=False, markup=False)
