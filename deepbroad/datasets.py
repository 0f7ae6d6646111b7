"""Data sets that need no download; nothing here may know of models.

Poker hands are drawn from the 52 cards and classified by the rules, so that any number of rows of
a real, deeply interacting problem is at hand wherever the library is.
"""

from typing import Any, Literal, overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.utils import Bunch

SUITS = ("hearts", "spades", "diamonds", "clubs")
RANKS = ("A", "2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K")
HANDS = (
    "nothing",
    "one pair",
    "two pairs",
    "three of a kind",
    "straight",
    "flush",
    "full house",
    "four of a kind",
    "straight flush",
    "royal flush",
)
_CARDS = 5
_COLUMNS = tuple(f"{part}{card}" for card in range(1, _CARDS + 1) for part in "SC")

_DESCRIPTION = """\
Poker hands in the form of UCI's data set of that name (R. Cattral and F. Oppacher, 2002).
Ten attributes: suit (S1..S5) and rank (C1..C5) of five cards in the order in which they were
drawn. Ten classes, from 0 (nothing) to 9 (royal flush). The hands are drawn anew from the rules;
they are not UCI's rows."""


@overload
def poker_hand(
    rows: int = ..., *, seed: int = ..., return_X_y: Literal[True]
) -> tuple[pa.Table, NDArray[np.int64]]: ...


@overload
def poker_hand(rows: int = ..., *, seed: int = ..., return_X_y: Literal[False] = ...) -> Bunch: ...


def poker_hand(
    rows: int = 1_025_010, *, seed: int = 0, return_X_y: bool = False
) -> Bunch | tuple[pa.Table, NDArray[np.int64]]:
    """Draw poker hands and classify them by the rules.

    A hand is five cards drawn from 52 without replacement, in the order of drawing; all
    311,875,200 ordered hands are equally likely. An ace is high or low in a straight. The class is
    hidden from any single attribute: it takes pairs of ranks to see a pair, and more to see a
    straight.

    Parameters
    ----------
    rows : int, default=1_025_010
        Number of hands; UCI's training and test files together have the default number.
    seed : int, default=0
        Seed of the draw. The same `rows` and `seed` give the same hands.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a `Bunch`.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        data : pyarrow.Table of shape (rows, 10)
            Columns S1, C1, ..., S5, C5 of dictionary-encoded strings. Every dictionary lists all
            suits or ranks, so that the parts of a split share their codes;
            ``data.to_pandas()`` has categorical columns.
        target : ndarray of int64 of shape (rows,)
            UCI's classes, 0 to 9.
        feature_names, target_names : list of str
            Names of the columns and of the ten classes.
        DESCR : str
            What the data set is.
    (data, target) : tuple if ``return_X_y`` is True

    Examples
    --------
    >>> from deepbroad.datasets import poker_hand
    >>> hands = poker_hand(1000, seed=0)
    >>> hands.data.shape
    (1000, 10)
    >>> hands.data["C1"][:3].to_pylist()
    ['6', '9', '8']

    Half of all hands are worth nothing:

    >>> import numpy as np
    >>> np.bincount(hands.target, minlength=10).tolist()
    [503, 425, 41, 24, 6, 1, 0, 0, 0, 0]
    """
    if rows < 1:
        raise ValueError(f"rows must be at least 1, got {rows}.")
    cards = _draw_cards(rows, np.random.default_rng(seed))
    suits, ranks = cards // len(RANKS), cards % len(RANKS)
    data = _name_cards(suits, ranks)
    target = classify_hands(suits, ranks)
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        feature_names=list(_COLUMNS),
        target_names=list(HANDS),
        DESCR=_DESCRIPTION,
    )


def classify_hands(suits: NDArray[Any], ranks: NDArray[Any]) -> NDArray[np.int64]:
    """Classify hands by the rules of poker.

    Parameters
    ----------
    suits, ranks : ndarray of integers of shape (5, rows)
        Positions in `SUITS` and `RANKS` (the ace is rank 0), one line per card.

    Returns
    -------
    hands : ndarray of int64 of shape (rows,)
        Positions in `HANDS`.

    Examples
    --------
    >>> import numpy as np
    >>> from deepbroad.datasets import HANDS, classify_hands
    >>> suits = np.array([[0], [0], [0], [0], [0]])
    >>> ranks = np.array([[0], [9], [10], [11], [12]])
    >>> HANDS[classify_hands(suits, ranks)[0]]
    'royal flush'
    """
    # The number of pairs of cards of one rank names every hand of equal ranks: a pair has 1, two
    # pairs 2, three of a kind 3, a full house 3 + 1 and four of a kind 6.
    equal_pairs = np.zeros(ranks.shape[1], dtype=np.int8)
    for card in range(1, _CARDS):
        equal_pairs += (ranks[card] == ranks[:card]).sum(axis=0, dtype=np.int8)
    hand_of_equal_pairs = np.array([0, 1, 2, 3, 6, -1, 7])
    hands = hand_of_equal_pairs[equal_pairs]

    # Five distinct ranks that span five are a straight, the ace counted low. The one straight with
    # a high ace holds the five highest ranks.
    ace_high = np.where(ranks == 0, len(RANKS), ranks)
    distinct = equal_pairs == 0
    broadway = distinct & (ace_high.min(axis=0) == len(RANKS) - _CARDS + 1)
    straight = distinct & ((np.ptp(ranks, axis=0) == _CARDS - 1) | broadway)
    flush = (suits == suits[0]).all(axis=0)

    hands[straight] = HANDS.index("straight")
    hands[flush] = HANDS.index("flush")
    hands[straight & flush] = HANDS.index("straight flush")
    hands[broadway & flush] = HANDS.index("royal flush")
    return hands.astype(np.int64, copy=False)


def _draw_cards(rows: int, random: np.random.Generator) -> NDArray[np.uint8]:
    """Draw `rows` ordered hands, one line per card, as numbers below 52."""
    deck = len(SUITS) * len(RANKS)
    ordered_hands = np.prod([deck - card for card in range(_CARDS)])
    number = random.integers(ordered_hands, size=rows, dtype=np.uint32)
    # Mixed-radix digits of the number: digit k is the card's position among those still in the
    # deck. Going back over the earlier draws, each one that lay at or below moves it up by one.
    positions = np.empty((_CARDS, rows), dtype=np.uint8)
    for card in range(_CARDS):
        number, positions[card] = np.divmod(number, np.uint32(deck - card))
    cards = positions.copy()
    for card in range(1, _CARDS):
        for earlier in reversed(range(card)):
            cards[card] += cards[card] >= positions[earlier]
    return cards


def _name_cards(suits: NDArray[Any], ranks: NDArray[Any]) -> pa.Table:
    """Build the table of dictionary-encoded columns S1, C1, ..., S5, C5."""
    columns = []
    for card in range(_CARDS):
        for codes, names in ((suits[card], SUITS), (ranks[card], RANKS)):
            indices = pa.array(codes.astype(np.int8))
            columns.append(pa.DictionaryArray.from_arrays(indices, pa.array(names)))
    return pa.table(columns, names=list(_COLUMNS))
