"""Attributes within whose values other numbers are cut.

A number may tell nothing by itself and much once another is known: a hormone matters where a second
one is low. The few attributes that tell most by themselves guide the search for such cuts: rows are
parted by a guide's values, and the class may change at other places within each.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import xlogy

from deepbroad.data.source import ArraySource, Block
from deepbroad.kernels.threads import Threads
from deepbroad.model.resolutions import Resolutions

# How many attributes guide at most. More find cuts by chance (sign).
MOST_GUIDES = 3
# Values that a category may have to be a guide: each would have few rows.
MOST_VALUES = 16
# Bytes of the counts within all values of the guides.
ROOM = 1 << 27


class Guide(NamedTuple):
    """An attribute that parts the rows.

    Attributes
    ----------
    attribute : int
    column : int
        A code column of it.
    values : int64 array
        The value of each of its codes, those of training and one more.
    """

    attribute: int
    column: int
    values: np.ndarray

    @property
    def n_values(self) -> int:
        """How many values it has."""
        return int(self.values.max()) + 1


def list_guides(resolutions: Resolutions, steps: dict[int, np.ndarray]) -> list[Guide]:
    """Return what may guide: categories of few values, and numbers by the bins of `steps`."""
    found = []
    for attribute, levels in enumerate(resolutions.levels.tolist()):
        column = resolutions.last(attribute)
        codes = np.arange(int(resolutions.cardinalities[column]) + 1)
        if attribute in steps:
            values = place_bins(steps[attribute], codes, int(resolutions.n_bins[attribute]))
            found.append(Guide(attribute, column, values))
        elif levels == 1 and 2 < len(codes) <= MOST_VALUES + 1:
            found.append(Guide(attribute, column, codes))
    return found


def place_bins(steps: np.ndarray, codes: np.ndarray, n_bins: int) -> np.ndarray:
    """Return between which steps the codes of the finest bins are; missing comes after all."""
    return np.where(codes < n_bins, np.searchsorted(steps, codes, side="right"), len(steps) + 1)


def choose_guides(part_counts: list[np.ndarray], guides: list[Guide]) -> list[Guide]:
    """Return the few that tell most about the class, given the weight of it in their values."""
    told = np.array([measure_information(table) for table in part_counts])
    order = np.argsort(-told, kind="stable")[:MOST_GUIDES]
    return [guides[k] for k in order if told[k] > 0.0]


def measure_information(table: np.ndarray) -> float:
    """Return what values tell about the class, in nats of all rows, less what chance would.

    `table` has the weight of each class at each value, (V, C).
    """
    rows, classes = table.sum(axis=1), table.sum(axis=0)
    told = xlogy(table, table).sum() - xlogy(rows, rows).sum() - xlogy(classes, classes).sum()
    told += xlogy(table.sum(), table.sum())
    by_chance = (np.count_nonzero(rows) - 1) * (np.count_nonzero(classes) - 1) / 2
    return float(told - by_chance)


def count_guides(part: ArraySource, guides: list[Guide], threads: Threads) -> list[np.ndarray]:
    """Return the weight of each class at each value of each guide, (V, C)."""
    found = [np.zeros((guide.n_values, part.n_classes)) for guide in guides]
    for block in part.blocks():

        def count(k: int, block: Block = block) -> None:
            values = guides[k].values[block.codes[guides[k].column]]
            found[k] += count_classes(values, block, found[k].shape)

        threads.run([partial(count, k) for k in range(len(guides))])
    return found


def count_within(part: ArraySource, guides: list[Guide], threads: Threads) -> list[np.ndarray]:
    """Return the weight of each class in each bin of numbers within the values of each guide.

    One array for each number of several levels and each guide, guides innermost, (V, bins, C);
    bins are those of the finest level, and those of a guide itself are not looked at.
    """
    resolutions = Resolutions(part.attributes, part.cardinalities)
    pairs = list_pairs(resolutions, guides)
    shapes = [(guide.n_values, int(resolutions.n_bins[a]) + 1, part.n_classes)
              for a, guide in pairs]  # fmt: skip
    found = [np.zeros(shape) for shape in shapes]
    for block in part.blocks():

        def count(k: int, block: Block = block) -> None:
            attribute, guide = pairs[k]
            bins = block.codes[resolutions.last(attribute)]
            # Missing, after all bins, is cut off in the end.
            bins = np.minimum(bins.astype(np.int64), shapes[k][1] - 1)
            cells = guide.values[block.codes[guide.column]] * shapes[k][1] + bins
            found[k] += count_classes(cells, block, shapes[k])

        threads.run([partial(count, k) for k in range(len(pairs))])
    return [table[:, :-1] for table in found]


def list_pairs(resolutions: Resolutions, guides: list[Guide]) -> list[tuple[int, Guide]]:
    """Return the numbers of several levels, each with the guides that are not itself."""
    numbers = np.flatnonzero(resolutions.levels > 1).tolist()
    return [(a, guide) for a in numbers for guide in guides if guide.attribute != a]


def fits_room(resolutions: Resolutions, guides: list[Guide], n_classes: int) -> bool:
    """Tell whether the counts within the values of guides take no more than their room."""
    cells = sum(
        guide.n_values * int(resolutions.n_bins[a]) for a, guide in list_pairs(resolutions, guides)
    )
    return 8.0 * cells * n_classes <= ROOM


def count_classes(cells: np.ndarray, block: Block, shape: tuple[int, ...]) -> np.ndarray:
    """Return the weight of each class in cells, in a shape whose last axis is that of classes."""
    labelled = cells * np.int64(shape[-1]) + block.labels
    return np.bincount(labelled, block.weights, int(np.prod(shape))).reshape(shape)


def add_tables(first: list[np.ndarray], second: list[np.ndarray]) -> list[np.ndarray]:
    """Return the counts of two parts together."""
    return [one + other for one, other in zip(first, second, strict=True)]
