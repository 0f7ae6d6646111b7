"""The table that a command reads: files, or CSV that comes through a pipe."""

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

PIPE = "-"
_HELP = "Parquet, CSV, Arrow or ARFF file, or a folder of such; - for CSV from a pipe."


def take_pipe(context: typer.Context, table: Path | None) -> Path | None:
    """Return the path of a table; one that comes through a pipe is put into a file first.

    Tables are gone through more than once, which a pipe cannot be. The file is deleted when the
    command ends.
    """
    if context.resilient_parsing or table is None or str(table) != PIPE:
        return table
    folder = tempfile.mkdtemp()
    context.call_on_close(lambda: shutil.rmtree(folder, ignore_errors=True))
    path = Path(folder) / "stdin.csv"
    with path.open("wb") as file:
        source: Any = sys.stdin.buffer
        shutil.copyfileobj(source, file)
    return path


TableArgument = Annotated[Path, typer.Argument(help=_HELP, callback=take_pipe)]
OptionalTable = Annotated[
    Path | None,
    typer.Argument(
        help=f"Table with a row to explain; none: the model. {_HELP}", callback=take_pipe
    ),
]
