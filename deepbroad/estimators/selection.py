"""What an automatic choice came to, as plain data that prints and that files can hold."""

import warnings
from typing import Any

from deepbroad.data.encoding import Encoding
from deepbroad.data.pyramid import BY_CLASS, WITHIN
from deepbroad.engine.old_choice import Choice
from deepbroad.engine.strength_search import Trial


def describe_choice(choice: Choice, encoding: Encoding, joined: list[list[str]]) -> dict[str, Any]:
    """Return the chosen model, all that was tried and what was not, as plain data.

    `joined` has the names of attributes that were taken as one.
    """
    return {
        **_describe_trial(choice.best),
        "alpha": [float(choice.factor * alpha) for alpha in choice.best.strengths.by_order],
        "factor": float(choice.factor),
        "trials": [_describe_trial(trial) for trial in choice.trials],
        "cuts": _describe_cuts(encoding) if choice.best.by_class else {},
        "joined": joined,
        "shortlisted": {
            str(order): len(tuples)
            for order, tuples in choice.among.items()
            if order not in choice.redundant
        },
        "redundant": {str(order): count for order, count in choice.redundant.items()},
        "skipped": dict(choice.skipped),
        "copies": choice.n_copies,
    }


def _describe_cuts(encoding: Encoding) -> dict[str, list[str]]:
    """Return the names of bins by the class, for each number that has more than one."""
    return {
        name: columns[BY_CLASS.index(WITHIN)].names()
        for name, columns in zip(encoding.names, encoding.owned, strict=True)
        if len(columns) > 1 and columns[BY_CLASS.index(WITHIN)].n_values > 1
    }


def warn_of_copies(choice: Choice) -> None:
    """Say that rows were taken for copies of others."""
    warnings.warn(
        f"{choice.n_copies:,} of the rows that the model was chosen by are exact copies of others, "
        "more than chance makes: a table read twice, or classes balanced by drawing rows again. "
        "Copies were held out together, so that the model is not chosen for knowing rows by heart. "
        "Drop them if they are a mistake; if rows are to count more, give sample_weight or "
        "class_weight.",
        UserWarning,
        stacklevel=6,
    )


def warn_of_time(choice: Choice, time_limit: float) -> None:
    """Say that the time limit decided what was tried."""
    count = len(choice.trials)
    left_out = [_name_skipped(what) for what, why in choice.skipped.items() if why == "time"]
    without = f", and {', '.join(left_out)} had no time at all" if left_out else ""
    warnings.warn(
        f"time_limit={time_limit:g} ended the automatic choice after {count} "
        f"{'trial' if count == 1 else 'trials'}{without}. Another fit of the same rows, or one on "
        "a busier machine, may choose a different model. Raise time_limit for a better model, or "
        "give n and alpha for a plainer one that does not depend on time.",
        UserWarning,
        stacklevel=6,
    )


def _name_skipped(what: str) -> str:
    """Return what was not tried by its name: depths are kept by their number."""
    return f"n={what}" if what.isdecimal() else what


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
        "by_class": trial.by_class,
        "folds": trial.folds,
        "loss": float(trial.loss),
        "passes": trial.passes,
    }
