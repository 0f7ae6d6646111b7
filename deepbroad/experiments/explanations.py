"""Why some of our numbers differ from the paper's, kept in `explanations.toml`."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

UNEXPLAINED = "not explained"


def explain(dataset: str, method: str, measure: str) -> str:
    """Give the reason of a difference on a data set (by the paper's name).

    >>> explain("Iris", "DBL2", "error")
    'not explained'
    """
    given = {"datasets": dataset, "methods": method, "measures": measure}
    for entry in _read():
        if all(key not in entry or value in entry[key] for key, value in given.items()):
            return str(entry["text"])
    return UNEXPLAINED


@cache
def _read() -> list[dict[str, Any]]:
    """Read the file once."""
    text = (files(__package__) / "explanations.toml").read_text(encoding="utf-8")
    return list(tomllib.loads(text).get("explanations", []))
