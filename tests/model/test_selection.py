"""The best of many tuples, however they arrive."""

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.model.information import Scores
from deepbroad.model.selection import Selection, first_occurrences


def choose_by_sorting(members, scores, size, covered):
    """Cover columns by relevance, then go by gain; the first of equals."""
    relevance, gain = scores.relevance.tolist(), scores.gain.tolist()
    kept = {
        max((t for t in range(len(members)) if i in members[t]), key=lambda t: (relevance[t], -t))
        for i in np.flatnonzero(covered)
    }
    chosen = sorted(kept, key=lambda t: (-relevance[t], t))[:size]
    rest = [t for t in sorted(range(len(members)), key=lambda t: (-gain[t], t)) if t not in chosen]
    return sorted(chosen + rest[: size - len(chosen)])


@given(st.integers(0, 10**6), st.integers(1, 25), st.integers(1, 12))
def test_chunks_in_any_order_and_twice_give_what_sorting_gives(seed, size, chunk):
    rng = np.random.default_rng(seed)
    members = np.array(list(combinations(range(6), 2 + seed % 2)))
    # Few different values, so that there are many ties.
    scores = Scores(rng.integers(-2, 3, len(members)) / 7, rng.integers(-2, 3, len(members)) / 7)
    cardinalities = rng.integers(1, 4, 6)
    selection = Selection(members.shape[1], cardinalities, size)
    begins = np.arange(0, len(members), chunk)
    for begin in rng.permutation(np.concatenate([begins, begins])):
        rows = slice(begin, begin + chunk)
        selection.add(members[rows], Scores(scores.relevance[rows], scores.gain[rows]))
    chosen = selection.chosen()
    expected = choose_by_sorting(members, scores, size, cardinalities > 1)
    np.testing.assert_array_equal(chosen.members, members[expected])
    np.testing.assert_array_equal(chosen.gain, scores.gain[expected])
    np.testing.assert_array_equal(chosen.relevance, scores.relevance[expected])


def test_last_bits_do_not_break_ties():
    members = np.array([[0], [1], [2]])
    selection = Selection(1, np.full(3, 2), 1)
    selection.add(members, Scores(np.array([0.1, 0.1 + 1e-15, 0.0]), np.zeros(3)))
    assert selection.chosen().members.tolist() == [[0]]


def test_first_occurrences_come_in_lexicographic_order():
    members = np.array([[1, 2], [0, 5], [1, 2], [0, 4]])
    assert first_occurrences(members).tolist() == [3, 1, 0]
    assert first_occurrences(members[:0]).tolist() == []


def test_the_first_of_equals_is_kept_even_if_it_comes_last():
    selection = Selection(1, np.full(3, 2), 1)
    for column in (2, 1, 0):
        selection.add(np.array([[column]]), Scores(np.zeros(1), np.zeros(1)))
        assert selection.by_gain().tolist() == [[column]]
