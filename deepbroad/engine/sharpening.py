"""Cuts of numbers where the class changes, by minimum description length.

Halves and quarters of the rows are near any threshold, but on it only by chance; where a class
begins at one value of a number, in a tail of it perhaps, no sum of few bins says so. Such values
are found among the cuts of the finest level, so that codes alone tell them: bins are numbers. They
are looked for in all rows, and within the values of the attributes that tell most.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from deepbroad.data.cuts import mdl_cuts
from deepbroad.data.encoding import Encoding
from deepbroad.data.source import BLOCK_ROWS, ArraySource, Block, Source
from deepbroad.engine.guides import (
    add_tables,
    choose_guides,
    count_guides,
    count_within,
    fits_room,
    list_guides,
    list_pairs,
    measure_information,
    place_bins,
)
from deepbroad.kernels.threads import Threads
from deepbroad.model.resolutions import Resolutions

# By attribute: the weight of each class in each bin, (bins, C).
Counts = dict[int, np.ndarray]
# In no more rows than these, what looks like a step is chance.
SHARP_ROWS = 1_000
# Steps of a number up to which those within guides come to its own: tables of pairs with many bins
# by the class, and the weak strengths of few, over-fit (segment, thyroid).
MOST_STEPS = 6
# Share of the finest bins that lie between two steps at least.
NEAR = 0.01


class Steps(NamedTuple):
    """The bins of the finest level at which the class changes, by attribute, ascending.

    Attributes
    ----------
    alone : dict from int to ndarray
        In all rows.
    within : dict from int to ndarray
        These, and those at which it does within the values of other attributes.
    """

    alone: dict[int, np.ndarray]
    within: dict[int, np.ndarray]


def sharpen(
    source: Source, encoding: Encoding, unit: float, threads: Threads
) -> tuple[Source, Encoding]:
    """Return rows and their encoding with cuts by the class for numbers of several levels.

    A row weighs about `unit`.
    """
    resolutions = Resolutions(source.attributes, source.cardinalities)
    if source.n_weighted <= SHARP_ROWS or resolutions.n_levels == 1:
        return source, encoding
    steps = find_all_steps(source, unit, threads)
    if not steps.alone:
        return source, encoding
    sharp = encoding.sharpened(*steps)
    return source.convert(recode_part, sharp, threads=threads), sharp


def sharpen_without(rows: ArraySource, held: np.ndarray, threads: Threads) -> ArraySource:
    """Return rows with cuts by the class as those that are not held out tell them.

    By the cuts of all rows, held-out ones would look better than rows to come: their own classes
    are among what moved them.
    """
    rest = np.ones(rows.n_rows, bool)
    rest[held] = False
    steps = find_all_steps(rows.take(np.flatnonzero(rest)), 1.0, threads)
    resolutions = Resolutions(rows.attributes, rows.cardinalities)
    codes, cardinalities = rows.codes.copy(), rows.cardinalities.copy()
    for order, found in enumerate(steps, start=1):
        columns = resolutions.sharp_columns(order)
        for attribute in np.flatnonzero(resolutions.is_sharp(order)).tolist():
            column, last = columns[attribute], resolutions.last(attribute)
            cuts = found.get(attribute, np.empty(0, np.int64))
            bins = int(resolutions.n_bins[attribute])
            values = place_bins(cuts, np.arange(cardinalities[last] + 1), bins)
            codes[column] = values[codes[last]]
            cardinalities[column] = len(cuts) + 1 + cardinalities[last] - bins
    return ArraySource(
        codes,
        rows.labels,
        n_classes=rows.n_classes,
        cardinalities=cardinalities,
        weights=rows.weights,
        n_given=rows.n_given,
        attributes=rows.attributes,
    )


def find_all_steps(source: Source, unit: float, threads: Threads) -> Steps:
    """Return the bins at which the class changes, in all rows and within the values of guides.

    A row weighs about `unit`.
    """
    alone = find_steps(source.reduce(count_bins, join=add_counts, threads=threads), unit)
    return Steps(alone, add_within(source, alone, unit, threads) if alone else alone)


def add_within(
    source: Source, alone: dict[int, np.ndarray], unit: float, threads: Threads
) -> dict[int, np.ndarray]:
    """Return steps of all rows, and those that are within the values of the most telling guides."""
    resolutions = Resolutions(source.attributes, source.cardinalities)
    guides = list_guides(resolutions, alone)
    tables = source.reduce(count_guides, guides, join=add_tables, threads=threads)
    guides = choose_guides([table / unit for table in tables], guides)
    while guides and not fits_room(resolutions, guides, source.n_classes):
        guides.pop()
    tables = source.reduce(count_within, guides, join=add_tables, threads=threads)
    ranked: dict[int, list[tuple[float, int]]] = {}
    for (attribute, _), table in zip(list_pairs(resolutions, guides), tables, strict=True):
        for counts in table / unit:
            ranked.setdefault(attribute, []).extend(rank_steps(attribute, counts))
    within = dict(alone)
    for attribute, steps in ranked.items():
        near = NEAR * float(resolutions.n_bins[attribute])
        filled = fill_up(alone.get(attribute, np.empty(0, np.int64)), steps, near)
        if len(filled):
            within[attribute] = filled
    return within


def rank_steps(attribute: int, counts: np.ndarray) -> list[tuple[float, int]]:
    """Return the bins at which the class changes, each with what it tells by itself."""
    steps = find_steps({attribute: counts}).get(attribute, np.empty(0, np.int64)).tolist()
    parts = [np.array([counts[:step].sum(axis=0), counts[step:].sum(axis=0)]) for step in steps]
    return [(measure_information(two), step) for two, step in zip(parts, steps, strict=True)]


def fill_up(steps: np.ndarray, ranked: list[tuple[float, int]], near: float) -> np.ndarray:
    """Return steps and the most telling others up to `MOST_STEPS`, none so near to one before."""
    found = steps.tolist()
    for _, step in sorted(ranked, reverse=True):
        if len(found) < MOST_STEPS and all(abs(step - other) > near for other in found):
            found.append(step)
    return np.sort(np.array(found, np.int64))


def count_bins(part: ArraySource, threads: Threads) -> Counts:
    """Return the weight of each class in each bin of numbers of several levels, by attribute.

    Bins are those of the finest level.
    """
    resolutions = Resolutions(part.attributes, part.cardinalities)
    n_classes = part.n_classes
    numbers = np.flatnonzero(resolutions.levels > 1).tolist()
    found = {a: np.zeros((int(resolutions.n_bins[a]), n_classes)) for a in numbers}
    for block in part.blocks():
        labels = block.labels.astype(np.int64)

        def count(attribute: int, block: Block = block, labels: np.ndarray = labels) -> None:
            codes = block.codes[resolutions.last(attribute)]
            cells = codes * np.int64(n_classes) + labels
            counts = np.bincount(cells, block.weights, found[attribute].size)
            # Missing comes after all bins.
            found[attribute] += counts[: found[attribute].size].reshape(-1, n_classes)

        threads.run([partial(count, attribute) for attribute in numbers])
    return found


def add_counts(first: Counts, second: Counts) -> Counts:
    """Return the counts of two parts together."""
    return {attribute: counts + second[attribute] for attribute, counts in first.items()}


def find_steps(counts: Counts, unit: float = 1.0) -> dict[int, np.ndarray]:
    """Return the bins at which the class changes, by attribute, if it does.

    A row weighs about `unit`; the length of a description goes by rows.
    """
    found: dict[int, np.ndarray] = {}
    for attribute, table in counts.items():
        bins, labels = np.nonzero(table)
        weights = table[bins, labels] / unit
        between = mdl_cuts(bins.astype(np.float64), labels, table.shape[1], weights)
        if len(between):
            found[attribute] = np.ceil(between).astype(np.int64)
    return found


def recode_part(part: ArraySource, encoding: Encoding, threads: Threads) -> ArraySource:
    """Return a part in the codes of an encoding that was sharpened, written over the old ones."""
    codes = part.codes if part.codes.flags.writeable else part.codes.copy()
    for begin in range(0, part.n_rows, BLOCK_ROWS):
        encoding.recode(codes[:, begin : begin + BLOCK_ROWS])
    return ArraySource(
        codes,
        part.labels,
        n_classes=part.n_classes,
        cardinalities=encoding.cardinalities,
        weights=part.weights,
        n_given=part.n_given,
        attributes=part.attributes,
        store=part.store,
    )
