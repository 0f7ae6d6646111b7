"""The README, followed from top to bottom in an empty folder.

With DEEPBROAD_LITERALLY=1 in the environment it runs to the digit as printed, which takes a minute;
else with fewer rows. Tables that a command reads and no line before it made are the reader's own:
here they are surveys.
"""

import os
import re
import runpy
import tomllib

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from tests.docs.pages import ROOT, read_blocks, read_commands, run_page

README = ROOT / "README.md"
SMALLER = {"100_000": "6_000", "50_000": "3_000"}


@pytest.fixture
def text():
    """The README's text, its numbers of rows smaller."""
    found = README.read_text(encoding="utf-8")
    if not os.environ.get("DEEPBROAD_LITERALLY"):
        for number, smaller in SMALLER.items():
            found = found.replace(number, smaller)
    return found


def test_every_block_and_command_of_the_readme_works(text, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    monkeypatch.chdir(tmp_path)
    commands = [c for block in read_blocks(text) for c in read_commands(block.text)]
    assert commands
    bring_tables(commands, tmp_path)
    run_page(README, text)


def bring_tables(commands, folder):
    """Write the tables that commands read, but for those that an earlier command writes."""
    survey = runpy.run_path(str(ROOT / "examples" / "survey.py"))["draw_survey"](1000)
    target = next((c[c.index("--target") + 1] for c in commands if "--target" in c), "income")
    table = survey.rename_columns([*survey.column_names[:-1], target])
    made = {c[i + 1] for c in commands for i, word in enumerate(c) if word in ("--out", "-o")}
    for name in {word for c in commands for word in c[1:] if word not in made}:
        if name.endswith(".parquet"):
            pq.write_table(table, folder / name)
        elif name.endswith(".csv"):
            pyarrow.csv.write_csv(table, folder / name)
        elif name.endswith((".arrow", ".feather")):
            with pa.ipc.new_file(str(folder / name), table.schema) as file:
                file.write_table(table)


def test_pages_name_extras_and_targets_that_exist():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for page in [README, ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        text = page.read_text(encoding="utf-8")
        for names in re.findall(r"[\".]\[([a-z,]+)\]\"", text):
            assert set(names.split(",")) <= project["optional-dependencies"].keys(), page
        for name in re.findall(r"(?:^|`)make ([a-z]+)", text, re.MULTILINE):
            assert name in targets, f"{page.name}: make {name}"
