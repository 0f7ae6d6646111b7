"""`deepbroad demo`: the paper's three models and a random forest on poker hands.

Fits and measures each in turn, prints one table and draws how fast DBL² and LR² converge.
"""

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, NamedTuple

import numpy as np
import pyarrow as pa
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from deepbroad import AnJEClassifier, DBLClassifier, LRClassifier
from deepbroad.cli.failure import plainly
from deepbroad.cli.screen import Screen
from deepbroad.datasets import HANDS, poker_hand
from deepbroad.measures import Measures, measure

_PICTURE = "convergence.png"
_MAX_ITER = 1000


class _Contestant(NamedTuple):
    """A model of the demo; `max_iter` is set if it fits step by step."""

    name: str
    model: Any
    max_iter: int | None = None
    is_compiled: bool = True


class _Result(NamedTuple):
    """What one model achieved on the test hands."""

    name: str
    measures: Measures
    fit_seconds: float
    predict_seconds: float
    loss_curve: Sequence[float] | None


class _Split(NamedTuple):
    """Training and test hands."""

    X_train: pa.Table
    y_train: NDArray[np.int64]
    X_test: pa.Table
    y_test: NDArray[np.int64]


@plainly
def demo(
    rows: Annotated[
        int, typer.Option(min=1000, help="Hands to draw; half of them train, half test.")
    ] = 200_000,
    out: Annotated[Path, typer.Option(file_okay=False, help="Folder for the picture.")] = Path(
        "demo-output"
    ),
) -> None:
    """Compare AnJE, LR, DBL and a random forest on poker hands."""
    console = Screen()
    # Before the fits, so that a folder that cannot be made costs nothing.
    out.mkdir(parents=True, exist_ok=True)
    split = _split_hands(rows)
    console.print(
        f"Poker hands: {len(split.y_train):,} to train, {len(split.y_test):,} to test. "
        "Ten attributes (suit and rank of five cards), ten classes."
    )
    results = _run_contest(split, console)
    console.print(_tabulate(results))
    console.print(
        "Every model of ours ran for one iteration first, to load its compiled code; "
        "that time is not counted."
    )
    curves = {result.name: result.loss_curve for result in results if result.loss_curve}
    try:
        picture = _draw_convergence(curves, out)
    except ModuleNotFoundError as missing:
        console.print(
            f"No picture: {missing.name} is not installed. "
            'It comes with: pip install "deepbroad\\[report]"'
        )
    else:
        console.print(f"Convergence of DBL² and LR²: {picture}")


def _split_hands(rows: int) -> _Split:
    """Draw the hands and shuffle them into two halves."""
    X, y = poker_hand(rows, seed=0, return_X_y=True)
    order = np.random.default_rng(0).permutation(rows)
    train, test = order[: rows // 2], order[rows // 2 :]
    return _Split(X.take(train), y[train], X.take(test), y[test])


def _create_contestants(max_iter: int) -> list[_Contestant]:
    """Create the models, in the order of the table; DBL² and LR² with the paper's settings."""
    # The paper's plain search, so that the picture shows what DBL's own scale and start bring.
    solver: dict[str, Any] = {"solver": "lbfgs-plain", "max_iter": max_iter}
    return [
        _Contestant("A1JE (naive Bayes)", AnJEClassifier(n=1)),
        _Contestant("A2JE", AnJEClassifier(n=2)),
        _Contestant("LR²", LRClassifier(n=2, alpha=1e-2, **solver), max_iter),
        _Contestant("DBL²", DBLClassifier.paper(2).set_params(**solver), max_iter),
        _Contestant(
            "forest of 100 trees",
            make_pipeline(
                FunctionTransformer(_read_codes),
                RandomForestClassifier(100, n_jobs=-1, random_state=0),
            ),
            is_compiled=False,
        ),
    ]


def _read_codes(X: pa.Table) -> NDArray[np.float32]:
    """Give the forest its numbers: the position of each value in its column's dictionary."""
    columns = [column.combine_chunks().indices.to_numpy() for column in X.columns]
    return np.column_stack(columns).astype(np.float32)


def _run_contest(split: _Split, console: Console) -> list[_Result]:
    """Fit and measure every model, with one line of progress each."""
    columns = (
        TextColumn("{task.description:<19}"),
        BarColumn(bar_width=12),
        TextColumn("{task.fields[detail]:<30}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        warm_up = progress.add_task("warm-up", total=None, detail="loading compiled code")
        # On all hands, since the kernels in use depend on the classes and values that are seen.
        for contestant in _create_contestants(max_iter=1):
            if contestant.is_compiled:
                _fit(contestant.model, split.X_train, split.y_train)
                contestant.model.predict_proba(split.X_test)
        progress.update(warm_up, total=1, completed=1, detail="done")
        return [
            _fit_and_measure(contestant, split, progress)
            for contestant in _create_contestants(_MAX_ITER)
        ]


def _fit_and_measure(contestant: _Contestant, split: _Split, progress: Progress) -> _Result:
    """Fit one model and measure it on the test hands."""
    model = contestant.model
    task = progress.add_task(contestant.name, total=contestant.max_iter, detail="fitting")
    if contestant.max_iter is not None:
        model.set_params(callbacks=[_show_iterations(progress, task)])
    start = perf_counter()
    _fit(model, split.X_train, split.y_train)
    fitted = perf_counter()
    progress.update(task, detail="predicting")
    probabilities = model.predict_proba(split.X_test)
    predicted = perf_counter()

    steps = f"done, {model.n_iter_} iterations" if contestant.max_iter is not None else "done"
    progress.update(task, total=1, completed=1, detail=steps)
    labels = np.arange(len(HANDS))
    measures = measure(split.y_test, probabilities, classes=model.classes_, labels=labels)
    curve = getattr(model, "loss_curve_", None)
    return _Result(contestant.name, measures, fitted - start, predicted - fitted, curve)


def _fit(model: Any, X: pa.Table, y: NDArray[np.int64]) -> None:
    """Fit `model`; that it used up its iterations shows in its line of progress."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)


def _show_iterations(progress: Progress, task: TaskID) -> Callable[[Any], bool]:
    """Make a callback that shows where a fit stands."""

    def show(state: Any) -> bool:
        detail = f"iteration {state.iteration}, loss {state.loss:.5f}"
        progress.update(task, completed=state.iteration, detail=detail)
        return False

    return show


def _tabulate(results: Sequence[_Result]) -> Table:
    """Lay the results out as one table."""
    table = Table(title="Poker hands, measured on the test half")
    table.add_column("model")
    for heading in ("error", "RMSE", "log loss", "fit (s)", "predict (s)"):
        table.add_column(heading, justify="right")
    for result in results:
        losses = [f"{value:.4f}" for value in result.measures]
        seconds = [f"{result.fit_seconds:.2f}", f"{result.predict_seconds:.2f}"]
        table.add_row(result.name, *losses, *seconds)
    return table


def _draw_convergence(curves: dict[str, Sequence[float]], out: Path) -> Path:
    """Draw the training loss by iteration and return the picture's path."""
    # Only here: matplotlib is an extra, and the rest of the demo does without it.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.5, 4.0), layout="constrained")
    axes = figure.add_subplot()
    for (name, curve), style in zip(curves.items(), ("--", "-"), strict=True):
        axes.plot(curve, style, label=f"{name}: {len(curve) - 1} iterations", linewidth=1.8)
    # Linear up to 1, so that the start, iteration 0, has a place on a logarithmic axis.
    axes.set_xscale("symlog", linthresh=1, linscale=0.3)
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("iteration of L-BFGS (logarithmic; 0 is the start)")
    axes.set_ylabel("training loss (nats per hand)")
    axes.set_title("Poker hands: convergence of DBL² and LR²")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(out / _PICTURE, dpi=200)
    return out / _PICTURE
