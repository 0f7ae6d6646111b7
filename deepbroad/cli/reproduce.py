"""`deepbroad reproduce`: the paper's tables and figures again, beside the printed numbers.

Trials run in processes of their own and leave a row each, so that the command may be stopped at
any time and goes on where it was. The report is written from the rows that are there.
"""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from deepbroad.cli.failure import Debug, plainly
from deepbroad.cli.screen import Screen
from deepbroad.cli.trial_watch import TrialWatch
from deepbroad.experiments import datasets as known_datasets
from deepbroad.experiments import methods as known_methods
from deepbroad.experiments.catalogue import check_names, methods_for
from deepbroad.experiments.dataset import FOLDER_VARIABLE, Dataset
from deepbroad.experiments.learning_curves import QUICK_SIZES, SIZES, run_learning_curves
from deepbroad.experiments.methods import Method
from deepbroad.experiments.protocol import Protocol
from deepbroad.experiments.report import write_report
from deepbroad.experiments.runner import Runner, Settings, find_subjects, list_trials
from deepbroad.experiments.trial import Subject

_CURVES = "learning-curves"
_HANDS = "poker-hand"
_QUICK_HANDS = 2000
_QUICK_ROUNDS = 2


@plainly
def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Tables and figures to make; all if none is named.", metavar="[NAME]..."
        ),
    ] = None,
    *,
    out: Annotated[Path, typer.Option(file_okay=False, help="Folder for rows and report.")],
    data: Annotated[
        Path | None,
        typer.Option(
            envvar=FOLDER_VARIABLE,
            file_okay=False,
            exists=True,
            help="Folder of Parquet files; what it lacks is fetched from OpenML.",
        ),
    ] = None,
    datasets: Annotated[
        list[str] | None,
        typer.Option(help="Only these, with commas between them: names, little, big or all."),
    ] = None,
    methods: Annotated[
        list[str] | None, typer.Option(help="Only these, with commas between them.")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of two folds.")] = 5,
    jobs: Annotated[int, typer.Option(min=1, help="Trials side by side.")] = 2,
    timeout: Annotated[
        float, typer.Option(min=0.001, help="Seconds that a trial's fit and predict may take.")
    ] = 600.0,
    max_iter: Annotated[
        int | None,
        typer.Option(
            min=1, help="Iterations of a search, if fewer than 1000; tables mark what they end."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the folds.")] = 0,
    stratified: Annotated[bool, typer.Option(help="Halve every class.")] = False,
    retry: Annotated[
        bool, typer.Option("--retry", help="Try again what ended in an error, for memory or time.")
    ] = False,
    unchecked: Annotated[
        bool, typer.Option("--unchecked", help="Take data sets that are not the expected ones.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="A small slice of everything, in about a minute.")
    ] = False,
    debug: Debug = False,
) -> None:
    """Run the paper's experiments again and report them beside its numbers."""
    console = Screen()
    check_names(names)
    chosen_methods = known_methods.find(_split(methods) or methods_for(names))
    if max_iter is not None:
        chosen_methods = [method.limited(max_iter) for method in chosen_methods]
    chosen_datasets = _choose_datasets(datasets, quick=quick)
    protocol = Protocol(min(rounds, _QUICK_ROUNDS) if quick else rounds, seed, stratified)
    settings = Settings(out / "rows", jobs, timeout, retry)

    subjects, missing = find_subjects(chosen_datasets, data, checked=not unchecked)
    for name, reason in missing.items():
        console.print(f"Without {name}: {reason}", style="yellow", markup=False, highlight=False)
    _run_trials(subjects, chosen_methods, protocol, settings, console)
    has_hands = any(one.name == _HANDS for one in chosen_datasets)
    if _CURVES in names if names else has_hands:
        with console.status("Learning curves on poker hands"):
            run_learning_curves(out, sizes=QUICK_SIZES if quick else SIZES)
    _write_report(settings.rows, out, names, data, console)


def _run_trials(
    subjects: list[Subject],
    methods: list[Method],
    protocol: Protocol,
    settings: Settings,
    console: Console,
) -> None:
    """Make the rows that are missing; after Ctrl-C say how to go on, and leave."""
    runner = Runner(list_trials(subjects, methods, protocol), settings)
    with TrialWatch(console, runner.total, len(runner.pending)) as watch:
        try:
            runner.run(watch)
        except KeyboardInterrupt:
            console.print("Stopped. The same command goes on from here.")
            raise typer.Exit(130) from None


def _write_report(
    rows: Path, out: Path, names: list[str] | None, data: Path | None, console: Console
) -> None:
    """Write the report; without matplotlib, say how to get it."""
    try:
        with console.status("Writing the report"):
            page = write_report(rows, out, names, data=data)
    except ModuleNotFoundError as missing:
        console.print(
            f"No report: {missing.name} is not installed. "
            'It comes with: pip install "deepbroad\\[experiments]"'
        )
    else:
        console.print(f"Report: {page}", soft_wrap=True)


def _choose_datasets(given: list[str] | None, *, quick: bool) -> list[Dataset]:
    """Return the data sets that were named, else all; quickly, those that need no download."""
    if quick:
        chosen = known_datasets.find(_split(given) or ["iris", "wine", _HANDS])
        few_hands = known_datasets.sample_hands(_QUICK_HANDS)
        return [few_hands if one.name == _HANDS else one for one in chosen]
    return known_datasets.find(_split(given) or ["all"])


def _split(given: list[str] | None) -> list[str]:
    """Take names apart that were given with commas between them."""
    return [name.strip() for part in given or [] for name in part.split(",") if name.strip()]
