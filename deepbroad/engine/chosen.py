"""An automatic choice as a journal keeps it."""

from dataclasses import dataclass, field

import numpy as np

from deepbroad.engine.old_choice import Choice
from deepbroad.engine.strength_search import Trial
from deepbroad.model.resolutions import LevelledTerms


@dataclass(frozen=True, eq=False)
class Chosen:
    """A `Choice` but for its terms, which follow from its depth, its shortlists and the source."""

    strength: np.ndarray
    best: Trial
    trials: list[Trial]
    skipped: dict[str, str]
    factor: float
    is_cut_short: bool
    among: dict[int, np.ndarray] = field(default_factory=dict)
    redundant: dict[int, int] = field(default_factory=dict)
    tiled: np.ndarray | None = None
    n_copies: int = 0

    @classmethod
    def of(cls, choice: Choice) -> "Chosen":
        """Return what is to be kept of a choice."""
        return cls(
            choice.strength,
            choice.best,
            choice.trials,
            choice.skipped,
            choice.factor,
            choice.is_cut_short,
            choice.among,
            choice.redundant,
            choice.tiled,
            choice.n_copies,
        )

    def restore(self, levelled: LevelledTerms) -> Choice:
        """Return the choice, given its terms."""
        strength = self.strength
        if strength.shape != (len(levelled.terms),) or not (strength >= 0).all():
            raise ValueError("the strengths of the checkpoint are not those of the model's terms")
        return Choice(
            levelled,
            strength,
            self.best,
            self.trials,
            self.skipped,
            self.factor,
            self.is_cut_short,
            self.among,
            self.redundant,
            self.tiled,
            self.n_copies,
        )
