"""Which columns the user calls categorical: names, indices, a mask, "auto" or None."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from deepbroad.data.names import suggest


def select_categorical(chosen: Any, names: Sequence[str]) -> np.ndarray | None:
    """Return a mask over `names`, or None for "auto"; ValueError that lists what is known."""
    if isinstance(chosen, str):
        if chosen == "auto":
            return None
        raise _refusal(f"is {chosen!r}, which is no list (write [{chosen!r}])", names)
    mask = np.zeros(len(names), dtype=bool)
    if chosen is None:
        return mask
    if np.ndim(chosen) != 1:
        raise _refusal(f"has {np.ndim(chosen)} dimensions instead of one,", names)
    items = [item.item() if isinstance(item, np.generic) else item for item in chosen]
    if items and all(isinstance(item, bool) for item in items):
        if len(items) != len(names):
            raise _refusal(f"is a mask of length {len(items)} for {len(names)} columns", names)
        return np.array(items)
    for item in items:
        mask[_position(item, names)] = True
    return mask


def _position(item: Any, names: Sequence[str]) -> int:
    """Return the index of the column that `item` stands for."""
    if isinstance(item, str):
        if item in names:
            return names.index(item)
        raise _refusal(f"names {item!r}, which is no column", names, item)
    if isinstance(item, int) and not isinstance(item, bool):
        if 0 <= item < len(names):
            return item
        raise _refusal(f"holds the index {item}, but there are {len(names)} columns", names)
    raise _refusal(f"holds {item!r}, which is neither a name nor an index", names)


def _refusal(what: str, names: Sequence[str], meant: str | None = None) -> ValueError:
    """Return an error that says what is wrong and which columns there are, one that was `meant`."""
    return ValueError(
        f'categorical_features {what}; it may be "auto", None, or a list of names, of indices or '
        f"of booleans. {suggest(meant, names)}"
    )
