"""Groups of code columns that are joined into one code, numbered over the joint values seen."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from deepbroad.data.source import Block
from deepbroad.kernels.hashing import EMPTY, collect_distinct, find_keys, insert_keys
from deepbroad.kernels.joint import join_keys, look_up_keys
from deepbroad.kernels.threads import Threads
from deepbroad.model.pickling import FieldsOnly

# Above this many possible keys a hash index replaces the direct table (16 MiB of int32).
DIRECT_KEYS = 1 << 22
# A joint key must fit into int64.
MAX_KEYS = 1 << 62


@dataclass(frozen=True, eq=False)
class Group(FieldsOnly):
    """Columns that share one code; code j stands for the joint value with key `keys[j]`.

    A key writes the columns' codes as digits in mixed radix V_i + 1, so that the code V_i of a
    value never seen in training is a digit too, and never one of the keys.

    A compact group stands for one term and has a code for every row: code J = len(keys) for joint
    values that are not among the keys, J + 1 for those that hold a never-seen value.
    """

    columns: np.ndarray
    cardinalities: np.ndarray
    keys: np.ndarray
    compact: bool = False

    @classmethod
    def single(cls, column: int, cardinality: int) -> "Group":
        """Return the group of one column, whose joint values are all its values."""
        return cls(np.array([column]), np.array([cardinality]), np.arange(cardinality))

    @property
    def size(self) -> int:
        """The number of codes."""
        return len(self.keys) + 2 * self.compact

    @property
    def radices(self) -> np.ndarray:
        """The base of each column's digit in a key."""
        return self.cardinalities + 1

    @property
    def is_identity(self) -> bool:
        """Whether the group's codes are those of its one column."""
        return len(self.columns) == 1 and len(self.keys) == self.cardinalities[0]

    @cached_property
    def n_keys(self) -> int:
        """How many keys are possible."""
        return int(np.prod(self.radices))

    @cached_property
    def digits(self) -> np.ndarray:
        """Code of each column at each joint value, (n_columns, size)."""
        return np.array(np.unravel_index(self.keys, self.radices), np.int64)

    @cached_property
    def _direct(self) -> np.ndarray | None:
        """Return the code of every possible key, -1 if it has none; None if there are too many."""
        if self.n_keys > DIRECT_KEYS:
            return None
        n_seen = len(self.keys)
        table = np.full(self.n_keys, n_seen if self.compact else -1, np.int32)
        table[self.keys] = np.arange(n_seen, dtype=np.int32)
        if self.compact:
            cube = table.reshape(self.radices)
            for axis, cardinality in enumerate(self.cardinalities):
                np.moveaxis(cube, axis, 0)[cardinality] = n_seen + 1
        return table

    def key_rows(self, codes: np.ndarray) -> np.ndarray:
        """Return the key of each row of the code columns `codes`."""
        small = self.n_keys <= np.iinfo(np.int32).max
        keys = np.empty(codes.shape[1], np.int32 if small else np.int64)
        join_keys(codes, self.columns, self.radices, keys)
        return keys

    def distinct_keys(self, codes: np.ndarray) -> np.ndarray:
        """Return the sorted keys that rows have, but for those with a never-seen value."""
        keys = self.key_rows(codes)
        if self.n_keys <= DIRECT_KEYS:
            present = np.zeros(self.n_keys, bool)
            present[keys] = True
            keys = np.flatnonzero(present)
        else:
            keys = np.unique(keys)
        # Rows of weight 0 may hold values that count as never seen.
        digits = np.array(np.unravel_index(keys, self.radices))
        return keys[(digits < self.cardinalities[:, None]).all(axis=0)]

    def encode(self, codes: np.ndarray, joint: np.ndarray, missing: np.ndarray) -> None:
        """Write the joint code of each row into `joint`.

        Rows without one, whose joint value no training row had, get code 0 and are marked in
        `missing`.
        """
        keys = self.key_rows(codes)
        if self._direct is not None:
            look_up_keys(keys, self._direct, joint, missing)
            return
        found = np.empty(len(keys), np.int64)
        find_keys(keys, *self._hashed, -1, found)
        absent = found < 0
        if not self.compact:
            missing |= absent
            joint[:] = np.where(absent, 0, found)
            return
        n_seen = len(self.keys)
        found[absent] = n_seen
        found[(codes[self.columns] >= self.cardinalities[:, None]).any(axis=0)] = n_seen + 1
        joint[:] = found

    @cached_property
    def _hashed(self) -> tuple[np.ndarray, np.ndarray]:
        """The hash index of the keys."""
        return index_keys(self.keys)

    def with_unseen(self) -> "Group":
        """Return the group of a single column with its never-seen value as one value more."""
        if len(self.columns) != 1:
            raise ValueError("only a group of one column can take its unseen value in")
        return Group(self.columns, self.cardinalities, np.arange(self.cardinalities[0] + 1))


def code_dtype(groups: Sequence[Group]) -> np.dtype:
    """Return the smallest unsigned dtype that holds the codes of all groups."""
    return np.min_scalar_type(max((group.size for group in groups), default=1) - 1)


def encode_groups(groups: tuple[Group, ...], codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return group codes (n_groups, n_rows) and which rows have a joint value never seen."""
    joint = np.empty((len(groups), codes.shape[1]), code_dtype(groups))
    missing = np.zeros(codes.shape[1], bool)
    for g, group in enumerate(groups):
        group.encode(codes, joint[g], missing)
    return joint, missing


def observe_groups(
    partition: Sequence[Sequence[int]], cardinalities: np.ndarray, blocks: Iterable[np.ndarray]
) -> tuple[Group, ...]:
    """Return the groups of a partition of the columns, with the joint values that blocks show."""
    groups = [
        Group.single(columns[0], int(cardinalities[columns[0]]))
        if len(columns) == 1
        else Group(np.array(columns), cardinalities[list(columns)], np.empty(0, np.int64))
        for columns in partition
    ]
    seen = [group.keys for group in groups]
    for codes in blocks:
        for g, group in enumerate(groups):
            if len(group.columns) > 1:
                seen[g] = np.union1d(seen[g], group.distinct_keys(codes))
    return tuple(
        Group(group.columns, group.cardinalities, keys)
        for group, keys in zip(groups, seen, strict=True)
    )


def unite_groups(first: Sequence[Group], second: Sequence[Group]) -> tuple[Group, ...]:
    """Return groups of the same columns with the joint values of both."""
    return tuple(
        replace(a, keys=np.union1d(a.keys, b.keys)) for a, b in zip(first, second, strict=True)
    )


def observe_tuples(
    tuples: Sequence[tuple[int, ...]],
    cardinalities: np.ndarray,
    blocks: Iterable[Block],
    min_count: float,
    threads: Threads | None = None,
) -> tuple[Group, ...]:
    """Return one compact group per tuple of columns, with the joint values of enough weight.

    `min_count` up to 1 keeps every joint value that a row of any weight has.
    """
    seen = weigh_tuples(tuples, cardinalities, blocks, threads)
    return frequent_tuples(tuples, cardinalities, seen, min_count)


def weigh_tuples(
    tuples: Sequence[tuple[int, ...]],
    cardinalities: np.ndarray,
    blocks: Iterable[Block],
    threads: Threads | None = None,
) -> list["KeyWeights"]:
    """Return the joint values of each tuple of columns that blocks show, and their weights."""
    groups = [empty_compact(columns, cardinalities) for columns in tuples]
    seen = [KeyWeights() for _ in groups]
    for block in blocks:
        weights = np.ones(len(block.labels)) if block.weights is None else block.weights
        (threads or Threads(1)).run(
            [partial(seen[g].add, group, block.codes, weights) for g, group in enumerate(groups)]
        )
    return seen


def frequent_tuples(
    tuples: Sequence[tuple[int, ...]],
    cardinalities: np.ndarray,
    seen: Sequence["KeyWeights"],
    min_count: float,
) -> tuple[Group, ...]:
    """Return one compact group per tuple of columns, as `observe_tuples` does."""
    least = min_count if min_count > 1 else 0.0
    return tuple(
        replace(empty_compact(columns, cardinalities), keys=found.keys_of(least))
        for columns, found in zip(tuples, seen, strict=True)
    )


def empty_compact(columns: tuple[int, ...], cardinalities: np.ndarray) -> Group:
    """Return the compact group of some columns without any joint value."""
    return Group(
        np.array(columns), cardinalities[list(columns)], np.empty(0, np.int64), compact=True
    )


class KeyWeights:
    """Keys that blocks of rows show, and the weight of the rows of each."""

    def __init__(self) -> None:
        self.keys: np.ndarray = np.empty(0, np.int64)
        self.weights: np.ndarray = np.empty(0)

    def join(self, keys: np.ndarray, weights: np.ndarray) -> None:
        """Take in other keys."""
        self.keys, place = np.unique(np.concatenate([self.keys, keys]), return_inverse=True)
        self.weights = np.bincount(place, np.concatenate([self.weights, weights]), len(self.keys))

    def add(self, group: Group, codes: np.ndarray, weights: np.ndarray) -> None:
        """Take in a block of rows."""
        keys = group.key_rows(codes)
        slots = np.full(1 << int(2 * len(keys)).bit_length(), EMPTY, np.int64)
        totals = np.zeros(len(slots))
        collect_distinct(keys, slots, totals, weights)
        taken = np.flatnonzero(slots != EMPTY)
        self.join(slots[taken], totals[taken])

    def keys_of(self, least: float) -> np.ndarray:
        """Return the keys of at least so much weight, and of some, in order."""
        return self.keys[(self.weights >= least) & (self.weights > 0)]


def index_keys(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the slots and numbers of a hash index in which each key has its position."""
    size = count_slots(len(keys))
    slots = np.full(size, EMPTY, np.int64)
    numbers = np.zeros(size, np.int32 if len(keys) < 2**31 else np.int64)
    insert_keys(keys, slots, numbers)
    return slots, numbers


def count_slots(n_keys: int) -> int:
    """Return how many slots the hash index of so many keys has."""
    return 1 << max(4, int(2 * n_keys).bit_length())
