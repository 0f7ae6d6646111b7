"""Tables in HTML. All text of users passes through `cell`, which escapes it."""

import html
from collections.abc import Sequence
from typing import Any, NamedTuple

# Texts beyond the first have columns that narrow pages may not squeeze; texts below the second
# stay on one line.
LONG, SHORT = 30, 12


class Bar(NamedTuple):
    """A number with a bar behind it, `share` of the cell wide."""

    text: str
    share: float


def cell(value: Any, tag: str = "td") -> str:
    """Return a cell of a table, numbers to the right."""
    if isinstance(value, Bar):
        width = 100 * min(1.0, max(0.0, value.share))
        bar = f'<span class="bar" style="width:{width:.1f}%"></span>'
        return f'<{tag} class="n barred">{bar}<span>{html.escape(value.text)}</span></{tag}>'
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f'<{tag} class="n">{html.escape(format_number(value))}</{tag}>'
    text = html.escape(str(value))
    kind = "long" if len(text) > LONG else "short" if len(text) < SHORT else ""
    return f'<{tag} class="{kind}">{text}</{tag}>' if kind else f"<{tag}>{text}</{tag}>"


def format_number(value: float) -> str:
    """Return a number as people read it.

    >>> format_number(48842), format_number(0.123456), format_number(1234567.8)
    ('48,842', '0.1235', '1,234,568')
    """
    if isinstance(value, int) or abs(value) >= 10_000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def table(headings: Sequence[str], rows: Sequence[Sequence[Any]], caption: str) -> str:
    """Return a table that scrolls by itself if the page is narrow."""
    first = rows[0] if rows else [""] * len(headings)
    tops = "".join(
        f'<th scope="col"{_right(value)}>{html.escape(heading)}</th>'
        for heading, value in zip(headings, first, strict=True)
    )
    body = "\n".join(
        "<tr>" + _row_heading(row[0]) + "".join(map(cell, row[1:])) + "</tr>" for row in rows
    )
    name = html.escape(caption)
    # A region that scrolls must be reachable by keyboard.
    return (
        f'<div class="wide" role="region" aria-label="{name}" tabindex="0">'
        f"<table><caption>{name}</caption><thead><tr>{tops}</tr></thead>"
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


def paragraph(text: str, kind: str = "") -> str:
    """Return a paragraph of plain text."""
    opening = f'<p class="{kind}">' if kind else "<p>"
    return f"{opening}{html.escape(text)}</p>"


def _right(value: Any) -> str:
    is_number = isinstance(value, int | float | Bar) and not isinstance(value, bool)
    return ' class="n"' if is_number else ""


def _row_heading(value: Any) -> str:
    return cell(value, "th").replace("<th", '<th scope="row"', 1)
