"""The numbers that steer the automatic choice; each is settled on many data sets at once."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Settings:
    """How much the automatic choice looks at, and what it asks of a candidate.

    Attributes
    ----------
    rows : int
        Rows that the choice looks at, all folds together.
    folds : int
        Folds at most; more rows are dealt into fewer, two at least.
    orders : int
        The deepest interactions that are tried where no depth is given.
    shifted : bool
        Whether bins of numbers also come shifted by halves and quarters of a bin.
    false_share : float
        Share of the interactions kept by a screening that may be there by chance.
    kept : int
        Tables of interactions of one order at most, not counting their shifted copies.
    candidates : int
        Tables of one order that are screened at most, not counting shifted copies; beyond, only
        extensions of the interactions that were kept one order below.
    unscreened : float
        Look-ups of a pass over all candidates of an order up to which they need no screening.
    step : float
        Factor between two scales of the strengths that validation compares.
    start : float
        Variance of the scores that single features begin with.
    rounds : int
        How often the evidence gives strengths, each time after a fit with the last ones.
    gain : float
        Share by which the validation loss must fall for a search to go on.
    certainty : float
        Standard errors by which a model must be better than a simpler one.
    share : float
        Share of the variance of all scores that a model without its weakest tables keeps.
    """

    rows: int = 16_000
    folds: int = 5
    orders: int = 3
    shifted: bool = True
    false_share: float = 0.5
    kept: int = 400
    candidates: int = 3_000
    unscreened: float = 2e6
    step: float = 4.0
    start: float = 32.0
    rounds: int = 1
    gain: float = 1e-3
    certainty: float = 1.0
    share: float = 0.99


EFFORTS = {
    "fast": Settings(),
    "thorough": replace(
        Settings(), rows=64_000, folds=10, orders=4, candidates=10_000, unscreened=8e6, step=2.0,
        rounds=5,
    ),
}  # fmt: skip
