"""The automatic choice of `deepbroad.engine.automatic` as members, strengths and an account."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from deepbroad.data.source import Source
from deepbroad.engine.choice import Choice
from deepbroad.engine.strength_search import Trial
from deepbroad.engine.weight_unit import choose_model
from deepbroad.model.family import Family

# Seconds for a choice without a limit.
TIME_LIMIT = 60.0


class Chosen(NamedTuple):
    """The model that was chosen.

    Attributes
    ----------
    members : int array of shape (n_tables, depth)
        Code columns.
    strength : float array of shape (n_tables,)
    by_counts : bool
    selection : dict
        What was tried, as plain data; "warnings" are for the user.
    """

    members: np.ndarray
    strength: np.ndarray
    by_counts: bool
    selection: dict[str, Any]


def choose(
    source: Source,
    family: Family,
    *,
    time_limit: float | None,
    effort: str,
    progress: Callable[[str, float | None, float], None],
    **settings: Any,
) -> Chosen:
    """Return what the search finds; `settings` are those of `Automatic`."""
    progress("depths and strengths", None, 0.0)
    limit = TIME_LIMIT if time_limit is None else time_limit
    choice = choose_model(source, family, time_limit=limit, **settings)
    return Chosen(
        choice.levelled.terms.members,
        choice.strength,
        choice.best.by_counts,
        _describe_choice(choice, limit),
    )


def _describe_choice(choice: Choice, time_limit: float) -> dict[str, Any]:
    """Return the chosen model, all that was tried and what was not, as plain data."""
    warnings = [_warn_of_copies(choice)] if choice.n_copies else []
    if choice.is_cut_short:
        warnings.append(_warn_of_time(choice, time_limit))
    return {
        **_describe_trial(choice.best),
        "alpha": [float(choice.factor * alpha) for alpha in choice.best.strengths.by_order],
        "factor": float(choice.factor),
        "shortlisted": {
            str(order): len(tuples)
            for order, tuples in choice.among.items()
            if order not in choice.redundant
        },
        "redundant": {str(order): count for order, count in choice.redundant.items()},
        "skipped": dict(choice.skipped),
        "copies": choice.n_copies,
        "trials": [_describe_trial(trial) for trial in choice.trials],
        "warnings": warnings,
    }


def _describe_trial(trial: Trial) -> dict[str, Any]:
    """Return one model that was tried."""
    return {
        "n": trial.depth,
        "alpha": [float(strength) for strength in trial.strengths.by_order],
        "growth": float(trial.strengths.growth),
        "adapted": trial.adaptation.power > 0,
        "adaptation": [trial.adaptation.power, trial.adaptation.floor],
        "by_counts": trial.by_counts,
        "tiled": trial.tiled,
        "folds": trial.folds,
        "loss": float(trial.loss),
        "passes": trial.passes,
    }


def _warn_of_copies(choice: Choice) -> str:
    return (
        f"{choice.n_copies:,} of the rows that the model was chosen by are exact copies of others, "
        "more than chance makes: a table read twice, or classes balanced by drawing rows again. "
        "Copies were held out together, so that the model is not chosen for knowing rows by heart. "
        "Drop them if they are a mistake; if rows are to count more, give sample_weight or "
        "class_weight."
    )


def _warn_of_time(choice: Choice, time_limit: float) -> str:
    count = len(choice.trials)
    left_out = [_name_skipped(what) for what, why in choice.skipped.items() if why == "time"]
    without = f", and {', '.join(left_out)} had no time at all" if left_out else ""
    return (
        f"time_limit={time_limit:g} ended the automatic choice after {count} "
        f"{'trial' if count == 1 else 'trials'}{without}. Another fit of the same rows, or one on "
        "a busier machine, may choose a different model. Raise time_limit for a better model, or "
        "give n and alpha for a plainer one that does not depend on time."
    )


def _name_skipped(what: str) -> str:
    """Return what was not tried by its name: depths are kept by their number."""
    return f"n={what}" if what.isdecimal() else what
