"""Finds the indicators of categories, joins them for a fit, and unfolds the tables that it gives.

A category that was one-hot encoded has as many columns as values, of which a row has at most one
on. As one column it has a term where they have many, and passes over the rows take less time.
"""

from functools import partial
from math import comb
from operator import add

import numpy as np

from deepbroad.data.source import ArraySource, Block, Source
from deepbroad.engine.compaction import choose_compact
from deepbroad.engine.planning import Planner
from deepbroad.engine.redundancy import CERTAIN_ROWS, MAX_INDICATORS
from deepbroad.kernels.threads import Threads
from deepbroad.model.indicators import Joining
from deepbroad.model.scores import ScoreTables
from deepbroad.model.unfolding import Unfolding

# Fewer are left as they are: two indicators have a single pair.
LEAST_MEMBERS = 3
# An independent indicator is on in no row where its group is with a probability of e^-20 at most:
# that does not happen, even among all pairs of `MAX_INDICATORS`.
CERTAINTY = 20.0
# Rows times pairs of indicators that are looked at; more would take ten seconds.
MAX_WORK = 100_000_000_000


def find_indicators(source: Source, threads: Threads) -> Joining | None:
    """Return which columns of two values are indicators of one category, None if none are.

    Parameters
    ----------
    source : Source
        Rows of code columns. An attribute with one column of two values is taken for an indicator,
        on where it has the rarer one; those of which no row of weight has two on are joined, unless
        that may be chance.
    threads : Threads
    """
    columns = list_binary(source.attributes, source.cardinalities)
    count, rows = len(columns), source.n_weighted
    if count < LEAST_MEMBERS or rows <= CERTAIN_ROWS:
        return None
    if count > MAX_INDICATORS or source.n_rows * comb(count, 2) > MAX_WORK:
        return None
    together = source.reduce(count_together, columns, join=add, threads=threads)
    on, shared = count_on(together, rows)
    groups = [np.sort(group) for group in group_exclusive(shared, rows)]
    if not groups:
        return None
    groups.sort(key=lambda group: int(group[0]))
    return Joining(
        tuple(columns[group] for group in groups),
        tuple(on[group] for group in groups),
        tuple(int(shared[group, group].sum()) < rows for group in groups),
        source.cardinalities,
        source.attributes,
    )


def list_binary(attributes: np.ndarray, cardinalities: np.ndarray) -> np.ndarray:
    """Return the code columns of two values that are the only ones of their attributes."""
    alone = np.bincount(attributes)[attributes] == 1
    return np.flatnonzero(alone & (cardinalities == 2))


def count_together(part: ArraySource, columns: np.ndarray, threads: Threads) -> np.ndarray:
    """Return how many rows of weight have code 1 in both of two columns, (k, k) int64."""
    found = np.zeros((len(columns),) * 2, np.int64)
    for block in part.blocks():
        bits = pack_ones(block, columns)

        def count(first: int, bits: np.ndarray = bits) -> None:
            both = np.bitwise_count(bits[first] & bits[first:])
            found[first, first:] += both.sum(axis=1, dtype=np.int64)

        threads.run([partial(count, first) for first in range(len(found))])
    return np.maximum(found, found.T)


def pack_ones(block: Block, columns: np.ndarray) -> np.ndarray:
    """Return where rows of weight have code 1, 64 rows to a number."""
    # Matrix products would be as fast, but BLAS has threads of its own, which wait for each other.
    rows = len(block.labels)
    ones = np.zeros((len(columns), -(-rows // 64) * 64), bool)
    ones[:, :rows] = block.codes[columns] == 1
    if block.weights is not None:
        ones[:, :rows] &= block.weights > 0
    return np.packbits(ones, axis=1).view(np.uint64)


def count_on(together: np.ndarray, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rarer code of each column, and in how many rows two columns both have it.

    `together` is that of `count_together`.
    """
    ones = together.diagonal()
    on = (2 * ones <= rows).astype(np.int64)
    one = on == 1
    # Rows that have code 0 are all others.
    shared = np.where(one[:, None], together, ones - together)
    counts = np.where(one, ones, rows - ones)
    shared = np.where(one, shared, counts[:, None] - shared)
    return on, shared


def group_exclusive(shared: np.ndarray, rows: int) -> list[np.ndarray]:
    """Return sets of indicators of which no two are on in a row, given how often they are.

    The most frequent come first, and each goes to the first set that it fits into.
    """
    counts = shared.diagonal()
    groups: list[list[int]] = []
    covered: list[int] = []
    for indicator in np.argsort(-counts, kind="stable").tolist():
        count = int(counts[indicator])
        for g, group in enumerate(groups):
            share = min(covered[g] / rows, 1.0 - 0.5 / rows)
            if -count * np.log1p(-share) >= CERTAINTY and not shared[indicator, group].any():
                group.append(indicator)
                covered[g] += count
                break
        else:
            groups.append([indicator])
            covered.append(count)
    return [np.array(group) for group in groups if len(group) >= LEAST_MEMBERS]


def join_part(part: ArraySource, joining: Joining, threads: Threads) -> ArraySource:
    """Return a part with its indicators joined."""
    cardinalities = joining.joined_cardinalities
    # The code after the last stands for a value never seen.
    kind = np.promote_types(part.codes.dtype, np.min_scalar_type(int(cardinalities.max())))
    codes = part.store.empty((len(cardinalities), part.n_rows), kind)
    at = 0
    for block in part.blocks():
        rows = len(block.labels)
        joining.join_codes(block.codes, codes[:, at : at + rows])
        at += rows
    return ArraySource(
        codes,
        part.labels,
        n_classes=part.n_classes,
        cardinalities=cardinalities,
        weights=part.weights,
        n_given=part.n_given,
        attributes=joining.joined_attributes,
        store=part.store,
    )


def unfold_tables(
    tables: ScoreTables, joining: Joining, source: Source, threads: Threads
) -> ScoreTables:
    """Return a model of joined columns as one of the given columns, whose rows `source` has."""
    unfolding = Unfolding(joining, tables.plan.terms)
    compact = choose_compact(unfolding.terms, source, threads)
    groups = unfolding.compact_groups(tables.plan, compact)
    plan = Planner(source, unfolding.terms, compact=groups, threads=threads).cheapest()
    return unfolding.unfold(tables, plan)
