"""The terms of a depth, numbers at as many levels as the rows of a source bear."""

from collections.abc import Mapping
from math import inf

import numpy as np

from deepbroad.data.source import Source
from deepbroad.engine.footprint import listed_bytes
from deepbroad.engine.provision import MAX_LISTED
from deepbroad.model.resolutions import LevelledTerms, Resolutions, choose_levels

# A depth of more terms than this is not tried.
MAX_TERMS = 400_000


def list_terms(
    source: Source,
    depth: int,
    *,
    exact: bool,
    among: Mapping[int, np.ndarray] | None = None,
    limit: float = inf,
) -> LevelledTerms:
    """Return the terms of a depth, numbers at as many levels as the rows of a source bear.

    MemoryError if the list alone takes more than `limit` bytes, or more than anyone has.
    """
    chosen = dict(among or {})
    if exact:
        chosen |= {k: np.empty((0, k), np.int64) for k in range(1, depth)}
    rows = source.n_weighted
    resolutions = Resolutions(source.attributes, source.cardinalities, rows)
    levels = choose_levels(rows, depth)
    count = resolutions.count_terms(levels) if among is None else 0
    if count > MAX_LISTED or listed_bytes(count, depth, 0) > limit:
        advice = "Raise memory_limit, use fewer columns, or restrict the tuples with `terms`"
        raise MemoryError(
            f"Tuples of up to n={depth} attributes number {count:,}, all resolutions of numbers "
            "counted, and their list alone is too long for the memory that there is. "
            f"{advice}{', or lower n' if depth > 1 else ''}."
        )
    return resolutions.terms(levels, chosen)


def has_many_terms(source: Source, depth: int) -> bool:
    """Tell whether a depth has too many terms to be tried."""
    rows = source.n_weighted
    resolutions = Resolutions(source.attributes, source.cardinalities, rows)
    return resolutions.count_terms(choose_levels(rows, depth)) > MAX_TERMS
