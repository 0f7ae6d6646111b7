r"""A model as JSON, for whoever wants to read or score it in a language of their own.

The file is one object:

``format``, ``version``
    ``"deepbroad"`` and the number of this format, 1.
``model``
    The class of the estimator.
``classes``
    C labels: strings, numbers or booleans; others as text.
``columns``
    A list of code columns. Each turns one attribute into a code; an attribute has several if it is
    cut into bins at several resolutions, and none if the model does not look at it. Each has

    - ``attribute``: the name of the attribute.
    - ``kind``: ``"category"`` or ``"number"``.
    - ``values`` (category): the code of a value is its position in this list. A value is a string,
      a number (which booleans equal: true is 1), or an object with one key that names its sort:
      ``{"datetime": microseconds since 1970}``, ``{"instant": microseconds since 1970 in UTC}`` of
      dates with a time zone, ``{"duration": microseconds}``,
      ``{"time": microseconds since midnight}``, ``{"bytes": hexadecimal digits}``,
      ``{"float": "inf"}``, ``{"other": [type, text]}``.
    - ``cuts`` and ``quantity`` (number): the code of x is how many cuts are <= x. Dates, durations
      and times of day are in microseconds, as above, and ``quantity`` tells which of them it is.
      Infinite cuts are written as above.
    - ``unknown``: the code of missing values and of values that are not in the list, or null:
      then the row has no code here.
``intercept``
    C - 1 numbers: the scores of the classes after the first, whose score is always 0.
``terms``
    A list of tables. Each has ``columns``, positions in the list of code columns; ``effects``, a
    list of ``[codes, scores]``; and ``otherwise``, the C - 1 scores of all codes not listed.
``rescaling``
    null, or a list of factors.

To score a row: take its codes. For each term, if the row has a code in all of its columns, add the
scores that ``effects`` lists for these codes, else ``otherwise``. Where ``rescaling`` is a list,
multiply the sum by its entry k, k being in how many code columns the row has no code. Add the
intercept. The probabilities are the softmax of these scores, 0 for the first class put in front.
"""

import json
from typing import Any

from deepbroad.data.code_column import CodeColumn, NumberColumn
from deepbroad.export.effects import Effects

FORMAT, VERSION = "deepbroad", 1


def write_json(effects: Effects) -> dict[str, Any]:
    """Return a model as the plain data that this module's docstring describes."""
    place = {column: i for i, column in enumerate(effects.used)}
    return {
        "format": FORMAT,
        "version": VERSION,
        "model": effects.model_name,
        "classes": [_label(label) for label in effects.labels],
        "columns": [_column(effects.columns[c]) for c in effects.used],
        "intercept": effects.intercept.tolist(),
        "terms": [
            {
                "columns": [place[c] for c in term.columns],
                "otherwise": term.otherwise.tolist(),
                "effects": [
                    list(effect)
                    for effect in zip(term.codes.T.tolist(), term.scores.tolist(), strict=True)
                ],
            }
            for term in effects.terms()
        ],
        "rescaling": None if effects.rescaling is None else effects.rescaling.tolist(),
    }


def dump_json(data: dict[str, Any]) -> bytes:
    """Return plain data as the text of a file."""
    # Escaped, since text may hold what is no Unicode at all.
    return json.dumps(data, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def _column(column: CodeColumn) -> dict[str, Any]:
    """Return how an attribute becomes codes."""
    data = column.to_dict()
    kind = {"attribute": column.name, "kind": data["kind"]}
    unknown = {"unknown": column.unknown if column.missing else None}
    if isinstance(column, NumberColumn):
        return {**kind, "quantity": data["quantity"], "cuts": data["cuts"], **unknown}
    return {**kind, "values": data["values"], **unknown}


def _label(label: Any) -> bool | int | float | str:
    """Return a label as it is if JSON has its type, else as text."""
    return label if isinstance(label, bool | int | float | str) else str(label)
