"""`deepbroad fit`: from a table in files to a model file."""

import json
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

import deepbroad
from deepbroad.cli.failure import Debug, Quiet, plainly
from deepbroad.cli.models import ModelName, create_model, read_depth, read_strength
from deepbroad.cli.watch import Watch
from deepbroad.data.files import open_files


@plainly
def fit(
    table: Annotated[Path, typer.Argument(help="Parquet, CSV or Arrow file, or a folder of such.")],
    target: Annotated[str, typer.Option(help="Column that holds the classes.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Model file to write.")] = Path("m.dbl"),
    model: Annotated[ModelName, typer.Option(help="Which model.")] = ModelName.dbl,
    n: Annotated[str, typer.Option("-n", help="Depth: a number, or auto.")] = "",
    alpha: Annotated[str, typer.Option(help="Strength of the penalty, or auto.")] = "",
    solver: Annotated[str, typer.Option(help="lbfgs, lbfgs-plain or sgd.")] = "",
    max_iter: Annotated[int | None, typer.Option(help="Iterations at most.")] = None,
    weight: Annotated[str | None, typer.Option(help="Column of the rows' weights.")] = None,
    categorical: Annotated[
        list[str] | None, typer.Option(help="A column of numbers that are categories; repeatable.")
    ] = None,
    memory_limit: Annotated[str | None, typer.Option(help="Such as 512MB or 4GB.")] = None,
    time_limit: Annotated[float | None, typer.Option(help="Seconds for the choice of n.")] = None,
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
        "time_limit": time_limit,
        "checkpoint": None if checkpoint is None else str(checkpoint),
        "n_jobs": jobs,
    }
    classifier = create_model(model, options)
    if not out.parent.is_dir():
        raise ValueError(f"There is no folder {out.parent} to write {out.name} to; make it first.")
    began = perf_counter()
    n_rows = open_files(table, y=target, weights=weight).n_rows
    watch = Watch(Console(stderr=True, quiet=quiet), n_rows, getattr(classifier, "tol", 0.0))
    if "callbacks" in classifier.get_params():
        classifier.set_params(callbacks=[watch])
    with watch:
        _fit(classifier, table, target, weight, scheduler)
    if "callbacks" in classifier.get_params():
        classifier.set_params(callbacks=None)
    deepbroad.save(classifier, out)
    summary = summarise(classifier, n_rows, perf_counter() - began, out)
    if as_json:
        typer.echo(json.dumps(summary))
    elif not quiet:
        Console().print(_tabulate(summary))


def _fit(
    classifier: Any, table: Path, target: str, weight: str | None, scheduler: str | None
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


def summarise(model: Any, n_rows: int, seconds: float, out: Path) -> dict[str, Any]:
    """Return what a fit came to, as plain data."""
    selection = getattr(model, "selection_", None) or {}
    found = {
        "model": type(model).__name__,
        "n": selection.get("n", getattr(model, "n", getattr(model, "k", None))),
        "alpha": selection.get("alpha", getattr(model, "alpha", None)),
        "rows": n_rows,
        "attributes": int(model.n_features_in_),
        "classes": [str(label) for label in model.classes_.tolist()],
        "tuples": len(model.terms_),
        "loss": getattr(model, "loss_", None),
        "iterations": getattr(model, "n_iter_", None),
        "status": getattr(model, "status_", None),
        "seconds": round(seconds, 3),
        "file": str(out),
        "bytes": out.stat().st_size,
    }
    return {name: value for name, value in found.items() if value is not None}


def _tabulate(summary: dict[str, Any]) -> Table:
    """Lay a summary out as a table of two columns."""
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column()
    for name, value in summary.items():
        table.add_row(name, _format(value))
    return table


def _format(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list | tuple):
        shown = ", ".join(map(_format, value[:10]))
        return shown + (f", ... ({len(value)})" if len(value) > 10 else "")
    return str(value)
