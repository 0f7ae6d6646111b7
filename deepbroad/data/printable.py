"""Text from tables and files as a terminal may show it."""

import re

# Controls (C0, DEL, C1), separators of lines and paragraphs, embeddings, overrides and isolates of
# the direction of writing, and halves of surrogate pairs, which cannot be encoded.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_CONTROLS_IN_LINES = re.compile(_CONTROLS.pattern.replace("\x00-\x1f", "\x00-\x09\x0b-\x1f"))


def printable(text: str, *, lines: bool = False) -> str:
    r"""Return a text whose control characters are written as escapes.

    A name from somebody else's file could otherwise recolour a terminal, rename its window, or
    show letters in another order than they have.

    Parameters
    ----------
    text : str
    lines : bool, default=False
        Whether the text has lines of its own, whose ends stay.

    Examples
    --------
    >>> print(printable("yes\x1b[31m"))
    yes\x1b[31m
    """
    controls = _CONTROLS_IN_LINES if lines else _CONTROLS
    return controls.sub(lambda found: repr(found[0])[1:-1], text)
