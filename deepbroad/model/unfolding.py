"""Scores of categories as scores of the indicators that they were joined from, and back.

With S the table of a term that has a category among its columns, r the joint value of the others,
each of its indicators i has a table T_i. Exclusive ones, at most one of them on, sum up to S if

    T_1[on, r] = S[1, r],  T_1[off, r] = S[none, r],
    T_i[on, r] = S[i, r] - S[none, r],  T_i[off, r] = 0  for i > 1

where S[none, r] is 0 if some indicator is always on. Joint values without a cell of their own score
0 in terms of several columns (`Family.backs_off`, target 0), which compact tables rely on.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from deepbroad.model.groups import Group
from deepbroad.model.indicators import Joining
from deepbroad.model.plan import Plan
from deepbroad.model.scores import ScoreTables
from deepbroad.model.terms import NONE, Terms


class _Cells(NamedTuple):
    """Some cells of the terms that one term unfolds to."""

    which: np.ndarray  # (n,) the term, numbered over the members of its categories
    digits: np.ndarray  # (n_axes, n) the code on each axis
    scores: np.ndarray  # (n, C)


class Unfolding:
    """From terms over joined columns to terms over the given ones.

    Parameters
    ----------
    joining : Joining
    joined : Terms
        Over the columns after joining.

    Attributes
    ----------
    terms : Terms
        Over the given columns: one for each choice of a member of each category of a joined term.
        Ascending, those of lower order first.
    """

    def __init__(self, joining: Joining, joined: Terms) -> None:
        self.joining = joining
        # Ascending axes, so that those of categories come last, whatever a plan made of them.
        self._axes = [tuple(sorted(joined.tuple(term))) for term in range(len(joined))]
        self._columns = [self._choices(axes) for axes in self._axes]
        members = np.full((sum(map(len, self._columns)), joined.members.shape[1]), NONE)
        at = 0
        for columns in self._columns:
            members[at : at + len(columns), : columns.shape[1]] = np.sort(columns, axis=1)
            at += len(columns)
        order = sort_members(members)
        number = np.empty(len(order), np.int64)
        number[order] = np.arange(len(order))
        self._numbers = np.split(number, np.cumsum([len(each) for each in self._columns])[:-1])
        self.terms = Terms(members[order], joining.cardinalities)

    def _choices(self, axes: tuple[int, ...]) -> np.ndarray:
        """Return the columns of the terms that one unfolds to, (n, n_axes), in row-major order."""
        own = [self.joining.given_columns(axis) for axis in axes]
        return np.stack(np.meshgrid(*own, indexing="ij"), axis=-1).reshape(-1, len(axes))

    def compact_groups(self, plan: Plan, compact: np.ndarray) -> dict[int, Group]:
        """Return the groups of the terms that are to have compact tables.

        Parameters
        ----------
        plan : Plan
            Of the joined terms; what is dense there stays dense, and a term without categories
            stays what it is.
        compact : ndarray of shape (n_terms,), bool
            Which of the unfolded terms had better be compact.
        """
        found: dict[int, Group] = {}
        for term, group in plan.compact_groups.items():
            axes, columns, numbers = self._axes[term], self._columns[term], self._numbers[term]
            if len(numbers) > 1 and not compact[numbers].any():
                continue
            order = [int(np.flatnonzero(group.columns == axis)[0]) for axis in axes]
            nothing = np.empty((len(group.keys), 0))
            parts = list(self._unfold(axes, group.digits[order], nothing))
            which = np.concatenate([part.which for part in parts])
            digits = np.concatenate([part.digits for part in parts], axis=1)
            ascending = np.sort(columns, axis=1)
            keys = _places(columns, ascending, self.joining.cardinalities + 1, which, digits)
            bounds, by_term = _split(which, len(numbers))
            for k, number in enumerate(numbers.tolist()):
                own = np.unique(keys[by_term[bounds[k] : bounds[k + 1]]])
                sizes = self.joining.cardinalities[ascending[k]]
                found[number] = Group(ascending[k], sizes, own, compact=True)
        return found

    def unfold(self, tables: ScoreTables, plan: Plan) -> ScoreTables:
        """Return the scores of joined terms as those of a plan of the unfolded ones."""
        scores = np.zeros((plan.terms.n_cells, tables.n_classes), tables.scores.dtype)
        locator = _Locator(plan)
        for term, axes in enumerate(self._axes):
            columns, numbers = self._columns[term], self._numbers[term]
            digits = tables.seen_values(term, axes)
            own = tables.scores[tables.cells_of(term)]
            for part in self._unfold(axes, digits, own[: digits.shape[1]]):
                # No cell comes twice in a part.
                scores[locator.find(numbers, columns, part.which, part.digits)] += part.scores
            if len(numbers) == 1 and plan.terms.is_compact[numbers[0]]:
                scores[plan.terms.offsets[numbers[0] + 1] - 1] = own[-1]
        return ScoreTables(plan, tables.class_scores, scores, None)

    def _unfold(
        self, axes: tuple[int, ...], digits: np.ndarray, scores: np.ndarray
    ) -> Iterator[_Cells]:
        """Yield the cells that some cells of a joined term add to, each once in a part."""
        parts = [_Cells(np.zeros(digits.shape[1], np.int64), digits, scores)]
        for axis, column in enumerate(axes):
            category = self.joining.category_of(column)
            if category is not None:
                on = self.joining.on[category]
                parts = [split for part in parts for split in _unfold_axis(part, axis, on)]
        yield from parts

    def fold(self, tables: ScoreTables, plan: Plan) -> ScoreTables | None:
        """Return scores of the unfolded terms as those of a plan of the joined ones.

        None if the terms are others.
        """
        places = self._match(tables.plan.terms)
        if places is None:
            return None
        scores = np.zeros((plan.terms.n_cells, tables.n_classes), tables.scores.dtype)
        locator = _Locator(plan)
        for term, axes in enumerate(self._axes):
            theirs = places[self._numbers[term]].tolist()
            digits, own = self._fold(term, tables, theirs)
            which = np.zeros(digits.shape[1], np.int64)
            cells = locator.find(np.array([term]), np.array([axes]), which, digits)
            np.add.at(scores, cells[cells != NONE], own[cells != NONE])
            both = plan.terms.is_compact[term] and tables.plan.terms.is_compact[theirs[0]]
            if len(theirs) == 1 and both:
                shared = tables.cells_of(theirs[0]).stop - 1
                scores[plan.terms.offsets[term + 1] - 1] = tables.scores[shared]
        return ScoreTables(plan, tables.class_scores, scores, None)

    def _match(self, terms: Terms) -> np.ndarray | None:
        """Return where other terms have the unfolded ones, None if they are not the same."""
        members = np.where(terms.members == NONE, np.iinfo(np.int64).max, terms.members)
        members = np.sort(members, axis=1)
        members[members == np.iinfo(np.int64).max] = NONE
        order = sort_members(members)
        same = np.array_equal(members[order], self.terms.members)
        return order if same else None

    def _fold(
        self, term: int, tables: ScoreTables, theirs: list[int]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return codes and scores that sum up to the cells of a joined term."""
        axes, columns = self._axes[term], self._columns[term]
        all_digits, all_scores, all_members = [], [], []
        sizes = [len(self.joining.given_columns(axis)) for axis in axes]
        for k, number in enumerate(theirs):
            digits = tables.seen_values(number, tuple(columns[k].tolist()))
            scores = tables.scores[tables.cells_of(number)][: digits.shape[1]]
            telling = scores.any(axis=1)
            all_digits.append(digits[:, telling])
            all_scores.append(scores[telling])
            member = np.array(np.unravel_index(k, sizes))[:, None]
            all_members.append(np.repeat(member, np.count_nonzero(telling), axis=1))
        digits, scores = np.concatenate(all_digits, axis=1), np.concatenate(all_scores)
        members = np.concatenate(all_members, axis=1)
        for axis, column in enumerate(axes):
            category = self.joining.category_of(column)
            if category is not None:
                size = int(self.joining.joined_cardinalities[column])
                on = self.joining.on[category]
                digits, scores, members = _fold_axis(digits, scores, members, axis, on, size)
        return digits, scores


def sort_members(members: np.ndarray) -> np.ndarray:
    """Return the order of terms, given their ascending columns, by how many and by which."""
    orders = np.count_nonzero(members != NONE, axis=1)
    return np.lexsort((*members.T[::-1], orders))


def _unfold_axis(cells: _Cells, axis: int, on: np.ndarray) -> Iterator[_Cells]:
    """Yield what the cells of a category add to those of its members: where one is on, where none.

    `on` has the code of each member where it is on.
    """
    size = len(on)
    code = cells.digits[axis]
    single = np.flatnonzero(code < size)
    digits = cells.digits[:, single]
    digits[axis] = on[code[single]]
    yield _Cells(cells.which[single] * size + code[single], digits, cells.scores[single])
    none = np.flatnonzero(code == size)
    state, sign = on.copy(), np.full(size, -1, cells.scores.dtype)
    state[0], sign[0] = 1 - on[0], 1
    digits = np.repeat(cells.digits[:, none], size, axis=1)
    digits[axis] = np.tile(state, len(none))
    which = (cells.which[none, None] * size + np.arange(size)).ravel()
    scores = cells.scores[none, None] * sign[:, None]
    yield _Cells(which, digits, scores.reshape(len(which), cells.scores.shape[1]))


def _fold_axis(
    digits: np.ndarray,
    scores: np.ndarray,
    members: np.ndarray,
    axis: int,
    on: np.ndarray,
    size: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return cells of members as cells of their category, which has so many codes.

    What a member scores where it is off is for all codes but its own. `members` (n_axes, n) has for
    each axis the member that a cell is of; that of `axis` is 0 afterwards.
    """
    member, is_on = members[axis], digits[axis] == on[members[axis]]
    own_digits, members = digits.copy(), members.copy()
    own_digits[axis], members[axis] = member, 0
    own_scores = np.where(is_on[:, None], scores, -scores)
    off = np.flatnonzero(~is_on)
    rest = np.concatenate([digits[:, off], members[:, off]])
    rest[axis] = 0
    rest, place = np.unique(rest, axis=1, return_inverse=True)
    sums = np.zeros((rest.shape[1], scores.shape[1]))
    np.add.at(sums, place.ravel(), scores[off])
    spread = np.repeat(rest, size, axis=1)
    spread[axis] = np.tile(np.arange(size), rest.shape[1])
    n_axes = len(digits)
    return (
        np.concatenate([own_digits, spread[:n_axes]], axis=1),
        np.concatenate([own_scores, np.repeat(sums, size, axis=0)]),
        np.concatenate([members, spread[n_axes:]], axis=1),
    )


class _Locator:
    """Finds cells of terms of a plan by their codes."""

    def __init__(self, plan: Plan) -> None:
        self._terms, self._groups = plan.terms, plan.compact_groups

    def find(
        self, numbers: np.ndarray, columns: np.ndarray, which: np.ndarray, digits: np.ndarray
    ) -> np.ndarray:
        """Return the cell of each joint value, NONE if it has none of its own.

        The terms with these `numbers` are all dense or all compact. `columns` (n_terms, n_axes) has
        the column of each axis of the codes, `which` the term of each joint value.
        """
        terms = self._terms
        if numbers[0] not in self._groups:
            order = terms.members[numbers][:, : columns.shape[1]]
            places = _places(columns, order, terms.cardinalities, which, digits)
            return terms.offsets[numbers][which] + places
        groups = [self._groups[number] for number in numbers.tolist()]
        order = np.array([group.columns for group in groups])
        keys = _places(columns, order, terms.cardinalities + 1, which, digits)
        cells = np.full(len(which), NONE)
        bounds, by_term = _split(which, len(groups))
        for k, group in enumerate(groups):
            own = by_term[bounds[k] : bounds[k + 1]]
            at = np.searchsorted(group.keys, keys[own])
            known = np.append(group.keys, NONE)[at] == keys[own]
            cells[own[known]] = terms.offsets[numbers[k]] + at[known]
        return cells


def _places(
    columns: np.ndarray,
    order: np.ndarray,
    radices: np.ndarray,
    which: np.ndarray,
    digits: np.ndarray,
) -> np.ndarray:
    """Return codes as numbers in mixed radix, the digits written in another order of columns.

    `columns` and `order` (n_terms, n_axes) have the columns of terms, `radices` those of columns.
    """
    bases = radices[order]
    after = np.cumprod(bases[:, ::-1], axis=1)[:, ::-1] // bases
    position = (columns[:, :, None] == order[:, None, :]).argmax(axis=2)
    strides = np.take_along_axis(after, position, axis=1)
    found = np.zeros(digits.shape[1], np.int64)
    for axis, codes in enumerate(digits):
        found += strides[which, axis] * codes
    return found


def _split(which: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the order of cells by their term, and where each term begins in it."""
    by_term = np.argsort(which, kind="stable")
    return np.searchsorted(which[by_term], np.arange(count + 1)), by_term
