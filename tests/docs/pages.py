"""Reads Markdown pages and runs what they show, in the order in which it stands.

Blocks of Python share one name space per page; those with prompts are checked against their output
as doctests are. Blocks of shell are run as far as they call `deepbroad`.
"""

import doctest
import re
import shlex
from pathlib import Path
from typing import NamedTuple

from typer.testing import CliRunner

import deepbroad
from deepbroad.cli import app

ROOT = Path(deepbroad.__file__).parent.parent
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


class Block(NamedTuple):
    """A fenced block of a page: its language, its text and the line that it begins at."""

    language: str
    text: str
    line: int


def read_blocks(text):
    """Return the fenced blocks of a page."""
    return [
        Block(match[1], match[2], text.count("\n", 0, match.start(2)) + 1)
        for match in FENCE.finditer(text)
    ]


def read_commands(text):
    """Return the arguments of each `deepbroad` command in a block of shell."""
    lines = text.replace("\\\n", " ").splitlines()
    words = [shlex.split(line.removeprefix("$ "), comments=True) for line in lines]
    return [line[1:] for line in words if line[:1] == ["deepbroad"]]


def run_page(path, text=None):
    """Run the blocks of a page in the current folder; AssertionError where one does otherwise."""
    names = {"__name__": "__page__"}
    for block in read_blocks(path.read_text(encoding="utf-8") if text is None else text):
        place = f"{path.name}, line {block.line}"
        if block.language in ("python", "pycon"):
            _run_python(block, names, place, path)
        elif block.language in ("", "sh", "bash", "console"):
            for arguments in read_commands(block.text):
                done = CliRunner().invoke(app, arguments)
                assert done.exit_code == 0, f"{place}: {arguments}: {done.output}"


def _run_python(block, names, place, path):
    """Run a block of Python, comparing with the output if it shows one."""
    if not block.text.startswith(">>>"):
        # Blank lines before, so that a traceback has the line of the page.
        code = compile("\n" * (block.line - 1) + block.text, str(path), "exec")
        exec(code, names)
        return
    test = doctest.DocTestParser().get_doctest(block.text, names, place, str(path), block.line)
    said = []
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    runner.run(test, out=said.append, clear_globs=False)
    names.update(test.globs)
    assert runner.failures == 0, f"{place}:\n{''.join(said)}"
