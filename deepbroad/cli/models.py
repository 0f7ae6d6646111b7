"""The models that commands fit, by name, with the options that each has."""

import inspect
from collections.abc import Callable
from enum import StrEnum
from typing import Any

from deepbroad import (
    AnDEClassifier,
    AnJEClassifier,
    DBLClassifier,
    KDBClassifier,
    LRClassifier,
    TANClassifier,
)


class ModelName(StrEnum):
    """Models of the command line."""

    dbl = "dbl"
    lr = "lr"
    anje = "anje"
    ande = "ande"
    kdb = "kdb"
    tan = "tan"


CLASSES: dict[str, Callable[..., Any]] = {
    "dbl": DBLClassifier,
    "lr": LRClassifier,
    "anje": AnJEClassifier,
    "ande": AnDEClassifier,
    "kdb": KDBClassifier,
    "tan": TANClassifier,
}


def create_model(name: str, options: dict[str, Any]) -> Any:
    """Return a model with the options that were given; ValueError for one that it has not."""
    create = CLASSES[name]
    known = inspect.signature(create).parameters
    given = {option: value for option, value in options.items() if value is not None}
    # The depth of KDB is called k.
    if name == "kdb" and "n" in given:
        given["k"] = given.pop("n")
    unknown = sorted(set(given) - set(known))
    if unknown:
        names = ", ".join(f"--{option.replace('_', '-')}" for option in unknown)
        raise ValueError(f"--model {name} has no {names}; leave it out, or take --model dbl.")
    return create(**given)


def read_depth(text: str) -> int | str | None:
    """Return a depth that was typed: a number, "auto", or None for the model's own."""
    if text in ("", "auto"):
        return text or None
    try:
        return int(text)
    except ValueError:
        raise ValueError(f'-n takes a whole number or "auto", got {text!r}.') from None


def read_strength(text: str) -> Any:
    """Return a strength that was typed: a number, several with commas, "auto", or None."""
    if text in ("", "auto"):
        return text or None
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(
            f'--alpha takes a number, one for each order such as "1,30", or "auto"; got {text!r}.'
        ) from None
    return numbers[0] if len(numbers) == 1 else numbers
