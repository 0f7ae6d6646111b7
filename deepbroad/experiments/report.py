"""The report of a reproduction: one self-contained HTML page, and a summary in Markdown."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from deepbroad.experiments.catalogue import CATALOGUE, Entry, check_names
from deepbroad.experiments.figures.canvas import render
from deepbroad.experiments.material import Material, read_material
from deepbroad.experiments.page import Part, write_page
from deepbroad.experiments.published import dataset_sizes
from deepbroad.experiments.results import Results
from deepbroad.experiments.tables.table import Table, write_html, write_markdown

PAGE, SUMMARY, FIGURES = "report.html", "summary.md", "figures"
_NOTHING = "Nothing to draw: the runs that it shows were not made."
_TITLE = "Deep Broad Learning, reproduced"


class _Section(NamedTuple):
    """A finished table or figure, as HTML and as Markdown (empty if left to the page)."""

    html: Part
    markdown: str


def write_report(
    rows_folder: Path | str,
    out: Path | str,
    names: Sequence[str] | None = None,
    *,
    data: Path | str | None = None,
) -> Path:
    """Write ``report.html``, ``summary.md`` and the figures as PNG files.

    Parameters
    ----------
    rows_folder : path
        Folder of the rows that the runner wrote.
    out : path
        Folder to write to; the learning curves are read from there if they were run.
    names : sequence of str, optional
        Names of tables and figures, see `deepbroad.experiments.catalogue`; all by default.
    data : path, optional
        Folder of the data sets, to say which of those that did not run it lacks.

    Returns
    -------
    page : Path
        The HTML page.
    """
    folder = Path(out)
    wanted = check_names(names)
    material = read_material(Path(rows_folder), folder, None if data is None else Path(data))
    folder.mkdir(parents=True, exist_ok=True)
    sections = [_write_section(name, CATALOGUE[name], material, folder) for name in wanted]
    introduction = _introduce(material.results)
    page = folder / PAGE
    page.write_text(
        write_page(_TITLE, introduction, [section.html for section in sections]), encoding="utf-8"
    )
    parts = [f"# {_TITLE}", *introduction, *(s.markdown for s in sections if s.markdown)]
    (folder / SUMMARY).write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return page


def _write_section(name: str, entry: Entry, material: Material, out: Path) -> _Section:
    """Make a table or a figure and write it both ways."""
    made = entry.make(material)
    if isinstance(made, Table):
        markdown = f"## {entry.title}\n\n{write_markdown(made)}" if entry.brief else ""
        return _Section(Part(name, entry.title, write_html(made)), markdown)
    path = out / FIGURES / f"{name}.png"
    if not any(axes.has_data() for axes in made.axes):
        path.unlink(missing_ok=True)
        return _Section(Part(name, entry.title, f'<p class="note">{_NOTHING}</p>'), "")
    path.parent.mkdir(exist_ok=True)
    png, svg = render(made)
    path.write_bytes(png)
    part = Part(name, entry.title, "", svg, entry.caption)
    picture = f"![{entry.title}]({FIGURES}/{path.name})"
    return _Section(part, f"## {entry.title}\n\n{picture}\n\n{entry.caption}")


def _introduce(results: Results) -> list[str]:
    """Say in a few sentences what ran, where and with what."""
    done = [row for row in results.rows if row["status"] == "done"]
    rounds = {row["round"] for row in done}
    facts = [
        "The tables and figures of N. A. Zaidi, G. I. Webb, M. J. Carman, F. Petitjean (2015), "
        "Deep Broad Learning: Big Models for Big Data, from runs of this library, beside the "
        "numbers that the paper prints.",
        f"{len(done):,} of {len(results.rows):,} runs finished: {len(results.datasets())} data "
        f"sets, {len(results.methods)} methods, up to {len(rounds)} rounds of 2 folds. Methods "
        "are compared on the folds that all of them finished.",
    ]
    known = len(dataset_sizes())
    if len(results.datasets()) < known / 2:
        facts.append(
            f"This is a slice: {len(results.datasets())} of the paper's {known} data sets, which "
            "show that everything runs and say little about its claims."
        )
    for label, key in (("Machine", "machine"), ("Versions", "versions")):
        values = sorted({str(row[key]) for row in results.rows if row.get(key)})
        if values:
            facts.append(f"{label}: {'; '.join(values)}.")
    return facts
