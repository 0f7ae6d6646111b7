"""Lists of names in messages, and the name that was probably meant."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

# Names that a message lists; more are counted.
MOST_LISTED = 20


def list_names(names: Iterable[Any], most: int = MOST_LISTED) -> str:
    """Return names with commas between them, and how many more there are.

    Examples
    --------
    >>> list_names(["age", "job", 3], most=2)
    "'age', 'job' and 1 more"
    """
    names = list(names)
    shown = ", ".join(map(repr, names[:most])) or "none"
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"


def suggest(name: Any, known: Sequence[Any], kind: str = "columns") -> str:
    """Return sentences on the names that there are, for a message about one that is not there.

    Parameters
    ----------
    name : object
        What was asked for; None if that is no name.
    known : sequence
        What there is.
    kind : str, default="columns"
        What `known` are, in the plural.

    Examples
    --------
    >>> suggest("Job", ["age", "job"])
    "Did you mean 'job'? All columns: 'age', 'job'."
    """
    found = [] if name is None else find_nearest(name, known)
    meant = f"Did you mean {found[0]!r}? " if found else ""
    return f"{meant}All {kind}: {list_names(known)}."


def find_nearest(name: Any, known: Sequence[Any]) -> list[Any]:
    """Return the known name that is most like another, in a list that is empty if none is."""
    # Whether letters are capitals hardly ever tells names apart.
    by_text = {str(one).casefold(): one for one in reversed(known)}
    return [by_text[text] for text in get_close_matches(str(name).casefold(), by_text, n=1)]
