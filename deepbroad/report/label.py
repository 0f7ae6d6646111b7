"""Names that pages and pictures have room for."""

from typing import Any

AND = " & "
LONGEST = 60
# A part of a name that would be shorter than this tells nothing.
LEAST = 4


def cut(text: Any, longest: int = LONGEST) -> str:
    """Return a text of at most so many characters.

    Of names joined by an ampersand each is cut by itself, so that all can be told apart: short ones
    leave room to long ones.
    """
    text = str(text)
    if len(text) <= longest:
        return text
    parts = text.split(AND)
    room = longest - len(AND) * (len(parts) - 1)
    if room < LEAST * len(parts):
        return cut_end(text, longest)
    lengths = [0] * len(parts)
    ascending = sorted(range(len(parts)), key=lambda place: len(parts[place]))
    for done, place in enumerate(ascending):
        lengths[place] = min(len(parts[place]), room // (len(parts) - done))
        room -= lengths[place]
    return AND.join(map(cut_end, parts, lengths))


def cut_end(text: str, longest: int) -> str:
    """Return the beginning of a text."""
    return text if len(text) <= longest else text[: max(1, longest - 1)] + "…"
