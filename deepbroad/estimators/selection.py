"""What an automatic choice came to: the recipe, and an account of what was tried."""

import json
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from deepbroad.model.recipe import Recipe


class Selection(dict[str, Any]):
    """The account of an automatic choice: a dict of plain data that prints line by line.

    Examples
    --------
    >>> Selection(loss=0.31234567, trials=[{"n": 1, "loss": 0.35}, {"n": 2, "loss": 0.31234567}])
    loss: 0.312346
    trials:
      n: 1, loss: 0.35
      n: 2, loss: 0.312346
    """

    def __repr__(self) -> str:
        return "\n".join(
            f"{name}:{_indent(value)}"
            for name, value in self.items()
            if value not in ([], {}, None)
        )

    __str__ = __repr__


def _indent(value: Any) -> str:
    """Return a value after the name that it has: lists of records on lines of their own."""
    if isinstance(value, list) and any(isinstance(item, dict | str) for item in value):
        return "".join(f"\n  {_show(item)}" for item in value)
    return f" {_show(value)}"


def _show(value: Any) -> str:
    """Return a value in one line."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_show(item)}" for name, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_show, value))
    return str(value)


@dataclass(frozen=True, eq=False)
class Settled:
    """What the tables of a fit come from.

    Attributes
    ----------
    recipe : Recipe
    strength : float array of shape (n_tables,)
        As the recipe's `members` has it.
    shares : float array of shape (n_tables,)
        Of the evidence, for the start of the fit (`deepbroad.model.generative.evidence_shares`).
    selection : Selection or None
        What was tried; None if the recipe was given.
    """

    recipe: Recipe
    strength: np.ndarray
    shares: np.ndarray
    selection: Selection | None


@dataclass(frozen=True)
class KeptChoice:
    """A choice as a journal keeps it: the recipe and the account, both in JSON."""

    recipe: str
    selection: str

    @classmethod
    def of(cls, recipe: Recipe, selection: Selection) -> "KeptChoice":
        """Return what is to be kept."""
        return cls(recipe.to_json(), json.dumps(selection))

    def restore(self) -> tuple[Recipe, Selection]:
        """Return the choice; ValueError if there is none."""
        return Recipe.from_json(self.recipe), Selection(json.loads(self.selection))


def warn_of(selection: Selection) -> None:
    """Give the user the warnings of a choice."""
    for message in selection.get("warnings", []):
        warnings.warn(message, UserWarning, stacklevel=6)
