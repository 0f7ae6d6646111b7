"""Cuts of numbers where the class changes, by minimum description length.

Halves and quarters of the rows are near any threshold, but on it only by chance; where a class
begins at one value of a number, in a tail of it perhaps, no sum of few bins says so. Such values
are found among the cuts of the finest level, so that codes alone tell them: bins are numbers.
"""

from functools import partial

import numpy as np

from deepbroad.data.cuts import mdl_cuts
from deepbroad.data.encoding import Encoding
from deepbroad.data.source import BLOCK_ROWS, ArraySource, Block, Source
from deepbroad.kernels.threads import Threads
from deepbroad.model.resolutions import Resolutions

# By attribute: the weight of each class in each bin, (bins, C).
Counts = dict[int, np.ndarray]
# In no more rows than these, what looks like a step is chance.
SHARP_ROWS = 1_000


def sharpen(
    source: Source, encoding: Encoding, unit: float, threads: Threads
) -> tuple[Source, Encoding]:
    """Return rows and their encoding with cuts by the class for numbers of several levels.

    A row weighs about `unit`.
    """
    resolutions = Resolutions(source.attributes, source.cardinalities)
    if source.n_weighted <= SHARP_ROWS or resolutions.n_levels == 1:
        return source, encoding
    counts = source.reduce(count_bins, join=add_counts, threads=threads)
    steps = find_steps(counts, unit)
    if not steps:
        return source, encoding
    sharp = encoding.sharpened(steps)
    return source.convert(recode_part, sharp, threads=threads), sharp


def sharpen_without(rows: ArraySource, held: np.ndarray, threads: Threads) -> ArraySource:
    """Return rows with cuts by the class as those that are not held out tell them.

    By the cuts of all rows, held-out ones would look better than rows to come: their own classes
    are among what moved them.
    """
    rest = np.ones(rows.n_rows, bool)
    rest[held] = False
    steps = find_steps(count_bins(rows.take(np.flatnonzero(rest)), threads))
    resolutions = Resolutions(rows.attributes, rows.cardinalities)
    codes, cardinalities = rows.codes.copy(), rows.cardinalities.copy()
    for attribute in np.flatnonzero(resolutions.is_sharp).tolist():
        first, last = resolutions.firsts[attribute], resolutions.firsts[attribute + 1] - 1
        found = steps.get(attribute, np.empty(0, np.int64))
        bins = int(resolutions.n_bins[attribute])
        within = np.searchsorted(found, np.arange(cardinalities[last] + 1), side="right")
        within[bins:] = len(found) + 1  # missing
        codes[first] = within[codes[last]]
        cardinalities[first] = len(found) + 1 + cardinalities[last] - bins
    return ArraySource(
        codes,
        rows.labels,
        n_classes=rows.n_classes,
        cardinalities=cardinalities,
        weights=rows.weights,
        n_given=rows.n_given,
        attributes=rows.attributes,
    )


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
            codes = block.codes[resolutions.firsts[attribute + 1] - 1]
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
