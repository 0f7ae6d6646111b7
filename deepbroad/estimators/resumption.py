"""Where a fit goes on from: its checkpoint, opened and told from those of other fits."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deepbroad.engine.checkpoint import Checkpoint
from deepbroad.engine.fingerprint import fingerprint_rows
from deepbroad.engine.journal import Journal, KeptJournal
from deepbroad.estimators.prepared import Coded
from deepbroad.model.recipe import Recipe
from deepbroad.model.terms import Terms

# Parameters that change nothing that a fit goes on from, or only what the fingerprint shows.
FREE = (
    "callbacks",
    "categorical_features",
    "checkpoint",
    "class_weight",
    "max_iter",
    "memory_limit",
    "n_jobs",
    "time_limit",
    "verbose",
    "warm_start",
)


@dataclass(frozen=True, eq=False)
class Screened:
    """The terms that a limit of memory left, as a journal keeps them.

    Another process may have another limit; `relevance` and `gain` are those of
    `deepbroad.model.information.Scores`.
    """

    members: np.ndarray
    relevance: np.ndarray
    gain: np.ndarray

    def terms(self, depth: int, cardinalities: np.ndarray) -> Terms:
        """Return the terms; ValueError if they are none of so many columns."""
        members = self.members
        fits = members.ndim == 2 and members.shape[1] == depth and members.dtype == np.int64
        if not fits or not (
            len(members) == len(self.relevance) == len(self.gain) > 0
            and (members >= 0).all()
            and (members < len(cardinalities)).all()
            and (np.diff(members, axis=1) > 0).all()
        ):
            raise ValueError("the tuples of the checkpoint are none of this table")
        return Terms(members, np.asarray(cardinalities, np.int64))


def check_folder(checkpoint: Any) -> None:
    """Raise ValueError if no checkpoint can be kept there."""
    if checkpoint is None:
        return
    if not isinstance(checkpoint, str | os.PathLike) or not os.fspath(checkpoint):
        raise ValueError(f"checkpoint must be the path of a folder or None, got {checkpoint!r}.")
    # The nearest that exists: what is missing is made.
    path = Path(checkpoint).absolute()
    exists = next(place for place in (path, *path.parents) if place.exists())
    if not exists.is_dir() or not os.access(exists, os.W_OK | os.X_OK):
        raise ValueError(
            f"checkpoint must be a folder that can be written to; {str(exists)!r} is not."
        )


def open_journal(
    checkpoint: str | os.PathLike[str], parameters: dict[str, Any], name: str, coded: Coded
) -> Journal:
    """Return the journal of a fit by an estimator of some name; ValueError if it is another's."""
    journal = KeptJournal(Checkpoint(checkpoint))
    source = coded.source
    journal.open(
        {
            "estimator": name,
            "parameters": {
                key: _plain(value) for key, value in parameters.items() if key not in FREE
            },
            "rows": source.n_weighted,
            "classes": source.n_classes,
            "values": source.cardinalities.tolist(),
            "attributes": source.attributes.tolist(),
            "data": fingerprint_rows(source, coded.threads),
        }
    )
    return journal


def _plain(value: Any) -> Any:
    """Return a parameter as JSON; of what JSON has not, the kind."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Recipe):
        return value.to_json()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return type(value).__name__
