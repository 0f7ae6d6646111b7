"""The choice of terms: exact where all tuples are scored, a beam where they are too many."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.kernels.threads import Threads
from deepbroad.model import screening
from deepbroad.model.screening import Sample, choose_terms, count_scored, score_terms
from tests import naive_information as naive


def noise(n_columns, rows, cardinality=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(cardinality, size=(n_columns, rows)).astype(np.uint8)


def planted(n_columns=12, rows=600):
    """A class that is the majority of columns 2, 5 and 9, among noise, one row in ten wrong."""
    codes = noise(n_columns, rows)
    labels = (codes[[2, 5, 9]].sum(axis=0) >= 2) ^ (np.random.default_rng(1).random(rows) < 0.1)
    return Sample(codes, labels.astype(np.uint8), None, 2), np.full(n_columns, 2)


def small_beam(monkeypatch, *, pairs=10**6, width=1000, tuples=0):
    monkeypatch.setattr(screening, "MAX_TUPLES", tuples)
    monkeypatch.setattr(screening, "MAX_PAIRS", pairs)
    monkeypatch.setattr(screening, "MIN_WIDTH", width)


@given(
    st.integers(0, 10**6),
    st.integers(1, 4),
    st.integers(1, 12),
    st.sampled_from(["cmi", "chi2"]),
)
def test_choice_is_that_of_the_definition(seed, n, max_terms, criterion):
    codes = noise(5, 30, cardinality=3, seed=seed)
    labels = ((codes[0] ^ codes[1]) > 1).astype(np.uint8)
    sample, cardinalities = Sample(codes, labels, None, 2), np.full(5, 3)
    terms, _ = choose_terms(sample, n, cardinalities, max_terms, criterion=criterion)
    expected = naive.choose(sample, n, cardinalities, max_terms, criterion)
    assert [terms.tuple(t) for t in range(len(terms))] == expected


def test_chosen_terms_come_with_their_scores_and_cardinalities():
    sample, cardinalities = planted()
    terms, scores = choose_terms(sample, 2, cardinalities, 20)
    assert len(terms) == 20
    np.testing.assert_array_equal(terms.cardinalities, cardinalities)
    again = score_terms(sample, terms.members, cardinalities)
    np.testing.assert_array_equal(scores.relevance, again.relevance)
    np.testing.assert_array_equal(scores.gain, again.gain)


def test_parity_of_two_columns_ranks_first_by_gain():
    codes = noise(15, 300)
    sample = Sample(codes, codes[4] ^ codes[11], None, 2)
    terms, scores = choose_terms(sample, 2, np.full(15, 2), 40)
    assert terms.tuple(int(np.argmax(scores.gain))) == (4, 11)


def test_every_column_keeps_its_best_tuple():
    sample, cardinalities = planted()
    terms, _ = choose_terms(sample, 2, cardinalities, 12)
    assert set(terms.members.ravel()) == set(range(12))
    everything = np.array(list(combinations(range(12), 2)))
    relevance = score_terms(sample, everything, cardinalities).relevance
    for i in range(12):
        of_column = np.flatnonzero((everything == i).any(axis=1))
        best = everything[of_column[np.argmax(relevance[of_column])]]
        assert (terms.members == best).all(axis=1).any()


def test_room_for_all_means_all():
    sample, cardinalities = planted(10)
    terms, _ = choose_terms(sample, 3, cardinalities, 1000)
    np.testing.assert_array_equal(terms.members, list(combinations(range(10), 3)))


def test_chunks_and_threads_do_not_matter(monkeypatch):
    sample, cardinalities = planted()
    terms, scores = choose_terms(sample, 3, cardinalities, 30)
    monkeypatch.setattr(screening, "CHUNK", 7)
    for n_jobs in (1, 2, 3):
        with Threads(n_jobs) as threads:
            others, again = choose_terms(sample, 3, cardinalities, 30, threads=threads)
        np.testing.assert_array_equal(others.members, terms.members)
        np.testing.assert_array_equal(again.gain, scores.gain)


@pytest.mark.parametrize("chunk", [1 << 18, 50])
def test_beam_that_is_wide_enough_is_exact(monkeypatch, chunk):
    sample, cardinalities = planted()
    exact, scores = choose_terms(sample, 4, cardinalities, 40)
    small_beam(monkeypatch)
    monkeypatch.setattr(screening, "CHUNK", chunk)
    beam, others = choose_terms(sample, 4, cardinalities, 40)
    np.testing.assert_array_equal(beam.members, exact.members)
    np.testing.assert_array_equal(others.gain, scores.gain)


def test_beam_with_room_for_all_has_each_tuple_once(monkeypatch):
    sample, cardinalities = planted()
    small_beam(monkeypatch)
    terms, _ = choose_terms(sample, 4, cardinalities, 1000)
    np.testing.assert_array_equal(terms.members, list(combinations(range(12), 4)))


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_narrow_beam_finds_a_planted_triple(monkeypatch, n_jobs):
    sample, cardinalities = planted(40)
    small_beam(monkeypatch, width=5)
    assert count_scored(40, 3, 4) == comb(40, 2) + 5 * 40 < comb(40, 3)
    with Threads(n_jobs) as threads:
        terms, scores = choose_terms(sample, 3, cardinalities, 4, threads=threads)
    assert len(terms) == 4
    assert terms.tuple(int(np.argmax(scores.gain))) == (2, 5, 9)


def test_pairs_beyond_all_bounds_are_those_of_the_most_relevant_columns(monkeypatch):
    sample, cardinalities = planted()
    small_beam(monkeypatch, pairs=comb(3, 2))
    terms, _ = choose_terms(sample, 2, cardinalities, 10)
    np.testing.assert_array_equal(terms.members, [[2, 5], [2, 9], [5, 9]])
    assert count_scored(12, 2, 10) == 3


def test_tuples_to_score_are_counted():
    assert count_scored(166, 3, 1000) == comb(166, 3)
    assert count_scored(5000, 2, 10) == comb(5000, 2)
    assert count_scored(5000, 3, 10) == comb(5000, 2) + 1000 * 5000
    assert count_scored(5000, 3, 10**6) == comb(5000, 2) + 4000 * 5000


@pytest.mark.parametrize(("n", "max_terms"), [(0, 5), (13, 5), (2, 0)])
def test_impossible_wishes_are_refused(n, max_terms):
    sample, cardinalities = planted()
    with pytest.raises(ValueError, match="must be"):
        choose_terms(sample, n, cardinalities, max_terms)
