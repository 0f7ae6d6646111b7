"""The command line: `deepbroad COMMAND`. One command, one file; only here does anything print."""

from typing import Annotated

import typer

from deepbroad import __version__
from deepbroad.cli.demo import demo
from deepbroad.cli.evaluate import evaluate
from deepbroad.cli.explain import explain
from deepbroad.cli.export import export
from deepbroad.cli.fit import fit
from deepbroad.cli.info import info
from deepbroad.cli.predict import predict
from deepbroad.cli.report import report
from deepbroad.cli.reproduce import reproduce

app = typer.Typer(
    name="deepbroad",
    help="Exact, fast and explainable classification of tables.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
app.command()(fit)
app.command()(predict)
app.command()(evaluate)
app.command()(explain)
app.command()(report)
app.command()(info)
app.command()(export)
app.command()(reproduce)
app.command()(demo)


def _print_version(wanted: bool) -> None:
    """Print the version and leave."""
    if wanted:
        typer.echo(f"deepbroad {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and leave."
        ),
    ] = False,
) -> None:
    """Options that stand before a command."""
