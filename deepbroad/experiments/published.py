"""What the paper prints: its tables, read from `published.toml`, and the slips in them.

Data sets have the paper's names here, methods and measures ours.
"""

import math
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from deepbroad.experiments.statistics import WinDrawLoss


class Size(NamedTuple):
    """A line of the paper's table of data sets; most counts of attributes include the class."""

    rows: int
    attributes: int
    classes: int


class Comparison(NamedTuple):
    """A printed win-draw-loss and its p, which may read "<0.001"."""

    counts: WinDrawLoss
    p: str


class Slip(NamedTuple):
    """A number that the paper's other numbers contradict."""

    where: str
    printed: str
    says: str


def dataset_sizes() -> dict[str, Size]:
    """Give the paper's table of data sets."""
    return {name: Size(*line) for name, line in _read()["datasets"].items()}


def big_datasets() -> tuple[str, ...]:
    """Name the eight Big data sets of the appendix."""
    return tuple(_read()["appendix"]["datasets"])


def big_for_times() -> tuple[str, ...]:
    """Name the nine data sets that are the paper's Big ones where it compares times."""
    return tuple(_read()["times"]["big"])


def printed_loss(measure: str, method: str, dataset: str) -> float | None:
    """Give a number of the appendix as it is printed, None where there is none.

    >>> printed_loss("rmse", "DBL2", "Poker-hand"), corrected_loss("rmse", "DBL2", "Poker-hand")
    (0.197, 0.0197)
    """
    appendix = _read()["appendix"]
    line = appendix.get(measure, {}).get(method)
    if line is None or dataset not in appendix["datasets"]:
        return None
    value = float(line[appendix["datasets"].index(dataset)])
    return None if math.isnan(value) else value


def corrected_loss(measure: str, method: str, dataset: str) -> float | None:
    """Give a number of the appendix as it must be, see `slips`."""
    for slip in _read()["slips"]:
        if (slip.get("measure"), slip.get("method"), slip.get("dataset")) == (
            measure,
            method,
            dataset,
        ):
            return float(slip["must_be"])
    return printed_loss(measure, method, dataset)


def printed_methods(measure: str) -> tuple[str, ...]:
    """Name the methods of an appendix table, in its order."""
    return tuple(_read()["appendix"].get(measure, {}))


def printed_comparison(group: str, ours: str, theirs: str, measure: str) -> Comparison | None:
    """Give a printed win-draw-loss of `group` "little" or "big", None where there is none."""
    line = _read()["win_draw_loss"].get(group, {}).get(f"{ours}-{theirs}", {}).get(measure)
    if line is None:
        return None
    counts, p = line
    return Comparison(WinDrawLoss(*map(int, counts.split("/"))), p)


def slips() -> tuple[Slip, ...]:
    """List the slips that we know."""
    return tuple(Slip(slip["where"], slip["printed"], slip["says"]) for slip in _read()["slips"])


@cache
def _read() -> dict[str, Any]:
    """Read the file once."""
    return tomllib.loads((files(__package__) / "published.toml").read_text(encoding="utf-8"))
