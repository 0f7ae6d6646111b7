from itertools import chain, combinations

import numpy as np
import pyarrow as pa
import pytest

from deepbroad.datasets import HANDS, RANKS, SUITS, classify_hands, poker_hand

# Known counts of the C(52, 5) = 2,598,960 unordered hands, in the order of HANDS.
EXACT_COUNTS = [1302540, 1098240, 123552, 54912, 10200, 5108, 3744, 624, 36, 4]


def hand_of(cards):
    """Class name of a hand written like "Ah 10s ..."; suits by their first letter."""
    suits = [[suit[0] for suit in SUITS].index(card[-1]) for card in cards.split()]
    ranks = [RANKS.index(card[:-1]) for card in cards.split()]
    return HANDS[classify_hands(np.array(suits)[:, None], np.array(ranks)[:, None])[0]]


@pytest.mark.parametrize(
    ("cards", "hand"),
    [
        ("Ah 3s 5d 7c 9h", "nothing"),
        ("Jh Qh Kh Ah 2s", "nothing"),  # a straight does not go round the corner
        ("Kh Ah 2h 3s 4h", "nothing"),
        ("Qh 2s Qd 7c 9h", "one pair"),
        ("Ah 2s 7d 2c As", "two pairs"),
        ("4h 9s 4d 4c Kh", "three of a kind"),
        ("Ah 2s 3d 4c 5h", "straight"),
        ("Kh 10s Ad Jc Qh", "straight"),
        ("8h 5s 9d 7c 6h", "straight"),
        ("Ad 3d 5d 7d 9d", "flush"),
        ("Jc Qc Kc Ac 2c", "flush"),
        ("4h 9s 4d 4c 9h", "full house"),
        ("4h 9s 4d 4c 4s", "four of a kind"),
        ("5s 3s 2s 4s As", "straight flush"),
        ("9h 10h Jh Qh Kh", "straight flush"),
        ("10c Ac Kc Jc Qc", "royal flush"),
    ],
)
def test_a_written_hand_has_its_class(cards, hand):
    assert hand_of(cards) == hand


def test_all_hands_have_the_known_counts():
    every = chain.from_iterable(combinations(range(52), 5))
    cards = np.fromiter(every, dtype=np.uint8, count=5 * sum(EXACT_COUNTS)).reshape(-1, 5).T
    hands = classify_hands(cards // 13, cards % 13)
    assert np.bincount(hands).tolist() == EXACT_COUNTS


def test_the_order_of_the_cards_does_not_change_the_class():
    cards = np.array(["10c", "Ac", "Kc", "Jc", "Qc"])
    for seed in range(10):
        assert hand_of(" ".join(np.random.default_rng(seed).permutation(cards))) == "royal flush"


def test_drawn_classes_follow_the_known_probabilities():
    rows = 400_000
    _, y = poker_hand(rows, seed=1, return_X_y=True)
    probabilities = np.array(EXACT_COUNTS) / sum(EXACT_COUNTS)
    spread = np.sqrt(rows * probabilities * (1 - probabilities))
    assert (np.abs(np.bincount(y, minlength=10) - rows * probabilities) < 5 * spread + 1).all()


def test_every_card_is_equally_likely_in_every_place():
    rows = 200_000
    cards = cards_of(poker_hand(rows, seed=2).data)
    for place in cards:
        counts = np.bincount(place, minlength=52)
        assert (np.abs(counts - rows / 52) < 5 * np.sqrt(rows / 52)).all()


def test_the_cards_of_a_hand_differ():
    ordered = np.sort(cards_of(poker_hand(50_000, seed=3).data), axis=0)
    assert (np.diff(ordered, axis=0) > 0).all()


def test_a_seed_reproduces_its_hands_and_another_does_not():
    first, again, other = (poker_hand(500, seed=seed) for seed in (7, 7, 8))
    assert first.data.equals(again.data)
    assert np.array_equal(first.target, again.target)
    assert not first.data.equals(other.data)


def test_columns_are_dictionaries_of_all_suits_or_ranks():
    hands = poker_hand(3)
    assert hands.data.column_names == hands.feature_names
    assert hands.feature_names == [f"{part}{card}" for card in range(1, 6) for part in "SC"]
    for name, column in zip(hands.data.column_names, hands.data.columns, strict=True):
        assert pa.types.is_dictionary(column.type)
        names = SUITS if name.startswith("S") else RANKS
        assert column.chunk(0).dictionary.to_pylist() == list(names)


def test_bunch_and_pair_agree():
    hands = poker_hand(100, seed=4)
    X, y = poker_hand(100, seed=4, return_X_y=True)
    assert X.equals(hands.data)
    assert np.array_equal(y, hands.target)
    assert y.dtype == np.int64
    assert hands.target_names == list(HANDS)
    assert "poker" in hands.DESCR.lower()


def test_no_hands_are_refused():
    with pytest.raises(ValueError, match="rows must be at least 1"):
        poker_hand(0)


def cards_of(table):
    """Cards as numbers below 52, one line per place."""
    codes = [column.chunk(0).indices.to_numpy().astype(int) for column in table.columns]
    return np.array([codes[i] * 13 + codes[i + 1] for i in range(0, 10, 2)])
