"""How one attribute becomes one row of codes: by cut points, or by its categories.

Codes 0, 1, ... are the bins or values that training saw, then comes the code of missing if
training saw one. A value that training never saw is coded as missing if there is such a code,
else as the cardinality, which no training row of positive weight has.
"""

import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from deepbroad.data.column import PLURAL, Column
from deepbroad.data.factor import Factor, Quantity
from deepbroad.data.value import (
    TIMES,
    Identity,
    from_json,
    name_time,
    name_value,
    sort_key,
    to_json,
)
from deepbroad.kernels.cuts import count_cuts


@dataclass(frozen=True)
class CodeColumn(ABC):
    """One column of codes.

    Parameters
    ----------
    attribute : int
        Index of the column of the table that it is made from.
    name : str
    missing : bool
        Whether training saw a missing value.
    """

    attribute: int
    name: str
    missing: bool

    @property
    @abstractmethod
    def n_values(self) -> int:
        """How many bins or values there are, missing not counted."""

    @property
    def cardinality(self) -> int:
        """V: how many codes training saw, missing included."""
        return self.n_values + self.missing

    @property
    def unknown(self) -> int:
        """The code of what training never saw."""
        return self.n_values

    @abstractmethod
    def encode(self, column: Column, out: np.ndarray) -> None:
        """Fill `out`, of shape (n_rows,), with the codes of `column`."""

    @abstractmethod
    def names(self) -> list[str]:
        """Return a readable name of each bin or value, missing not counted."""

    def value_names(self) -> list[str]:
        """Return a readable name per code."""
        return [*self.names(), "missing"] if self.missing else self.names()

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return plain data that JSON can hold."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes of memory, nearly."""


@dataclass(frozen=True)
class NumberColumn(CodeColumn):
    """Codes of a number x: how many cuts are <= x."""

    cuts: np.ndarray
    quantity: Quantity = "number"

    @property
    def n_values(self) -> int:
        """One bin more than there are cuts."""
        return len(self.cuts) + 1

    def encode(self, column: Column, out: np.ndarray) -> None:
        """Fill `out` with the bins of `column`."""
        count_cuts(column.numbers(self.quantity), self.cuts, self.unknown, out)

    def names(self) -> list[str]:
        """Return the interval of each bin."""
        if len(self.cuts) == 0:
            return ["any"]
        cuts = _name_cuts(self.cuts.tolist(), self.quantity)
        between = [f"[{low}, {high})" for low, high in pairwise(cuts)]
        return [f"< {cuts[0]}", *between, f">= {cuts[-1]}"]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that JSON can hold."""
        return {
            "kind": "number",
            "attribute": self.attribute,
            "name": self.name,
            "missing": self.missing,
            "quantity": self.quantity,
            "cuts": [to_json(cut) for cut in self.cuts.tolist()],
        }

    @property
    def nbytes(self) -> int:
        """Bytes of the cuts."""
        return self.cuts.nbytes


@dataclass(frozen=True)
class CategoryColumn(CodeColumn):
    """Codes of a category: the position of its identity in `values`."""

    values: tuple[Identity, ...] = field(default=())

    @cached_property
    def _code(self) -> dict[Identity | None, int]:
        return {value: code for code, value in enumerate(self.values)}

    @property
    def n_values(self) -> int:
        """One per value."""
        return len(self.values)

    def encode(self, column: Column, out: np.ndarray) -> None:
        """Fill `out` with the codes of `column`."""
        factor = column.factor()
        self._warn_of_other_types(factor)
        code, unknown = self._code, self.unknown
        # None, and the index -1 of a missing value, which takes the last entry, are never in
        # `values`: missing and unseen share their code.
        lookup = np.array(
            [code.get(level, unknown) for level in factor.levels] + [unknown], dtype=out.dtype
        )
        # The index is known to be in range; other modes than "raise" fill `out` directly.
        lookup.take(factor.indices, out=out, mode="wrap")

    def _warn_of_other_types(self, factor: Factor) -> None:
        """Warn where no value can be known since all are of another type than in training."""
        kinds = _kinds_of(factor.levels)
        if kinds and self._kinds and self._kinds.isdisjoint(kinds):
            warnings.warn(
                f"Column {self.name!r} holds {' and '.join(sorted(kinds))}, in training it held "
                f"{' and '.join(sorted(self._kinds))}: none of its values is known. Convert it.",
                UserWarning,
                stacklevel=2,
            )

    @cached_property
    def _kinds(self) -> set[str]:
        return _kinds_of(self.values)

    def names(self) -> list[str]:
        """Return the values as text; quoted where two would look the same."""
        names = [name_value(value) for value in self.values]
        if len({*names, "missing"}) <= len(names):
            return [repr(value) for value in self.values]
        return names

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that JSON can hold."""
        return {
            "kind": "category",
            "attribute": self.attribute,
            "name": self.name,
            "missing": self.missing,
            "values": [to_json(value) for value in self.values],
        }

    @property
    def nbytes(self) -> int:
        """Bytes of the values and of their index."""
        per_entry = 100  # a slot of the tuple and one of the dictionary
        return sum(sys.getsizeof(value) + per_entry for value in self.values)


def _kinds_of(values: Sequence[Identity | None]) -> set[str]:
    """Return what sorts of values a category has, as a user would call them."""
    names = {bool: "numbers", int: "numbers", float: "numbers", str: "text"}
    types = set(map(type, values)) - {type(None)}
    tuples = [value for value in values if isinstance(value, tuple)] if tuple in types else []
    sorts = {PLURAL.get(value[0], "other values") for value in tuples}
    plain = types - {tuple}
    return sorts | {names.get(kind, f"values of type {kind.__name__}") for kind in plain}


def code_column_from_dict(data: Any) -> CodeColumn:
    """Return the column that `to_dict` described; ValueError if it cannot have."""
    match data:
        case {
            "kind": "number",
            "attribute": int(attribute),
            "name": str(name),
            "missing": bool(missing),
            "quantity": "number" | "datetime" | "instant" | "duration" | "time" as quantity,
            "cuts": list(cuts),
        } if len(data) == 6:
            identities = [from_json(cut) for cut in cuts]
            if not all(isinstance(cut, float) for cut in identities):
                raise ValueError(f"cut points of column {name!r} must be numbers")
            array = np.array(identities, dtype=np.float64)
            if not np.all(array[1:] > array[:-1]):
                raise ValueError(f"cut points of column {name!r} must ascend")
            return NumberColumn(_index(attribute), name, missing, array, quantity)
        case {
            "kind": "category",
            "attribute": int(attribute),
            "name": str(name),
            "missing": bool(missing),
            "values": list(values),
        } if len(data) == 5:
            known = tuple(from_json(value) for value in values)
            if len(set(known)) < len(known):
                raise ValueError(f"values of column {name!r} must differ")
            if not known and not missing:
                raise ValueError(f"column {name!r} has no values")
            return CategoryColumn(_index(attribute), name, missing, known)
    raise ValueError(f"not a code column: {data!r:.80}")


def bins_within(coarse: NumberColumn, fine: NumberColumn) -> np.ndarray:
    """Return the bin of a coarse column for each of a finer one, and what is unknown to it."""
    lowest = np.concatenate([[-np.inf], fine.cuts])
    return np.append(np.searchsorted(coarse.cuts, lowest, side="right"), coarse.unknown)


def recode_bins(
    coarse: NumberColumn, fine: NumberColumn, codes: np.ndarray, out: np.ndarray
) -> None:
    """Fill `out` with the codes of a coarse column, given those of a finer one."""
    # Any mode but the default writes without a buffer; no code is out of bounds.
    np.take(bins_within(coarse, fine).astype(out.dtype), codes, out=out, mode="clip")


def seen_levels(factor: Factor, counted: np.ndarray | None) -> tuple[list[Identity], bool]:
    """Return the levels that occur in `counted` rows, sorted, and whether a missing value does.

    The order does not depend on the order of rows.
    """
    known, missing = occurring_levels(factor, counted)
    return sorted(known, key=sort_key), missing


def occurring_levels(factor: Factor, counted: np.ndarray | None) -> tuple[set[Identity], bool]:
    """Return the levels that occur in `counted` rows, and whether a missing value does."""
    indices = factor.indices if counted is None else factor.indices[counted]
    occurs = np.zeros(len(factor.levels) + 1, dtype=bool)
    occurs[indices] = True  # index -1, missing, marks the last entry
    levels = [factor.levels[i] for i in np.flatnonzero(occurs[:-1]).tolist()]
    known = {level for level in levels if level is not None}
    return known, bool(occurs[-1] or None in levels)


def _name_cuts(cuts: Sequence[float], quantity: Quantity) -> list[str]:
    """Return cut points as text, short if that tells them apart."""
    if quantity in TIMES:
        return [name_time(cut, quantity) for cut in cuts]
    short = [f"{cut:.6g}" for cut in cuts]
    return short if len(set(short)) == len(short) else [repr(cut) for cut in cuts]


def _index(attribute: int) -> int:
    """Return `attribute`, which must count columns."""
    if isinstance(attribute, bool) or attribute < 0:
        raise ValueError(f"not the index of a column: {attribute!r}")
    return attribute
