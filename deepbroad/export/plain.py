"""The values of a code column as another language compares them: text or numbers."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from deepbroad.data.code_column import CategoryColumn, CodeColumn, NumberColumn
from deepbroad.data.value import Identity, name_value

# How an attribute is read. Times are microseconds: since 1970, since midnight, or long.
Reading: TypeAlias = Literal["text", "number", "boolean", "datetime", "duration", "time"]


class Plain(NamedTuple):
    """How a column is read, and the values that have codes 0, 1, ...; bins have none."""

    reading: Reading
    values: Sequence[str | float]


_READINGS: dict[str, Reading] = {
    "datetime": "datetime",
    "instant": "datetime",
    "duration": "duration",
    "time": "time",
}


def plain_values(column: CodeColumn) -> Plain:
    """Return the values of a column; ValueError if two of them would look the same.

    Numbers and times stay what they are. A mixture, and whatever else there is, is read as text.
    """
    if isinstance(column, NumberColumn):
        return Plain(_READINGS.get(column.quantity, "number"), [])
    if not isinstance(column, CategoryColumn):
        raise AssertionError("an attribute is a number or a category")
    reading = _common_reading(column.values)
    if reading == "text":
        values: list[str | float] = [name_value(value) for value in column.values]
    else:
        values = [float(v[1] if isinstance(v, tuple) else v) for v in column.values]
    if len(set(values)) < len(values):
        raise ValueError(
            f"Column {column.name!r} has values that differ in type alone, such as 1 and '1'; "
            "convert them to one type before the fit to export the model."
        )
    return Plain(reading, values)


def _common_reading(values: Sequence[Identity]) -> Reading:
    """Return how all of some values can be read."""
    if values and all(isinstance(value, bool) for value in values):
        return "boolean"
    if values and all(isinstance(value, int | float) for value in values):
        return "number"
    sorts = {value[0] if isinstance(value, tuple) else "text" for value in values}
    return _READINGS.get(sorts.pop() if len(sorts) == 1 else "text", "text")


def plain_labels(labels: Sequence[Any]) -> list[bool] | list[int] | list[str]:
    """Return class labels as booleans or integers where all are, else as text that differs."""
    if all(isinstance(label, bool) for label in labels):
        return list(labels)
    whole = [isinstance(label, int | float) and label == int(label) for label in labels]
    if all(whole) and all(abs(label) < 2**63 for label in labels):
        return [int(label) for label in labels]
    names = [str(label) for label in labels]
    return names if len(set(names)) == len(names) else [repr(label) for label in labels]
