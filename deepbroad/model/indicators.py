"""Indicators of one category, of which at most one is on in a row, taken as that category."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deepbroad.model.pickling import FieldsOnly


@dataclass(frozen=True, eq=False)
class Joining(FieldsOnly):
    """Which code columns are joined into categories; the kept ones come first, in their order.

    Code k of a category says that its k-th member is on; the code after the last, that none is.

    Attributes
    ----------
    members : tuple of int64 arrays
        The given code columns that each category is made of.
    on : tuple of int64 arrays
        The code that each member has where it is on, 0 or 1.
    has_none : tuple of bool
        Whether training rows have no member on; else that code is a value never seen.
    cardinalities, attributes : ndarray of shape (n_columns,), int64
        Of the given code columns.
    """

    members: tuple[np.ndarray, ...]
    on: tuple[np.ndarray, ...]
    has_none: tuple[bool, ...]
    cardinalities: np.ndarray
    attributes: np.ndarray

    @cached_property
    def kept(self) -> np.ndarray:
        """The given code columns that are in no category, ascending."""
        columns = np.arange(len(self.cardinalities))
        return np.setdiff1d(columns, np.concatenate(self.members))

    @cached_property
    def joined_cardinalities(self) -> np.ndarray:
        """V of the code columns after joining."""
        sizes = [len(own) + none for own, none in zip(self.members, self.has_none, strict=True)]
        return np.append(self.cardinalities[self.kept], np.array(sizes, np.int64))

    @cached_property
    def joined_attributes(self) -> np.ndarray:
        """The attribute of each code column after joining; those that are left are renumbered."""
        left, kept = np.unique(self.attributes[self.kept], return_inverse=True)
        return np.append(kept.ravel(), len(left) + np.arange(len(self.members)))

    @property
    def n_attributes(self) -> int:
        """How many attributes there are after joining."""
        return int(self.joined_attributes[-1]) + 1

    def joined_names(self, names: Sequence[str]) -> list[list[str]]:
        """Return the names of the attributes of each category, given those of all."""
        return [[str(names[a]) for a in self.attributes[own]] for own in self.members]

    def category_of(self, column: int) -> int | None:
        """Return which category a column is after joining, None for a kept one."""
        place = column - len(self.kept)
        return place if place >= 0 else None

    def given_columns(self, column: int) -> np.ndarray:
        """Return the given code columns that one after joining is made of."""
        category = self.category_of(column)
        return self.kept[[column]] if category is None else self.members[category]

    def join_codes(self, codes: np.ndarray, joined: np.ndarray) -> None:
        """Write rows of given codes, (n_columns, n_rows), into `joined`.

        Rows of weight 0 may have several members on, or values never seen; they get any code.
        """
        joined[: len(self.kept)] = codes[self.kept]
        for into, own, on in zip(joined[len(self.kept) :], self.members, self.on, strict=True):
            into[:] = len(own)
            for place, (column, code) in enumerate(zip(own, on, strict=True)):
                into[codes[column] == code] = place
