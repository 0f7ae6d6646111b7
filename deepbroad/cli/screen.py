"""Standard output for people, and how a command ends when nobody reads it any more."""

import os
import sys

from rich.console import Console

# What a shell says of a program that SIGPIPE ended, as it ends most of them under `head`.
UNREAD = 128 + 13


class Screen(Console):
    """A console on standard output that leaves it to the command what to do when that is closed."""

    def on_broken_pipe(self) -> None:
        """Raise the error that rich would turn into an exit code of its own."""
        raise BrokenPipeError


def abandon_output() -> None:
    """Send what is still to be printed nowhere, so that Python's last flush does not fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
