"""The page around a report: a template, a style sheet and scripts, made one file.

Data reach the scripts as JSON in which no "<" or "&" is left, so that no name or value can end the
element; the page's policy lets nothing run but these scripts, known by their hash, and loads
nothing.
"""

import base64
import hashlib
import html
import json
from collections.abc import Sequence
from importlib.resources import files
from string import Template
from typing import Any

from deepbroad.report.markup import paragraph

SCRIPTS = ("chart.js", "quality.js", "effects.js", "rows.js")


def fill_page(
    title: str, introduction: Sequence[str], sections: dict[str, str], data: dict[str, Any]
) -> str:
    """Return a whole page.

    Parameters
    ----------
    title : str
        Plain text.
    introduction : sequence of str
        Paragraphs of plain text.
    sections : dict
        HTML that takes the place of ``$name`` in the template.
    data : dict
        What the scripts draw.
    """
    script = "".join(_read(name) for name in SCRIPTS)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return Template(_read("page.html")).substitute(
        title=html.escape(title),
        introduction="\n".join(paragraph(text) for text in introduction),
        style=_read("page.css"),
        script=script,
        digest=digest,
        data=embed_json(data),
        **sections,
    )


def embed_json(data: Any) -> str:
    """Return JSON that is safe inside of a script element.

    >>> embed_json({"a": "</script><b>&"})
    '{"a":"\\\\u003c/script\\\\u003e\\\\u003cb\\\\u003e\\\\u0026"}'
    """
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _read(name: str) -> str:
    """Return a file of the page."""
    return (files("deepbroad.report") / "page" / name).read_text(encoding="utf-8")
