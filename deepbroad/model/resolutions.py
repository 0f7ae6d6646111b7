"""Terms over attributes that own several code columns: each order of tuples at several levels."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import comb, floor, log2

import numpy as np

from deepbroad.data.pyramid import Place, count_levels, list_places
from deepbroad.model.generative import evidence_shares
from deepbroad.model.terms import NONE, Terms, list_tuples, stack_tuples

# Bins of a number at most, as a power of two, in tuples of one, two and three attributes or more.
MAX_LEVELS = (8, 5, 3)
# Rows of a cell, as a power of two, that the finest tuples of an order have if rows were spread
# evenly.
CELL_BITS = 2.0
# Shifted bins of single numbers and of pairs may have finer cuts than the finest of their levels,
# up to so many terms: more would take too long to choose among. Fused tables of deeper tuples would
# be too large.
FREELY_SHIFTED = 2
MAX_FREELY_SHIFTED = 5_000
# Their cuts are among those of this level.
FREE_CUTS = 5
# Tuples that hold a category of more values than a number has bins in pairs come unshifted: each
# copy would have as many cells as they have values, few of them with rows enough to tell shifts
# apart.
MAX_SHIFTED_VALUES = 1 << MAX_LEVELS[1]
# In more rows than these all tuples come unshifted: fine bins have rows enough there.
MAX_SHIFTED_ROWS = 100_000


@dataclass(frozen=True, eq=False)
class Resolutions:
    """Which attribute each code column belongs to; columns of one attribute stand together.

    The columns of a number are its levels 1, 2, ..., coarsest first, each but the finest ones also
    shifted, as `list_places` has them; a category has one column, which serves at every level, and
    so does the finest of an attribute at the levels beyond it.

    Parameters
    ----------
    attributes : ndarray of shape (n_columns,), int64
        Ascending.
    cardinalities : ndarray of shape (n_columns,), int64
    n_rows : float
        Rows that terms are for.
    """

    attributes: np.ndarray
    cardinalities: np.ndarray
    n_rows: float = 0.0

    @cached_property
    def firsts(self) -> np.ndarray:
        """First code column of each attribute, and after the last one, (a + 1,)."""
        starts = np.flatnonzero(np.diff(self.attributes, prepend=-1))
        return np.append(starts, len(self.attributes))

    def last(self, attribute: int) -> int:
        """Return the last code column of an attribute: a number's finest, or a category's only."""
        return int(self.firsts[attribute + 1]) - 1

    @property
    def n_attributes(self) -> int:
        """How many attributes there are."""
        return len(self.firsts) - 1

    @cached_property
    def levels(self) -> np.ndarray:
        """How many levels each attribute has, (a,)."""
        return np.array([count_levels(columns) for columns in np.diff(self.firsts).tolist()])

    @property
    def n_levels(self) -> int:
        """How many levels the attribute with most of them has."""
        return int(self.levels.max())

    def columns_at(self, level: int, quarters: int = 0) -> np.ndarray:
        """Return the code column of each attribute at a level from 1, (a,).

        An attribute that has no such level, or not so shifted, has its nearest one.
        """
        found = np.empty(self.n_attributes, np.int64)
        for levels in np.unique(self.levels):
            places = list_places(int(levels))
            wanted = Place(level, quarters)
            place = wanted if wanted in places else Place(min(level, int(levels)), 0)
            chosen = self.levels == levels
            found[chosen] = self.firsts[:-1][chosen] + places.index(place)
        return found

    def _places(self, order: int, levels: int, count: int) -> list[Place]:
        """Return the levels and shifts of so many tuples of an order with so many levels."""
        free = [
            place
            for place in list_places(self.n_levels)
            if place.level <= levels and (not place.quarters or place.cut_level <= FREE_CUTS)
        ]
        if order > 1 and self.n_rows > MAX_SHIFTED_ROWS:
            return [place for place in free if not place.quarters]
        many = order > FREELY_SHIFTED or (order > 1 and count * len(free) > MAX_FREELY_SHIFTED)
        return list(list_places(min(levels, self.n_levels))) if many else free

    def count_terms(self, levels: tuple[int, ...]) -> int:
        """Return how many terms `terms` lists at most."""
        counts = [comb(self.n_attributes, order) for order in range(1, len(levels) + 1)]
        return sum(
            count * len(self._places(order, most, count))
            for order, (most, count) in enumerate(zip(levels, counts, strict=True), start=1)
        )

    def tuples(
        self, order: int, levels: int, among: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the tuples of code columns of an order, (n, order), and the level of each, (n,).

        Each tuple has its attributes at the same level, from 1 to `levels`, and alike shifted, but
        for those with a category of many values, which are not shifted. A tuple that a level has in
        common with a coarser one, or shifted with unshifted, comes once, and none has a column of
        one value only.
        `among` are the tuples of attributes, (m, order), all of them by default.
        """
        if among is None:
            among = list_tuples(self.n_attributes, order)
        found, at = [], []
        values = np.where(self.levels > 1, 0, self.cardinalities[self.firsts[:-1]])
        is_wide = (values > MAX_SHIFTED_VALUES)[among].any(axis=1)
        for place in sorted(self._places(order, levels, len(among))):
            members = self.columns_at(*place)[among]
            kept = (self.cardinalities[members] > 1).all(axis=1)
            if place.quarters:
                kept &= ~is_wide
            found.append(members[kept])
            at.append(np.full(np.count_nonzero(kept), place.level))
        tuples, firsts = np.unique(np.concatenate(found), axis=0, return_index=True)
        return tuples, np.concatenate(at)[firsts]

    def terms(
        self, levels: tuple[int, ...], among: Mapping[int, np.ndarray] | None = None
    ) -> "LevelledTerms":
        """Return the tuples of orders 1, 2, ..., each up to its number of levels.

        `among` has the tuples of attributes of those orders that do not have all.
        """
        found = [
            self.tuples(order, most, (among or {}).get(order))
            for order, most in enumerate(levels, start=1)
        ]
        if not any(len(tuples) for tuples, _ in found):
            # Nothing but columns of one value: a model has a table all the same.
            found[0] = np.zeros((1, 1), np.int64), np.ones(1, np.int64)
        members = stack_tuples([tuples for tuples, _ in found])
        return LevelledTerms(
            Terms(members, np.asarray(self.cardinalities, np.int64)),
            np.concatenate([level for _, level in found]),
            self.attributes,
        )


@dataclass(frozen=True, eq=False)
class LevelledTerms:
    """Terms, and the level of the numbers in each, (n_terms,), 1 the coarsest.

    `attributes` are those that the code columns belong to.
    """

    terms: Terms
    levels: np.ndarray
    attributes: np.ndarray

    @cached_property
    def copies(self) -> np.ndarray:
        """How many terms have the same attributes at the same level, differently shifted."""
        places = np.column_stack([self._owners, self.levels])
        _, which, times = np.unique(places, axis=0, return_inverse=True, return_counts=True)
        return times[which.ravel()]

    @property
    def _owners(self) -> np.ndarray:
        """The attributes of each term, (n_terms, depth), filled up with NONE."""
        return np.append(self.attributes, NONE)[self.terms.members]

    @property
    def shares(self) -> np.ndarray:
        """What `partition_weights` are multiplied by, (n_terms,); see `evidence_shares`."""
        return evidence_shares(self.terms, self.attributes)


def choose_levels(n_rows: float, depth: int) -> tuple[int, ...]:
    """Return how many levels the orders 1..depth have for so many rows.

    So many that the finest tuples would still have 2^CELL_BITS rows each, up to MAX_LEVELS.
    """
    bits = log2(max(n_rows, 2.0)) - CELL_BITS
    most = [*MAX_LEVELS, *[MAX_LEVELS[-1]] * depth][:depth]
    return tuple(max(1, min(limit, floor(bits / k))) for k, limit in enumerate(most, start=1))
