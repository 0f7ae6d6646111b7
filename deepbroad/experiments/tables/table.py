"""A table of text cells, and how it is written in Markdown and HTML."""

import html
import re
from collections.abc import Sequence
from typing import NamedTuple

_BOLD = re.compile(r"\*\*(.+?)\*\*")
# What sits on the right: a number with what may stand beside it, or counts such as 7/0/1.
_NUMERIC = re.compile(r"^[<>≈~]?[-+−]?[\d.,/ ]+(e[-+]?\d+)?( ?[%s×])?$|^–?$")
# A column whose cells have no more characters than this keeps each on one line.
_SHORT = 32


class Table(NamedTuple):
    """Lines of cells under a header.

    A cell may have parts between ``**``, which are bold. A line of one cell is a heading across
    the table. `note` says what the reader must know, such as how many data sets are compared.
    """

    header: tuple[str, ...]
    lines: Sequence[tuple[str, ...]]
    note: str = ""


def write_markdown(table: Table) -> str:
    """Write a table in Markdown.

    >>> print(write_markdown(Table(("method", "loss"), [("A1JE", "0.25")])))
    | method | loss |
    |---|---:|
    | A1JE | 0.25 |
    """
    width = len(table.header)
    marks = ["---:" if right else "---" for right in _aligned(table)]
    lines = [_join(table.header), "|" + "|".join(marks) + "|"]
    for line in table.lines:
        cells = line if len(line) > 1 else (f"**{line[0]}**", *[""] * (width - 1))
        lines.append(_join(cells))
    return "\n".join(lines) + (f"\n\n{table.note}" if table.note else "")


def write_html(table: Table) -> str:
    """Write a table as HTML; columns of short cells are not broken into lines."""
    classes = _classify(table)
    head = _row(table.header, classes, "th")
    body = []
    for line in table.lines:
        if len(line) > 1:
            body.append(_row(line, classes, "td"))
        else:
            cell = f'<th colspan="{len(table.header)}" class="group">{_escape(line[0])}</th>'
            body.append(f"<tr>{cell}</tr>")
    note = f'\n<p class="note">{_escape(table.note)}</p>' if table.note else ""
    return (
        f'<div class="wide"><table>\n<thead>{head}</thead>\n<tbody>\n'
        + "\n".join(body)
        + f"\n</tbody></table></div>{note}"
    )


def _aligned(table: Table) -> list[bool]:
    """Say which columns hold numbers only, and so sit on the right."""
    lines = [line for line in table.lines if len(line) > 1]
    return [
        bool(lines) and all(_NUMERIC.match(_BOLD.sub(r"\1", line[i])) for line in lines)
        for i in range(len(table.header))
    ]


def _classify(table: Table) -> list[str]:
    """Give the class attribute of each column's cells."""
    lines = [line for line in table.lines if len(line) > 1]
    longest = [max((len(line[i]) for line in lines), default=0) for i in range(len(table.header))]
    return [
        ' class="n"' if right else ' class="short"' if length <= _SHORT else ""
        for right, length in zip(_aligned(table), longest, strict=True)
    ]


def _join(cells: Sequence[str]) -> str:
    """Write one line of Markdown."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _row(cells: Sequence[str], classes: Sequence[str], tag: str) -> str:
    """Write one line of HTML."""
    parts = [
        f"<{tag}{name}>{_escape(cell)}</{tag}>" for cell, name in zip(cells, classes, strict=True)
    ]
    return f"<tr>{''.join(parts)}</tr>"


def _escape(cell: str) -> str:
    """Write a cell's text as HTML."""
    return _BOLD.sub(r"<b>\1</b>", html.escape(cell))
