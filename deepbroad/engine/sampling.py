"""What a sample of the rows tells before a plan is made: joint values, common values, items."""

from functools import partial

import numpy as np

from deepbroad.data.source import Source
from deepbroad.kernels.joint import count_joint
from deepbroad.kernels.threads import Threads, split_range
from deepbroad.model.items import count_sets
from deepbroad.model.planner import SAMPLE_ROWS
from deepbroad.model.terms import Terms

# Codes in a sample of rows at most.
MAX_SAMPLE = 1 << 24
# Rows times terms whose joint values are counted, and the rows at least.
SAMPLE_WORK = 300_000_000
MIN_SAMPLE = 2048
# Terms with more joint values than this are not counted in a table of them.
MAX_SPACE = 1 << 26


def sample_codes(source: Source, rows: int = SAMPLE_ROWS) -> np.ndarray:
    """Return the codes of about `rows` rows, spread evenly; none has a never-seen value.

    They are the same however rows are parted, and so are plans that follow from them.
    """
    step = max(1, source.n_rows // min(rows, MAX_SAMPLE // len(source.cardinalities) + 1))
    sample = source.take(np.arange(0, source.n_rows, step)).codes
    seen = np.ones(sample.shape[1], bool)
    # Column by column: a comparison of all would take as much as the sample.
    for column, values in zip(sample, source.cardinalities, strict=True):
        seen &= column < values
    return sample if seen.all() else sample[:, seen]


def common_codes(sample: np.ndarray) -> np.ndarray:
    """Return the most common code of each column in a sample of rows."""
    return np.array([np.bincount(column).argmax() for column in sample])


def mean_sets(sample: np.ndarray, used: np.ndarray, common: np.ndarray, depth: int) -> float:
    """Return how many sets of items a row has on average: the look-ups that items would need."""
    lengths = np.zeros(sample.shape[1])
    for column in used:
        lengths += sample[column] != common[column]
    return float(count_sets(lengths, depth).mean())


def estimate_seen(
    terms: Terms,
    chosen: np.ndarray,
    source: Source,
    threads: Threads | None = None,
    rows: int = SAMPLE_ROWS,
) -> np.ndarray:
    """Estimate how many joint values all rows show of each chosen term, from a sample of them."""
    threads = threads or Threads(1)
    sample = sample_codes(source, min(rows, max(MIN_SAMPLE, SAMPLE_WORK // max(len(chosen), 1))))
    bounds = np.minimum(terms.spaces[chosen], source.n_rows)
    if not sample.shape[1]:
        return bounds.astype(np.float64)
    members = np.ascontiguousarray(terms.members[chosen])
    counts = np.zeros((3, len(chosen)), np.int64)
    largest = int(terms.spaces[chosen].max(initial=1))

    def count(first: int, last: int) -> None:
        times = np.zeros(largest, np.uint8)
        count_joint(sample, members, terms.cardinalities, first, last, times, *counts)

    threads.run([partial(count, *part) for part in split_range(len(chosen), threads.count)])
    distinct, single, double = counts.astype(np.float64)
    total = distinct
    if sample.shape[1] < source.n_rows:
        # Chao's estimate (1984) of how many there are in all.
        total = distinct + single * np.maximum(single - 1, 0) / (2 * (double + 1))
    return np.minimum(total, bounds)
