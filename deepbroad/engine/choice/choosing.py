"""The automatic choice as one call: rows come in, tables with their strengths come out."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from deepbroad.data.source import Source
from deepbroad.engine.choice.counting import list_counted
from deepbroad.engine.choice.dealing import deal_rows
from deepbroad.engine.choice.search import Progress, Search, be_silent
from deepbroad.engine.choice.settings import Settings
from deepbroad.engine.choice.strengths import first_strengths
from deepbroad.kernels.threads import Threads
from deepbroad.model.terms import NONE


@dataclass(frozen=True, eq=False)
class Choice:
    """Tables with their strengths.

    Attributes
    ----------
    members : ndarray of shape (n_tables, depth)
        Code columns of each table, filled up with NONE.
    strength : ndarray of shape (n_tables,)
    by_counts : bool
        Whether cells score by their counts.
    selection : dict
        What was tried and taken, as plain data.
    """

    members: np.ndarray
    strength: np.ndarray
    by_counts: bool
    selection: dict[str, Any]


def choose(
    source: Source,
    *,
    depth: int | None,
    exact: bool = False,
    among: Mapping[int, np.ndarray] | None = None,
    counts: bool = False,
    smoothing: float = 1.0,
    settings: Settings,
    time_limit: float = inf,
    seed: int = 0,
    threads: Threads,
    progress: Progress = be_silent,
) -> Choice:
    """Choose the tables of a model for coded rows, and their strengths.

    Parameters
    ----------
    source : Source
        Rows of code columns.
    depth : int or None
        How many features the deepest tables join; None to choose.
    exact : bool
        Whether tables of that depth alone are wanted.
    among : mapping from order to ndarray, optional
        The tuples of features that tables may have.
    counts : bool
        Whether cells may score by their counts.
    smoothing : float
        m of the probabilities that such scores start from.
    time_limit : float
        Seconds after which nothing new is tried.
    """
    rows = deal_rows(source, settings.rows, settings.folds, seed)
    deepest = depth or (max(among) if among else settings.orders)
    search = Search(
        rows, settings, deepest, seed, threads, forced=depth is not None, exact=exact, among=among,
        time_limit=time_limit, progress=progress,
    )  # fmt: skip
    model = search.run_exact() if exact and depth is None else search.run()
    chosen = np.flatnonzero(model.final)
    candidates = search.candidates
    tables, strength = candidates.spread(
        candidates.take(model.tables, chosen), model.tuned.strength[chosen]
    )
    members, strength = tables.terms.members, strength * rows.unit
    loss, by_counts = model.tuned.losses.plain, False
    if counts and depth is None and among is None:
        counted = list_counted(source, rows.source.n_rows)
        if (
            counted is not None
            and not search.is_late()
            and search.prefers_counts(model, counted, smoothing)
        ):
            members, by_counts = counted.terms.members, True
            strength, loss = first_strengths(counted, 1.0), search.trials[-1]["loss"]
    orders = np.count_nonzero(members != NONE, axis=1)
    selection = {
        "n": int(orders.max()),
        "loss": loss,
        "tables": {str(k): int(np.sum(orders == k)) for k in np.unique(orders)},
        "by_counts": by_counts,
        "folds": rows.n_folds,
        "rows": round(float((rows.held + rows.trained)[:, 0].sum())),
        "trials": search.trials,
        "complete": not search.was_late,
        "warnings": [warn_of_time(time_limit)] if search.was_late else [],
    }
    return Choice(members[:, : int(orders.max())], strength, by_counts, selection)


def warn_of_time(time_limit: float) -> str:
    """Return what to tell a user whose time limit ended the search."""
    return (
        f"time_limit={time_limit:g} ended the automatic choice early: another fit of the same "
        "rows, or one on a busier machine, may choose a different model. Raise time_limit, or fit "
        "with the recipe of a model that was chosen in full."
    )
