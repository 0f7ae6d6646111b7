"""The summary that `deepbroad reproduce` wrote, as a part of a page; a sentence where none is."""

from pathlib import Path
from typing import Any

MISSING = "The summary has not been written here yet; the command above writes it.\n"


def write_part(folder: Path) -> None:
    """Write what the page on the reproduction includes."""
    summary = folder / "reproduction" / "summary.md"
    text = summary.read_text(encoding="utf-8") if summary.is_file() else MISSING
    # Its figures lie beside it, which is one folder below the page.
    text = text.replace("](figures/", "](reproduction/figures/")
    part = folder / "generated" / "summary.md"
    part.parent.mkdir(exist_ok=True)
    part.write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Write the part before any page is read."""
    write_part(Path(app.srcdir))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
