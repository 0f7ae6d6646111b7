"""What the pages of the site and the README show runs as it stands there."""

import re
import sys

import numpy as np
import pytest

from deepbroad.datasets import poker_hand
from deepbroad.measures import measure
from tests.docs.pages import ROOT, read_blocks, read_commands, run_page

DOCS = ROOT / "docs"
PAGES = sorted(p for p in DOCS.rglob("*.md") if p.parent.name not in ("generated", "reproduction"))
# Packages of extras, or that only the checks install, without which a page cannot be run.
NEEDS = {
    "dask.md": ["distributed"],
    "explaining.md": ["matplotlib"],
    "exporting.md": ["onnx", "onnxruntime"],
    "start.md": ["matplotlib"],
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_a_page_does_what_it_says(page, tmp_path, monkeypatch):
    for name in NEEDS.get(page.name, []):
        pytest.importorskip(name, reason=f"{name} is not installed")
    monkeypatch.chdir(tmp_path)
    run_page(page)


def test_the_first_example_tells_far_more_than_class_frequencies():
    names = {}
    exec(read_blocks((DOCS / "index.md").read_text(encoding="utf-8"))[0].text, names)
    model, labels = names["model"], np.arange(10)
    X, y = poker_hand(5_000, seed=9, return_X_y=True)
    frequencies = np.bincount(names["y"], minlength=10) / len(names["y"])
    known = measure(y, np.tile(frequencies, (len(y), 1)), classes=labels, labels=labels)
    found = measure(y, model.predict_proba(X), classes=model.classes_, labels=labels)
    assert found.log_loss < 0.7 * known.log_loss


def test_no_example_fits_a_strength_that_nobody_searched_for():
    shown = [*PAGES, ROOT / "README.md", *(ROOT / "examples").glob("*.py")]
    shown += (ROOT / "deepbroad").rglob("*.py")
    pattern = re.compile(r"DBLClassifier\([^()]*alpha=[\d.]+[^()]*\)\.fit")
    assert [path.name for path in shown if pattern.search(path.read_text("utf-8"))] == []


def test_every_picture_of_a_page_is_there():
    for page in PAGES:
        for part in page.read_text(encoding="utf-8").split("](")[1:]:
            target = part.split(")")[0].split("#")[0]
            if target and "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} names {target}"


def test_blocks_and_commands_are_found():
    text = "Text\n```python\na = 1\n```\n\n```sh\n$ deepbroad fit \\\n t.csv  # so\npip x\n```\n"
    python, shell = read_blocks(text)
    assert (python.language, python.text, python.line) == ("python", "a = 1\n", 3)
    assert read_commands(shell.text) == [["fit", "t.csv"]]


@pytest.mark.parametrize("text", ["```python\n1 / 0\n```\n", "```python\n>>> 1\n2\n```\n"])
def test_a_block_that_does_otherwise_is_noticed(text):
    with pytest.raises((ZeroDivisionError, AssertionError)):
        run_page(DOCS / "index.md", text)
    assert "__page__" not in sys.modules


def test_a_command_that_fails_is_noticed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError, match=r"nothing\.csv"):
        run_page(DOCS / "index.md", "```sh\ndeepbroad fit nothing.csv --target y\n```\n")
