"""Tilings of the most telling attributes, as a search among those of the automatic choice."""

import numpy as np

from deepbroad.engine.depth_search import DepthSearch, Found
from deepbroad.engine.shortlist import draw_tiled
from deepbroad.model.strengths import Strengths

# The order of tuples that are tiled, and the rows above which that is tried: in fewer, no cell of
# several numbers has neighbours enough.
TILED_ORDER = 3
TILED_ROWS = 3_000
# Attributes whose tuples are tiled, and how many in more rows than these: an attribute that adds
# little to some rows adds to many (covertype).
TILED_ATTRIBUTES = 6
MANY_ROWS = 100_000
MANY_ATTRIBUTES = 7


def can_tile(search: DepthSearch) -> bool:
    """Tell whether there are rows and numbers enough, and no tuples were asked for."""
    n_numbers = int(np.count_nonzero(search.resolutions.levels > 1))
    is_large = search.sample.n_rows > TILED_ROWS and n_numbers > 1
    return is_large and not search.exact and search.among is None


def search_tilings(search: DepthSearch, best: Found, strengths: Strengths) -> Found | str:
    """Return what is found with tilings beside lower orders, or why nothing was tried."""
    is_many = search.source.n_weighted > MANY_ROWS
    tuples = draw_tiled(
        search.sample,
        search.held[0],
        TILED_ORDER,
        MANY_ATTRIBUTES if is_many else TILED_ATTRIBUTES,
        search.redundant,
        search.threads,
    )
    if not len(tuples):
        return ""
    if search.is_late:
        return "time"
    return search.run(TILED_ORDER, strengths, best.tuples.shortlists, tiled=tuples)
