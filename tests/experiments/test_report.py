import re
import sys
from html.parser import HTMLParser

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deepbroad.experiments import learning_curves
from deepbroad.experiments.catalogue import CATALOGUE, check_names, methods_for
from deepbroad.experiments.learning_curves import (
    MODELS,
    read_learning_curves,
    run_learning_curves,
)
from deepbroad.experiments.methods import METHODS
from deepbroad.experiments.report import write_report
from deepbroad.experiments.rows import SCHEMA
from tests.experiments.rows_for_tests import fail, make_row, make_rows

SOME = ["claims", "datasets", "losses-rf", "appendix-rmse", "not-run"]


def _write_rows(folder, rows):
    for row in rows:
        path = folder / row["dataset"] / f"{row['method']}.{row['round']}.{row['fold']}.k.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        complete = dict.fromkeys(SCHEMA.names) | row
        pq.write_table(pa.Table.from_pylist([complete], SCHEMA), path)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reproduction")
    rows = make_rows(5, rounds=1, methods=("DBL2", "DBL3", "RF"))
    _write_rows(folder / "rows", [*rows, fail(make_row("iris", "LR3"), "timeout", "<600> s")])
    page = write_report(folder / "rows", folder / "out", SOME)
    return page, page.read_text(encoding="utf-8")


class _Reader(HTMLParser):
    """Collects what a page links to, and that its tags are closed in order."""

    def __init__(self):
        super().__init__()
        self.open, self.links, self.ids, self.sources = [], [], [], []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.links += [given["href"]] if "href" in given else []
        self.ids += [given["id"]] if "id" in given else []
        self.sources += [given["src"]] if "src" in given else []
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_stands_alone(written):
    reader = _Reader()
    reader.feed(written[1])
    assert reader.open == []
    assert reader.links == [f"#{name}" for name in SOME]
    assert reader.ids == SOME
    assert all(source.startswith("data:image/svg+xml;base64,") for source in reader.sources)
    assert not re.search(r"https?://|<script|<link", written[1])


def test_the_page_escapes_messages(written):
    assert "&lt;600&gt; s" in written[1]
    assert "<600>" not in written[1]


def test_the_summary_shows_its_figures_as_files(written):
    summary = (written[0].parent / "summary.md").read_text(encoding="utf-8")
    pictures = re.findall(r"!\[.*?\]\((.*?)\)", summary)
    assert pictures == ["figures/losses-rf.png"]
    assert all((written[0].parent / picture).exists() for picture in pictures)
    assert "## The paper's claims" in summary
    assert "0.0197 (slip: 0.1970)" in summary
    # Long tables are in the page only.
    assert "## Data sets" not in summary
    assert ">Data sets</h2>" in written[1]


def test_the_page_says_what_ran_and_what_did_not(written):
    assert "42 of 43 runs finished: 7 data sets, 3 methods, up to 1 rounds" in written[1]
    assert "This is a slice: 7 of the paper&#x27;s 77 data sets" in written[1]
    assert "localization" in written[1]
    assert "timeout" in written[1]


def test_the_same_rows_give_the_same_page(written, tmp_path):
    again = write_report(written[0].parent.parent / "rows", tmp_path, SOME)
    assert again.read_text(encoding="utf-8") == written[1]


def test_an_unknown_name_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(ValueError, match="no table or figure nothing; there are claims, datasets"):
        write_report(tmp_path, tmp_path / "out", ["nothing"])
    assert not (tmp_path / "out").exists()


def test_every_entry_can_be_made_of_no_rows(tmp_path):
    tables = [name for name, entry in CATALOGUE.items() if entry.kind == "table"]
    assert write_report(tmp_path / "rows", tmp_path / "out", tables).exists()


def test_a_figure_without_rows_leaves_no_picture(tmp_path):
    stale = tmp_path / "out" / "figures" / "losses-rf.png"
    stale.parent.mkdir(parents=True)
    stale.touch()
    page = write_report(tmp_path / "rows", tmp_path / "out", ["losses-rf", "learning-curves"])
    assert page.read_text(encoding="utf-8").count("Nothing to draw") == 2
    assert not stale.exists()


def test_tables_do_not_import_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    write_report(tmp_path, tmp_path / "out", ["claims", "slips"])
    with pytest.raises(ModuleNotFoundError):
        write_report(tmp_path, tmp_path / "out", ["losses-rf"])


def test_names_come_in_the_reports_order():
    assert check_names(["slips", "claims"]) == ["claims", "slips"]
    assert check_names(None) == list(CATALOGUE)


def test_entries_name_methods_that_exist():
    assert set(methods_for()) <= set(METHODS)
    assert set(MODELS) <= set(METHODS)
    assert methods_for(["datasets"]) == []
    assert methods_for(["scatter-error"]) == ["DBL2", "DBL3", "LR2", "LR3"]


def test_learning_curves_go_on_where_they_were_stopped(tmp_path, monkeypatch):
    seen = []
    first = run_learning_curves(tmp_path, sizes=(50_000,), models=["NB"], test_rows=500)
    assert read_learning_curves(tmp_path) == first
    assert [(p.method, p.n_train, p.repeat) for p in first] == [
        ("NB", 50_000, 0),
        ("NB", 50_000, 1),
    ]
    monkeypatch.setattr(
        learning_curves,
        "_measure_point",
        lambda name, size, repeat, _: first[0]._replace(n_train=size),
    )
    run_learning_curves(
        tmp_path,
        sizes=(50_000, 100_000),
        models=["NB"],
        progress=lambda *counts: seen.append(counts),
    )
    assert seen == [(3, 3)]
    assert len(read_learning_curves(tmp_path)) == 3


def test_learning_curves_that_were_not_run_are_empty(tmp_path):
    assert read_learning_curves(tmp_path) == []
