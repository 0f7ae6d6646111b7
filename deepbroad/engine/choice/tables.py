"""Candidate tables: tuples of features, numbers at several resolutions."""

from collections.abc import Sequence
from math import comb

import numpy as np

from deepbroad.data.pyramid import Place
from deepbroad.model.resolutions import MAX_LEVELS, LevelledTerms, Resolutions, choose_levels
from deepbroad.model.terms import NONE, Terms, list_tuples, stack_tuples

# Shifts of bins, in quarters of a bin, that a model has beside unshifted ones.
SHIFTS = (1, 2, 3)
# The cuts of shifted bins are among those of these levels, in tables of one, two and more features:
# tables of the same features then have a grid of at most so fine bins in common, and one look-up.
FINEST_CUTS = MAX_LEVELS


class Candidates:
    """Lists the tables of an order that a model may have.

    Parameters
    ----------
    attributes, cardinalities : ndarray of shape (n_columns,)
        The feature of each code column, and its number of values.
    rows : float
        Rows that a fold trains on: resolutions are as fine as these bear.
    shifted : bool
        Whether numbers also have bins that are shifted.
    searched : sequence of int
        The shifts that the search has already: strengths that are good for few are good for all.
    """

    def __init__(
        self,
        attributes: np.ndarray,
        cardinalities: np.ndarray,
        rows: float,
        *,
        shifted: bool,
        searched: Sequence[int],
    ) -> None:
        self._resolutions = Resolutions(attributes, cardinalities)
        self._attributes, self._cardinalities = attributes, np.asarray(cardinalities, np.int64)
        self._rows, self._is_shifted = rows, shifted
        self.searched = tuple(searched) if shifted else ()

    @property
    def n_features(self) -> int:
        """How many features there are."""
        return self._resolutions.n_attributes

    def levels(self, order: int) -> int:
        """Return how many resolutions numbers have in tables of an order."""
        return choose_levels(self._rows, order)[-1]

    def tuples(
        self, order: int, most: int, kept: Sequence[tuple[int, ...]] | None = None
    ) -> np.ndarray:
        """Return tuples of features: all of an order, or extensions of those `kept` one below.

        Beyond single features they have `most` tables at most. `kept` has the best first, whose
        extensions come first; None are those that this lists one below.
        """
        if order == 1:
            return list_tuples(self.n_features, 1)
        if comb(self.n_features, order) <= most:
            found = list_tuples(self.n_features, order)
            if self._count_levels(found).sum() <= most:
                return found
        if kept is None:
            kept = [tuple(own) for own in self.tuples(order - 1, most).tolist()]
        rank = {lower: place for place, lower in enumerate(kept)}
        grown: dict[tuple[int, ...], int] = {}
        for lower, place in rank.items():
            if len(grown) >= most:
                break
            for feature in set(range(self.n_features)).difference(lower):
                grown.setdefault(tuple(sorted((*lower, feature))), place)
        best = sorted(grown, key=lambda t: (grown[t], t))
        found = np.array(best, np.int64).reshape(-1, order)
        found = found[: int(np.searchsorted(np.cumsum(self._count_levels(found)), most, "right"))]
        return found[np.lexsort(found.T[::-1])]

    def _count_levels(self, tuples: np.ndarray) -> np.ndarray:
        """Return at how many resolutions each tuple of features comes."""
        deepest = self._resolutions.levels[tuples].max(axis=1)
        return np.minimum(deepest, self.levels(tuples.shape[1]))

    def unshifted(self, tuples: np.ndarray) -> LevelledTerms:
        """Return the tables of tuples of features at each resolution that rows bear."""
        order = tuples.shape[1]
        found, levels = [np.empty((0, order), np.int64)], [np.empty(0, np.int64)]
        for level in range(1, self.levels(order) + 1):
            members = self._resolutions.columns_at(level)[tuples]
            found.append(members)
            levels.append(np.full(len(members), level))
        return self._unique(np.concatenate(found), np.concatenate(levels))

    def first_feature(self) -> LevelledTerms:
        """Return one table of one cell: a model has a table though no feature has two values."""
        return self._levelled(np.zeros((1, 1), np.int64), np.ones(1, np.int64))

    def with_shifts(
        self, tables: LevelledTerms, shifts: Sequence[int] | None = None
    ) -> LevelledTerms:
        """Return tables together with those whose bins are shifted, numbers in a table alike."""
        owners, orders = features_of(tables), tables.terms.orders
        shifts = self.searched if shifts is None else shifts
        found, levels = [tables.terms.members], [tables.levels]
        for quarters in shifts if self._is_shifted else ():
            for level in np.unique(tables.levels).tolist():
                is_fine = Place(level, quarters).cut_level > np.array(FINEST_CUTS)
                chosen = (tables.levels == level) & ~is_fine[np.minimum(orders, len(is_fine)) - 1]
                columns = np.append(self._resolutions.columns_at(level, quarters), NONE)
                found.append(columns[owners[chosen]])
                levels.append(tables.levels[chosen])
        return self._unique(np.concatenate(found), np.concatenate(levels))

    def spread(
        self, tables: LevelledTerms, strength: np.ndarray
    ) -> tuple[LevelledTerms, np.ndarray]:
        """Return tables with all their shifted copies, which share the variance of those given."""
        if tables.terms.spaces.max() == 1:
            return tables, strength
        spread = self.with_shifts(tables, SHIFTS)
        variance: dict[tuple[int, ...], float] = {}
        for key, value in zip(list_keys(tables), strength.tolist(), strict=True):
            variance[key] = variance.get(key, 0.0) + 1.0 / value
        shared = np.array([variance[key] for key in list_keys(spread)])
        return spread, spread.copies / shared

    def _unique(self, members: np.ndarray, levels: np.ndarray) -> LevelledTerms:
        """Return tables without repetitions, and without columns of a single value."""
        values = np.append(self._cardinalities, 2)[members]
        members, levels = members[(values > 1).all(axis=1)], levels[(values > 1).all(axis=1)]
        # The coarsest level of equal members comes first.
        order = np.argsort(levels, kind="stable")
        _, first = np.unique(members[order], axis=0, return_index=True)
        chosen = order[np.sort(first)]
        return self._levelled(members[chosen], levels[chosen])

    def _levelled(self, members: np.ndarray, levels: np.ndarray) -> LevelledTerms:
        return LevelledTerms(Terms(members, self._cardinalities), levels, self._attributes)

    def join(self, first: LevelledTerms, second: LevelledTerms) -> LevelledTerms:
        """Return the tables of both, those of the first first."""
        members = stack_tuples([first.terms.members, second.terms.members])
        return self._levelled(members, np.concatenate([first.levels, second.levels]))

    def take(self, tables: LevelledTerms, chosen: np.ndarray) -> LevelledTerms:
        """Return some of the tables."""
        return self._levelled(tables.terms.members[chosen], tables.levels[chosen])


def features_of(tables: LevelledTerms) -> np.ndarray:
    """Return the features of each table, (n_tables, order), filled up with NONE."""
    return np.append(tables.attributes, NONE)[tables.terms.members]


def list_keys(tables: LevelledTerms) -> list[tuple[int, ...]]:
    """Return the features and the level of each table: the same for its shifted copies."""
    return [tuple(row) for row in np.column_stack([features_of(tables), tables.levels]).tolist()]
