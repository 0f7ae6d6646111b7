"""Models whose columns gain values: where their cells are then, and plans that have them all."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deepbroad.model.groups import MAX_KEYS, Group
from deepbroad.model.plan import Plan
from deepbroad.model.terms import Terms

# Cells whose place is computed at a time.
CHUNK = 1 << 18


@dataclass(frozen=True, eq=False)
class Growth:
    """Code columns that gained values.

    Attributes
    ----------
    maps : sequence of ndarray of shape (V_i,), int64
        The code that each old code of a column has now.
    cardinalities : ndarray of shape (n_columns,), int64
        How many values each column has now.
    """

    maps: Sequence[np.ndarray]
    cardinalities: np.ndarray

    @cached_property
    def is_none(self) -> bool:
        """Whether every code is what it was, and there are no more."""
        return all(
            len(codes) == v and np.array_equal(codes, np.arange(v))
            for codes, v in zip(self.maps, self.cardinalities, strict=True)
        )

    @cached_property
    def _flat(self) -> tuple[np.ndarray, np.ndarray]:
        """All maps after each other, where each begins, and one of the code 0 for no column."""
        lengths = [len(codes) for codes in self.maps]
        return np.concatenate([*self.maps, [0]]), np.concatenate([[0], np.cumsum(lengths)])

    def move(self, columns: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return what old codes of columns are now; column -1 has the code 0 alone."""
        flat, starts = self._flat
        moved: np.ndarray = flat[starts[columns] + codes]
        return moved


def grow_plan(plan: Plan, growth: Growth) -> Plan:
    """Return the plan with the values that its columns have now."""
    if growth.is_none:
        return plan
    groups: list[Group] = []
    for group in plan.groups:
        cardinalities = growth.cardinalities[group.columns]
        if group.is_identity and not group.compact:
            groups.append(Group.single(int(group.columns[0]), int(cardinalities[0])))
        elif np.prod(cardinalities + 1.0) > MAX_KEYS and not group.compact:
            pairs = zip(group.columns.tolist(), cardinalities.tolist(), strict=True)
            groups += [Group.single(*pair) for pair in pairs]
        else:
            digits = growth.move(group.columns[:, None], group.digits)
            keys = np.sort(join_digits(digits, cardinalities))
            groups.append(Group(group.columns, cardinalities, keys, group.compact))
    return regrouped(plan, groups, growth)


def regrouped(plan: Plan, groups: Sequence[Group], growth: Growth | None = None) -> Plan:
    """Return the plan with other joint values in its groups, which stand in the same order."""
    terms, common = plan.terms, None if plan.items is None else plan.items.common
    cardinalities = terms.cardinalities
    if growth is not None:
        cardinalities = growth.cardinalities
        if common is not None:
            common = growth.move(np.arange(len(common)), common)
    own = (group for group in groups if group.compact)
    compact = dict(zip(np.flatnonzero(terms.is_compact).tolist(), own, strict=True))
    shared = tuple(group for group in groups if not group.compact)
    return Plan.of(Terms(terms.members, cardinalities), shared, compact, common)


def add_keys(plan: Plan, more: Iterable[np.ndarray]) -> Plan:
    """Return the plan with more joint values in its groups, an array of keys for each."""
    groups = []
    for group, keys in zip(plan.groups, more, strict=True):
        if not group.is_identity:
            united = np.union1d(group.keys, keys)
            if len(united) > len(group.keys):
                group = Group(group.columns, group.cardinalities, united, group.compact)
        groups.append(group)
    if all(new is old for new, old in zip(groups, plan.groups, strict=True)):
        return plan
    return regrouped(plan, groups)


def add_cells(plan: Plan, old: Plan, cells: np.ndarray, growth: Growth) -> Plan:
    """Return the plan with cells of their own for those of `old`, an ascending list of cells."""
    reader = CellValues(old, growth)
    bounds = np.searchsorted(cells, old.terms.offsets)
    more = [np.empty(0, np.int64) for group in plan.groups if not group.compact]
    for term, group in plan.compact_groups.items():
        digits = reader.digits(term, cells[bounds[term] : bounds[term + 1]])
        more.append(join_digits(digits[rank(group.columns)], group.cardinalities))
    return add_keys(plan, more)


class CellValues:
    """Reads the joint values of a plan's cells, in the codes that grown columns have now."""

    def __init__(self, plan: Plan, growth: Growth) -> None:
        self.terms, self.growth = plan.terms, growth
        self._groups = plan.compact_groups

    def digits(self, term: int, cells: np.ndarray) -> np.ndarray:
        """Return the codes of a term's columns, ascending, at cells of the term, (order, n)."""
        terms = self.terms
        places = cells - terms.offsets[term]
        if term in self._groups:
            group = self._groups[term]
            columns, digits = group.columns, group.digits[:, places]
        else:
            columns = terms.members[term, : terms.orders[term]]
            digits = np.array(np.unravel_index(places, terms.cardinalities[columns]))
        order = np.argsort(columns)
        return self.growth.move(columns[order, None], digits[order])

    def dense_places(self, cells: np.ndarray, owner: np.ndarray, strides: np.ndarray) -> np.ndarray:
        """Return the places inside their terms of cells of dense ones, whose terms are `owner`.

        `strides` (n_terms, depth) tells how far apart the places are along each axis.
        """
        rest = cells - self.terms.offsets[owner]
        places = np.zeros(len(cells), np.int64)
        for axis in range(strides.shape[1] - 1, -1, -1):
            rest, digits = np.divmod(rest, self.terms.shapes[owner, axis])
            columns = self.terms.members[owner, axis]
            places += self.growth.move(columns, digits) * strides[owner, axis]
        return places


def find_cells(old: Plan, new: Plan, growth: Growth, cells: np.ndarray) -> np.ndarray:
    """Return where cells of `old` are in `new`, a plan of the same tuples of grown columns.

    `cells` is an ascending list without those that joint values share; `new` must have cells of
    its own for all of them, as `add_cells` sees to.
    """
    reader, offsets = CellValues(old, growth), new.terms.offsets
    places = np.empty(len(cells), np.int64)
    bounds = np.searchsorted(cells, old.terms.offsets)
    dense = ~(old.terms.is_compact | new.terms.is_compact)
    new_groups = new.compact_groups
    for term in np.flatnonzero(~dense).tolist():
        part = slice(bounds[term], bounds[term + 1])
        digits = reader.digits(term, cells[part])
        if term in new_groups:
            group = new_groups[term]
            keys = join_digits(digits[rank(group.columns)], group.cardinalities)
            places[part] = offsets[term] + np.searchsorted(group.keys, keys)
        else:
            columns = new.terms.members[term, : new.terms.orders[term]]
            shape = new.terms.cardinalities[columns]
            found = np.ravel_multi_index(tuple(digits[rank(columns)]), tuple(shape))
            places[part] = offsets[term] + found
    if dense.any():
        owner = np.repeat(np.arange(len(dense)), np.diff(bounds))
        chosen = np.flatnonzero(dense[owner])
        strides = aligned_strides(old.terms, new.terms)
        for low in range(0, len(chosen), CHUNK):
            some = chosen[low : low + CHUNK]
            within = reader.dense_places(cells[some], owner[some], strides)
            places[some] = offsets[owner[some]] + within
    return places


def move_cells(
    values: np.ndarray,
    old: Plan,
    new: Plan,
    growth: Growth,
    classes: np.ndarray,
    n_classes: int,
) -> np.ndarray:
    """Return values of the cells and classes of `old` in the order of `new`, (n_cells, C).

    `classes` has the number now of each old class. Cells and classes that are new get 0, and so do
    those that joint values share.
    """
    if new is old and growth.is_none and n_classes == len(classes):
        return values
    moved = np.zeros((new.terms.n_cells, n_classes), values.dtype)
    cells = own_cells(values, old)
    moved[find_cells(old, new, growth, cells)[:, None], classes] = values[cells]
    return moved


def own_cells(values: np.ndarray, plan: Plan) -> np.ndarray:
    """Return the cells, ascending, that have values and are not shared."""
    is_own = np.asarray(values.any(axis=1))
    is_own[plan.terms.shared_cells] = False
    return np.flatnonzero(is_own)


def aligned_strides(old: Terms, new: Terms) -> np.ndarray:
    """Return how far apart the cells of new terms are along each old axis, (n_terms, depth)."""
    after = np.cumprod(new.shapes[:, ::-1], axis=1)[:, ::-1]
    by_column = np.take_along_axis(after // new.shapes, np.argsort(new.members, axis=1), axis=1)
    return np.take_along_axis(by_column, rank(old.members), axis=1)


def rank(columns: np.ndarray) -> np.ndarray:
    """Return the place of each column among those of its tuple in ascending order."""
    return np.argsort(np.argsort(columns, axis=-1), axis=-1)


def join_digits(digits: np.ndarray, cardinalities: np.ndarray) -> np.ndarray:
    """Return the keys of a group's joint values, (n,), from the codes of its columns."""
    keys = np.zeros(digits.shape[1], np.int64)
    for column, radix in zip(digits, cardinalities + 1, strict=True):
        keys = keys * radix + column
    return keys
