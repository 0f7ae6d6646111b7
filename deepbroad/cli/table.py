"""The table that a command reads: files, or CSV that comes through a pipe."""

import shutil
import sys
import tempfile
import weakref
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any

import typer

PIPE = "-"
# The path that a pipe was put into.
_spooled: ContextVar[str | None] = ContextVar("spooled", default=None)
_HELP = "Parquet, CSV, Arrow or ARFF file, or a folder of such; - for CSV from a pipe."


def take_pipe(context: typer.Context, table: Path | None) -> Path | None:
    """Return the path of a table; one that comes through a pipe is put into a file first.

    Tables are gone through more than once, which a pipe cannot be. The file is deleted when the
    command ends.
    """
    if context.resilient_parsing or table is None or str(table) != PIPE:
        return table
    folder = tempfile.mkdtemp()
    # A wrong call ends before its context is closed; then the file goes with the process.
    context.call_on_close(weakref.finalize(context, shutil.rmtree, folder, ignore_errors=True))
    path = Path(folder) / "stdin.csv"
    with path.open("wb") as file:
        source: Any = sys.stdin.buffer
        shutil.copyfileobj(source, file)
        if not file.tell():
            raise typer.BadParameter(
                f"Nothing came through the pipe; {PIPE} reads CSV from it, for instance: "
                f"zcat table.csv.gz | deepbroad {context.info_name} {PIPE}"
            )
    _spooled.set(str(path))
    context.call_on_close(lambda: _spooled.set(None))
    return path


def name_pipe(message: str) -> str:
    """Return a message that calls the file which a pipe was put into what it is to the user."""
    path = _spooled.get()
    return message if path is None else message.replace(path, "the pipe")


TableArgument = Annotated[Path, typer.Argument(help=_HELP, callback=take_pipe)]
OptionalTable = Annotated[
    Path | None,
    typer.Argument(
        help=f"Table with a row to explain; none: the model. {_HELP}", callback=take_pipe
    ),
]
