"""Which interactions earn their place."""

import numpy as np
import pytest

from deepbroad.engine.choice.cell_fits import CellFits
from deepbroad.engine.choice.dealing import deal_rows
from deepbroad.engine.choice.row_fits import RowFits
from deepbroad.engine.choice.screening import keep, screen, split_tables
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
