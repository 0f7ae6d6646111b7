"""What an automatic choice comes to."""

from dataclasses import dataclass, field

import numpy as np

from deepbroad.engine.strength_search import Trial
from deepbroad.model.resolutions import LevelledTerms


@dataclass(frozen=True, eq=False)
class Choice:
    """The model that was chosen.

    Attributes
    ----------
    levelled : LevelledTerms
        Its terms.
    strength : ndarray of shape (n_terms,)
        λ of each term, of scores.
    best : Trial
        If its cells score by their counts, the strengths by term are for rows that do not allow
        that.
    trials : list of Trial
        All that was tried, in order.
    skipped : dict
        What was not tried, and why: depths by their number, and "tilings".
    factor : float
        What strengths were multiplied by: for all rows, where the trials had only some; out of
        caution, where they are few.
    is_cut_short : bool
        Whether the clock, or an estimate of seconds, kept anything from being tried: another fit of
        the same rows may then choose otherwise.
    among : dict from order to ndarray
        The tuples of attributes of those orders that do not have all.
    redundant : dict from order to int
        How many tuples of those orders were left out since they tell no more than their parts; any
        other order of `among` has a shortlist.
    tiled : ndarray of shape (m, order) or None
        The tuples of attributes whose numbers have tilings (`deepbroad.model.tiling`); their order
        has no others.
    n_copies : int
        Rows that were looked at as copies of others (`deepbroad.engine.copies`).
    """

    levelled: LevelledTerms
    strength: np.ndarray
    best: Trial
    trials: list[Trial]
    skipped: dict[str, str] = field(default_factory=dict)
    factor: float = 1.0
    is_cut_short: bool = False
    among: dict[int, np.ndarray] = field(default_factory=dict)
    redundant: dict[int, int] = field(default_factory=dict)
    tiled: np.ndarray | None = None
    n_copies: int = 0
