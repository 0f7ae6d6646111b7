"""Commands whose output nobody reads to its end."""

import os
import subprocess
import sys

import pytest

from deepbroad.cli.screen import UNREAD
from tests.cli.commands import loans, succeed


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
