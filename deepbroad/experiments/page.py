"""A self-contained HTML page: contents, then one section for each part. No network, no script."""

import base64
import html
from collections.abc import Sequence
from typing import NamedTuple

_STYLE = """
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; color: #1c2126;
  background: #fff; max-width: 62rem; margin: 2rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.7rem; line-height: 1.2; }
h2 { font-size: 1.2rem; margin: 2.6rem 0 .7rem; border-top: 1px solid #d7dde2;
  padding-top: 1.1rem; }
nav { columns: 19rem; font-size: .92rem; background: #f5f7f9; border-radius: 6px;
  padding: .8rem 1rem; }
nav a { display: block; color: #0b4a7d; text-decoration: none; break-inside: avoid;
  padding: .08rem 0; }
nav a:hover { text-decoration: underline; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .84rem; }
th, td { padding: .22rem .6rem; border-bottom: 1px solid #e3e8ec; text-align: left;
  vertical-align: top; }
th { background: #f0f3f6; font-weight: 600; }
th.group { background: #fff; padding-top: .8rem; }
.n { text-align: right; font-variant-numeric: tabular-nums; }
.n, .short { white-space: nowrap; }
figure { margin: 0; }
img { max-width: 100%; height: auto; }
figcaption, .note { font-size: .87rem; color: #4b5660; max-width: 50rem; }
@page { margin: 14mm; }
@media print {
  body { font-size: 10pt; max-width: none; margin: 0; padding: 0; }
  h2 { break-after: avoid; }
  figure, tr { break-inside: avoid; }
  .wide { overflow: visible; }
  table { font-size: 7pt; }
  th, td { padding: .1rem .3rem; }
  nav a { color: inherit; }
}
"""


class Part(NamedTuple):
    """A section: its anchor, its title, and HTML or an SVG picture with its caption."""

    name: str
    title: str
    body: str
    picture: bytes = b""
    caption: str = ""


def write_page(title: str, introduction: Sequence[str], parts: Sequence[Part]) -> str:
    """Write the page.

    Parameters
    ----------
    title : str
        The title.
    introduction : sequence of str
        Paragraphs of plain text.
    parts : sequence of Part
        The sections, in order.
    """
    contents = "\n".join(f'<a href="#{part.name}">{html.escape(part.title)}</a>' for part in parts)
    paragraphs = "\n".join(f"<p>{html.escape(text)}</p>" for text in introduction)
    sections = "\n".join(_write_part(part) for part in parts)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>{html.escape(title)}</h1>
{paragraphs}
<nav aria-label="Contents">
{contents}
</nav>
{sections}
</body>
</html>
"""


def _write_part(part: Part) -> str:
    """Write one section; a picture is in the page itself, apart from the ids of others."""
    body = part.body
    if part.picture:
        data = base64.b64encode(part.picture).decode()
        body = (
            f'<figure><img alt="{html.escape(part.title)}" '
            f'src="data:image/svg+xml;base64,{data}">\n'
            f"<figcaption>{html.escape(part.caption)}</figcaption></figure>"
        )
    name = html.escape(part.name)
    return f'<section id="{name}">\n<h2>{html.escape(part.title)}</h2>\n{body}\n</section>'
