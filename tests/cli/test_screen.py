"""Commands whose output nobody reads to its end, or that show what might control a terminal."""

import io
import json
import os
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.table import Table
from rich.text import Text

from deepbroad.cli.screen import UNREAD, Screen, cell
from deepbroad.data.printable import printable
from deepbroad.persist.container import Stamp, pack_file, unpack_file
from tests.cli.commands import loans, run, succeed


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("loans")
    loans().to_csv(folder / "t.csv", index=False)
    fit = ("fit", folder / "t.csv", "--target", "paid", "--model", "anje", "-n", 1)
    succeed(*fit, "-o", folder / "m.dbl")
    return folder


@pytest.mark.parametrize(
    "arguments", [["predict", "m.dbl", "t.csv"], ["info", "m.dbl"], ["export", "m.dbl"]]
)
def test_commands_end_silently_when_nobody_reads(folder, arguments):
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "deepbroad", *arguments]
    done = subprocess.run(command, cwd=folder, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (done.returncode, done.stderr) == (UNREAD, "")


HOSTILE = "\x1b[31mX\x1b]0;title\x07\x9b5m\x7f\u202e[red]:smile:\n"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A table and a model whose classes, values and columns have control characters."""
    folder = tmp_path_factory.mktemp("hostile")
    table = loans().rename(columns={"job": f"job{HOSTILE}", "paid": f"paid{HOSTILE}"})
    for column in (f"job{HOSTILE}", f"paid{HOSTILE}"):
        table[column] += HOSTILE
    pq.write_table(pa.Table.from_pandas(table), folder / "t.parquet")
    fit = ("fit", folder / "t.parquet", "--target", f"paid{HOSTILE}", "--model", "anje", "-n", 2)
    result = run(*fit, "-o", folder / "m.dbl")
    assert result.exit_code == 0
    assert_clean(result)
    return folder


def assert_clean(result):
    """Nothing of what a command printed controls a terminal; escapes tell what there was."""
    printed = result.output.replace("\n", "")
    assert printed == printable(printed)
    assert "X" in printed
    assert "\\x1b" in printed


@pytest.mark.parametrize(
    "arguments",
    [
        ["info", "m.dbl"],
        ["explain", "m.dbl"],
        ["explain", "m.dbl", "t.parquet", "--row", 3],
        ["explain", "m.dbl", "--class", f"yes{HOSTILE}"],
        ["explain", "m.dbl", "--class", "none"],
        ["evaluate", "t.parquet", "--target", "none"],
        ["evaluate", "t.parquet", "--target", f"paid{HOSTILE}", "--numeric", f"job{HOSTILE}"],
        ["predict", "m.dbl", "other.csv"],
        ["predict", "m.dbl", "other.csv", "--debug"],
        ["fit", "t.parquet", "--target", "none", "--out", "other.dbl"],
        ["info", "stranger.dbl"],
        ["info", "stranger.dbl", "--debug"],
    ],
)
def test_control_characters_of_tables_do_not_reach_the_terminal(hostile, arguments, monkeypatch):
    monkeypatch.chdir(hostile)
    (hostile / "other.csv").write_text("age\n1\n")
    _, tensors = unpack_file((hostile / "m.dbl").read_bytes(), version="")
    (hostile / "stranger.dbl").write_bytes(pack_file(Stamp("0", f"Model{HOSTILE}"), tensors))
    assert_clean(run(*arguments))


def test_json_of_a_model_has_its_names_and_no_control_character(hostile):
    printed = succeed("info", hostile / "m.dbl", "--json").strip()
    assert printed == printable(printed)
    assert json.loads(printed)["classes"] == [f"no{HOSTILE}", f"yes{HOSTILE}"]


def test_a_table_is_as_wide_as_its_escapes():
    file = io.StringIO()
    table = Table(box=None, pad_edge=False)
    table.add_column("name")
    table.add_column("value")
    table.add_row("\x1b[31m", "1")
    table.add_row(cell("a\nb[red]"), "2")
    Screen(file=file, width=40).print(table)
    lines = [line.rstrip() for line in file.getvalue().splitlines()]
    assert lines == ["name       value", "\\x1b[31m   1", "a\\nb[red]  2"]


def test_text_that_was_not_escaped_before_is_escaped_when_it_is_printed():
    file = io.StringIO()
    Screen(file=file, width=40).print(Text("a\x1bb"), Text("c\x9bd"), sep="\n")
    assert file.getvalue() == "a\\x1bb\nc\\x9bd\n"


def test_what_moves_the_cursor_still_does():
    file = io.StringIO()
    screen = Screen(file=file, force_terminal=True, width=40)
    with screen.status("a\x1b]0;title\x07"):
        pass
    assert "\x1b[?25l" in file.getvalue()
    assert "\x1b]0;" not in file.getvalue()
