"""Errors as people want them: a sentence or two and an exit code, no traceback unless asked for."""

import functools
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import typer

from deepbroad.cli.screen import UNREAD, Screen, abandon_output
from deepbroad.cli.table import name_pipe

# What a user can do something about; anything else is a bug, and its traceback is wanted.
EXPECTED = (ValueError, TypeError, OSError, MemoryError, ImportError, FloatingPointError)

Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but results and errors.")]

Command = TypeVar("Command", bound=Callable[..., Any])


def plainly(command: Command) -> Command:
    """Make a command print expected errors as one message and leave with exit code 1.

    Warnings are printed the same way, once each. A command that has a parameter `debug` which is
    true shows tracebacks too. Where nobody reads what is printed any more, as under `head`, it ends
    silently.
    """

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> None:
        console = Screen(stderr=True)
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.showwarning = functools.partial(_show_warning, console)
            try:
                command(*args, **options)
                sys.stdout.flush()
            except BrokenPipeError:
                abandon_output()
                raise typer.Exit(UNREAD) from None
            except KeyboardInterrupt:
                console.print("Interrupted.", style="red")
                raise typer.Exit(130) from None
            except EXPECTED as error:
                if options.get("debug"):
                    console.out(traceback.format_exc(), end="", highlight=False)
                else:
                    message = name_pipe(str(error)) or type(error).__name__
                    # Paths in a message are to be copied: lines are left for the screen to wrap.
                    console.print(
                        f"Error: {message}",
                        style="red",
                        markup=False,
                        highlight=False,
                        soft_wrap=True,
                    )
                raise typer.Exit(1) from None

    return run  # type: ignore[return-value]


def _show_warning(console: Screen, message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning without the line of code that it came from."""
    console.print(
        f"Warning: {name_pipe(str(message))}", style="yellow", markup=False, highlight=False
    )
