"""Formulas as MathML, which browsers draw by themselves: no script, no network."""

from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

# Commands of our docstrings that docutils does not know; brackets grow by themselves in MathML.
REPLACED = {r"\Big": "", r"\dots": r"\ldots"}


def convert(formula: str, *, block: bool) -> str:
    """Return TeX as MathML."""
    for command, other in REPLACED.items():
        formula = formula.replace(command, other)
    return str(tex2mathml(" ".join(formula.split()), as_block=block))


def visit_inline(writer: Any, node: Any) -> None:
    """Write a formula within a line."""
    writer.body.append(convert(node.astext(), block=False))
    raise nodes.SkipNode


def visit_block(writer: Any, node: Any) -> None:
    """Write a formula of its own."""
    writer.body.append(f'<div class="math">{convert(node.astext(), block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Make it known to Sphinx under the name "mathml"."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
