"""Which interactions earn their place."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import sem

from deepbroad.data.source import ArraySource
from deepbroad.engine.choice import screening
from deepbroad.engine.choice.cell_fits import CellFits
from deepbroad.engine.choice.dealing import deal_rows
from deepbroad.engine.choice.row_fits import RowFits
from deepbroad.engine.choice.screening import (
    DRAWS,
    keep,
    list_values,
    measure_agreement,
    screen,
    split_tables,
)
from deepbroad.kernels.threads import Threads
from deepbroad.model.resolutions import LevelledTerms
from deepbroad.model.terms import Terms, list_tuples
from tests.engine.choice.tables_for_tests import noise, parity


def screen_pairs(source, order=2, kind=CellFits):
    rows = deal_rows(source, 20_000, 5, 0)
    singles = Terms.of_order(1, source.cardinalities)
    fits = kind(rows, singles, np.ones((len(singles), rows.n_folds), bool), Threads(1))
    fits.minimise(np.ones(len(singles)))
    members = list_tuples(len(source.cardinalities), order)
    terms = Terms(members, source.cardinalities)
    return screen(fits, LevelledTerms(terms, np.ones(len(members)), source.attributes), 0)


@pytest.mark.parametrize("kind", [CellFits, RowFits])
@pytest.mark.parametrize("order", [2, 3])
def test_a_planted_interaction_shows_most_and_the_others_like_chance(order, kind):
    found = screen_pairs(parity(1500, members=order), order, kind)
    assert np.argmax(found.all_folds) == 0
    assert found.all_folds[0] > 8
    assert (found.without[:, 0] > 5).all()
    assert found.all_folds[1:].max() < 5


# Two numbers at two resolutions and a category.
ATTRIBUTES = np.array([0, 0, 1, 1, 2])
PAIRS = np.array([[1, 3], [0, 4], [2, 4], [0, 2], [3, 4], [1, 4]])


def draw_levelled(n_classes=3, rows=300):
    """Return a source of these, with shares and folds of its rows."""
    rng = np.random.default_rng(0)
    fine = rng.integers(0, 4, (2, rows))
    codes = np.array([fine[0] // 2, fine[0], fine[1] // 2, fine[1], rng.integers(0, 3, rows)])
    labels = (fine.sum(axis=0) + rng.integers(0, 2, rows)) % n_classes
    source = ArraySource(
        codes.astype(np.uint8), labels, n_classes, np.array([2, 4, 2, 4, 3]), attributes=ATTRIBUTES
    )
    return source, rng.dirichlet(np.ones(n_classes), rows), rng.integers(0, 3, rows)


def naive_agreement(codes, residuals):
    """Return Σ over cells of two columns of g'² - Σ e², where margins have no part in g'."""
    sizes = codes.max(axis=1) + 1
    sums, counts = np.zeros((*sizes, residuals.shape[1])), np.zeros((*sizes, 1))
    np.add.at(sums, tuple(codes), residuals)
    np.add.at(counts, tuple(codes), 1.0)
    explained = -sums.sum(axis=(0, 1)) / counts.sum()
    for axis in (0, 1):
        rows = np.maximum(counts.sum(axis=axis, keepdims=True), 1.0)
        explained = explained + sums.sum(axis=axis, keepdims=True) / rows
    return ((sums - counts * explained) ** 2).sum() - (residuals**2).sum()


def naive_pairs(codes, values):
    """Return Σ over pairs of different rows of a cell of v·v'."""
    same = (codes[:, :, None] == codes[:, None, :]).all(axis=0)
    np.fill_diagonal(same, val=False)
    return (same * (values @ values.T)).sum()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_agreement_of_tables_is_that_of_the_rows_of_each_fold(n_classes, threads):
    source, shares, folds = draw_levelled(n_classes)
    values = list_values(source.labels, shares, np.ones(source.n_rows), 0)
    with Threads(threads) as pool:
        fits = SimpleNamespace(n_folds=3, threads=pool)
        terms = Terms(PAIRS, source.cardinalities)
        agreement, variance = measure_agreement(source, values, folds, terms, n_classes, fits)
    assert agreement.shape == (3, len(PAIRS), 1 + DRAWS)
    residuals = np.eye(n_classes)[source.labels] - shares
    for fold in range(3):
        own = folds == fold
        for table, pair in enumerate(PAIRS):
            codes = source.codes[pair][:, own].astype(int)
            expected = naive_agreement(codes, residuals[own])
            assert agreement[fold, table, 0] == pytest.approx(expected, rel=1e-4, abs=1e-2)
            expected = naive_pairs(codes, (shares * (1.0 - shares))[own])
            assert variance[fold, table] == pytest.approx(expected, rel=1e-4)


def measure_singles(source, values, folds):
    """Return the agreement of single columns, which have no margins to explain them."""
    fits = SimpleNamespace(n_folds=3, threads=Threads(1))
    terms = Terms.of_order(1, source.cardinalities)
    return measure_agreement(source, values, folds, terms, source.n_classes, fits)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("counts", [True, False])
def test_rows_agree_with_other_rows_and_with_their_copies_where_weights_count_them(
    counts, n_classes
):
    source, shares, folds = draw_levelled(n_classes)
    rng, n_rows = np.random.default_rng(1), source.n_rows
    weights = rng.integers(1, 4, n_rows) if counts else rng.uniform(0.1, 3.0, n_rows)
    values = list_values(source.labels, shares, weights.astype(float), 0, counts=counts)
    agreement, variance = measure_singles(source, values, folds)
    rows = np.repeat(np.arange(n_rows), weights) if counts else np.arange(n_rows)
    each = np.ones((len(rows), 1)) if counts else weights[:, None]
    residuals = each * (np.eye(n_classes)[source.labels] - shares)[rows]
    variances = each**2 * (shares * (1.0 - shares))[rows]
    for fold, column in np.ndindex(3, len(source.codes)):
        own = folds[rows] == fold
        codes = source.codes[[column]][:, rows[own]].astype(int)
        expected = naive_pairs(codes, residuals[own])
        assert agreement[fold, column, 0] == pytest.approx(expected, rel=1e-4, abs=1e-2)
        expected = naive_pairs(codes, variances[own])
        assert variance[fold, column] == pytest.approx(expected, rel=1e-4)


def test_labels_that_are_independent_agree_by_nothing_in_the_mean_whatever_the_weights():
    source, shares, folds = draw_levelled()
    rng = np.random.default_rng(2)
    weights = rng.uniform(0.1, 6.0, source.n_rows)
    same = folds[:, None] == folds
    np.fill_diagonal(same, val=False)
    found, naive = [], []
    for seed in range(150):
        labels = np.array([rng.choice(3, p=p) for p in shares])
        values = list_values(labels, shares, weights, seed, counts=False)
        found.append(measure_singles(source, values, folds)[0].sum(axis=0))
        residuals = weights[:, None] * (np.eye(3)[labels] - shares)
        alike = same & (source.codes[0][:, None] == source.codes[0])
        naive.append((alike * (residuals @ residuals.T)).sum())
    np.testing.assert_allclose(np.array(found)[:, 0, 0], naive, rtol=1e-3, atol=0.1)
    assert (np.abs(np.mean(found, axis=0)) < 4.0 * sem(found, axis=0)).all()


class DrawnFits:
    """What a screening asks of fits, for shares that were drawn."""

    n_folds = 3

    def __init__(self, threads):
        self.source, self.shares, self.folds = draw_levelled()
        held = (self.folds[:, None] == np.arange(3)).astype(np.float32)
        self.rows = SimpleNamespace(source=self.source, held=held, counts_rows=True)
        self.threads = threads

    def held_shares(self):
        return np.arange(self.source.n_rows), self.folds, self.shares


def screen_levelled(members=PAIRS, threads=None):
    fits = DrawnFits(threads or Threads(1))
    terms = Terms(members, fits.source.cardinalities)
    return screen(fits, LevelledTerms(terms, np.ones(len(members), int), ATTRIBUTES), 0)


def test_tables_show_the_same_whatever_their_order():
    order = np.random.default_rng(0).permutation(len(PAIRS))
    found, expected = screen_levelled(PAIRS[order]), screen_levelled()
    np.testing.assert_array_equal(found.all_folds, expected.all_folds[order])
    np.testing.assert_array_equal(found.without, expected.without[:, order])
    np.testing.assert_array_equal(found.chance, expected.chance[:, order])


def test_tables_show_the_same_however_few_are_looked_at_at_a_time(monkeypatch):
    whole = screen_levelled()
    monkeypatch.setattr(screening, "CHUNK", 1)
    for found, expected in zip(screen_levelled(), whole, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_two_threads_screen_to_the_same_bits_as_one():
    with Threads(2) as threads:
        found = screen_levelled(threads=threads)
    for one, two in zip(screen_levelled(), found, strict=True):
        np.testing.assert_array_equal(one, two)


def test_noise_is_kept_rarely():
    kept = []
    for seed in range(6):
        found = screen_pairs(noise(600, features=10, seed=seed))
        kept.append(keep(found.all_folds, found.chance, 0.5, 100).sum())
    assert np.mean(kept) < 5


def test_the_largest_set_with_few_false_ones_is_kept_and_no_more_than_asked_for():
    shown = np.array([9.0, 8.0, 7.0, 0.5, -1.0])
    chance = np.array([[1.0, -0.3, 0.2, 0.1, -0.4], [0.4, -1.0, 0.3, -0.2, 0.0]])
    np.testing.assert_array_equal(keep(shown, chance, 0.1, 10), [True] * 3 + [False] * 2)
    np.testing.assert_array_equal(keep(shown, chance, 0.1, 2), [True] * 2 + [False] * 3)
    assert not keep(-np.abs(shown), chance, 0.5, 10).any()


def test_tables_are_split_into_ranges_that_cover_all():
    terms = Terms.of_order(2, np.array([3, 4, 5, 6]))
    ranges = split_tables(terms, 40)
    assert [low for low, _ in ranges] == [0, *[high for _, high in ranges[:-1]]]
    assert ranges[-1][1] == len(terms)
    assert all(terms.sizes[low:high].sum() <= 40 or high - low == 1 for low, high in ranges)
