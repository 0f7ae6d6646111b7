"""Which terms have compact tables: cells for the joint values that rows show alone."""

import numpy as np

from deepbroad.data.source import Source
from deepbroad.engine.sampling import MAX_SPACE, estimate_seen
from deepbroad.kernels.threads import Threads
from deepbroad.kernels.vector import lane_count
from deepbroad.model.terms import Terms

# A term of so few joint values is dense however few rows there are.
SMALL_TABLE = 4096
# A column of more values than this is not fused with others.
LARGE_CARDINALITY = 256
# Bytes of dense cells beyond which terms may be compact for the memory alone.
LARGE_MODEL = 1 << 30
# Bytes of a row's code in a compact term.
CODE = 4


def must_be_compact(terms: Terms, rows: int, small: int | None = None) -> np.ndarray:
    """Tell which terms are compact whatever rows show, (n_terms,) bool.

    Those whose joint values are many more than rows can show, and those with a column of so many
    values that fusing it with others would make tables too large. None of up to `small` joint
    values (`SMALL_TABLE` unless told) is.
    """
    small = SMALL_TABLE if small is None else small
    wide = np.append(terms.cardinalities, 1)[terms.members].max(axis=1) > LARGE_CARDINALITY
    sparse = terms.spaces > min(max(small, 2 * rows), MAX_SPACE)
    return sparse | (wide & (terms.orders > 1) & (terms.spaces > small))


def cell_bytes(n_classes: int) -> int:
    """Return about what a cell takes in a fit: counts, scores and scale, and two tables."""
    return 12 * n_classes + 8 * lane_count(n_classes - 1)


def choose_compact(
    terms: Terms, source: Source, threads: Threads, small: int | None = None
) -> np.ndarray:
    """Tell which terms get compact tables, (n_terms,) bool.

    In a large model also those whose cells would take far more memory than compact ones.
    """
    compact = must_be_compact(terms, source.n_rows, small)
    per_cell = cell_bytes(source.n_classes)
    spaces = np.where(compact, 0, terms.spaces).astype(np.float64)
    if spaces.sum() * per_cell <= LARGE_MODEL:
        return compact
    worth = np.flatnonzero(spaces * per_cell > 2 * CODE * source.n_rows)
    if len(worth):
        held = CODE * source.n_rows + estimate_seen(terms, worth, source, threads) * per_cell
        compact[worth[2 * held < spaces[worth] * per_cell]] = True
    return compact
