"""`deepbroad evaluate`: models compared by cross-validation, all of them on the same folds."""

import json
import re
from collections.abc import Iterator
from time import perf_counter
from typing import Annotated, Any, NamedTuple

import numpy as np
import pyarrow as pa
import typer
from rich.table import Table
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from deepbroad.cli.columns import Categorical, Drop, Numeric, choose_columns
from deepbroad.cli.failure import Debug, Quiet, plainly
from deepbroad.cli.models import CLASSES, create_model
from deepbroad.cli.screen import Screen, cell
from deepbroad.cli.table import TableArgument
from deepbroad.data.files import open_files
from deepbroad.data.labels import LabelError, Labels
from deepbroad.data.names import suggest
from deepbroad.experiments.methods import make_forest
from deepbroad.measures import measure

FOREST = "rf"
_KNOWN = [*CLASSES, FOREST]


class Scheme(NamedTuple):
    """How often rows are divided, and into how many folds."""

    rounds: int
    folds: int

    @classmethod
    def read(cls, text: str) -> "Scheme":
        """Return the scheme that was typed, such as "5" or "5x2"."""
        found = re.fullmatch(r"(?:(\d+)x)?(\d+)", text)
        if not found or int(found[2]) < 2 or int(found[1] or 1) < 1:
            raise ValueError(
                f'--cv takes folds such as "5", or rounds and folds such as "5x2"; got {text!r}.'
            )
        return cls(int(found[1] or 1), int(found[2]))

    def __str__(self) -> str:
        return str(self.folds) if self.rounds == 1 else f"{self.rounds}x{self.folds}"

    def splits(self, y: np.ndarray, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield training and test rows; every class is divided alike."""
        most = int(np.unique(y, return_counts=True)[1].max())
        if self.folds > most:
            raise ValueError(
                f"--cv {self} wants {self.folds} folds, and no class has more than {most} rows; "
                "each class needs as many rows as there are folds."
            )
        for round_ in range(self.rounds):
            folds = StratifiedKFold(self.folds, shuffle=True, random_state=seed + round_)
            yield from folds.split(np.zeros(len(y)), y)


@plainly
def evaluate(
    table: TableArgument,
    target: Annotated[str, typer.Option(help="Column that holds the classes.")],
    models: Annotated[
        str,
        typer.Option(help=f"{', '.join(CLASSES)} (with a depth, such as lr2) and rf, a forest."),
    ] = "dbl,lr,rf",
    cv: Annotated[str, typer.Option(help="Folds, or rounds and folds such as 5x2.")] = "5",
    categorical: Categorical = None,
    numeric: Numeric = None,
    drop: Drop = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the folds.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Compare models by cross-validation: error, RMSE, log loss, area under ROC, seconds.

    The table is read into memory. The area is that of tables of two classes.
    """
    scheme = Scheme.read(cv)
    made = {name: make_model(name) for name in _read_names(models)}
    chosen = choose_columns(table, target, categorical, numeric, drop)
    X, y = read_rows(chosen, target, categorical or [])
    splits = list(scheme.splits(y, seed))
    console = Screen(stderr=True, quiet=quiet)
    results: dict[str, dict[str, float]] = {}
    with console.status("Evaluating") as status:
        for name, model in made.items():
            scores = []
            for k, split in enumerate(splits, 1):
                status.update(f"{name}: fold {k} of {len(splits)}")
                scores.append(score_fold(model, X, y, split))
            # The median, since the first fit may have to compile.
            results[name] = {key: float(np.mean([s[key] for s in scores])) for key in scores[0]}
            results[name]["fit_seconds"] = float(np.median([s["fit_seconds"] for s in scores]))
    if as_json:
        facts = {"rows": len(y), "rounds": scheme.rounds, "folds": scheme.folds, "seed": seed}
        typer.echo(json.dumps({**facts, "models": results}))
    else:
        Screen().print(_tabulate(results, f"{len(y):,} rows, {len(splits)} folds"))


def _read_names(models: str) -> list[str]:
    """Return the names between the commas; a usage error if there are none."""
    names = [name.strip() for name in models.split(",") if name.strip()]
    if not names:
        known = ", ".join(_KNOWN)
        raise typer.BadParameter(f"name at least one of {known}.", param_hint="--models")
    return names


def make_model(name: str) -> Any:
    """Return a model by its name and perhaps its depth, such as "dbl" or "lr2"."""
    if name == FOREST:
        forest = make_forest(discretise=False)
        return forest.set_params(randomforestclassifier__n_jobs=-1)
    found = re.fullmatch(r"([a-z]+)(\d*)", name)
    if not found or found[1] not in CLASSES:
        raise ValueError(f"There is no model {name!r}. {suggest(name, _KNOWN, 'models')}")
    return create_model(found[1], {"n": int(found[2]) if found[2] else None})


def read_rows(given: Any, target: str, categorical: list[str]) -> tuple[pa.Table, np.ndarray]:
    """Return attributes and classes; columns that are categories come as text."""
    files = open_files(given, y=target, text=categorical, categories=[target])
    X, y = files.read()
    if y is None or y.null_count:
        raise ValueError(f"Some rows have no {target}; leave them out of the table.")
    for name in categorical:
        if name not in X.column_names:
            raise ValueError(f"There is no column {name!r}. {suggest(name, X.column_names)}")
        X = X.set_column(X.column_names.index(name), name, X[name].cast(pa.string()))
    labels = y.cast(y.type.value_type) if pa.types.is_dictionary(y.type) else y
    found = labels.to_numpy()
    try:
        Labels.fit(found)
    except LabelError as error:
        raise ValueError(f"{files}: column {target!r} cannot be the classes: {error}") from error
    return X, found.astype(str) if found.dtype == object else found


def score_fold(
    model: Any, X: pa.Table, y: np.ndarray, split: tuple[np.ndarray, np.ndarray]
) -> dict[str, float]:
    """Return the measures of a model that is fitted to some rows, on others."""
    train, test = split
    began = perf_counter()
    model.fit(X.take(train), y[train])
    seconds = perf_counter() - began
    p = model.predict_proba(X.take(test))
    found = measure(y[test], p, classes=model.classes_, labels=np.unique(y))
    scores = {"error": found.error, "log_loss": found.log_loss, "rmse": found.rmse}
    if len(np.unique(y)) == 2:
        scores["auc"] = float(roc_auc_score(y[test] == model.classes_[1], p[:, 1]))
    return {**scores, "fit_seconds": seconds}


def _tabulate(results: dict[str, dict[str, float]], title: str) -> Table:
    """Lay results out as a table, a model a line."""
    headings = {"log_loss": "log loss", "rmse": "RMSE", "auc": "AUC", "fit_seconds": "fit (s)"}
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column("model")
    for key in next(iter(results.values())):
        table.add_column(headings.get(key, key), justify="right")
    for name, scores in results.items():
        cells = [f"{v:.2f}" if key == "fit_seconds" else f"{v:.4f}" for key, v in scores.items()]
        table.add_row(cell(name), *cells)
    return table
