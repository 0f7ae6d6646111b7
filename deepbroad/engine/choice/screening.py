"""Interactions earn their place: residuals of held-out rows must agree within their cells.

The residuals are those of models that were not fitted to the rows. Only rows of one fold are
compared with each other: they were held out from the same model, while the model of another fold
was fitted to them. Labels drawn from the models tell what chance gives.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from deepbroad.data.source import ArraySource
from deepbroad.engine.choice.fits import Fits
from deepbroad.engine.choice.tables import features_of
from deepbroad.engine.planning import Planner, group_part
from deepbroad.engine.scatter import Scatter, Whole
from deepbroad.kernels.screening import agree
from deepbroad.kernels.threads import split_range
from deepbroad.kernels.vector import lane_count
from deepbroad.model.resolutions import LevelledTerms
from deepbroad.model.terms import Terms

# Sets of labels that are drawn: their mean is what chance gives, their spread how much that varies.
DRAWS = 3
# Numbers of the sums of a chunk of tables: they stay in the cache.
CHUNK = 1 << 22


class Screening(NamedTuple):
    """How much tables show, in standard deviations of chance.

    Attributes
    ----------
    all_folds : ndarray of shape (n_tables,)
    without : ndarray of shape (K, n_tables)
        By the rows of all folds but one: which tables the model of that fold may have.
    chance : ndarray of shape (DRAWS, n_tables)
        The same of drawn labels.
    """

    all_folds: np.ndarray
    without: np.ndarray
    chance: np.ndarray


def screen(fits: Fits, tables: LevelledTerms, seed: int) -> Screening:
    """Return what residuals of held-out rows show in candidate tables."""
    rows, folds, shares = fits.held_shares()
    source = fits.rows.source.take(rows)
    weights = fits.rows.held[rows, folds].astype(np.float64)
    values = list_values(source.labels, shares, weights, seed, counts=fits.rows.counts_rows)
    n_classes, sets = shares.shape[1], 1 + DRAWS
    count = len(tables.terms)
    agreement = np.zeros((fits.n_folds, count, sets))
    variance = np.zeros((fits.n_folds, count))
    # Tables of the same features come together: a look-up serves them all.
    order = np.lexsort(features_of(tables).T)
    members = tables.terms.members[order]
    sorted_terms = Terms(members, tables.terms.cardinalities)
    for chunk in split_tables(sorted_terms, CHUNK // values.shape[1]):
        own = slice(*chunk)
        part = Terms(members[own], tables.terms.cardinalities)
        found = measure_agreement(source, values, folds, part, n_classes, fits)
        agreement[:, order[own]], variance[:, order[own]] = found
    # Of two residuals, classes covary: with all shares alike by this much.
    variance *= 2.0 * (1.0 + 1.0 / (n_classes - 1))
    drawn = agreement[:, :, 1:]
    shown = agreement[:, :, 0] - drawn.mean(axis=2)
    others = (drawn.sum(axis=2, keepdims=True) - drawn) / (DRAWS - 1)
    chance = np.moveaxis(drawn - others, 2, 0).sum(axis=1)
    total, deviation = shown.sum(axis=0), np.sqrt(np.maximum(variance.sum(axis=0), 1e-12))
    without = np.sqrt(np.maximum(variance.sum(axis=0) - variance, 1e-12))
    return Screening(total / deviation, (total - shown) / without, chance / deviation)


def list_values(
    labels: np.ndarray, shares: np.ndarray, weights: np.ndarray, seed: int, *, counts: bool = True
) -> np.ndarray:
    """Return what is summed up for each row, padded, as `deepbroad.kernels.screening` has it.

    `counts` tells whether weights count rows: then a row agrees with its own copies.
    """
    n_rows, n_classes = shares.shape
    random, below = np.random.default_rng(seed), np.cumsum(shares, axis=1)
    sets = [np.asarray(labels, np.int64)]
    for _ in range(DRAWS):
        draws = np.array(random.random(n_rows))
        drawn = (draws[:, None] > below).sum(axis=1)
        sets.append(np.minimum(drawn, n_classes - 1))
    residuals: np.ndarray = np.repeat(np.negative(shares)[:, None, :], len(sets), axis=1)
    for place, chosen in enumerate(sets):
        residuals[np.arange(n_rows), place, chosen] += 1.0
    # A row of weight 3 is three rows: its residuals count three times, drawn ones independently.
    copies, squared = (weights, weights) if counts else (np.ones_like(weights), weights**2)
    squares = (residuals**2).sum(axis=2) * squared[:, None]
    residuals[:, 0] *= weights[:, None]
    residuals[:, 1:] *= np.sqrt(squared)[:, None, None]
    variances = shares * (1.0 - shares) * squared[:, None]
    # Those of the first class follow: all classes add up to 0.
    parts = [
        residuals[:, :, 1:].reshape(n_rows, -1), weights[:, None], variances, squares,
        (variances**2).sum(axis=1)[:, None] / copies[:, None],
    ]  # fmt: skip
    found = np.concatenate(parts, axis=1)
    padded = np.zeros((n_rows, lane_count(found.shape[1])), np.float32)
    padded[:, : found.shape[1]] = found
    return padded


def split_tables(terms: Terms, most: int) -> list[tuple[int, int]]:
    """Return ranges of tables with no more cells together than `most`, at least one in each."""
    bounds, first = [], 0
    for table in range(1, len(terms) + 1):
        if table == len(terms) or terms.offsets[table + 1] - terms.offsets[first] > most:
            bounds.append((first, table))
            first = table
    return bounds


def measure_agreement(
    source: ArraySource,
    values: np.ndarray,
    folds: np.ndarray,
    terms: Terms,
    n_classes: int,
    fits: Fits,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the agreement of tables fold by fold, (K, n_tables, 1 + DRAWS), and its variance."""
    threads, width, sets = fits.threads, values.shape[1], 1 + DRAWS
    plan = Planner(source, terms, compact=False, threads=threads).by_attribute()
    agreement = np.zeros((fits.n_folds, len(terms), sets))
    variance = np.zeros((fits.n_folds, len(terms)))
    rows = group_part(source, plan, threads)
    for fold in range(fits.n_folds):
        chosen = np.flatnonzero(folds == fold)
        own = rows.take(chosen)
        scatter = Scatter(plan, Whole.of(own, threads), width, values.dtype, threads)
        scatter.start(own.n_rows)
        at = 0
        for block in own.blocks():
            last = at + len(block.labels)
            scatter.add(block, values[chosen[at:last]].reshape(-1))
            at = last
        scatter.finish()
        sums = scatter.cells.reshape(-1, width)
        threads.run([
            partial(agree, sums, plan.terms.offsets, plan.terms.shapes, first, last, sets,
                    n_classes, agreement[fold], variance[fold])
            for first, last in split_range(len(terms), threads.count)
        ])  # fmt: skip
    return agreement, variance


def keep(shown: np.ndarray, chance: np.ndarray, false_share: float, most: int) -> np.ndarray:
    """Return which tables to keep: the largest set of which chance gives no more than a share.

    Parameters
    ----------
    shown : ndarray of shape (n_tables,)
    chance : ndarray of shape (m, n_tables)
    most : int
        Tables at most.
    """
    order = np.argsort(-shown, kind="stable")
    drawn = np.sort(chance, axis=None)
    false = (drawn.size - np.searchsorted(drawn, shown[order], side="left")) / len(chance)
    enough = (false <= false_share * np.arange(1, len(order) + 1)) & (shown[order] > 0)
    count = 0 if not enough.any() else int(np.flatnonzero(enough)[-1]) + 1
    kept = np.zeros(len(shown), bool)
    kept[order[: min(count, most)]] = True
    return kept
