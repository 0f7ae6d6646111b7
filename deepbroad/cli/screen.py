"""The terminal: what people read there is free of control characters, whatever tables hold.

Commands print by a `Screen` alone. Only results that are data, such as CSV, go around it.
"""

import os
import sys
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from deepbroad.data.printable import printable

# What a shell says of a program that SIGPIPE ended, as it ends most of them under `head`.
UNREAD = 128 + 13


class Screen(Console):
    """A console on standard output, or on standard error, that shows control characters as escapes.

    If standard output is closed, it leaves it to the command what to do.
    """

    def __init__(self, *, stderr: bool = False, quiet: bool = False, **options: Any) -> None:
        # A column may well be named ":smile:".
        super().__init__(stderr=stderr, quiet=quiet, emoji=False, **options)

    def render_str(self, text: str, *args: Any, **options: Any) -> Text:
        """Return a string as text; escaped before rich measures it, so that tables stay aligned."""
        return super().render_str(printable(text, lines=True), *args, **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Turn anything into what is printed; all text passes through here."""
        for text, style, control in super().render(renderable, options):
            # Those are rich's own, such as moves of the cursor.
            yield Segment(text if control else printable(text, lines=True), style, control)

    def on_broken_pipe(self) -> None:
        """Raise the error that rich would turn into an exit code of its own."""
        if self.stderr:
            super().on_broken_pipe()
        raise BrokenPipeError


def cell(text: str, style: str = "") -> Text:
    """Return a text for one cell or line; names in it are no markup and have no ends of lines."""
    return Text(printable(text), style=style)


def abandon_output() -> None:
    """Send what is still to be printed nowhere, so that Python's last flush does not fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
