"""`deepbroad fit`: from a table in files to a model file."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from deepbroad.cli.columns import Categorical, Drop, Numeric, choose_columns
from deepbroad.cli.failure import Debug, Quiet, plainly
from deepbroad.cli.models import ModelName, create_model, read_depth, read_strength
from deepbroad.cli.output import check_output, save_model
from deepbroad.cli.screen import Screen
from deepbroad.cli.summary import describe_file, describe_model, show
from deepbroad.cli.table import TableArgument
from deepbroad.data.files import open_files
from deepbroad.estimators.watch import Watch


@plainly
def fit(
    table: TableArgument,
    target: Annotated[str, typer.Option(help="Column that holds the classes.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Model file to write.")] = Path("m.dbl"),
    model: Annotated[ModelName, typer.Option(help="Which model.")] = ModelName.dbl,
    n: Annotated[str, typer.Option("-n", help="Depth: a number, or auto.")] = "",
    alpha: Annotated[str, typer.Option(help="Strength of the penalty, or auto.")] = "",
    solver: Annotated[str, typer.Option(help="auto, lbfgs, lbfgs-plain or sgd.")] = "",
    max_iter: Annotated[int | None, typer.Option(help="Iterations at most.")] = None,
    weight: Annotated[str | None, typer.Option(help="Column of the rows' weights.")] = None,
    categorical: Categorical = None,
    numeric: Numeric = None,
    drop: Drop = None,
    memory_limit: Annotated[str | None, typer.Option(help="Such as 512MB or 4GB.")] = None,
    effort: Annotated[str, typer.Option(help="Of the automatic choice: fast or thorough.")] = "",
    time_limit: Annotated[
        float | None,
        typer.Option(help="Seconds after which the choice of n and alpha tries nothing new."),
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Folder to resume from if the fit is killed.")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Dask scheduler to run on, such as tcp://host:8786.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", help="Threads; all by default.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Fit a model to a table and write it to a file.

    The table is read in batches: it may be larger than memory.
    """
    options = {
        "n": read_depth(n),
        "alpha": read_strength(alpha),
        "solver": solver or None,
        "max_iter": max_iter,
        "categorical_features": categorical or None,
        "memory_limit": memory_limit,
        "effort": effort or None,
        "time_limit": time_limit,
        "checkpoint": None if checkpoint is None else str(checkpoint),
        "n_jobs": jobs,
    }
    classifier = create_model(model, options)
    check_output(out, table)
    began = perf_counter()
    chosen = choose_columns(table, target, categorical, numeric, drop, weight)
    n_rows = open_files(chosen, y=target, weights=weight).n_rows
    with watching(classifier, quiet=quiet):
        _fit(classifier, chosen, target, weight, scheduler)
    save_model(classifier, out)
    facts = {"rows": n_rows, "seconds": round(perf_counter() - began, 3)}
    summary = {**describe_model(classifier), **facts, **describe_file(out)}
    show(summary, as_json=as_json, quiet=quiet)


@contextmanager
def watching(classifier: Any, *, quiet: bool) -> Iterator[None]:
    """Show a fit as it goes on; the model does not keep that it was watched."""
    if "verbose" not in classifier.get_params():
        with Watch(Screen(stderr=True, quiet=quiet), 0.0):
            yield
        return
    verbose = classifier.verbose
    classifier.set_params(verbose=0 if quiet else 1)
    try:
        yield
    finally:
        classifier.set_params(verbose=verbose)


def _fit(
    classifier: Any, table: Any, target: str, weight: str | None, scheduler: str | None
) -> None:
    """Fit in this process, or on the cluster of a scheduler."""
    if scheduler is None:
        classifier.fit(table, target, sample_weight=weight)
        return
    try:
        from distributed import Client
    except ImportError:
        raise ImportError(
            '--scheduler needs Dask. It comes with: pip install "deepbroad[dask]"'
        ) from None
    # Files are read by the workers while a client is active.
    with Client(scheduler, timeout=10):
        classifier.fit(table, target, sample_weight=weight)
